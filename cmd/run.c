#include "cmd/run_command.h"

#include "cmd/graph.h"
#include "cmd/launch_table.h"
#include "cmd/progress.h"
#include "cmd/ranks.h"
#include "cmd/shared_options.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct dfg_run_options run_options = DFG_RUN_DEFAULTS;
#define O run_options
static struct dfg_devices devices;
static struct dfg_arena devices_arena;
static bool explain, no_push;

static const struct dfg_opt input_rows[] = {
	{"feed", .takes = "NAME=VALUE", .list = &O.feed,
		.help = "Give tensor NAME a value: 3.5, f32[2]:1,2, zeros:f32[2,3], normal:f32[2]:seed=1, @FILE.npy, "
				"@FILE.npz[key], @-; or FILE.npz to feed all its arrays."},
	{"fetch", 'f', .takes = "NAME", .list = &O.fetch, .help = "Print tensor NAME; may be a list with commas."},
	{"target", .takes = "NODE", .list = &O.target, .help = "Run NODE for its effect."},
	{"output", 'o', .takes = "FILE", .text = &O.output,
		.help = "Write the results to FILE (.npz, .npy, .safetensors, .csv); -: npy on stdout."},
	{"if-changed", .flag = &O.if_changed, .help = "Do not touch FILE if its content would not change."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{"load", .takes = "SRC", .list = &O.load,
		.help = "Set variables from a checkpoint, the newest of a directory, an array file (safetensors, npz), or the "
				"prefix of a TensorFlow checkpoint."},
	{"map", .takes = "OLD=NEW", .list = &O.map, .help = "Load the arrays of SRC that match pattern OLD as NEW."},
	{"partial", .flag = &O.partial, .help = "Initialise variables that SRC lacks, even if the step needs them."},
	{"init", .takes = "NODE", .text = &O.init, .help = "Run NODE first to set the variables."},
	{"each", .takes = "NAME=@-", .text = &O.each, .help = "Run a step for each npy array on stdin."},
	{"repeat", .takes = "N", .number = &O.repeat, .least = 1,
		.help = "Run N times and print the times; in a training, train with N seeds and print mean and deviation."},
	{"warmup", .takes = "W", .number = &O.warmup, .help = "Run W untimed steps first."},
	{0},
};

static const struct dfg_opt training_rows[] = {
	{"data", .takes = "NAME=@FILE", .list = &O.data,
		.help = "Feed tensor NAME the samples of FILE in batches; NAME=HOST:@FILE is read on that host."},
	{"batch", .takes = "N", .number = &O.batch, .least = 1, .help = "Samples per step (32)."},
	{"epochs", .takes = "N", .number = &O.epochs, .least = 1, .help = "Go through the data N times (1)."},
	{"steps", .takes = "N", .number = &O.steps, .help = "End at step N, counted from the beginning of training."},
	{"shuffle", .takes = "SEED", .number = &O.shuffle, .help = "Shuffle the samples in each epoch by SEED (0)."},
	{"no-shuffle", .flag = &O.no_shuffle, .help = "Take the samples in the order of the file."},
	{"drop-last", .flag = &O.drop_last, .help = "Leave out a last batch that is not full."},
	{"eval-data", .takes = "NAME=@FILE", .list = &O.eval_data, .help = "Data for an evaluation after each epoch."},
	{"eval-fetch", .takes = "NAME", .list = &O.eval_fetch,
		.help = "Tensor to evaluate: its mean over the data or, if computed from total(), its value for all rows."},
	{"eval-graph", .takes = "G", .text = &O.eval_graph,
		.help = "The graph to evaluate; it gets the variables by name (the trained graph)."},
	{"eval-every", .takes = "N", .number = &O.eval_every, .least = 1,
		.help = "Evaluate after every N steps and at the end, instead of after each epoch."},
	{"stop-early", .takes = "NAME:K", .text = &O.stop_early,
		.help = "End after K evaluations in a row without a smaller NAME than the best so far; NAME:K:max: without a "
				"larger one."},
	{"keep-best", .takes = "FILE", .text = &O.keep_best,
		.help = "Write every variable to FILE after each evaluation that is the best so far: by NAME of --stop-early, "
				"else by the smallest value of the first tensor of --eval-fetch."},
	{"metrics", .takes = "FILE", .text = &O.metrics,
		.help = "Write a line of JSON to FILE for each step and evaluation."},
	{"times", .flag = &O.times, .help = "Add the seconds since the start to the metrics."},
	{"checkpoint", .takes = "DIR", .text = &O.checkpoint, .help = "Keep checkpoints in DIR."},
	{"every", .takes = "N|Ns", .text = &O.every,
		.help = "Write a checkpoint every N steps, or N seconds (each epoch)."},
	{"keep", .takes = "K", .number = &O.keep,
		.help = "Keep the K newest checkpoints (5); 0: all. Those of an earlier run with a larger K stay."},
	{"resume", .flag = &O.resume, .help = "Continue from the newest checkpoint in DIR, if there is one."},
	{"force", .flag = &O.force, .help = "Replace the checkpoints that are in DIR."},
	{"save", .takes = "FILE", .text = &O.save, .help = "Write every variable to FILE (.safetensors, .npz) at the end."},
	{0},
};

static const struct dfg_opt execution_rows[] = {
	{.rows = dfg_execution_options},
	{.rows = dfg_device_options},
	{"trace", .takes = "FILE", .text = &O.trace, .help = "Write the times of all nodes as a Chrome trace."},
	{"profile", .flag = &O.profile,
		.help = "Print the time of each op and node, and its share of the machine's limit."},
	{"stats", .flag = &O.stats,
		.help = "Print memory (its peak, and the most bytes of live values), iterations, dead tokens and groups of ops "
				"of the last step."},
	{0},
};

static const struct dfg_opt distributed_rows[] = {
	{.rows = dfg_placement_options},
	{.rows = dfg_distribution_options},
	{"no-push", .flag = &no_push, .help = "Do not copy this program, even if the plan says --push."},
	{.rows = dfg_restarts_options},
	{"explain", .flag = &explain,
		.help = "Print, before the run, the device of each node, the reason, and the tensors that a step sends."},
	{0},
};

static const struct dfg_opt quorum_rows[] = {
	{"need", .takes = "K", .number = &dfg_shared.replication.need, .least = 1,
		.help = "With --sync quorum: a step takes the first K shards, and drops the others."},
	{"record", .takes = "FILE", .text = &dfg_shared.replication.record,
		.help = "Write to FILE which shards each step took; with --sync ssp, the order of the updates."},
	{"replay", .takes = "FILE", .text = &dfg_shared.replication.replay,
		.help = "Let each step take the shards that FILE records, on any number of replicas; with --sync ssp, apply "
				"updates in its order. Results have the bits of the recorded run."},
	{"verify-staleness", .flag = &dfg_shared.replication.verify_staleness,
		.help = "With --sync ssp: the servers check at each read of a variable that it is not older than --staleness "
				"allows."},
	{0},
};

static const struct dfg_opt options[] = {
	{.rows = input_rows},
	{.rows = training_rows},
	{.rows = execution_rows},
	{.rows = distributed_rows},
	{.rows = dfg_replication_options},
	{.rows = quorum_rows},
	{.rows = dfg_blocks_options},
	{.rows = dfg_graph_in_options},
	{0},
};

static bool has_data(void)
{
	return O.data.count || O.steps >= 0 || O.epochs >= 0 || O.metrics || O.checkpoint;
}

/* The explanation is a part of the JSON document, which --each does not print. */
static bool explains_in_json(void)
{
	return dfg_globals.json && !O.each;
}

/* Options that have an effect only with another one. */
static struct dfg_err *check_needs(void)
{
	const bool data = O.data.count, checkpoint = O.checkpoint, eval = O.eval_data.count;
	const struct {
		const char *option;
		bool given;
		const char *other;
		bool there;
	} needs[] = {
		{"batch", O.batch >= 0, "data", data},
		{"shuffle", O.shuffle >= 0, "data", data},
		{"no-shuffle", O.no_shuffle, "data", data},
		{"drop-last", O.drop_last, "data", data},
		{"eval-data", eval, "data", data},
		{"eval-data", eval, "eval-fetch", O.eval_fetch.count},
		{"eval-fetch", O.eval_fetch.count, "eval-data", eval},
		{"eval-graph", O.eval_graph, "eval-data", eval},
		{"eval-every", O.eval_every >= 0, "eval-data", eval},
		{"stop-early", O.stop_early, "eval-data", eval},
		{"keep-best", O.keep_best, "eval-data", eval},
		{"stop-early", O.stop_early, "target", O.target.count},
		{"keep-best", O.keep_best, "target", O.target.count},
		{"times", O.times, "metrics", O.metrics},
		{"resume", O.resume, "checkpoint", checkpoint},
		{"force", O.force, "checkpoint", checkpoint},
		{"every", O.every, "checkpoint", checkpoint},
		{"keep", O.keep >= 0, "checkpoint", checkpoint},
		{"map", O.map.count, "load", O.load.count},
		{"partial", O.partial, O.checkpoint ? "resume" : "load", O.load.count || O.resume},
		{"if-changed", O.if_changed, "output or --save", O.output || O.save || O.keep_best},
	};
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (needs[i].given && !needs[i].there)
			return DFG_ERR(DFG_USAGE, "--%s requires --%s", needs[i].option, needs[i].other);
	return NULL;
}

static bool repeats_training(void)
{
	return O.repeat >= 0 && !O.warmup && O.data.count && O.target.count;
}

/* Each of several trainings would write what there is one of. */
static struct dfg_err *check_seeds(void)
{
	const struct {
		const char *option;
		bool given;
	} single[] = {{"save", O.save}, {"keep-best", O.keep_best}, {"checkpoint", O.checkpoint}, {"trace", O.trace},
		{"record", dfg_shared.replication.record}, {"replay", dfg_shared.replication.replay}, {"stats", O.stats},
		{"profile", O.profile}, {"explain", explain}, {"metrics -", O.metrics && !strcmp(O.metrics, "-")}};
	for (size_t i = 0; i < sizeof single / sizeof *single; i++)
		if (single[i].given)
			return DFG_ERR(
				DFG_USAGE, "--%s is for one training and cannot be used with --repeat and --data", single[i].option);
	return NULL;
}

/* Pairs of options that exclude each other. */
static struct dfg_err *check_pairs(void)
{
	const bool repeats = O.repeat >= 0 || O.warmup;
	if (O.no_shuffle && O.shuffle >= 0)
		return DFG_ERR(DFG_USAGE, "--shuffle and --no-shuffle exclude each other");
	if (O.eval_graph && dfg_shared.replication.parts.count)
		return DFG_ERR(DFG_USAGE,
			"--eval-graph cannot be used with --shard-variable: the variables of that graph are not divided");
	if (O.resume && O.force)
		return DFG_ERR(DFG_USAGE, "--resume and --force exclude each other");
	if (O.profile && dfg_shared.placement.hosts)
		return DFG_ERR(DFG_USAGE, "--profile is for a run in this process: it cannot be used with --hosts");
	if (no_push && dfg_shared.distribution.push)
		return DFG_ERR(DFG_USAGE, "--push and --no-push exclude each other");
	if (O.each && (has_data() || repeats))
		return DFG_ERR(
			DFG_USAGE, "--each cannot be used with --data, --steps or --repeat: its input decides the steps");
	if (repeats && has_data() && !repeats_training())
		return DFG_ERR(DFG_USAGE,
			"--repeat and --warmup time one step and cannot be used with --data or --steps, except --repeat in a "
			"training, "
			"which has --data and --target");
	if (repeats_training())
		return check_seeds();
	if (O.checkpoint && O.data.count && !O.target.count)
		return DFG_ERR(DFG_USAGE, "--checkpoint requires --target, which names the training node");
	return NULL;
}

static struct dfg_err *check_options(const char *path)
{
	DFG_TRY(check_needs());
	DFG_TRY(check_pairs());
	DFG_TRY(dfg_check_hosts_given());
	DFG_TRY(dfg_check_blocks());
	if (!dfg_shared.blocks.blocks)
		DFG_TRY(dfg_replication_default(&dfg_shared.replication, &dfg_shared.placement, path, &dfg_stderr));
	DFG_TRY(dfg_replication_check(&dfg_shared.replication, dfg_shared.placement.hosts));
	DFG_TRY(dfg_replication_check_run(&dfg_shared.replication, O.data.count && O.target.count, &dfg_stderr));
	if (O.output && strcmp(O.output, "-"))
		DFG_TRY(dfg_arrays_check_path(O.output, NULL));
	DFG_TRY(dfg_find_devices(O.profile ? "profile" : NULL, &devices_arena, &devices));
	if (explain && !dfg_shared.placement.hosts && !devices.provider)
		return DFG_ERR(DFG_USAGE, "--explain requires --hosts or --device: it tells which device a node is on");
	if (explain)
		O.explain = explains_in_json() ? dfg_explain_json : dfg_explain_text;
	return NULL;
}

/* --data, --steps and their options. */
static struct dfg_err *run_data(struct dfg_run *run, struct dfg_arrays *out_results, int *out_status)
{
	struct dfg_progress progress = {0};
	const struct dfg_data_watch watch = dfg_progress_watch(&progress);
	bool stopped = false;
	dfg_stop_catch();
	DFG_TRY(dfg_run_data(run, &watch, out_results, &stopped));
	if (stopped)
		*out_status = 128 + dfg_stop_signal();
	return NULL;
}

/* Results are written last: if another output cannot be created, stdout is empty. */
static struct dfg_err *execute(struct dfg_run *run, struct dfg_trace *trace, int *out_status)
{
	struct dfg_arrays results = {0};
	struct dfg_err *err = NULL;
	if (O.each)
		err = dfg_run_each(run);
	else if (has_data())
		err = run_data(run, &results, out_status);
	else
		err = dfg_run_once(run, &results);
	err = dfg_variables_hint(&run->model, err);
	dfg_out_begin();
	if (!err && !*out_status)
		err = dfg_run_save(run);
	if (!err && trace)
		err = dfg_trace_end(trace);
	if (!err && !*out_status && !O.each)
		err = dfg_run_print(run, &results);
	if (!err && fflush(stdout))
		err = DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "cannot write to stdout: %s", strerror(errno));
	err = dfg_out_end(err);
	dfg_arrays_release(&results);
	return err;
}

static struct dfg_err *run_graph(
	const char *path, struct dfg_distributed *distributed, struct dfg_trace *trace, int *out_status)
{
	struct dfg_run run = {.options = &O,
		.execution = &dfg_shared.execution,
		.replication = &dfg_shared.replication,
		.blocks = &dfg_shared.blocks,
		.input = dfg_cmd_graph_input(),
		.distributed = distributed};
	if (repeats_training())
		return dfg_run_seeds(path, &run, &O, &dfg_shared.execution.seed, out_status);
	struct dfg_err *err = dfg_run_open(path, trace, &run);
	if (!explains_in_json())
		dfg_talk_lines(&run.explanation);
	if (!err)
		err = execute(&run, trace, out_status);
	dfg_run_close(&run);
	return err;
}

/*
 * A fault of a host may be transient: waits 0 s before the first restart, then 1 s, 2 s, 4 s, up to 32 s. False if a
 * signal requests to stop.
 */
static bool pause_before(int64_t restart)
{
	static const time_t longest = 32;
	struct timespec left = {restart > 5 ? longest : restart ? (time_t)1 << (restart - 1) : 0, 0};
	while (!dfg_stop_signal() && nanosleep(&left, &left))
		continue;
	return !dfg_stop_signal();
}

/*
 * --restarts: starts new workers from the last checkpoint, or without one from the beginning. Printed results cannot be
 * taken back, so --each is not restarted.
 */
static struct dfg_err *run_across(const char *path, struct dfg_trace *trace, int *out_status)
{
	struct dfg_distributed distributed;
	struct dfg_launch_table table = {0};
	DFG_TRY(dfg_blocks_of_plan(path, &dfg_shared.blocks));
	DFG_TRY(dfg_check_blocks());
	const struct dfg_distributed_options options = {&dfg_shared.placement, &dfg_shared.distribution,
		dfg_shared.replication.n_replicas, dfg_shared.replication.checks, O.each ? NULL : &dfg_shared.restarts,
		(uint32_t)dfg_shared.replication.min_replicas, dfg_shared.replication.all_reduce, &dfg_shared.execution,
		&dfg_stderr, dfg_launch_table_watch(&table), dfg_shared.replication.servers, dfg_shared.replication.async,
		dfg_shared.replication.quorum && !dfg_shared.replication.replay, dfg_shared.blocks.blocks,
		devices.provider ? &devices : NULL};
	dfg_shared.placement.data[0] = &O.data;
	dfg_shared.placement.data[1] = O.eval_graph ? NULL : &O.eval_data; /* an evaluation graph of its own runs locally */
	DFG_TRY(dfg_distributed_open(&options, &distributed));
	struct dfg_err *err = run_graph(path, &distributed, trace, out_status);
	for (int64_t i = 0; err && err->code == DFG_UNAVAILABLE && dfg_shared.restarts > 0 && !O.each && pause_before(i);
		 i++) {
		dfg_shared.restarts--;
		dfg_talk("%s; restarting%s", err->text, O.checkpoint ? " from the last checkpoint" : "");
		dfg_err_free(err);
		O.resume = O.checkpoint != NULL;
		O.force = false;
		err = run_graph(path, &distributed, trace, out_status);
	}
	dfg_distributed_close(&distributed);
	return err;
}

static struct dfg_err *run_with_ranks(char **operands, int *out_status)
{
	struct dfg_trace *trace = NULL;
	dfg_globals.usage = true;
	DFG_TRY(check_options(*operands));
	O.record = dfg_shared.replication.record;
	O.replay = dfg_shared.replication.replay;
	DFG_TRY(dfg_run_check_outputs(&O, *operands, dfg_globals.json));
	dfg_limit_memory();
	struct dfg_err *err = O.trace ? dfg_trace_new(O.trace, &trace) : NULL;
	if (!err && devices.provider && dfg_plan_folder_is(*operands))
		err = DFG_ERR(DFG_USAGE, "%s is a plan, whose nodes already have devices: --device cannot be used", *operands);
	if (!err && !dfg_shared.placement.hosts && dfg_plan_folder_is(*operands))
		err = DFG_ERR(DFG_USAGE, "%s is a plan: name its hosts with --hosts", *operands);
	if (!err && (dfg_shared.placement.hosts || devices.provider))
		err = run_across(*operands, trace, out_status);
	else if (!err)
		err = run_graph(*operands, NULL, trace, out_status);
	dfg_trace_free(trace);
	dfg_arena_release(&devices_arena);
	return dfg_name_memory_limit(err, *operands);
}

/* Options of the launch that dfg partition stored in a plan hold unless they are given here. */
static struct dfg_err *take_launch(const char *path)
{
	static struct dfg_plan_launch launch;
	struct dfg_distribution stored = DFG_DISTRIBUTION_DEFAULTS, *used = &dfg_shared.distribution;
	const struct dfg_given_launch *given = &dfg_shared.given;
	if (!dfg_shared.placement.hosts || !dfg_plan_folder_is(path))
		return NULL;
	DFG_TRY(dfg_plan_folder_launch(path, &launch));
	stored.transport = *launch.transport ? launch.transport : stored.transport;
	stored.lease = launch.lease ? launch.lease : stored.lease;
	struct dfg_err *err = dfg_distribution_check(&stored), *said;
	if (err) {
		said = DFG_ERR(DFG_DATA, "%s: manifest.json: %s", path, err->text);
		dfg_err_free(err);
		return said;
	}
	used->transport = given->transport ? used->transport : stored.transport;
	used->lease = given->lease ? used->lease : stored.lease;
	used->push |= launch.push && !no_push;
	dfg_shared.restarts = given->restarts ? dfg_shared.restarts : (int64_t)launch.restarts;
	return NULL;
}

static struct dfg_err *run_command(char **operands, int *out_status)
{
	dfg_globals.usage = true;
	struct dfg_err *err = take_launch(*operands);
	if (!err)
		err = dfg_ranks_begin(dfg_shared.restarts);
	if (!err)
		err = run_with_ranks(operands, out_status);
	dfg_ranks_end();
	return err;
}

const struct dfg_cmd dfg_cmd_run = {
	.name = "run",
	.operands = "G",
	.summary = "execute or train a graph",
	.options = options,
	.least = 1,
	.most = 1,
	.run = run_command,
};
