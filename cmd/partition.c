#include "app/devices.h"
#include "app/explanation.h"
#include "app/replication.h"
#include "app/shard_variables.h"
#include "cmd/graph.h"
#include "cmd/ranks.h"
#include "cmd/shared_options.h"
#include "formats/plan.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/prune.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

static struct dfg_words_list fetch, target;
static const char *output, *device;
static bool if_changed, explain;

static const struct dfg_opt options[] = {
	{.rows = dfg_placement_options},
	{"device", .takes = "NAME", .text = &device,
		.help = "With --explain: place nodes on this machine and its device cuda or cuda:I, not on --hosts, as dfg run "
				"--device does."},
	{.rows = dfg_launch_options},
	{.rows = dfg_restarts_options},
	{.rows = dfg_replication_options},
	{.rows = dfg_blocks_options},
	{"fetch", 'f', .takes = "T", .list = &fetch,
		.help = "Keep only the nodes that tensor T depends on; may be a list."},
	{"target", .takes = "N", .list = &target,
		.help = "Keep only the nodes that node N depends on; N is run for its effect."},
	{"output", 'o', .takes = "PLAN/", .text = &output,
		.help = "Write the plan to this folder; an older plan there is replaced."},
	{"if-changed", .flag = &if_changed, .help = "Do not touch PLAN/ if its content would not change."},
	{"explain", .flag = &explain,
		.help = "Print the device of each node, the reason, and the tensors that a step sends."},
	{"json", .flag = &dfg_globals.json, .help = "Print the explanation as one JSON document."},
	{.rows = dfg_graph_in_options},
	{0},
};

/* A graph while it is partitioned. Zero-initialised: released. */
struct partitioning {
	struct dfg_graph_file file;
	struct dfg_facts facts;
	struct dfg_arena arena;
	struct dfg_devices devices; /* of this machine; none: the graph is cut across hosts */
	struct dfg_hosts hosts;     /* of one replica */
	struct dfg_parts parts;
	struct dfg_placed *placed;
	struct dfg_phases phases;
	struct dfg_dependences loops; /* of the graph before they are cut into blocks */
	uint32_t workers;             /* that divide the blocks; 0: none */
};

static void release(struct partitioning *work)
{
	dfg_parts_release(&work->parts);
	dfg_facts_release(&work->facts);
	dfg_arena_release(&work->arena);
	dfg_graph_close(&work->file);
}

static struct dfg_err *prune(struct partitioning *work)
{
	struct dfg_graph *graph = &work->file.graph;
	struct dfg_keep keep;
	struct dfg_text report = {0};
	if (!fetch.count && !target.count)
		return NULL;
	DFG_TRY(dfg_find_kept(graph, &fetch, &target, &work->arena, &keep));
	DFG_TRY(dfg_verify(graph, NULL, NULL));
	struct dfg_err *err = dfg_prune(graph, &keep, &work->arena, &report);
	if (!err)
		dfg_talk_lines(&report);
	dfg_text_release(&report);
	return err;
}

/* The graph allocated in the arena of work->file, to which it points, and not in the model's copy. */
static void take_back(struct partitioning *work, struct dfg_model *model)
{
	const struct dfg_arena arena = work->file.arena;
	work->file = model->file;
	work->file.arena = arena;
	work->facts = model->facts;
	dfg_arena_release(&model->arena);
}

/* Cuts the graph of a replica at its gradients. */
static struct dfg_err *shard(struct partitioning *work)
{
	struct dfg_model model = {.file = work->file, .facts = work->facts, .report = &dfg_stderr};
	struct dfg_keep keep;
	bool all = !fetch.count && !target.count;
	struct dfg_err *err = all ? NULL : dfg_find_kept(&work->file.graph, &fetch, &target, &work->arena, &keep);
	if (!err)
		err = dfg_shard_model(&dfg_shared.replication.parts, &model);
	if (!err)
		err = dfg_replication_apply_to_inputs(&dfg_shared.replication, &model, &dfg_stderr, all ? NULL : &keep);
	take_back(work, &model);
	return err;
}

/* Parallel loops are explained as they are before they are cut. */
static struct dfg_err *cut_loops(struct partitioning *work)
{
	struct dfg_model model = {.file = work->file, .facts = work->facts, .report = &dfg_stderr};
	if (explain && dfg_parallel_is_marked(&work->file.graph))
		DFG_TRY(dfg_dependences_find(&work->file.graph, &work->arena, &work->loops));
	struct dfg_err *err = dfg_blocks_apply(&dfg_shared.blocks, &dfg_stderr, &model);
	take_back(work, &model);
	return err;
}

/* The plan is that of one replica. */
static struct dfg_err *find_hosts(struct partitioning *work)
{
	struct dfg_hosts all, lanes;
	DFG_TRY(dfg_devices_find(device, DFG_FLUSH, &work->arena, &work->devices));
	work->hosts = work->devices.hosts;
	if (work->devices.provider)
		return NULL;
	DFG_TRY(dfg_placement_hosts(&dfg_shared.placement, &work->arena, &all));
	if (dfg_shared.replication.servers)
		return dfg_placement_with_servers(&all, dfg_shared.replication.n_replicas, &work->arena, &lanes, &work->hosts);
	work->workers = dfg_shared.blocks.blocks ? all.count : 0;
	if (work->workers > dfg_shared.blocks.blocks)
		return DFG_ERR(DFG_DATA, "--hosts has %u workers, more than the %lld blocks that they would divide", all.count,
			(long long)dfg_shared.blocks.blocks);
	return dfg_placement_first_replica(
		&all, work->workers ? work->workers : dfg_shared.replication.n_replicas, &work->hosts);
}

static struct dfg_err *cut(struct partitioning *work)
{
	struct dfg_graph *graph = &work->file.graph;
	DFG_TRY(dfg_lower_whole(graph));
	DFG_TRY(prune(work));
	DFG_TRY(dfg_verify(graph, &(struct dfg_verify_options){.marked = graph}, &work->facts));
	DFG_TRY(cut_loops(work));
	DFG_TRY(shard(work));
	dfg_placement_warn(&dfg_shared.placement, graph, &dfg_stderr);
	dfg_phase_end(&work->phases, "verify");
	if (work->devices.provider)
		DFG_TRY(dfg_devices_place(&work->devices, graph, &work->facts, &work->arena, &work->placed));
	else
		DFG_TRY(dfg_placement_place(
			&dfg_shared.placement, graph, &work->facts, &work->hosts, &dfg_stderr, &work->arena, &work->placed));
	dfg_phase_end(&work->phases, "place");
	DFG_TRY(dfg_placement_partition(graph, &work->facts, &work->hosts, work->placed, &work->arena, &work->parts));
	dfg_phase_end(&work->phases, "cut");
	return NULL;
}

static struct dfg_err *explain_parts(struct partitioning *work, struct dfg_text *out_text)
{
	struct dfg_explained explained = {&work->file.graph, &work->facts, work->placed, &work->parts, work->hosts.device,
		dfg_shared.replication.n_replicas, dfg_shared.replication.n_shards, dfg_shared.replication.all_reduce,
		dfg_shared.replication.servers, work->loops, (uint32_t)dfg_shared.blocks.blocks};
	if (!explain)
		return NULL;
	return dfg_globals.json ? dfg_explain_json(&explained, out_text) : dfg_explain_text(&explained, out_text);
}

/* The plan holds the options that were given. */
static struct dfg_err *save(const struct partitioning *work)
{
	const struct dfg_distribution *given = &dfg_shared.distribution;
	struct dfg_plan_launch launch = {.lease = dfg_shared.given.lease ? given->lease : 0,
		.restarts = (uint32_t)dfg_shared.restarts,
		.push = given->push};
	if (dfg_shared.given.transport)
		snprintf(launch.transport, sizeof launch.transport, "%s", given->transport);
	return dfg_plan_folder_save(output, if_changed, &work->parts, work->hosts.device, dfg_shared.replication.n_shards,
		(uint32_t)dfg_shared.blocks.blocks, &launch);
}

static struct dfg_err *check_options(void)
{
	if (!output && !explain)
		return DFG_ERR(DFG_USAGE, "-o PLAN/ is missing");
	if (output && (!strcmp(output, "-") || !*output))
		return DFG_ERR(DFG_USAGE, "-o: a plan is a folder and cannot be written to stdout");
	if (dfg_globals.json && !explain)
		return DFG_ERR(DFG_USAGE, "--json requires --explain");
	if (device && (output || !explain))
		return DFG_ERR(DFG_USAGE, "--device requires --explain and excludes -o: a plan for a device cannot be written");
	if (device && (dfg_shared.placement.hosts || dfg_shared.placement.place.count))
		return DFG_ERR(DFG_USAGE, "--device cannot be used with --hosts or --place");
	if (dfg_shared.restarts > INT32_MAX)
		return DFG_ERR(DFG_USAGE, "--restarts must be at most %d, not %lld", INT32_MAX, (long long)dfg_shared.restarts);
	DFG_TRY(dfg_distribution_check(&dfg_shared.distribution));
	DFG_TRY(dfg_check_blocks());
	if (!dfg_shared.blocks.blocks)
		DFG_TRY(dfg_replication_default(&dfg_shared.replication, &dfg_shared.placement, NULL, &dfg_stderr));
	return dfg_replication_check(&dfg_shared.replication, true);
}

static struct dfg_err *partition_graph(const char *path)
{
	struct partitioning work = {.phases = {.report = &dfg_stderr}};
	struct dfg_text explanation = {0};
	struct dfg_err *err = find_hosts(&work);
	dfg_phase_end(&work.phases, NULL);
	if (!err)
		err = dfg_cmd_open_graph(path, &work.file);
	dfg_phase_end(&work.phases, "read");
	if (!err)
		err = dfg_err_of_file(cut(&work), work.file.graph.source);
	if (!err)
		err = dfg_err_of_file(explain_parts(&work, &explanation), work.file.graph.source);
	if (!err && output)
		err = save(&work);
	dfg_phase_end(&work.phases, "write");
	if (!err && explanation.length)
		dfg_print(&explanation);
	dfg_text_release(&explanation);
	release(&work);
	return err;
}

/* With --hosts mpi or slurm the hosts of the plan are the ranks of the job, which end after it; the launcher's alone writes. */
static struct dfg_err *partition(char **operands, int *out_status)
{
	(void)out_status;
	dfg_globals.usage = true;
	struct dfg_err *err = dfg_ranks_begin(0);
	if (!err)
		err = check_options();
	if (!err)
		err = partition_graph(*operands);
	dfg_ranks_end();
	return err;
}

const struct dfg_cmd dfg_cmd_partition = {
	.name = "partition",
	.operands = "G",
	.summary = "cut a graph across hosts",
	.options = options,
	.least = 1,
	.most = 1,
	.run = partition,
};
