#include "app/bench_sizes.h"

#include <string.h>

/* Calls between workers: from worker 0 to each of the others, or from all to the parameter servers. */
struct bench {
	const struct dfg_bench_hosts *asked;
	struct dfg_bench_sizes sizes;
	void (*put_row)(void *arg, const struct dfg_bench_row *row);
	void *arg;
	struct dfg_coordinator *coordinator;
};

/* Calls that are in progress at once where the rate is measured, enough to keep the link busy. */
static uint32_t window_of(uint64_t bytes)
{
	enum { LEAST = 2, MOST = 16, BYTES = 64 << 20 };
	uint64_t window = BYTES / bytes;
	return window < LEAST ? LEAST : window > MOST ? MOST : (uint32_t)window;
}

/* The probe's clients and servers are set; `row` has their names. */
static struct dfg_err *measure(
	const struct bench *bench, struct dfg_coordinator_probe *probe, struct dfg_bench_row row, uint64_t bytes)
{
	probe->payload = (struct dfg_payload){(int64_t)(bytes / 4), bench->asked->payload, bench->asked->serialized};
	probe->window = 1;
	probe->calls = DFG_BENCH_FEW;
	probe->verified = bench->asked->verified;
	DFG_TRY(dfg_coordinator_probe(bench->coordinator, probe));
	probe->verified = false;
	probe->calls = dfg_bench_calls(bench->asked, 1, probe->p50_ns);
	DFG_TRY(dfg_coordinator_probe(bench->coordinator, probe));
	row.bytes = bytes;
	row.p50_us = (double)probe->p50_ns / 1e3;
	row.p99_us = (double)probe->p99_ns / 1e3;
	row.coding_us = bench->asked->serialized ? probe->coding_ns / 1e3 : -1;
	probe->window = window_of(bytes);
	DFG_TRY(dfg_coordinator_probe(bench->coordinator, probe));
	row.calls_per_s = probe->calls_per_s;
	row.bytes_per_s = probe->calls_per_s * (double)bytes * (probe->echoes ? 2 : 1);
	bench->put_row(bench->arg, &row);
	return NULL;
}

static struct dfg_err *measure_sizes(
	const struct bench *bench, struct dfg_coordinator_probe *probe, const struct dfg_bench_row *row)
{
	for (uint64_t bytes = bench->sizes.first; bytes; bytes = dfg_bench_sizes_next(&bench->sizes, bytes))
		DFG_TRY(measure(bench, probe, *row, bytes));
	return NULL;
}

static struct dfg_err *measure_links(void *arg, struct dfg_distributed *distributed)
{
	struct bench *bench = arg;
	const struct dfg_worker_host *worker = distributed->hosts.worker;
	const uint32_t client = 0;
	bench->coordinator = dfg_launch_coordinator(distributed->launch);
	for (uint32_t server = 1; server < distributed->hosts.count; server++) {
		struct dfg_coordinator_probe probe = {.client = &client, .clients = 1, .server = &server, .servers = 1};
		const struct dfg_bench_row row = {.from = worker[client].name, .to = worker[server].name};
		DFG_TRY(measure_sizes(bench, &probe, &row));
	}
	return NULL;
}

static bool is_server(const struct dfg_hosts *hosts, bool any, uint32_t worker)
{
	return any ? !strcmp(hosts->worker[worker].job, "ps") : !worker;
}

static struct dfg_err *measure_servers(void *arg, struct dfg_distributed *distributed)
{
	struct bench *bench = arg;
	const struct dfg_hosts *hosts = &distributed->hosts;
	uint32_t client[DFG_HOSTS_MOST], server[DFG_HOSTS_MOST];
	struct dfg_coordinator_probe probe = {.client = client, .server = server, .echoes = true};
	bool any = false;
	for (uint32_t i = 0; i < hosts->count; i++)
		any |= !strcmp(hosts->worker[i].job, "ps");
	for (uint32_t i = 0; i < hosts->count; i++)
		if (is_server(hosts, any, i))
			server[probe.servers++] = i;
		else
			client[probe.clients++] = i;
	if (!probe.clients)
		return DFG_ERR(DFG_DATA, "all %u hosts have job=ps, so there is no worker that could call them", hosts->count);
	if (!any)
		dfg_report_note(distributed->options.report, "no host has job=ps, so %s is the server", hosts->worker[0].name);
	bench->coordinator = dfg_launch_coordinator(distributed->launch);
	return measure_sizes(bench, &probe, &(struct dfg_bench_row){0});
}

static struct dfg_err *begin(const struct dfg_bench_hosts *asked, struct bench *bench)
{
	enum { PROTOBUF_MOST = INT32_MAX };
	DFG_TRY(dfg_bench_sizes_parse(asked->sizes, &bench->sizes));
	if (asked->serialized && bench->sizes.last > PROTOBUF_MOST)
		return DFG_ERR(
			DFG_USAGE, "--mode serialized: a message holds less than 2 GiB, so --sizes must end below 2 GiB");
	return NULL;
}

struct dfg_err *dfg_bench_link(const struct dfg_bench_hosts *asked, const struct dfg_distributed_options *options,
	void (*put_row)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	struct bench bench = {.asked = asked, .put_row = put_row, .arg = arg};
	DFG_TRY(begin(asked, &bench));
	return dfg_bench_on_workers(options, "a link", false, measure_links, &bench);
}

struct dfg_err *dfg_bench_ps(const struct dfg_bench_hosts *asked, const struct dfg_distributed_options *options,
	void (*put_row)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	struct bench bench = {.asked = asked, .put_row = put_row, .arg = arg};
	DFG_TRY(begin(asked, &bench));
	return dfg_bench_on_workers(options, "a parameter server and its worker", false, measure_servers, &bench);
}
