#include "remote/launch_private.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/*
 * Lost workers are started again in the background, each on its host, while the others continue. If the list of hosts has
 * changed, a worker whose host is not in it any more gets another one.
 */

/* A worker that is silent, or that leaves, may still run. The watcher must have seen its end before its pipes are closed. */
static struct dfg_err *end_old(struct worker_process *worker_process)
{
	struct dfg_launch *launch = worker_process->launch;
	uint64_t until = dfg_now() + (uint64_t)END_SECONDS * 1000000000;
	if (worker_process->far) {
		dfg_ssh_process_force(worker_process->far);
		dfg_ssh_process_free(worker_process->far);
		worker_process->far = NULL;
		return NULL;
	}
	if (worker_process->process.pid > 0)
		kill(worker_process->process.pid, SIGKILL);
	for (;;) {
		uint32_t seen = atomic_load(&launch->ended.word);
		if (!atomic_load(&worker_process->watched))
			break;
		if (dfg_now() >= until)
			return DFG_ERR(DFG_UNAVAILABLE, "the previous process of this worker does not end");
		dfg_event_wait_until(&launch->ended, seen, until);
	}
	dfg_process_end(&worker_process->process, 0);
	return NULL;
}

/* The text without the worker's name in front, which `say` puts there. */
static const char *without_name(const char *text, const char *name)
{
	size_t length = strlen(name);
	return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2 : text;
}

static void *start_again(void *arg)
{
	struct worker_process *worker_process = arg;
	struct dfg_launch *launch = worker_process->launch;
	sigset_t broken_pipe;
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE); /* as at the first start */
	pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
	struct dfg_err *err = end_old(worker_process);
	worker_process->at = 0;
	worker_process->last[0] = '\0';
	if (!err)
		err = dfg_launch_start_worker(worker_process);
	if (!err && !worker_process->far) {
		atomic_store(&worker_process->watched, true);
		(void)!write(launch->wake[1], "", 1);
	}
	if (err && launch->options.say)
		launch->options.say(launch->options.say_arg, worker_process->number,
			without_name(err->text, launch->peer[worker_process->number].name));
	atomic_store(&worker_process->revival, err ? DFG_REVIVAL_FAILED : DFG_REVIVAL_THERE);
	dfg_err_free(err);
	return NULL;
}

static void join_reviver(struct worker_process *worker_process)
{
	if (worker_process->revives)
		pthread_join(worker_process->reviver, NULL);
	worker_process->revives = false;
}

static bool may_start(const struct dfg_launch *launch)
{
	return !launch->options.ranks && launch->options.restarts && *launch->options.restarts > 0 &&
		   !atomic_load(&launch->ending);
}

/* Whether the list has changed since the last call. */
static bool have_hosts_changed(struct dfg_launch *launch)
{
	bool changed = launch->options.changed && launch->options.changed(launch->options.say_arg);
	launch->hosts_changed |= changed;
	return changed;
}

bool dfg_launch_may_revive(void *arg)
{
	struct dfg_launch *launch = arg;
	return may_start(launch) && have_hosts_changed(launch);
}

/* Gives lost workers hosts of the list, if that has changed in this run; false if one has none. */
static bool find_hosts(struct dfg_launch *launch, uint32_t first, uint32_t count)
{
	(void)have_hosts_changed(launch);
	if (!launch->hosts_changed)
		return true;
	for (uint32_t i = first; i < first + count; i++) {
		join_reviver(&launch->worker_process[i]);
		dfg_err_free(end_old(&launch->worker_process[i])); /* the start fails for the same reason, and says so */
	}
	bool all = launch->options.replace(launch->options.say_arg, first, count);
	for (uint32_t i = first; i < first + count; i++)
		launch->peer[i].name = dfg_launch_host(launch, i)->name;
	return all;
}

bool dfg_launch_revive(void *arg, uint32_t first, uint32_t count)
{
	struct dfg_launch *launch = arg;
	if (!may_start(launch) || !find_hosts(launch, first, count))
		return false;
	--*launch->options.restarts;
	for (uint32_t i = first; i < first + count; i++) {
		struct worker_process *worker_process = &launch->worker_process[i];
		join_reviver(worker_process);
		atomic_store(&worker_process->revival, DFG_REVIVAL_STARTS);
		worker_process->revives = !pthread_create(&worker_process->reviver, NULL, start_again, worker_process);
		if (!worker_process->revives)
			atomic_store(&worker_process->revival, DFG_REVIVAL_FAILED);
	}
	return true;
}

enum dfg_revival dfg_launch_revived(void *arg, uint32_t worker)
{
	struct dfg_launch *launch = arg;
	return (enum dfg_revival)atomic_load(&launch->worker_process[worker].revival);
}

struct dfg_err *dfg_launch_relink(void *arg, uint32_t worker, struct dfg_link **out_link)
{
	struct dfg_launch *launch = arg;
	double seconds = LINK_SECONDS < launch->options.lease ? launch->options.lease : LINK_SECONDS;
	join_reviver(&launch->worker_process[worker]);
	if (launch->link[worker])
		launch->link[worker]->kind->close(launch->link[worker]);
	launch->link[worker] = NULL;
	DFG_TRY(dfg_launch_publish_local(launch));
	DFG_TRY(dfg_launch_link(launch, worker, seconds));
	if (!launch->shm)
		DFG_TRY(dfg_http_links_wait(launch->link[worker], (uint32_t)(seconds * 1000)));
	*out_link = launch->link[worker];
	return NULL;
}

void dfg_launch_end_revivals(struct dfg_launch *launch)
{
	for (uint32_t i = 0; i < launch->workers && launch->worker_process; i++)
		join_reviver(&launch->worker_process[i]);
}
