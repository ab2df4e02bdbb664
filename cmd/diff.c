#include "app/array_source.h"
#include "app/compare_runs.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "cmd/shared_options.h"
#include "formats/differ.h"
#include "formats/json.h"
#include "formats/plan.h"
#include "lib/base/path.h"

#include <string.h>

static double rtol, atol;
static bool runs, every_node;
static int64_t batch = -1;
static struct dfg_run_options run_options = DFG_RUN_DEFAULTS;

/* Options that have an effect only with --run. */
static const struct dfg_opt run_rows[] = {
	{"feed", .takes = "NAME=VALUE", .list = &run_options.feed,
		.help = "With --run: give tensor NAME of both graphs a value, as for dfg run; other inputs are made up from "
				"--seed."},
	{"fetch", 'f', .takes = "NAME", .list = &run_options.fetch,
		.help = "With --run: compare tensor NAME; may be a list with commas (the outputs that A declares)."},
	{"batch", .takes = "N", .number = &batch, .least = 1,
		.help = "With --run: size of the unknown dimensions of made-up inputs (that of an input that is fed, else 4)."},
	{"every-node", .flag = &every_node,
		.help =
			"With --run: compare every node; one that differs counts as a difference, even if the results are equal."},
	{"load", .takes = "SRC", .list = &run_options.load,
		.help = "With --run: set the variables of both graphs from a checkpoint or array file."},
	{"map", .takes = "OLD=NEW", .list = &run_options.map,
		.help = "Take the arrays of SRC that match pattern OLD as NEW."},
	{"partial", .flag = &run_options.partial, .help = "Initialise variables that SRC lacks."},
	{"init", .takes = "NODE", .text = &run_options.init,
		.help = "With --run: run NODE of both graphs first to set the variables."},
	{.rows = dfg_execution_options},
	{0},
};

static const struct dfg_opt options[] = {
	{"rtol", .takes = "R", .real = &rtol, .help = "Allow floats to differ by R times the magnitude of the second (0)."},
	{"atol", .takes = "A", .real = &atol, .help = "Allow floats to differ by A (0)."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{"run", .flag = &runs,
		.help = "Run both graphs on the same inputs, compare their results, and name the first node that differs."},
	{.rows = run_rows},
	{.rows = dfg_graph_in_options},
	{0},
};

static struct dfg_err *diff_graphs(char **path, struct dfg_differ *differ)
{
	struct dfg_graph_file a = {0}, b = {0};
	struct dfg_err *err = dfg_cmd_open_graph(path[0], &a);
	if (!err)
		err = dfg_cmd_open_graph(path[1], &b);
	if (!err)
		err = dfg_differ_graphs(differ, &a.graph, &b.graph);
	dfg_graph_close(&a);
	dfg_graph_close(&b);
	return err;
}

/* Joins the parts into one graph, which borrows from the plan. */
static struct dfg_err *join(const char *path, struct dfg_plan_folder *plan, struct dfg_graph *out_graph)
{
	DFG_TRY(dfg_cmd_open_plan(path, NULL, plan));
	return dfg_err_note(dfg_plan_folder_join(plan, out_graph), "%s", path);
}

/* A moved node differs in its device; a new transfer is two new nodes. */
static struct dfg_err *diff_plans(char **path, struct dfg_differ *differ)
{
	struct dfg_plan_folder a = {.device = NULL}, b = {.device = NULL};
	struct dfg_graph m = {.arena = NULL}, n = {.arena = NULL};
	struct dfg_err *err = join(path[0], &a, &m);
	if (!err)
		err = join(path[1], &b, &n);
	if (!err && a.parts.parts != b.parts.parts)
		dfg_differ_say(differ, "devices: %u, not %u", b.parts.parts, a.parts.parts);
	if (!err)
		err = dfg_differ_graphs(differ, &m, &n);
	dfg_graph_release(&m);
	dfg_graph_release(&n);
	dfg_plan_folder_close(&a);
	dfg_plan_folder_close(&b);
	return err;
}

static struct dfg_err *diff_arrays(char **path, struct dfg_differ *differ)
{
	struct dfg_checkpoint a = {0}, b = {0};
	struct dfg_err *err = dfg_array_source_read_words(path[0], &dfg_stderr, &a);
	if (!err)
		err = dfg_array_source_read_words(path[1], &dfg_stderr, &b);
	if (!err)
		err = dfg_differ_arrays(differ, &a.arrays, &b.arrays);
	dfg_checkpoint_release(&a);
	dfg_checkpoint_release(&b);
	return err;
}

static struct dfg_err *print_lines(const struct dfg_differ *differ)
{
	size_t lines = 0;
	if (differ->text.length)
		dfg_print(&differ->text);
	for (size_t i = 0; i < differ->text.length; i++)
		lines += differ->text.s[i] == '\n';
	if (lines < differ->count)
		dfg_printf("and %zu more\n", differ->count - lines);
	return NULL;
}

/* "count" counts all differences, the list contains the first of them. */
static struct dfg_err *print_json(const struct dfg_differ *differ, const char *first)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "same"), dfg_json_bool(&json, !differ->count);
	dfg_json_key(&json, "count"), dfg_json_uint(&json, differ->count);
	if (first)
		dfg_json_key(&json, "first"), dfg_json_string(&json, first);
	dfg_json_key(&json, "differences"), dfg_json_open(&json, '[');
	for (const char *s = differ->text.s, *end; s && (end = strchr(s, '\n')); s = end + 1)
		dfg_json_bytes(&json, s, (size_t)(end - s));
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	struct dfg_err *err = dfg_text_check(&json.text);
	if (!err)
		puts(json.text.s);
	dfg_text_release(&json.text);
	return err;
}

static struct dfg_err *print(const struct dfg_differ *differ, const char *first, int *out_status)
{
	if (differ->count)
		*out_status = DFG_NEGATIVE;
	return dfg_globals.json ? print_json(differ, first) : print_lines(differ);
}

static struct dfg_err *is_of_arrays(const char *path, bool *out_is)
{
	*out_is = dfg_is_array_of_file(path) || dfg_array_source_is_prefix(path) ||
			  (dfg_is_directory(path) && !dfg_plan_folder_is(path));
	return *out_is ? NULL : dfg_holds_arrays(path, out_is);
}

/* Compares what the files hold. */
static struct dfg_err *diff_content(char **operands, struct dfg_differ *differ)
{
	bool a, b, plan = dfg_plan_folder_is(operands[0]);
	if (plan != dfg_plan_folder_is(operands[1]))
		return DFG_ERR(DFG_DATA, "%s is a plan, and %s is not", operands[!plan], operands[plan]);
	DFG_TRY(is_of_arrays(operands[0], &a));
	DFG_TRY(is_of_arrays(operands[1], &b));
	if (a != b)
		return DFG_ERR(DFG_DATA, "%s holds arrays, and %s does not", operands[b], operands[a]);
	return (plan ? diff_plans : a ? diff_arrays : diff_graphs)(operands, differ);
}

static struct dfg_err *diff_runs(
	char **operands, struct dfg_differ *differ, struct dfg_arena *arena, const char **out_first)
{
	const struct dfg_compared_runs compared = {
		.path = {operands[0], operands[1]},
		.options = &run_options,
		.execution = &dfg_shared.execution,
		.input = dfg_cmd_graph_input(),
		.batch = batch,
		.every_node = every_node,
	};
	for (int i = 0; i < 2; i++)
		if (!strcmp(operands[i], "-"))
			return DFG_ERR(DFG_USAGE, "--run reads each graph several times, so neither can be stdin");
	dfg_limit_memory();
	return dfg_name_memory_limit(dfg_compare_runs(&compared, arena, differ, out_first), operands[0]);
}

static bool any_execution(const struct dfg_execution *e)
{
	return e->threads || e->seed >= 0 || e->max_iterations || e->memory_limit || e->timeout > 0 || e->denormals ||
		   e->check_numerics || e->no_opt || e->no_compiled_loops || e->schedule || e->swap;
}

static struct dfg_err *check_options(void)
{
	const struct dfg_run_options *o = &run_options;
	const char *idle = o->feed.count || o->fetch.count                          ? "--feed and --fetch require"
					   : batch >= 0 || every_node                               ? "--batch and --every-node require"
					   : o->load.count || o->map.count || o->partial || o->init ? "--load and --init require"
					   : any_execution(&dfg_shared.execution) ? "options of execution, such as --threads, require"
															  : NULL;
	if (!(rtol >= 0) || !(atol >= 0))
		return DFG_ERR(DFG_USAGE, "--rtol and --atol must be at least 0");
	if (idle && !runs)
		return DFG_ERR(DFG_USAGE, "%s --run", idle);
	if ((o->map.count || o->partial) && !o->load.count)
		return DFG_ERR(DFG_USAGE, "--%s requires --load", o->map.count ? "map" : "partial");
	return NULL;
}

static struct dfg_err *diff(char **operands, int *out_status)
{
	struct dfg_differ differ = {.rtol = rtol, .atol = atol};
	struct dfg_arena arena = {0};
	const char *first = NULL;
	DFG_TRY(check_options());
	struct dfg_err *err = runs ? diff_runs(operands, &differ, &arena, &first) : diff_content(operands, &differ);
	if (!err)
		err = print(&differ, first, out_status);
	dfg_text_release(&differ.text);
	dfg_arena_release(&arena);
	return err;
}

const struct dfg_cmd dfg_cmd_diff = {
	.name = "diff",
	.operands = "A B",
	.summary = "show where two graphs, plans, files of arrays or checkpoints differ",
	.options = options,
	.least = 2,
	.most = 2,
	.run = diff,
};
