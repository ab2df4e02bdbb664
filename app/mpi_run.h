#pragma once

#include "remote/ranks.h"

/*
 * A run whose workers are the ranks of an MPI job: each rank executes the same command, and becomes a worker. Rank 0 first
 * forks the launcher, which does the remainder of the command; all ranks end with its status.
 */
struct dfg_mpi_run_options {
	const char *transport;     /* as dfg_distribution.transport */
	double lease;              /* seconds, as dfg_distribution.lease */
	double timeout;            /* seconds until all ranks must have met; 0: no limit */
	void (*leave)(int status); /* ends the process at once */
};

/*
 * In the launcher, *out_ranks are the ranks, which meet meanwhile; it lives as long as the process. In a rank that is
 * NULL: the run is over, and the process must end at once with *out_status, without cleaning up, because threads may still run.
 * DFG_USAGE without mpirun. Must be called before there are threads.
 */
DFG_MUST_CHECK struct dfg_err *dfg_mpi_run(
	const struct dfg_mpi_run_options *options, struct dfg_ranks **out_ranks, int *out_status);
