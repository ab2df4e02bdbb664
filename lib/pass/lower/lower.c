/* lower. Requires: a graph that verify accepts. Result: a graph without calls of functions, within limits. */
#include "lib/pass/lower/lower.h"

#include "lib/base/plural.h"
#include "lib/pass/rewrite/renumber.h"
#include "lib/graph/cycle.h"
#include "lib/pass/lower/lower_private.h"
#include "lib/pass/lower/scalar.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

bool dfg_has_calls(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (graph->node[n].op ? graph->node[n].op->role == DFG_CALL : graph->library != NULL)
			return true;
	return false;
}

static bool is_call(const struct lower *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	if (l->site[n].is_call_done)
		return false;
	if (node->op)
		return node->op->role == DFG_CALL;
	return dfg_map_find(&l->functions.names, node->op_name, strlen(node->op_name)) != DFG_NONE;
}

/* PartitionedCall: the function is given by an attribute. */
static struct dfg_err *lower_partitioned(struct lower *l, uint32_t call)
{
	union dfg_value func, in, out;
	struct instance instance;
	DFG_TRY(dfg_lower_attr(l, call, "f", DFG_ATTR_FUNC, &func));
	DFG_TRY(dfg_lower_attr(l, call, "Tin", DFG_ATTR_LIST, &in));
	DFG_TRY(dfg_lower_attr(l, call, "Tout", DFG_ATTR_LIST, &out));
	DFG_TRY(dfg_lower_instance(l, func.func, &instance));
	DFG_TRY(dfg_lower_fits(&instance, in.list, out.list));
	return dfg_lower_call(l, call, &instance, l->graph->node[call].in);
}

/* A node whose op is the name of a function; its attributes are the function's. */
static struct dfg_err *lower_named(struct lower *l, uint32_t call)
{
	const struct dfg_node *node = &l->graph->node[call];
	struct instance instance;
	DFG_TRY(dfg_lower_instance(l, &(struct dfg_func){node->op_name, node->attr, node->n_attr}, &instance));
	if (instance.n_in != node->n_in)
		return DFG_ERR(DFG_DATA, "function '%.200s' takes %u input%s, but the call has %u", node->op_name,
			instance.n_in, dfg_plural(instance.n_in), node->n_in);
	return dfg_lower_call(l, call, &instance, node->in);
}

/* Refuses a kind of call that cannot be lowered, and says what to use instead. */
static struct dfg_err *refuse(struct lower *l, uint32_t call)
{
	static const char *const why[DFG_MEANINGS] = {
		[DFG_MEANS_CALL_FOR] = "this kind of loop is not supported; use While",
		[DFG_MEANS_CALL_REMOTE] = "calls on a device chosen at run time are not supported; use PartitionedCall",
		[DFG_MEANS_CALL_GRADIENT] = "gradients at run time are not supported; differentiate first with 'dfg grad'",
	};
	return DFG_ERR(DFG_DATA, "%s", why[l->graph->node[call].op->means]);
}

typedef struct dfg_err *lower_fn(struct lower *l, uint32_t call);
static lower_fn *const rules[DFG_MEANINGS] = {
	[DFG_MEANS_CALL_FUNCTION] = lower_partitioned,
	[DFG_MEANS_CALL_IF] = dfg_lower_if,
	[DFG_MEANS_CALL_CASE] = dfg_lower_case,
	[DFG_MEANS_CALL_WHILE] = dfg_lower_while,
	[DFG_MEANS_CALL_FOR] = refuse,
	[DFG_MEANS_CALL_REMOTE] = refuse,
	[DFG_MEANS_CALL_GRADIENT] = refuse,
};

static struct dfg_err *write_out(struct lower *l, uint32_t call)
{
	const struct dfg_node *node = &l->graph->node[call];
	const char *name = node->name, *op = node->op_name;
	lower_fn *rule = node->op ? rules[node->op->means] : lower_named;
	l->site[call].first = l->graph->count;
	struct dfg_err *err = rule ? rule(l, call) : DFG_ERR(DFG_BUG, "calls of this kind cannot be lowered");
	l->site[call].end = l->graph->count;
	return dfg_err_note(err, "node '%.200s' (%.100s)", name, op);
}

/* Marks nodes of the graph that may be dead or in a frame: all successors of control-flow primitives. */
static struct dfg_err *mark_uneven(struct lower *l)
{
	const struct dfg_graph *graph = l->graph;
	uint32_t *order, count;
	DFG_TRY(dfg_pass_order(graph, l->scratch, &order, &count));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = order ? order[i] : i;
		const struct dfg_node *node = &graph->node[n];
		bool uneven = node->op && dfg_role_is_flow(node->op->role);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			uneven |= l->site[node->in[e].node].is_uneven;
		l->site[n].is_uneven = uneven;
	}
	return NULL;
}

static struct dfg_err *note_frames(struct lower *l)
{
	for (uint32_t n = 0; n < l->graph->count; n++) {
		const struct dfg_node *node = &l->graph->node[n];
		const struct dfg_attr *attr =
			node->op && node->op->role == DFG_ENTER ? dfg_node_attr(node, "frame_name") : NULL;
		uint32_t number;
		if (attr && attr->kind == DFG_ATTR_STRING &&
			!dfg_map_put(&l->frames, attr->value.s.s, attr->value.s.length, &number, NULL))
			return dfg_no_memory("the lowered graph");
	}
	return NULL;
}

static struct dfg_err *begin(struct lower *l)
{
	struct dfg_graph *graph = l->graph;
	dfg_lower_limit(l);
	DFG_TRY(dfg_functions_list(graph, l->scratch, &l->functions));
	l->body = dfg_arena_zeros(l->scratch, l->functions.names.count + 1, sizeof *l->body);
	if (!l->body || !dfg_reserve(&l->site, &l->site_capacity, (size_t)graph->count + 1, sizeof *l->site) ||
		!dfg_reserve(&l->scope, &l->scope_capacity, 1, sizeof *l->scope))
		return dfg_no_memory("the lowered graph");
	memset(l->site, 0, graph->count * sizeof *l->site);
	l->scope[l->scopes++] = (struct scope){.function = DFG_NONE, .anchor = DFG_NONE};
	DFG_TRY(note_frames(l));
	return mark_uneven(l);
}

/* Replaces the truth test of a bool scalar by an Identity. */
static struct dfg_err *drop_tests(struct lower *l)
{
	struct dfg_facts facts = {.arena = l->scratch};
	const struct dfg_op *test = dfg_op_find("ToBool"), *identity = dfg_op_find("Identity");
	DFG_TRY(dfg_verify(l->graph, NULL, &facts));
	bool *scalar = dfg_arena_zeros(l->scratch, (size_t)l->graph->count + 1, sizeof *scalar);
	struct dfg_err *err =
		scalar ? dfg_find_scalars(l->graph, &facts, l->scratch, scalar) : dfg_no_memory("the lowered graph");
	for (uint32_t n = 0; n < l->graph->count && !err; n++) {
		struct dfg_node *node = &l->graph->node[n];
		if (!l->site[n].is_new || node->op != test || !scalar[node->in[0].node] ||
			dfg_facts_of(&facts, node->in[0])->dtype != DFG_BOOL)
			continue;
		node->op = identity;
		node->op_name = identity->name;
		l->site[n].is_pass = !node->n_control;
	}
	dfg_facts_release(&facts);
	return err;
}

static struct dfg_edge next_source(const struct lower *l, struct dfg_edge edge)
{
	return l->graph->node[edge.node].in[edge.port];
}

/* Bypasses Identities on an edge. The Identities themselves are redirected too, which keeps the next search short. */
static void look_through(struct lower *l, struct dfg_edge *edge)
{
	struct dfg_edge source = *edge;
	for (uint32_t steps = 0; l->site[source.node].is_pass && steps < l->graph->count; steps++)
		source = next_source(l, source);
	for (struct dfg_edge at = *edge; at.node != source.node && l->site[at.node].is_pass;) {
		struct dfg_edge next = next_source(l, at);
		l->graph->node[at.node].in[at.port] = source;
		at = next;
	}
	*edge = source;
}

/* A topological order in which the nodes made for a call precede its node; unneeded nodes are dropped. */
struct sorting {
	struct lower *l;
	bool *needed;
	uint32_t *order, count;
};

static struct dfg_err *find_needed(struct sorting *sorting)
{
	struct lower *l = sorting->l;
	const struct dfg_graph *graph = l->graph;
	uint32_t *todo = dfg_arena_zeros(l->scratch, (size_t)graph->count + 1, sizeof *todo), count = 0;
	if (!todo)
		return dfg_no_memory("the lowered graph");
	for (uint32_t n = 0; n < graph->count; n++)
		if ((sorting->needed[n] = !l->site[n].is_new))
			todo[count++] = n;
	while (count) {
		const struct dfg_node *node = &graph->node[todo[--count]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!sorting->needed[node->in[e].node]) {
				sorting->needed[node->in[e].node] = true;
				todo[count++] = node->in[e].node;
			}
	}
	return NULL;
}

/* The recursion is as deep as scopes are nested. */
static void place_node(struct sorting *sorting, uint32_t n)
{
	const struct call_site *site = &sorting->l->site[n];
	for (uint32_t made = site->first; made < site->end; made++)
		place_node(sorting, made);
	if (sorting->needed[n])
		sorting->order[sorting->count++] = n;
}

static struct dfg_err *sort(struct lower *l, struct sorting *out_sorting)
{
	uint32_t count = l->graph->count, old = 0;
	*out_sorting = (struct sorting){
		.l = l,
		.needed = dfg_arena_zeros(l->scratch, (size_t)count + 1, sizeof(bool)),
		.order = dfg_arena_zeros(l->scratch, (size_t)count + 1, sizeof(uint32_t)),
	};
	if (!out_sorting->needed || !out_sorting->order)
		return dfg_no_memory("the lowered graph");
	DFG_TRY(find_needed(out_sorting));
	for (; old < count && !l->site[old].is_new; old++)
		place_node(out_sorting, old);
	return NULL;
}

static bool holds_function(const struct dfg_attr *attr)
{
	return attr->kind == DFG_ATTR_FUNC ||
		   (attr->kind == DFG_ATTR_LIST && attr->value.list->kind == DFG_ATTR_FUNC && attr->value.list->count);
}

/* The library is kept if an unknown op remains: it may use functions, such as a map over a dataset. */
static void drop_library(struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_attr; i++)
			if (holds_function(&graph->node[n].attr[i]))
				return;
	graph->library = NULL;
	graph->n_library = 0;
}

static struct dfg_err *clean_up(struct lower *l, struct dfg_keep *keep)
{
	struct sorting sorting;
	uint32_t *number = dfg_arena_zeros(l->scratch, (size_t)l->graph->count + 1, sizeof *number);
	if (!number)
		return dfg_no_memory("the lowered graph");
	DFG_TRY(drop_tests(l));
	for (uint32_t n = 0; n < l->graph->count; n++)
		for (uint32_t i = 0; i < l->graph->node[n].n_in; i++)
			look_through(l, &l->graph->node[n].in[i]);
	DFG_TRY(sort(l, &sorting));
	DFG_TRY(dfg_renumber(l->graph, sorting.order, sorting.count, number, keep, l->scratch));
	drop_library(l->graph);
	return NULL;
}

/* Calls found in expanded bodies are appended and expanded in turn. */
static struct dfg_err *lower(struct lower *l, struct dfg_keep *keep, struct dfg_text *report)
{
	uint32_t before = l->graph->count, calls = 0;
	DFG_TRY(begin(l));
	for (uint32_t n = 0; n < l->graph->count; n++)
		if (is_call(l, n)) {
			DFG_TRY(write_out(l, n));
			calls++;
		}
	if (!calls)
		return NULL;
	DFG_TRY(clean_up(l, keep));
	dfg_text_add(
		report, "lower: expanded %u call%s, from %u to %u nodes\n", calls, dfg_plural(calls), before, l->graph->count);
	return NULL;
}

struct dfg_err *dfg_lower(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct lower l = {.graph = graph, .scratch = scratch};
	if (!dfg_has_calls(graph))
		return NULL;
	struct dfg_err *err = lower(&l, keep, report);
	for (size_t i = 0; l.body && i < l.functions.names.count; i++)
		dfg_map_release(&l.body[i].names);
	dfg_functions_release(&l.functions);
	dfg_free(l.scope);
	dfg_free(l.site);
	dfg_map_release(&l.frames);
	dfg_names_release(&l.names);
	dfg_free(l.edge);
	return err;
}

struct dfg_err *dfg_lower_whole(struct dfg_graph *graph)
{
	struct dfg_arena scratch = {0};
	struct dfg_text report = {0};
	if (!dfg_has_calls(graph))
		return NULL;
	DFG_TRY(dfg_verify(graph, NULL, NULL));
	struct dfg_err *err = dfg_lower(graph, NULL, &scratch, &report);
	dfg_text_release(&report);
	dfg_arena_release(&scratch);
	return err;
}
