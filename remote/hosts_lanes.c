#include "remote/hosts_lanes.h"

#include <string.h>

static bool is_server(const struct dfg_worker_host *host)
{
	return !strcmp(host->job, "ps");
}

static uint32_t count_servers(const struct dfg_hosts *hosts)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < hosts->count; i++)
		count += is_server(&hosts->worker[i]);
	return count;
}

uint32_t dfg_hosts_workers(const struct dfg_hosts *hosts)
{
	return hosts->count - count_servers(hosts);
}

/* The i-th entry that is a server, or that is not. */
static uint32_t nth(const struct dfg_hosts *hosts, bool server, uint32_t i)
{
	uint32_t at = 0;
	while (is_server(&hosts->worker[at]) != server || i--)
		at++;
	return at;
}

/* Sets the fields that are positions in the new list. */
static void number(const struct dfg_hosts *hosts, struct dfg_hosts *out, uint32_t i, uint32_t entry)
{
	struct dfg_worker_host *worker = &out->worker[i];
	*worker = hosts->worker[entry];
	worker->machine = i;
	for (uint32_t k = i; k--;)
		if (hosts->worker[out->worker[k].entry].machine == hosts->worker[entry].machine)
			worker->machine = k;
}

static struct dfg_err *check(const struct dfg_hosts *hosts, uint32_t replicas, uint32_t servers)
{
	uint32_t workers = hosts->count - servers;
	if (!servers)
		return DFG_ERR(DFG_DATA, "no host in --hosts has job=ps: this --sync keeps the variables on such hosts");
	if (!workers)
		return DFG_ERR(DFG_DATA, "all hosts in --hosts have job=ps: the replicas require hosts without it");
	if (workers % replicas)
		return DFG_ERR(DFG_DATA,
			"--hosts has %u workers that are not parameter servers, expected a multiple of --replicas %u", workers,
			replicas);
	if ((uint64_t)replicas * servers + workers > DFG_HOSTS_MOST)
		return DFG_ERR(DFG_DATA,
			"%u workers, and for each of %u replicas %u more on the parameter servers, exceed the limit of %d workers",
			workers, replicas, servers, DFG_HOSTS_MOST);
	return NULL;
}

struct dfg_err *dfg_hosts_make_lanes(
	const struct dfg_hosts *hosts, uint32_t replicas, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	uint32_t servers = count_servers(hosts), workers = (hosts->count - servers) / replicas, width = workers + servers;
	DFG_TRY(check(hosts, replicas, servers));
	struct dfg_hosts all = {.count = replicas * width};
	const char **device = dfg_arena_zeros(arena, all.count, sizeof *device);
	all.worker = dfg_arena_zeros(arena, all.count, sizeof *all.worker);
	if (!device || !all.worker)
		return dfg_no_memory("the hosts");
	for (uint32_t i = 0; i < all.count; i++) {
		uint32_t replica = i / width, part = i % width;
		bool server = part >= workers;
		number(hosts, &all, i, nth(hosts, server, server ? part - workers : replica * workers + part));
		if (server)
			all.worker[i].lanes = (struct dfg_host_lanes){.count = replicas, .number = replica, .stride = width};
		device[i] = all.worker[i].device;
	}
	all.device = device;
	*out_hosts = all;
	return NULL;
}

uint32_t dfg_hosts_lanes(const struct dfg_hosts *hosts)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < hosts->count; i++)
		count += hosts->worker[i].lanes.count > 0;
	return count;
}
