#include "app/explain_loop.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/json.h"
#include "formats/plan.h"
#include "lib/base/folder.h"
#include "lib/graph/facts.h"
#include "lib/pass/parallel/dependences.h"
#include "lib/pass/verify/calls.h"
#include "lib/pass/verify/row_independence.h"
#include "lib/pass/verify/verify.h"
#include "lib/pass/lower/lower.h"

static int64_t errors = 20;
static bool unknown_ops, tells_rows, tells_dependences;
static struct dfg_words_list parallel;

static const struct dfg_opt options[] = {
	{"errors", .takes = "N", .number = &errors, .least = 1, .help = "Stop after N errors in a file (20)."},
	{"unknown-ops", .flag = &unknown_ops, .help = "Accept ops that dfg does not know."},
	{"rows", .flag = &tells_rows, .help = "Tell whether requests for each declared output can share a step."},
	{"dependences", .flag = &tells_dependences,
		.help = "Tell how the iterations of each parallel loop depend on each other, and how the loop will be run."},
	{"parallel", .takes = "LOOP[=ordered]", .list = &parallel, .help = "Treat LOOP as a parallel loop; repeatable."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{"strict", .flag = &dfg_cmd_strict,
		.help = "Reject what check only warns of, and fields that this version does not know."},
	{0},
};

/* Faults of one file, each "FILE: ...", at most `errors` of each kind. */
struct verdict {
	struct dfg_err *errors, *warnings;
	struct dfg_text loops; /* with --dependences: for people or, with --json, the items of a list */
};

static void add_warnings(struct verdict *verdict, const char *path, struct dfg_faults *warnings)
{
	verdict->warnings =
		dfg_err_join(verdict->warnings, dfg_err_note(warnings->err, dfg_cmd_strict ? "%s" : "%s: warning", path));
	warnings->err = NULL;
}

/* A function that cannot be inlined does not hide other faults: unknown ops are also reported. */
static struct dfg_err *lower(struct dfg_graph *graph)
{
	struct dfg_faults faults = {.left = (long)errors};
	struct dfg_err *err = dfg_lower_whole(graph);
	if (!err || err->code != DFG_DATA)
		return err;
	for (struct dfg_err *e = err; e; e = e->next)
		faults.left--;
	faults.err = err;
	dfg_calls_check(graph, true, &faults);
	return faults.err;
}

/* A line for each declared output: its rows are independent, or the node that mixes them and why. */
static struct dfg_err *tell_rows(const struct dfg_graph *graph, struct dfg_facts *facts, const char *path)
{
	struct dfg_arena scratch = {0};
	struct dfg_edge *in = dfg_arena_zeros(&scratch, graph->count, sizeof *in);
	struct dfg_edge *out = dfg_arena_zeros(&scratch, graph->count, sizeof *out);
	struct dfg_row_verdict *verdict = dfg_arena_zeros(&scratch, graph->count, sizeof *verdict);
	uint32_t n_in = 0, n_out = 0;
	struct dfg_err *err = in && out && verdict ? NULL : dfg_no_memory("the rows of the graph");
	for (uint32_t n = 0; !err && n < graph->count; n++) {
		if (dfg_node_role(&graph->node[n]) == DFG_PLACEHOLDER)
			in[n_in++] = (struct dfg_edge){n, 0};
		if (dfg_node_mark(&graph->node[n], "_dfg_output", NULL) && dfg_facts_outputs(facts, n))
			out[n_out++] = (struct dfg_edge){n, 0};
	}
	if (!err)
		err = dfg_row_independence(graph, facts, in, n_in, out, n_out, verdict);
	for (uint32_t i = 0; !err && i < n_out; i++)
		dfg_printf("%s: output '%s': %s\n", path, graph->node[out[i].node].name,
			verdict[i].kind == DFG_ROWS_MIXED ? verdict[i].why : "its rows are independent");
	dfg_arena_release(&scratch);
	return err;
}

static void tell_loop(
	const struct dfg_graph *graph, const struct dfg_loop_dependences *loop, const char *path, struct verdict *verdict)
{
	struct dfg_json_out json = {.text = verdict->loops, .comma = verdict->loops.length > 0};
	if (dfg_globals.json) {
		dfg_explain_loop_json(graph, loop, &json);
		verdict->loops = json.text;
		return;
	}
	dfg_text_add(&verdict->loops, "%s: ", path);
	dfg_explain_loop_text(loop, false, &verdict->loops);
}

/* The marks of parallel loops must hold; a loop whose iterations must run one after the other is a warning. */
static struct dfg_err *check_loops(struct dfg_graph *graph, const char *path, struct verdict *verdict)
{
	struct dfg_arena arena = {0};
	struct dfg_dependences found;
	struct dfg_faults warnings = {.left = (long)errors};
	struct dfg_err *err = dfg_dependences_find(graph, &arena, &found);
	for (uint32_t i = 0; !err && i < found.count; i++) {
		const struct dfg_loop_dependences *loop = &found.loop[i];
		if (tells_dependences)
			tell_loop(graph, loop, path, verdict);
		if (loop->family == DFG_FAMILY_SERIAL)
			dfg_fault(&warnings, DFG_ERR(DFG_DATA, "parallel loop '%.*s' is serial: %s", (int)loop->name.length,
									 loop->name.s, loop->reason));
	}
	add_warnings(verdict, path, &warnings);
	dfg_arena_release(&arena);
	return dfg_err_note(err, "%s", path);
}

static struct dfg_err *mark_loops(struct dfg_graph *graph)
{
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < parallel.count; i++)
		err = dfg_parallel_mark(graph, parallel.word[i]);
	return err;
}

/*
 * Functions are checked as they are called; those with unknown ops cannot be checked. All resources are
 * zero-initialised and always released, so a step needs no knowledge of earlier ones.
 */
static struct dfg_err *check_file(const char *path, struct verdict *verdict)
{
	struct dfg_graph_file file = {0};
	struct dfg_facts facts = {0};
	struct dfg_faults warnings = {.left = (long)errors};
	const struct dfg_verify_options verify = {.most = (long)errors, .unknown_ops = !unknown_ops, .warnings = &warnings};
	struct dfg_err *err = unknown_ops ? dfg_cmd_open_graph(path, &file) : dfg_cmd_open_thorough(path, &file);
	if (!err && !unknown_ops)
		err = dfg_err_note(lower(&file.graph), "%s", path);
	if (!err)
		err = dfg_err_note(mark_loops(&file.graph), "%s", path);
	if (!err)
		err = dfg_err_note(dfg_verify(&file.graph, &verify, &facts), "%s", path);
	if (!err && tells_rows)
		err = dfg_err_note(tell_rows(&file.graph, &facts, path), "%s", path);
	if (!err && dfg_parallel_is_marked(&file.graph))
		err = check_loops(&file.graph, path, verdict);
	add_warnings(verdict, path, &warnings);
	dfg_facts_release(&facts);
	dfg_graph_close(&file);
	return err;
}

static struct dfg_err *talk_of_foreign(void *path, const char *name)
{
	if (!dfg_plan_folder_has(name))
		dfg_talk("%s: warning: '%s' does not belong to the plan", (const char *)path, name);
	return NULL;
}

/* Checks each part as a graph, then the transfers. */
static struct dfg_err *check_plan(const char *path, struct verdict *verdict)
{
	struct dfg_plan_folder plan;
	struct dfg_graph whole = {.arena = NULL};
	struct dfg_faults faults = {.left = (long)errors}, warnings = {.left = (long)errors};
	DFG_TRY(dfg_folder_each(path, talk_of_foreign, (void *)path));
	DFG_TRY(dfg_cmd_open_plan(path, &faults, &plan));
	for (uint32_t i = 0; i < plan.parts.parts && faults.left > 0; i++) {
		const struct dfg_verify_options verify = {
			.most = faults.left, .unknown_ops = !unknown_ops, .warnings = &warnings};
		const char *source = plan.parts.part[i].source;
		dfg_fault(&faults, dfg_err_note(dfg_verify(&plan.parts.part[i], &verify, NULL), "%s", source));
		add_warnings(verdict, source, &warnings);
	}
	if (!faults.err) {
		dfg_fault(&faults, dfg_err_note(dfg_plan_folder_join(&plan, &whole), "%s", path));
		dfg_graph_release(&whole);
	}
	dfg_plan_folder_close(&plan);
	return faults.err;
}

/* Cuts the list of errors to `errors` of them. */
static void cut(struct dfg_err *err)
{
	for (int64_t i = 1; err && i < errors; i++)
		err = err->next;
	if (!err)
		return;
	dfg_err_free(err->next);
	err->next = NULL;
}

static void put_list(struct dfg_json_out *json, const char *key, const struct dfg_err *err)
{
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (; err; err = err->next)
		dfg_json_string(json, err->text);
	dfg_json_close(json, ']');
}

static void put_loops(struct dfg_json_out *json, const struct dfg_text *loops)
{
	if (!tells_dependences)
		return;
	dfg_json_key(json, "loops");
	dfg_json_open(json, '[');
	if (loops->length)
		dfg_text_put(&json->text, loops->s, loops->length);
	json->text.short_of_memory |= loops->short_of_memory;
	dfg_json_close(json, ']');
}

/* Prints the verdict and releases its content. */
static int tell(struct dfg_json_out *json, const char *path, struct verdict *verdict)
{
	int status = verdict->errors ? (int)verdict->errors->code : 0;
	if (!dfg_globals.json) {
		if (!status && verdict->loops.length)
			dfg_printf("%s", verdict->loops.s);
		dfg_text_release(&verdict->loops);
		for (const struct dfg_err *err = verdict->warnings; err; err = err->next)
			dfg_talk("%s", err->text);
		dfg_err_free(verdict->warnings);
		return dfg_cmd_report(verdict->errors);
	}
	dfg_json_open(json, '{');
	dfg_json_key(json, "file"), dfg_json_string(json, path);
	dfg_json_key(json, "status"), dfg_json_int(json, status);
	put_list(json, "errors", verdict->errors);
	put_list(json, "warnings", verdict->warnings);
	put_loops(json, &verdict->loops);
	dfg_json_close(json, '}');
	dfg_text_release(&verdict->loops);
	dfg_err_free(verdict->errors);
	dfg_err_free(verdict->warnings);
	return status;
}

static struct dfg_err *check(char **paths, int *out_status)
{
	struct dfg_json_out json = {0};
	struct dfg_err *err = NULL;
	if (dfg_globals.json)
		dfg_json_open(&json, '[');
	for (; *paths; paths++) {
		struct verdict verdict = {0};
		verdict.errors = dfg_plan_folder_is(*paths) ? check_plan(*paths, &verdict) : check_file(*paths, &verdict);
		if (dfg_cmd_strict) {
			verdict.errors = dfg_err_join(verdict.errors, verdict.warnings);
			verdict.warnings = NULL;
		}
		cut(verdict.errors);
		int status = tell(&json, *paths, &verdict);
		*out_status = *out_status ? *out_status : status;
	}
	if (dfg_globals.json) {
		dfg_json_close(&json, ']');
		err = dfg_text_check(&json.text);
	}
	if (!err && dfg_globals.json)
		puts(json.text.s);
	dfg_text_release(&json.text);
	return err;
}

const struct dfg_cmd dfg_cmd_check = {
	.name = "check",
	.operands = "G...",
	.summary = "validate graphs",
	.options = options,
	.least = 1,
	.most = -1,
	.run = check,
};
