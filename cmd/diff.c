#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/checkpoint.h"
#include "formats/differ.h"
#include "formats/json.h"
#include "formats/plan.h"
#include "lib/base/path.h"

#include <string.h>

static double rtol, atol;

static const struct dfg_opt options[] = {
	{"rtol", .takes = "R", .real = &rtol, .help = "Allow floats to differ by R times the magnitude of the second (0)."},
	{"atol", .takes = "A", .real = &atol, .help = "Allow floats to differ by A (0)."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
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

static void talk(void *path, const char *text)
{
	dfg_talk("%s: warning: %s", (const char *)path, text);
}

/* Reads the arrays of a file, or of the newest checkpoint in a directory. */
static struct dfg_err *read_arrays(char *path, struct dfg_checkpoint *out)
{
	const struct dfg_notes notes = {talk, path};
	*out = (struct dfg_checkpoint){0};
	if (dfg_is_directory(path))
		return dfg_checkpoint_load(path, &notes, out);
	return dfg_arrays_read(path, &out->arrays);
}

static struct dfg_err *diff_arrays(char **path, struct dfg_differ *differ)
{
	struct dfg_checkpoint a = {0}, b = {0};
	struct dfg_err *err = read_arrays(path[0], &a);
	if (!err)
		err = read_arrays(path[1], &b);
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
static struct dfg_err *print_json(const struct dfg_differ *differ)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "same"), dfg_json_bool(&json, !differ->count);
	dfg_json_key(&json, "count"), dfg_json_uint(&json, differ->count);
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

static struct dfg_err *diff(char **operands, int *out_status)
{
	struct dfg_differ differ = {.rtol = rtol, .atol = atol};
	bool a, b, plan = dfg_plan_folder_is(operands[0]);
	if (!(rtol >= 0) || !(atol >= 0))
		return DFG_ERR(DFG_USAGE, "--rtol and --atol must be at least 0");
	if (plan != dfg_plan_folder_is(operands[1]))
		return DFG_ERR(DFG_DATA, "%s is a plan, and %s is not", operands[!plan], operands[plan]);
	DFG_TRY(dfg_holds_arrays(operands[0], &a));
	DFG_TRY(dfg_holds_arrays(operands[1], &b));
	a |= !plan && dfg_is_directory(operands[0]);
	b |= !plan && dfg_is_directory(operands[1]);
	if (a != b)
		return DFG_ERR(DFG_DATA, "%s holds arrays, and %s does not", operands[b], operands[a]);
	struct dfg_err *(*compare)(char **path, struct dfg_differ *differ) = plan ? diff_plans
																		 : a  ? diff_arrays
																			  : diff_graphs;
	struct dfg_err *err = compare(operands, &differ);
	if (!err)
		err = dfg_globals.json ? print_json(&differ) : print_lines(&differ);
	if (!err && differ.count)
		*out_status = DFG_NEGATIVE;
	dfg_text_release(&differ.text);
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
