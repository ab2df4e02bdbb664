#pragma once

#include "remote/process.h"
#include "remote/ranks.h"

/* The workers of a run in an allocation of Slurm: one srun starts all, in place of SSH, and each task is a worker. */
struct dfg_slurm_options {
	const char *transport; /* as dfg_launch_options.transport */
	double lease;          /* as dfg_launch_options.lease */
	uint64_t memory_limit; /* of each worker, in bytes; 0: none */
	double timeout;        /* seconds until all tasks must have started; 0: no limit */
};

struct dfg_slurm {
	struct dfg_ranks ranks;
	struct dfg_process srun;
};

/* Starts srun; the ranks meet later. DFG_USAGE without an allocation, DFG_UNAVAILABLE where there is no srun. */
DFG_MUST_CHECK struct dfg_err *dfg_slurm_start(const struct dfg_slurm_options *options, struct dfg_slurm *out_slurm);

/* Ends the tasks, which end with srun's standard input. Zero-initialised: does nothing. */
void dfg_slurm_end(struct dfg_slurm *slurm);

/* Of a worker that srun has started: its number. DFG_USAGE if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_slurm_number(uint32_t *out_number);
