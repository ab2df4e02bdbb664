#include "app/loaded.h"
#include "app/variables.h"
#include "lib/graph/initialisers.h"
#include "lib/graph/loops.h"
#include "lib/graph/table_entries.h"

#include <stdio.h>
#include <string.h>

/*
 * Finds the variables that a step reaches and their order of initialisation. An initialiser may read other variables,
 * so the set grows until it is closed; then variables whose inputs are set are initialised together, a layer per step.
 */
struct initialise {
	struct dfg_model *model;
	const struct dfg_graph *graph;
	const struct dfg_feeds *feeds;
	struct dfg_variables variables;
	uint32_t *number; /* number of the variable, by node; DFG_NONE: not a variable */
	uint32_t *assign; /* Assign node that initialises it, by variable; DFG_NONE: none */
	const bool *read; /* whether the step reads it while it is unset, by variable */
	bool *wanted;     /* whether it is unset, reached, and has an initialiser, by variable */
	uint32_t *seen;   /* number of the last walk that visited it, by node */
	uint32_t *stack;  /* stack of the walk */
	uint32_t walks;
	uint32_t depth;
	bool reads_only; /* the walk skips variables that are only assigned */
};

static void push_node(struct initialise *in, uint32_t node)
{
	if (in->seen[node] == in->walks)
		return;
	in->seen[node] = in->walks;
	in->stack[in->depth++] = node;
}

/* Calls `see` for each unset variable that the pushed nodes depend on, once per walk. */
static void walk(struct initialise *in, void (*see)(struct initialise *in, uint32_t variable, void *arg), void *arg)
{
	while (in->depth) {
		uint32_t n = in->stack[--in->depth];
		const struct dfg_node *node = &in->graph->node[n];
		uint32_t variable = in->number[n];
		if (variable != DFG_NONE && !in->variables.fact[variable].set)
			see(in, variable, arg);
		uint32_t first = in->reads_only && node->op && node->op->role == DFG_ASSIGN;
		for (uint32_t i = first; i < node->n_in + node->n_control; i++)
			if (!dfg_feeds_has(in->feeds, node->in[i]))
				push_node(in, node->in[i].node);
	}
}

static void want(struct initialise *in, uint32_t variable, void *arg)
{
	bool *more = arg;
	uint32_t assign = in->assign[variable];
	/* the step itself may initialise it: `--target init` */
	const bool guessed = assign != DFG_NONE && dfg_initialiser_guessed(in->graph, assign);
	if (assign == DFG_NONE || (guessed && (in->model->only_declared || (in->read && !in->read[variable]))))
		return;
	*more |= !in->wanted[variable];
	in->wanted[variable] = true;
}

/* Pushes the inputs of the Assign, without the variable itself. */
static void push_inputs(struct initialise *in, uint32_t variable)
{
	const struct dfg_node *assign = &in->graph->node[in->assign[variable]];
	for (uint32_t i = 1; i < assign->n_in + assign->n_control; i++)
		if (!dfg_feeds_has(in->feeds, assign->in[i]))
			push_node(in, assign->in[i].node);
}

static void close_wanted(struct initialise *in)
{
	for (bool more = true; more;) {
		more = false;
		in->walks++;
		for (uint32_t v = 0; v < in->variables.count; v++)
			if (in->wanted[v])
				push_inputs(in, v);
		walk(in, want, &more);
	}
}

static void note_wanted(struct initialise *in, uint32_t variable, void *arg)
{
	*(bool *)arg |= in->wanted[variable];
}

static bool is_ready(struct initialise *in, uint32_t variable)
{
	bool waits = false;
	in->walks++;
	push_inputs(in, variable);
	walk(in, note_wanted, &waits);
	return !waits;
}

static struct dfg_err *prepare(struct initialise *in)
{
	struct dfg_arena *arena = &in->model->arena;
	uint32_t nodes = in->graph->count, variables = in->variables.count;
	in->number = dfg_arena_zeros(arena, nodes, sizeof *in->number);
	in->seen = dfg_arena_zeros(arena, nodes, sizeof *in->seen);
	in->stack = dfg_arena_zeros(arena, nodes, sizeof *in->stack);
	in->assign = dfg_arena_zeros(arena, variables, sizeof *in->assign);
	in->wanted = dfg_arena_zeros(arena, variables, sizeof *in->wanted);
	if (!in->number || !in->seen || !in->stack || !in->assign || !in->wanted)
		return dfg_no_memory("the initialisers");
	for (uint32_t n = 0; n < nodes; n++)
		in->number[n] = DFG_NONE;
	for (uint32_t v = 0; v < variables; v++)
		in->number[in->variables.ref[v].node] = v;
	uint32_t *by_node;
	DFG_TRY(dfg_initialisers_find(in->graph, arena, &by_node));
	for (uint32_t v = 0; v < variables; v++)
		in->assign[v] = by_node[in->variables.ref[v].node];
	return NULL;
}

static struct dfg_err *run_targets(struct initialise *in, const uint32_t *target, uint32_t count)
{
	struct dfg_plan *plan;
	struct dfg_step step = {.feed = in->feeds->edge, .n_feed = in->feeds->count, .target = target, .n_target = count};
	DFG_TRY(dfg_session_plan(in->model->session, &step, &plan));
	return dfg_plan_run(plan, in->feeds->value, NULL);
}

/* Initialises layer by layer; an empty layer while variables remain is a cycle. */
static struct dfg_err *run_layers(struct initialise *in)
{
	uint32_t *target = dfg_arena_zeros(&in->model->arena, in->variables.count, sizeof *target);
	uint32_t *layer = dfg_arena_zeros(&in->model->arena, in->variables.count, sizeof *layer);
	if (!target || !layer)
		return dfg_no_memory("the initialisers");
	for (;;) {
		uint32_t count = 0, waiting = DFG_NONE;
		for (uint32_t v = 0; v < in->variables.count; v++) {
			if (in->wanted[v] && is_ready(in, v))
				layer[count++] = v;
			else if (in->wanted[v])
				waiting = v;
		}
		if (!count && waiting != DFG_NONE)
			return DFG_ERR(DFG_DATA, "the initialiser of variable '%s' depends on itself", in->variables.name[waiting]);
		if (!count)
			return NULL;
		for (uint32_t i = 0; i < count; i++)
			target[i] = in->assign[layer[i]];
		struct dfg_err *err = dfg_err_note(run_targets(in, target, count), "initialising variables");
		DFG_TRY(dfg_err_of_file(err, in->graph->source));
		for (uint32_t i = 0; i < count; i++) {
			in->wanted[layer[i]] = false;
			in->variables.fact[layer[i]].set = true;
		}
	}
}

static void push_step(struct initialise *in, const struct dfg_step *step)
{
	in->walks++;
	for (uint32_t i = 0; i < step->n_fetch; i++)
		push_node(in, step->fetch[i].node);
	for (uint32_t i = 0; i < step->n_target; i++)
		push_node(in, step->target[i]);
}

static void note_missing(struct initialise *in, uint32_t variable, void *arg)
{
	(void)in;
	((bool *)arg)[variable] = true;
}

static struct dfg_err *find_missing(struct initialise *in, const struct dfg_step *step, bool **out_missing)
{
	DFG_TRY(dfg_variables_list(in->model, &in->variables));
	DFG_TRY(prepare(in));
	*out_missing = dfg_arena_zeros(&in->model->arena, in->variables.count, sizeof **out_missing);
	if (!*out_missing)
		return dfg_no_memory("the initialisers");
	in->reads_only = true;
	push_step(in, step);
	walk(in, note_missing, *out_missing);
	in->reads_only = false;
	return NULL;
}

struct dfg_err *dfg_variables_missing(struct dfg_model *model, const struct dfg_step *step,
	const struct dfg_feeds *feeds, struct dfg_variables *out_variables, bool **out_missing)
{
	struct initialise in = {.model = model, .graph = &model->file.graph, .feeds = feeds};
	DFG_TRY(find_missing(&in, step, out_missing));
	*out_variables = in.variables;
	return NULL;
}

/* One line for all, as graphs of TensorFlow never mark their initialisers. */
static void tell_guessed(const struct initialise *in)
{
	uint32_t first = DFG_NONE, count = 0;
	char more[40] = "";
	for (uint32_t v = in->variables.count; v--;)
		if (in->wanted[v] && dfg_initialiser_guessed(in->graph, in->assign[v])) {
			first = in->assign[v];
			count++;
		}
	if (!count)
		return;
	if (count > 1)
		snprintf(more, sizeof more, " and %u more", count - 1);
	dfg_report_note(in->model->report,
		"%s: note: the graph does not declare its initialisers; these assignments are used: '%s'%s", in->graph->source,
		in->graph->node[first].name, more);
}

/* Records the first variable that the step reads and that has no initialiser. */
static void note_unset(const struct initialise *in, const bool *missing)
{
	in->model->unset = NULL;
	for (uint32_t v = in->variables.count; v--;)
		if (missing[v] && !in->wanted[v])
			in->model->unset = in->variables.name[v];
}

struct dfg_err *dfg_variables_hint(struct dfg_model *model, struct dfg_err *err)
{
	const struct dfg_graph *graph = &model->file.graph;
	uint32_t init = dfg_graph_find(graph, "init");
	if (!err || err->code != DFG_DATA || !model->unset || init == DFG_NONE ||
		dfg_node_role(&graph->node[init]) != DFG_NO_OP)
		return err;
	return dfg_err_join(
		err, DFG_ERR(DFG_DATA, "%s: no initialiser for '%s' found; try --init init", graph->source, model->unset));
}

/* Lookup tables: gives entries to those that the step reads, unless it contains the node that does that. */
static struct dfg_err *fill_tables(struct initialise *in, const struct dfg_step *step)
{
	uint32_t *entries, *target = in->stack, count = 0;
	bool ignored = false;
	DFG_TRY(dfg_table_entries_find(in->graph, &in->model->arena, &entries));
	if (!entries)
		return NULL;
	push_step(in, step);
	walk(in, note_wanted, &ignored);
	for (uint32_t n = 0; n < in->graph->count; n++) {
		if (in->seen[n] != in->walks || entries[n] == DFG_NONE || in->seen[entries[n]] == in->walks)
			continue;
		in->seen[entries[n]] = in->walks; /* several nodes may make the table */
		target[count++] = entries[n];
	}
	return count ? run_targets(in, target, count) : NULL;
}

struct dfg_err *dfg_variables_init(struct dfg_model *model, const struct dfg_step *step, const struct dfg_feeds *feeds)
{
	struct initialise in = {.model = model, .graph = &model->file.graph, .feeds = feeds};
	bool more = false, *missing;
	DFG_TRY(find_missing(&in, step, &missing));
	DFG_TRY(dfg_loaded_check(model, &in.variables, missing));
	push_step(&in, step);
	in.read = missing;
	walk(&in, want, &more);
	in.read = NULL;
	close_wanted(&in);
	tell_guessed(&in);
	note_unset(&in, missing);
	DFG_TRY(run_layers(&in));
	struct dfg_err *err = dfg_err_note(fill_tables(&in, step), "initialising lookup tables");
	return dfg_err_of_file(err, in.graph->source);
}
