#pragma once

#include "cmd/cmd.h"

/* Times steps of the graph in a file with generated inputs; dimensions of unknown size are `batch`. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_file(const char *path, int64_t batch);
