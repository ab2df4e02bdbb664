#define _GNU_SOURCE
#include "remote/slurm.h"

#include "lib/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { END_SECONDS = 5, WORDS = 24, PATH = 4096 };

static bool read_number(const char *name, uint32_t *out_number)
{
	const char *text = getenv(name);
	char *end;
	unsigned long number = text ? strtoul(text, &end, 10) : 0;
	if (!text || *text < '0' || *text > '9' || *end || number > INT32_MAX)
		return false;
	*out_number = (uint32_t)number;
	return true;
}

struct dfg_err *dfg_slurm_number(uint32_t *out_number)
{
	return read_number("SLURM_PROCID", out_number)
			   ? NULL
			   : DFG_ERR(DFG_USAGE, "--slurm is for a worker that srun has started: SLURM_PROCID is not set");
}

/* The tasks of the allocation: as many as were asked for, or one on each node. */
static struct dfg_err *count_tasks(uint32_t *out_tasks)
{
	if (!getenv("SLURM_JOB_ID"))
		return DFG_ERR(DFG_USAGE,
			"--hosts slurm requires an allocation, as in `salloc -n 4 dfg run ...` or a script of sbatch: SLURM_JOB_ID "
			"is "
			"not set");
	if (!read_number("SLURM_NTASKS", out_tasks) && !read_number("SLURM_JOB_NUM_NODES", out_tasks))
		return DFG_ERR(DFG_CONFIG,
			"the allocation has no number of tasks: neither SLURM_NTASKS nor "
			"SLURM_JOB_NUM_NODES is set");
	return *out_tasks && *out_tasks <= DFG_HOSTS_MOST
			   ? NULL
			   : DFG_ERR(DFG_CONFIG, "the allocation has %u tasks: at least 1 and at most %d can be workers",
					 *out_tasks, DFG_HOSTS_MOST);
}

/* Where this process is on the only node of the allocation, no other machine takes part. */
static bool is_one_machine(void)
{
	uint32_t nodes;
	return getenv("SLURMD_NODENAME") && read_number("SLURM_JOB_NUM_NODES", &nodes) && nodes == 1;
}

static void close_all(int pipes[2][2])
{
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			if (pipes[i][k] >= 0)
				close(pipes[i][k]);
}

/* Its standard error is this process's own: each line is labelled with the task. */
static struct dfg_err *spawn(char *const *words, struct dfg_process *out_process)
{
	int pipes[2][2] = {{-1, -1}, {-1, -1}};
	struct dfg_err *err = NULL;
	for (int i = 0; i < 2 && !err; i++)
		if (pipe2(pipes[i], O_CLOEXEC))
			err = DFG_ERR(DFG_MEMORY, "cannot create a pipe for srun: %s", strerror(errno));
	if (!err)
		err = dfg_process_spawn(words[0], words, (int[]){pipes[0][0], pipes[1][1], STDERR_FILENO}, &out_process->pid);
	if (err) {
		close_all(pipes);
		return err;
	}
	close(pipes[0][0]);
	close(pipes[1][1]);
	out_process->in = pipes[0][1];
	out_process->out = pipes[1][0];
	out_process->err = dup(STDERR_FILENO); /* which dfg_process_end closes */
	return NULL;
}

/* Searches PATH, as execvp does. */
static struct dfg_err *find_srun(char out_path[PATH])
{
	const char *folder = getenv("PATH");
	for (size_t length; folder && *folder; folder += length + (folder[length] == ':')) {
		length = strcspn(folder, ":");
		snprintf(out_path, PATH, "%.*s/srun", (int)length, folder);
		if (length && !access(out_path, X_OK))
			return NULL;
	}
	return DFG_ERR(DFG_UNAVAILABLE, "--hosts slurm: there is no program 'srun' in PATH");
}

static struct dfg_err *start_tasks(const struct dfg_slurm_options *options, struct dfg_slurm *slurm)
{
	char srun[PATH], program[PATH] = "", tasks[40], lease[40], limit[40];
	bool one = is_one_machine(), any = !strcmp(options->transport, "auto");
	const char *transport = one && any ? "shm" : options->transport;
	const char *listening = one ? "127.0.0.1" : "0.0.0.0";
	snprintf(tasks, sizeof tasks, "--ntasks=%u", slurm->ranks.count);
	snprintf(lease, sizeof lease, "%g", options->lease);
	snprintf(limit, sizeof limit, "%llu", (unsigned long long)options->memory_limit);
	DFG_TRY(find_srun(srun));
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return DFG_ERR(DFG_UNAVAILABLE, "cannot find this program: %s", strerror(errno));
	program[length] = '\0';
	const char *words[WORDS] = {srun, "--input=all", "--label", "--kill-on-bad-exit=0", tasks, program, "serve",
		"--worker", "--slurm", "--transport", transport, "--lease", lease, "--wait", "900", "--listen", listening,
		options->memory_limit ? "--memory-limit" : NULL, limit, NULL};
	slurm->ranks.in_memory = !strcmp(transport, "shm");
	return spawn((char *const *)words, &slurm->srun);
}

/* An srun that has ended does not read it: the ranks report its end, and no signal ends this process. */
static void give_secret(const struct dfg_slurm *slurm)
{
	sigset_t pipe_, before;
	sigemptyset(&pipe_);
	sigaddset(&pipe_, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_, &before);
	dfg_err_free(dfg_fs_write_all(slurm->srun.in, "srun's stdin", slurm->ranks.secret, strlen(slurm->ranks.secret)));
	dfg_err_free(dfg_fs_write_all(slurm->srun.in, "srun's stdin", "\n", 1));
	while (sigtimedwait(&pipe_, NULL, &(struct timespec){0, 0}) > 0)
		continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct dfg_err *dfg_slurm_start(const struct dfg_slurm_options *options, struct dfg_slurm *out_slurm)
{
	*out_slurm = (struct dfg_slurm){.ranks = {.what = "task", .seconds = options->timeout}};
	DFG_TRY(count_tasks(&out_slurm->ranks.count));
	DFG_TRY(dfg_secret_make(out_slurm->ranks.secret));
	DFG_TRY(start_tasks(options, out_slurm));
	out_slurm->ranks.fd = out_slurm->srun.out;
	give_secret(out_slurm);
	return NULL;
}

void dfg_slurm_end(struct dfg_slurm *slurm)
{
	if (slurm->srun.pid)
		dfg_process_end(&slurm->srun, END_SECONDS);
	dfg_ranks_release(&slurm->ranks);
}
