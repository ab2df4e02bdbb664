#include "cmd/distributed.h"

#include "cmd/engine.h"
#include "formats/json.h"
#include "lib/pass/rewrite/fuse_updates.h"

#include <string.h>
#include <sys/resource.h>

#define LEASE 2.5

struct dfg_distribution dfg_distribution = {.transport = "auto", .lease = LEASE};
#define D dfg_distribution

const struct dfg_opt dfg_distribution_options[] = {
	{"transport", .takes = "NAME", .text = &D.transport,
		.help = "Move tensors by libcurl or shm; auto takes what is best for each pair of workers, and says which with "
				"-v."},
	{"lease", .takes = "SECONDS", .real = &D.lease,
		.help = "Take for lost who was silent for so long (2.5), and fail the step."},
	{"push", .flag = &D.push, .help = "Copy this program to the hosts and run the copy there."},
	{"ssh-config", .takes = "FILE", .text = &D.ssh_config, .help = "Read FILE instead of ~/.ssh/config."},
	{0},
};

struct dfg_err *dfg_distribution_check(void)
{
	const char *idle = dfg_planning.place.count      ? "place"
					   : strcmp(D.transport, "auto") ? "transport"
					   : D.lease != LEASE            ? "lease"
					   : D.push                      ? "push"
					   : D.ssh_config                ? "ssh-config"
													 : NULL;
	return idle && !dfg_planning.hosts ? DFG_ERR(DFG_USAGE, "--%s requires --hosts", idle) : NULL;
}

struct dfg_err *dfg_distributed_open(struct dfg_distributed *out_distributed)
{
	*out_distributed = (struct dfg_distributed){0};
	if (dfg_engine.swap)
		return DFG_ERR(DFG_USAGE, "--swap cannot be used with --hosts");
	if (strcmp(D.transport, "auto") && strcmp(D.transport, "libcurl") && strcmp(D.transport, "shm"))
		return DFG_ERR(DFG_USAGE, "--transport must be auto, libcurl or shm, not '%s'", D.transport);
	if (!(D.lease >= 0.1) || D.lease > 86400)
		return DFG_ERR(DFG_USAGE, "--lease must be 0.1 to 86400 seconds");
	struct dfg_err *err = dfg_planning_hosts(&out_distributed->arena, &out_distributed->hosts);
	if (!err)
		err = dfg_planning_check(&out_distributed->hosts, &out_distributed->arena);
	if (err)
		dfg_distributed_close(out_distributed);
	return err;
}

static void drop_parts(struct dfg_distributed *distributed)
{
	dfg_parts_release(&distributed->parts);
	dfg_arena_release(&distributed->parts_arena);
	distributed->parts = (struct dfg_parts){0};
}

void dfg_distributed_close(struct dfg_distributed *distributed)
{
	dfg_launch_free(distributed->launch);
	drop_parts(distributed);
	dfg_arena_release(&distributed->arena);
	*distributed = (struct dfg_distributed){0};
}

static void say(void *arg, uint32_t worker, const char *line)
{
	const struct dfg_distributed *distributed = arg;
	dfg_talk("%s: %s", distributed->hosts.worker[worker].name, line);
}

static void reached(void *arg, uint32_t worker, enum dfg_launch_stage stage, const char *words)
{
	struct dfg_distributed *distributed = arg;
	dfg_launch_table_reached(&distributed->table, worker, stage, words);
}

static void tell_transports(const struct dfg_distributed *distributed)
{
	const struct dfg_worker_host *worker = distributed->hosts.worker;
	for (uint32_t i = 0; i < distributed->hosts.count; i++)
		dfg_talk("launcher and %s: %s", worker[i].label, dfg_launch_transport(distributed->launch, i, DFG_LAUNCHER));
	for (uint32_t i = 0; i < distributed->hosts.count; i++)
		for (uint32_t k = i + 1; k < distributed->hosts.count; k++)
			dfg_talk(
				"%s and %s: %s", worker[i].label, worker[k].label, dfg_launch_transport(distributed->launch, i, k));
}

/* Each worker needs some file descriptors here and in each other worker, more than the default soft limit allows. */
static void raise_descriptors(void)
{
	struct rlimit limit;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct dfg_err *launch(struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	struct dfg_launch_options options = {
		.hosts = &distributed->hosts,
		.transport = D.transport,
		.ssh_config = D.ssh_config,
		.push = D.push,
		.lease = D.lease,
		.memory_limit = dfg_engine.memory_limit,
		.session = *session,
		.timeout = session->timeout,
		.trace = distributed->trace,
		.trace_arg = distributed->trace_arg,
		.say = say,
		.reached = reached,
		.say_arg = distributed,
	};
	raise_descriptors();
	dfg_launch_table_begin(&distributed->table, &distributed->hosts);
	struct dfg_err *err = dfg_launch_new(&options, &distributed->launch);
	if (err)
		dfg_launch_table_end(&distributed->table, true);
	else if (dfg_globals.verbose)
		tell_transports(distributed);
	return err;
}

struct dfg_err *dfg_distributed_start(struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	DFG_TRY(launch(distributed, session));
	dfg_launch_table_end(&distributed->table, false);
	return NULL;
}

static struct dfg_err *fuse(
	const struct dfg_distributed *distributed, struct dfg_graph *graph, const struct dfg_placed *placed)
{
	struct dfg_arena scratch = {0};
	struct dfg_text report = {0};
	struct dfg_err *err = dfg_fuse_placed_updates(graph, placed, distributed->keep, &scratch, &report);
	dfg_text_release(&report);
	dfg_arena_release(&scratch);
	return err;
}

static struct dfg_err *cut(struct dfg_distributed *distributed, struct dfg_graph *graph, const struct dfg_facts *facts)
{
	struct dfg_arena *arena = &distributed->parts_arena;
	struct dfg_placed *placed;
	dfg_planning_phase(NULL);
	DFG_TRY(dfg_planning_place(graph, facts, &distributed->hosts, arena, &placed));
	if (distributed->keep)
		DFG_TRY(fuse(distributed, graph, placed));
	return dfg_planning_cut(graph, facts, &distributed->hosts, placed, arena, &distributed->parts);
}

struct dfg_err *dfg_distributed_load(struct dfg_distributed *distributed, struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_parts *parts, struct dfg_session_options *session)
{
	drop_parts(distributed);
	if (!parts) {
		DFG_TRY(cut(distributed, graph, facts));
		parts = &distributed->parts;
	}
	if (distributed->launch && dfg_coordinator_is_broken(dfg_launch_crew(distributed->launch))) {
		dfg_launch_free(distributed->launch);
		distributed->launch = NULL;
	}
	if (!distributed->launch)
		DFG_TRY(launch(distributed, session));
	struct dfg_coordinator *crew = dfg_launch_crew(distributed->launch);
	session->fleet = dfg_coordinator_fleet(crew);
	dfg_launch_table_all(&distributed->table, DFG_LAUNCH_LOADING);
	struct dfg_err *err = dfg_coordinator_load(crew, graph, parts);
	if (!err)
		dfg_launch_table_all(&distributed->table, DFG_LAUNCH_READY);
	dfg_launch_table_end(&distributed->table, err != NULL);
	return err;
}

struct dfg_err *dfg_distributed_source(const struct dfg_distributed *distributed, const char *name, uint32_t node,
	const char *host, const char *file, const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	struct dfg_coordinator *crew = dfg_launch_crew(distributed->launch);
	const struct dfg_worker_host *at = &distributed->hosts.worker[dfg_coordinator_home(crew, node)];
	uint32_t asked;
	DFG_TRY(dfg_hosts_find(&distributed->hosts, host, &asked));
	if (strcmp(at->name, host) && strcmp(at->label, host))
		return DFG_ERR(DFG_DATA, "input '%s' is on %s, which does not have the data of %s: give --place '%s=w%u'", name,
			at->name, host, name, asked);
	return dfg_coordinator_open(crew, node, file, input, out_source);
}

static void print_pairs(const struct dfg_distributed *distributed, bool bytes, struct dfg_json_out *json)
{
	const char *what = bytes ? "bytes" : "messages";
	uint32_t count = distributed && distributed->launch ? distributed->hosts.count : 0;
	dfg_json_key(json, what);
	dfg_json_open(json, '{');
	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++) {
			char pair[40];
			struct dfg_traffic traffic = dfg_coordinator_traffic(dfg_launch_crew(distributed->launch), from, to);
			if (!traffic.messages)
				continue;
			snprintf(pair, sizeof pair, "w%u>w%u", from, to);
			dfg_talk("%s %s %llu", what, pair, (unsigned long long)(bytes ? traffic.bytes : traffic.messages));
			dfg_json_key(json, pair);
			dfg_json_uint(json, bytes ? traffic.bytes : traffic.messages);
		}
	dfg_json_close(json, '}');
}

static void print_wait(const char *pair, const struct dfg_traffic *traffic, struct dfg_json_out *json)
{
	double us = (double)traffic->waited_ns / 1e3, longest = (double)traffic->longest_ns / 1e3;
	struct dfg_text tensor = {0}; /* escaped: a name from a plan's file may contain anything */
	dfg_text_escape(&tensor, traffic->longest.s, traffic->longest.length, 200);
	dfg_talk("waits %s %.1f us, the longest %.1f us for '%s'", pair, us, longest, tensor.s ? tensor.s : "");
	dfg_text_release(&tensor);
	dfg_json_key(json, pair);
	dfg_json_open(json, '{');
	dfg_json_key(json, "us"), dfg_json_f64(json, us);
	dfg_json_key(json, "longest_us"), dfg_json_f64(json, longest);
	dfg_json_key(json, "tensor"), dfg_json_bytes(json, traffic->longest.s, traffic->longest.length);
	dfg_json_close(json, '}');
}

/* Prints for each pair how long the second waited for the first. */
static void print_waits(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	uint32_t count = distributed && distributed->launch ? distributed->hosts.count : 0;
	dfg_json_key(json, "waits");
	dfg_json_open(json, '{');
	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++) {
			char pair[40];
			struct dfg_traffic traffic = dfg_coordinator_traffic(dfg_launch_crew(distributed->launch), from, to);
			snprintf(pair, sizeof pair, "w%u>w%u", from, to);
			if (traffic.waits)
				print_wait(pair, &traffic, json);
		}
	dfg_json_close(json, '}');
}

void dfg_distributed_print(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	print_pairs(distributed, false, json);
	print_pairs(distributed, true, json);
	print_waits(distributed, json);
}
