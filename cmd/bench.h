#pragma once

#include "app/run.h"

/* Times steps of the graph in a file with made-up inputs and prints the times; dimensions of unknown size are `batch`. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_file(const char *path, struct dfg_run_options *options, int64_t batch);
