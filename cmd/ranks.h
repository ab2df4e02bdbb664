#pragma once

#include "lib/base/err.h"

#include <stdint.h>

/*
 * With --hosts mpi this process becomes a worker, and ends here, unless it is the launcher; with --hosts slurm srun starts
 * the workers. The placement of dfg_shared has the ranks then. Called first of all by a command; nothing with other hosts.
 * restarts: of --restarts, which must be 0.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ranks_begin(int64_t restarts);
void dfg_ranks_end(void);
