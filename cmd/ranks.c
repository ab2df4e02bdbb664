#include "cmd/ranks.h"

#include "app/mpi_run.h"
#include "cmd/shared_options.h"
#include "remote/slurm.h"

#include <string.h>
#include <unistd.h>

static struct dfg_slurm slurm;

/* --hosts slurm: srun starts the workers. */
static struct dfg_err *start_tasks(void)
{
	const struct dfg_slurm_options options = {dfg_shared.distribution.transport, dfg_shared.distribution.lease,
		dfg_shared.execution.memory_limit, dfg_shared.execution.timeout};
	DFG_TRY(dfg_slurm_start(&options, &slurm));
	dfg_shared.placement.ranks = &slurm.ranks;
	return NULL;
}

static struct dfg_err *meet_ranks(void)
{
	int status = 0;
	const struct dfg_mpi_run_options options = {
		dfg_shared.distribution.transport, dfg_shared.distribution.lease, dfg_shared.execution.timeout, _exit};
	dfg_limit_memory();
	struct dfg_err *err = dfg_mpi_run(&options, &dfg_shared.placement.ranks, &status);
	if (err && err->code != DFG_USAGE) {
		dfg_talk("%s", err->text);
		_exit((int)err->code);
	}
	if (!err && !dfg_shared.placement.ranks)
		_exit(status);
	return err;
}

struct dfg_err *dfg_ranks_begin(int64_t restarts)
{
	const char *hosts = dfg_shared.placement.hosts;
	bool mpi = hosts && !strcmp(hosts, "mpi"), by_srun = hosts && !strcmp(hosts, "slurm");
	if (mpi)
		DFG_TRY(meet_ranks());
	if ((mpi || by_srun) && restarts)
		return DFG_ERR(DFG_USAGE, "--restarts cannot be used with --hosts %s: %s starts the workers", hosts,
			mpi ? "mpirun" : "srun");
	return by_srun ? start_tasks() : NULL;
}

void dfg_ranks_end(void)
{
	dfg_slurm_end(&slurm);
}
