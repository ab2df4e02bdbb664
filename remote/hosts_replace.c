#include "remote/hosts_replace.h"

#include "lib/base/mem.h"

#include <string.h>

static bool equal(const char *one, const char *two)
{
	return one == two || (one && two && !strcmp(one, two));
}

/* Whether both are the same place to run a worker. */
static bool is_same(const struct dfg_worker_host *one, const struct dfg_worker_host *two)
{
	return one->local == two->local && (one->local || equal(one->name, two->name)) && equal(one->job, two->job) &&
		   equal(one->user, two->user) && equal(one->ssh, two->ssh) && equal(one->addr, two->addr) &&
		   equal(one->dfg, two->dfg) && one->port == two->port && equal(one->tcp, two->tcp) &&
		   equal(one->ports, two->ports) && one->attached == two->attached;
}

/* Takes the first entry that is free and the same host; false if there is none. */
static bool take_same(const struct dfg_hosts *listed, bool *taken, const struct dfg_worker_host *host)
{
	for (uint32_t i = 0; i < listed->count; i++)
		if (!taken[i] && is_same(&listed->worker[i], host))
			return taken[i] = true;
	return false;
}

/* The worker keeps its number, label and device. */
static void move(struct dfg_worker_host *worker, const struct dfg_worker_host *to)
{
	const struct dfg_worker_host old = *worker;
	*worker = *to;
	worker->label = old.label;
	worker->entry = old.entry;
	worker->device = old.device;
	worker->task = old.task;
	worker->lanes = old.lanes;
	worker->name = to->local ? old.label : to->name;
}

/* Takes the first entry that is free, of the worker's job, and reachable. */
static bool take_next(const struct dfg_hosts *listed, bool *taken, bool only_local, struct dfg_worker_host *worker)
{
	for (uint32_t i = 0; i < listed->count; i++)
		if (!taken[i] && equal(listed->worker[i].job, worker->job) && (listed->worker[i].local || !only_local)) {
			taken[i] = true;
			move(worker, &listed->worker[i]);
			return true;
		}
	return false;
}

static bool are_local(const struct dfg_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		if (!hosts->worker[i].local)
			return false;
	return true;
}

/* taken: by entry of the list; keeps: by worker, among those to which hosts are given. */
static uint32_t replace(
	struct dfg_hosts *hosts, uint32_t first, uint32_t count, const struct dfg_hosts *listed, bool *taken, bool *keeps)
{
	const bool only_local = are_local(hosts);
	uint32_t without = DFG_NONE;
	for (uint32_t i = 0; i < hosts->count; i++)
		if (i < first || i >= first + count)
			(void)take_same(listed, taken, &hosts->worker[i]);
	for (uint32_t i = 0; i < count; i++)
		keeps[i] = take_same(listed, taken, &hosts->worker[first + i]);
	for (uint32_t i = 0; i < count; i++)
		if (!keeps[i] && !take_next(listed, taken, only_local, &hosts->worker[first + i]) && without == DFG_NONE)
			without = first + i;
	dfg_hosts_find_machines(hosts);
	return without;
}

struct dfg_err *dfg_hosts_replace(
	struct dfg_hosts *hosts, uint32_t first, uint32_t count, const struct dfg_hosts *listed, uint32_t *out_without)
{
	bool *taken = dfg_zeros((size_t)listed->count + 1, sizeof *taken);
	bool *keeps = dfg_zeros((size_t)count + 1, sizeof *keeps);
	struct dfg_err *err = taken && keeps ? NULL : dfg_no_memory("the hosts file");
	if (!err)
		*out_without = replace(hosts, first, count, listed, taken, keeps);
	dfg_free(taken);
	dfg_free(keeps);
	return err;
}
