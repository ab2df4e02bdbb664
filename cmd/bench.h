#pragma once

#include "app/run.h"
#include "cmd/option.h"

/* The built-in benches of cmd/bench.def: each prints its figures. The options are those of the command line. */
#define BENCH(name, run_bench, NUMBER) DFG_MUST_CHECK struct dfg_err *run_bench(struct dfg_run_options *options);
#include "cmd/bench.def"
#undef BENCH

/* Times steps of the graph in a file with made-up inputs and prints the times; dimensions of unknown size are `batch`. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_file(const char *path, struct dfg_run_options *options, int64_t batch);

/* The rows of the options of the benches on workers, and whether one of them is given. */
extern const struct dfg_opt dfg_bench_hosts_options[];
bool dfg_bench_hosts_asked(void);
