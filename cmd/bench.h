#pragma once

#include "app/run.h"
#include "cmd/option.h"

/* Times steps of the graph in a file with made-up inputs and prints the times; dimensions of unknown size are `batch`. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_file(const char *path, struct dfg_run_options *options, int64_t batch);

/* Measures the all-reduce over hosts and prints the times; the rows of its options, and whether one of them is given. */
extern const struct dfg_opt dfg_bench_allreduce_options[];
bool dfg_bench_allreduce_is_asked(void);
DFG_MUST_CHECK struct dfg_err *dfg_bench_run_allreduce(void);
