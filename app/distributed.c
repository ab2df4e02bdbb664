#include "app/distributed.h"

#include "app/distributed_private.h"
#include "lib/pass/rewrite/fuse_updates.h"
#include "remote/hosts_lanes.h"

#include <string.h>
#include <sys/resource.h>

static struct dfg_err *find_hosts(struct dfg_distributed *distributed)
{
	const struct dfg_distributed_options *options = &distributed->options;
	struct dfg_hosts given;
	if (options->devices) {
		distributed->hosts = distributed->first = options->devices->hosts;
		return NULL;
	}
	distributed->hosts_file = dfg_distributed_look_at_hosts(distributed);
	DFG_TRY(dfg_placement_hosts(options->placement, &distributed->arena, &given));
	if (options->servers)
		return dfg_placement_with_servers(
			&given, options->replicas, &distributed->arena, &distributed->hosts, &distributed->first);
	distributed->hosts = given;
	if (options->blocks) {
		if (given.count > options->blocks)
			return DFG_ERR(DFG_DATA, "--hosts has %u workers, more than the %lld blocks that they would divide",
				given.count, (long long)options->blocks);
		distributed->options.replicas = given.count;
	}
	return dfg_placement_first_replica(&given, distributed->options.replicas, &distributed->first);
}

struct dfg_err *dfg_distribution_check(const struct dfg_distribution *distribution)
{
	const char *transport = distribution->transport;
	if (strcmp(transport, "auto") && strcmp(transport, "libcurl") && strcmp(transport, "shm"))
		return DFG_ERR(DFG_USAGE, "--transport must be auto, libcurl or shm, not '%s'", transport);
	if (!(distribution->lease >= 0.1) || distribution->lease > 86400)
		return DFG_ERR(DFG_USAGE, "--lease must be from 0.1 to 86400 seconds, not %g", distribution->lease);
	return NULL;
}

struct dfg_err *dfg_distributed_open(
	const struct dfg_distributed_options *options, struct dfg_distributed *out_distributed)
{
	*out_distributed = (struct dfg_distributed){.options = *options};
	if (options->execution->swap)
		return DFG_ERR(DFG_USAGE, "--swap cannot be used with --%s", options->devices ? "device" : "hosts");
	struct dfg_err *err = dfg_distribution_check(options->distribution);
	if (!err)
		err = find_hosts(out_distributed);
	if (!err)
		err = dfg_placement_check(options->placement, &out_distributed->first, &out_distributed->arena);
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
	dfg_device_workers_free(distributed->device_workers);
	drop_parts(distributed);
	dfg_arena_release(&distributed->arena);
	*distributed = (struct dfg_distributed){0};
}

struct dfg_coordinator *dfg_distributed_coordinator(const struct dfg_distributed *distributed)
{
	if (distributed->device_workers)
		return dfg_device_workers_coordinator(distributed->device_workers);
	return distributed->launch ? dfg_launch_coordinator(distributed->launch) : NULL;
}

static void say(void *arg, uint32_t worker, const char *line)
{
	const struct dfg_distributed *distributed = arg;
	dfg_report_note(distributed->options.report, "%s: %s", distributed->hosts.worker[worker].name, line);
}

/* Replicas were lost, and the run continues. */
static void note(void *arg, const char *line)
{
	const struct dfg_distributed *distributed = arg;
	if (distributed->step)
		dfg_report_note(distributed->options.report, "step %llu: %s", (unsigned long long)distributed->step, line);
	else
		dfg_report_note(distributed->options.report, "%s", line);
}

static void reached(void *arg, uint32_t worker, enum dfg_launch_stage stage, const char *words)
{
	const struct dfg_launch_watch *watch = &((struct dfg_distributed *)arg)->options.watch;
	if (watch->reached)
		watch->reached(watch->arg, worker, stage, words);
}

static void all_reached(struct dfg_distributed *distributed, enum dfg_launch_stage stage)
{
	for (uint32_t i = 0; i < distributed->hosts.count; i++)
		reached(distributed, i, stage, NULL);
}

static void begin_launch(struct dfg_distributed *distributed)
{
	const struct dfg_launch_watch *watch = &distributed->options.watch;
	if (watch->begin)
		watch->begin(watch->arg, &distributed->hosts);
}

static void end_launch(struct dfg_distributed *distributed, bool failed)
{
	const struct dfg_launch_watch *watch = &distributed->options.watch;
	if (watch->end)
		watch->end(watch->arg, failed);
}

static void tell_transports(const struct dfg_distributed *distributed)
{
	const struct dfg_report *report = distributed->options.report;
	const struct dfg_worker_host *worker = distributed->hosts.worker;
	for (uint32_t i = 0; i < distributed->hosts.count; i++)
		dfg_report_detail(
			report, "launcher and %s: %s", worker[i].label, dfg_launch_transport(distributed->launch, i, DFG_LAUNCHER));
	for (uint32_t i = 0; i < distributed->hosts.count; i++)
		for (uint32_t k = i + 1; k < distributed->hosts.count; k++)
			if (worker[i].entry != worker[k].entry)
				dfg_report_detail(report, "%s and %s: %s", worker[i].label, worker[k].label,
					dfg_launch_transport(distributed->launch, i, k));
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
	const struct dfg_distribution *asked = distributed->options.distribution;
	struct dfg_launch_options options = {
		.hosts = &distributed->hosts,
		.transport = asked->transport,
		.ssh_config = asked->ssh_config,
		.ranks = distributed->options.placement->ranks,
		.secret_file = distributed->options.placement->secret_file,
		.push = asked->push,
		.replicas = distributed->options.replicas,
		.min_replicas = distributed->options.min_replicas,
		.spmd = distributed->options.blocks != 0,
		.servers = dfg_hosts_lanes(&distributed->first),
		.quorum = distributed->options.quorum,
		.async = distributed->options.async,
		.checks = distributed->options.checks,
		.restarts = distributed->options.restarts,
		.changed = dfg_distributed_hosts_changed,
		.replace = dfg_distributed_replace_hosts,
		.note = note,
		.algorithm = distributed->options.algorithm,
		.lease = asked->lease,
		.memory_limit = distributed->options.execution->memory_limit,
		.session = *session,
		.timeout = session->timeout,
		.trace = distributed->trace,
		.trace_arg = distributed->trace_arg,
		.say = say,
		.reached = reached,
		.say_arg = distributed,
	};
	raise_descriptors();
	begin_launch(distributed);
	struct dfg_err *err = dfg_launch_new(&options, &distributed->launch);
	if (err)
		end_launch(distributed, true);
	else
		tell_transports(distributed);
	return err;
}

static struct dfg_err *start_devices(struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	const struct dfg_devices *devices = distributed->options.devices;
	const struct dfg_device_workers_options options = {
		.provider = devices->provider,
		.index = devices->index,
		.devices = devices->count,
		.device = devices->hosts.device,
		.name = devices->name,
		.session = *session,
		.trace = distributed->trace,
		.trace_arg = distributed->trace_arg,
	};
	return dfg_device_workers_new(&options, &distributed->device_workers);
}

/* Ends workers that can run no further step, and starts them if there are none. */
static struct dfg_err *start_workers(struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	struct dfg_coordinator *coordinator = dfg_distributed_coordinator(distributed);
	if (coordinator && dfg_coordinator_is_broken(coordinator)) {
		dfg_launch_free(distributed->launch);
		dfg_device_workers_free(distributed->device_workers);
		distributed->launch = NULL;
		distributed->device_workers = NULL;
		coordinator = NULL;
		(void)dfg_distributed_hosts_changed(distributed);
		(void)dfg_distributed_replace_hosts(
			distributed, 0, distributed->hosts.count); /* those without one keep theirs */
	}
	if (coordinator)
		return NULL;
	return distributed->options.devices ? start_devices(distributed, session) : launch(distributed, session);
}

struct dfg_err *dfg_distributed_start(struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	if (distributed->options.devices)
		return start_devices(distributed, session);
	DFG_TRY(launch(distributed, session));
	end_launch(distributed, false);
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

/* Gives the caller what can be explained of the cut graph. */
static struct dfg_err *show_cut(struct dfg_distributed *distributed, const struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_placed *placed)
{
	const struct dfg_distributed_options *options = &distributed->options;
	struct dfg_explained explained = {.graph = graph,
		.facts = facts,
		.placed = placed,
		.parts = &distributed->parts,
		.device = distributed->first.device,
		.replicas = options->replicas && !options->blocks ? options->replicas : 1,
		.shards = 1,
		.servers = options->servers,
		.blocks = (uint32_t)options->blocks};
	return distributed->cut ? distributed->cut(distributed->cut_arg, &explained) : NULL;
}

static struct dfg_err *cut(struct dfg_distributed *distributed, struct dfg_graph *graph, const struct dfg_facts *facts)
{
	struct dfg_arena *arena = &distributed->parts_arena;
	struct dfg_placed *placed;
	struct dfg_phases phases = {.report = distributed->options.report};
	dfg_phase_end(&phases, NULL);
	if (distributed->options.devices)
		DFG_TRY(dfg_devices_place(distributed->options.devices, graph, facts, arena, &placed));
	else
		DFG_TRY(dfg_placement_place(
			distributed->options.placement, graph, facts, &distributed->first, phases.report, arena, &placed));
	dfg_phase_end(&phases, "place");
	if (distributed->keep)
		DFG_TRY(fuse(distributed, graph, placed));
	DFG_TRY(dfg_placement_partition(graph, facts, &distributed->first, placed, arena, &distributed->parts));
	dfg_phase_end(&phases, "cut");
	return show_cut(distributed, graph, facts, placed);
}

struct dfg_err *dfg_distributed_load(struct dfg_distributed *distributed, struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_parts *parts, struct dfg_session_options *session)
{
	drop_parts(distributed);
	if (!parts) {
		DFG_TRY(cut(distributed, graph, facts));
		parts = &distributed->parts;
	}
	DFG_TRY(start_workers(distributed, session));
	struct dfg_coordinator *coordinator = dfg_distributed_coordinator(distributed);
	session->backend = dfg_coordinator_backend(coordinator);
	all_reached(distributed, DFG_LAUNCH_LOADING);
	struct dfg_err *err = dfg_coordinator_load(coordinator, graph, parts);
	if (!err)
		all_reached(distributed, DFG_LAUNCH_READY);
	end_launch(distributed, err != NULL);
	return err;
}

struct dfg_err *dfg_distributed_source(const struct dfg_distributed *distributed, const char *name, uint32_t node,
	const char *host, const char *file, const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	struct dfg_coordinator *coordinator = dfg_distributed_coordinator(distributed);
	const struct dfg_worker_host *at = &distributed->hosts.worker[dfg_coordinator_home(coordinator, node)];
	uint32_t asked;
	DFG_TRY(dfg_hosts_find(&distributed->hosts, host, &asked));
	if (strcmp(at->name, host) && strcmp(at->label, host))
		return DFG_ERR(DFG_DATA, "input '%s' is on %s, which does not have the data of %s: give --place '%s=w%u'", name,
			at->name, host, name, asked);
	return dfg_coordinator_open(coordinator, node, file, input, out_source);
}
