#pragma once

#include "cmd/cmd.h"

/* Times steps of the graph in a file, its inputs made up: dims that are not known are `batch`. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_file(const char *path, int64_t batch);
