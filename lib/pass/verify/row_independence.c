#include "lib/pass/verify/row_independence.h"

#include "lib/graph/build.h"
#include "lib/graph/cycle.h"
#include "lib/graph/loop_shapes.h"
#include "lib/pass/verify/array_flow.h"
#include "lib/pass/verify/row_independence_private.h"

#include <stdio.h>

enum { INPUTS_MOST = 64 }; /* of a node that rules judge: the bits of by_row */

static size_t number(const struct dfg_row_analysis *a, struct dfg_edge edge)
{
	return a->facts->first[edge.node] + (uint32_t)edge.port;
}

static bool is_data(const struct dfg_row_analysis *a, struct dfg_edge edge)
{
	return edge.port >= 0 && (uint32_t)edge.port < dfg_facts_outputs(a->facts, edge.node);
}

int dfg_row_kind(const struct dfg_row_analysis *a, struct dfg_edge edge)
{
	return is_data(a, edge) ? a->kind[number(a, edge)] : DFG_ROWS_NONE;
}

void dfg_row_set(struct dfg_row_analysis *a, struct dfg_edge edge, int kind)
{
	size_t at = number(a, edge);
	if (a->is_fed[at] || a->kind[at] == kind || a->kind[at] == DFG_ROWS_MIXED || kind == DFG_ROWS_NONE)
		return;
	a->kind[at] = (uint8_t)(a->kind[at] == DFG_ROWS_NONE ? kind : DFG_ROWS_MIXED);
	a->changed = true;
}

/* Notes the first reason for a node. */
static void blame(struct dfg_row_analysis *a, uint32_t n, uint32_t culprit, const char *why)
{
	if (a->culprit[n] != DFG_NONE)
		return;
	a->culprit[n] = culprit;
	a->why[n] = why;
}

void dfg_row_mix(struct dfg_row_analysis *a, uint32_t n, uint32_t culprit, const char *why)
{
	blame(a, n, culprit, why);
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		dfg_row_set(a, (struct dfg_edge){n, (int32_t)port}, DFG_ROWS_MIXED);
	a->changed |= !a->is_mixed[n];
	a->is_mixed[n] = true;
}

void dfg_row_give(struct dfg_row_analysis *a, uint32_t n, uint32_t port, int axis)
{
	const struct dfg_edge edge = {n, (int32_t)port};
	const struct dfg_shape *shape = &dfg_facts_of(a->facts, edge)->shape;
	bool has_rows = shape->rank > axis && shape->dim[axis] < 0;
	if (!has_rows)
		blame(a, n, n, shape->rank < 0 ? "the rank of its value is not known before it runs" : "an output has no rows");
	dfg_row_set(a, edge, !has_rows ? (int)DFG_ROWS_MIXED : axis ? (int)DFG_ROWS_SECOND : (int)DFG_ROWS_EACH);
}

/* Operands broadcast: those with rows have all axes of the result, the others do not have its first. */
static const char *elementwise(const struct dfg_infer *node, uint64_t by_row)
{
	int rank = 0;
	for (int i = 0; i < node->call->n_in; i++) {
		if (node->in[i]->rank < 0)
			return "the rank of an input is not known before it runs";
		rank = node->in[i]->rank > rank ? node->in[i]->rank : rank;
	}
	for (int i = 0; i < node->call->n_in; i++) {
		const struct dfg_shape *in = node->in[i];
		if ((by_row >> i & 1) ? in->rank != rank : in->rank == rank && in->dim[0] != 1)
			return "it broadcasts the batch along an axis other than the first";
	}
	return NULL;
}

static const char *reduction(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_known_value *axes = node->known[1];
	int rank = node->in[0]->rank;
	if (by_row != 1 || !dfg_known_whole(axes) || rank < 0)
		return "its axes are not known before it runs";
	for (int64_t i = 0; i < axes->count; i++)
		if (axes->v[i] == 0 || axes->v[i] == -rank)
			return "it reduces over the batch";
	return NULL;
}

static const char *judge_op(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_op *op = node->call->op;
	if (op->rows)
		return op->rows(node, by_row);
	if (op->row)
		return elementwise(node, by_row);
	if (op->reducer)
		return reduction(node, by_row);
	return op->means == DFG_MEANS_OF_SHAPE ? "its value depends on the number of rows"
										   : "its rows are not known to be independent";
}

/* Whether the output has the rows of the node's inputs: not the number of the side that a Merge has taken. */
static bool carries_rows(const struct dfg_node *node, uint32_t port)
{
	return !port || node->op->role != DFG_MERGE;
}

/* An output of a node with rows whose leading dimension is fixed cannot be a batch. */
static void give_rows(struct dfg_row_analysis *a, uint32_t n)
{
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		dfg_row_give(a, n, port, 0);
}

struct dfg_err *dfg_row_judge(struct dfg_row_analysis *a, uint32_t n, uint64_t by_row, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	struct dfg_arena brief = {0};
	struct dfg_resolved_node call;
	struct dfg_infer infer = {.call = &call, .arena = &brief};
	const struct dfg_shape **in = dfg_arena_zeros(&brief, node->n_in, sizeof *in);
	const struct dfg_known_value **known = dfg_arena_zeros(&brief, node->n_in, sizeof *known);
	struct dfg_shape *out = dfg_arena_zeros(&brief, dfg_facts_outputs(a->facts, n), sizeof *out);
	struct dfg_err *err = in && known && out ? dfg_facts_resolve(a->facts, a->graph, n, &brief, &call)
											 : dfg_no_memory("the rows of a node");
	for (uint32_t i = 0; !err && i < node->n_in; i++) {
		const struct dfg_inferred *fact = dfg_facts_of(a->facts, node->in[i]);
		in[i] = &fact->shape;
		known[i] = fact->known ? fact->known : call.op->flags & DFG_KNOWS_MATRICES ? fact->matrix : NULL;
	}
	for (uint32_t i = 0; !err && i < dfg_facts_outputs(a->facts, n); i++)
		out[i] = dfg_facts_of(a->facts, (struct dfg_edge){n, (int32_t)i})->shape;
	infer.in = in, infer.known = known, infer.out = out;
	if (!err)
		*out_why = judge_op(&infer, by_row);
	dfg_arena_release(&brief);
	return err;
}

/*
 * The reason why a node cannot be in a shared step even if it does not depend on the batch; NULL: none. It may read state,
 * because no node of such a step writes any but arrays, which belong to the step.
 */
static const char *why_unsteady(const struct dfg_node *node)
{
	const struct dfg_op *op = node->op;
	if (dfg_has_flow(node))
		return NULL;
	if (op->flags & DFG_WRITES)
		return "it writes state";
	if (!(op->flags & DFG_STATEFUL) || op->flags & DFG_READS || op->role == DFG_VARIABLE || op->role == DFG_READ)
		return NULL;
	return "its result differs from step to step";
}

static bool has_unfed_output(const struct dfg_row_analysis *a, uint32_t n)
{
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		if (!a->is_fed[a->facts->first[n] + port])
			return true;
	return !dfg_facts_outputs(a->facts, n);
}

/* The kinds of the inputs of a node, all of them together. */
struct inputs {
	uint32_t mixed;  /* the first node that makes this one mixed; DFG_NONE: none does */
	uint64_t by_row; /* bit i: input i has rows; the last bit: any of the further inputs has */
	int kind;        /* that of all inputs that depend on the batch; DFG_ROWS_NONE: none does; MIXED: they differ */
	bool any_second;
};

static struct inputs look_at_inputs(const struct dfg_row_analysis *a, const struct dfg_node *node)
{
	struct inputs inputs = {.mixed = DFG_NONE};
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++) {
		bool is_control = i >= node->n_in;
		uint32_t from = node->in[i].node;
		int kind = is_control ? (int)DFG_ROWS_NONE : dfg_row_kind(a, node->in[i]);
		if (is_control ? a->is_mixed[from] && has_unfed_output(a, from) : kind == DFG_ROWS_MIXED) {
			inputs.mixed = from;
			return inputs;
		}
		if (kind == DFG_ROWS_EACH)
			inputs.by_row |= (uint64_t)1 << (i < INPUTS_MOST ? i : INPUTS_MOST - 1);
		inputs.any_second |= kind == DFG_ROWS_SECOND;
		if (kind != DFG_ROWS_NONE)
			inputs.kind = inputs.kind == DFG_ROWS_NONE || inputs.kind == kind ? kind : (int)DFG_ROWS_MIXED;
	}
	return inputs;
}

/* Gives output `port` the kind of an input; one with rows must have an axis of any extent for them. */
static void carry(struct dfg_row_analysis *a, uint32_t n, uint32_t port, int kind)
{
	if (kind == DFG_ROWS_EACH || kind == DFG_ROWS_SECOND)
		dfg_row_give(a, n, port, kind == DFG_ROWS_SECOND);
	else
		dfg_row_set(a, (struct dfg_edge){n, (int32_t)port}, kind);
}

/*
 * A primitive of control flow. Where the batch does not decide, all rows take the same way, which is that of each of them alone; but
 * a Merge must not give rows from one side and the same for all requests from another. A flow of an array may come without elements
 * from one side.
 */
static const char *pass_flow(struct dfg_row_analysis *a, uint32_t n, int kind)
{
	const struct dfg_node *node = &a->graph->node[n];
	bool is_array = kind == DFG_ROWS_SAME || kind == DFG_ROWS_ELEMENTS;
	if (node->op->role == DFG_LOOP_COND ||
		(node->op->role == DFG_SWITCH && dfg_row_kind(a, node->in[1]) != DFG_ROWS_NONE))
		return "control flow depends on the batch";
	if (kind == DFG_ROWS_MIXED)
		return "its inputs depend on the batch in different ways";
	for (uint32_t i = 0; a->is_settled && node->op->role == DFG_MERGE && !is_array && i < node->n_in; i++)
		if (dfg_row_kind(a, node->in[i]) == DFG_ROWS_NONE)
			return "only one of its branches gives a value with a row for each sample of the batch";
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		if (carries_rows(node, port))
			carry(a, n, port, kind);
	return NULL;
}

/* *out_why: the reason why a node whose inputs have rows, or none, mixes rows; NULL: it does not. */
static struct dfg_err *judge_rows(struct dfg_row_analysis *a, uint32_t n, uint64_t by_row, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	*out_why = dfg_role_is_structural(node->op->role) ? "control flow depends on the batch"
			   : node->n_in > INPUTS_MOST             ? "it has more than 64 inputs"
													  : NULL;
	if (!*out_why)
		DFG_TRY(dfg_row_judge(a, n, by_row, out_why));
	if (!*out_why)
		give_rows(a, n);
	return NULL;
}

/* Gives the outputs of a node with unmixed inputs their kinds. *out_why: the reason why it mixes rows; NULL: it does not. */
static struct dfg_err *find_kinds(struct dfg_row_analysis *a, uint32_t n, struct inputs inputs, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	*out_why = node->op ? why_unsteady(node) : "the op is unknown";
	if (*out_why)
		return NULL;
	if (dfg_has_flow(node)) {
		*out_why = dfg_row_array(a, n);
	} else if (inputs.kind == DFG_ROWS_NONE) {
		return NULL;
	} else if (dfg_role_is_flow(node->op->role)) {
		*out_why = pass_flow(a, n, inputs.kind);
	} else if (node->op->role == DFG_IDENTITY) {
		for (uint32_t i = 0; i < dfg_facts_outputs(a->facts, n); i++)
			dfg_row_set(a, (struct dfg_edge){n, (int32_t)i}, dfg_row_kind(a, node->in[i]));
	} else if (dfg_row_is_counted(a, n)) {
		return dfg_row_count(a, n, out_why);
	} else if (inputs.any_second || dfg_row_turns(a, n)) {
		*out_why = dfg_row_second(a, n);
	} else {
		return judge_rows(a, n, inputs.by_row, out_why);
	}
	return NULL;
}

static struct dfg_err *visit(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	const char *why;
	if (!has_unfed_output(a, n))
		return NULL;
	struct inputs inputs = look_at_inputs(a, node);
	if (inputs.mixed != DFG_NONE) {
		uint32_t culprit = a->culprit[inputs.mixed];
		dfg_row_mix(a, n, culprit == DFG_NONE ? inputs.mixed : culprit, a->why[inputs.mixed]);
		return NULL;
	}
	DFG_TRY(find_kinds(a, n, inputs, &why));
	if (why)
		dfg_row_mix(a, n, n, why);
	return NULL;
}

/* An input must have a leading dimension of any extent. */
static void feed(struct dfg_row_analysis *a, struct dfg_edge edge)
{
	const struct dfg_shape *shape = &dfg_facts_of(a->facts, edge)->shape;
	bool has_rows = shape->rank > 0 && shape->dim[0] < 0;
	a->kind[number(a, edge)] = has_rows ? DFG_ROWS_EACH : DFG_ROWS_MIXED;
	a->is_fed[number(a, edge)] = true;
	if (!has_rows) {
		a->culprit[edge.node] = edge.node;
		a->why[edge.node] = "the input's leading dimension is fixed, expected one of any size";
	}
}

static struct dfg_err *begin(struct dfg_row_analysis *a)
{
	uint32_t nodes = a->graph->count;
	a->kind = dfg_arena_zeros(&a->scratch, a->facts->count, sizeof *a->kind);
	a->is_fed = dfg_arena_zeros(&a->scratch, a->facts->count, sizeof *a->is_fed);
	a->culprit = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->culprit);
	a->why = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->why);
	a->is_mixed = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->is_mixed);
	if (!a->kind || !a->is_fed || !a->culprit || !a->why || !a->is_mixed)
		return dfg_no_memory("the rows of a graph");
	for (uint32_t n = 0; n < nodes; n++)
		a->culprit[n] = DFG_NONE;
	return NULL;
}

static void give_verdict(const struct dfg_row_analysis *a, struct dfg_edge edge, struct dfg_row_verdict *verdict)
{
	int kind = dfg_row_kind(a, edge);
	uint32_t n = a->culprit[edge.node] == DFG_NONE ? edge.node : a->culprit[edge.node];
	const char *why = a->why[n] ? a->why[n] : "its rows are not known to be independent";
	*verdict = (struct dfg_row_verdict){.kind = DFG_ROWS_MIXED};
	if (kind == DFG_ROWS_NONE || kind == DFG_ROWS_EACH)
		verdict->kind = kind == DFG_ROWS_EACH ? DFG_ROWS_EACH : DFG_ROWS_NONE;
	if (kind == DFG_ROWS_SECOND)
		why = "the batch is the second axis of its result";
	else if (kind == DFG_ROWS_COUNT)
		why = "its value depends on the number of rows";
	if (verdict->kind == DFG_ROWS_MIXED)
		snprintf(verdict->why, sizeof verdict->why, "node '%.100s' (%.40s): %s", a->graph->node[n].name,
			a->graph->node[n].op_name, why);
}

/* The shapes of the values of loops: without them, the analysis would know no axis of the batch there. */
static struct dfg_err *infer_loops(struct dfg_row_analysis *a)
{
	struct dfg_graph graph = *a->graph;
	struct dfg_builder builder = {.graph = &graph, .facts = *a->facts};
	struct dfg_loops loops;
	uint32_t *order = dfg_arena_zeros(&a->scratch, (size_t)graph.count + 1, sizeof *order);
	if (!order)
		return dfg_no_memory("the rows of a graph");
	DFG_TRY(dfg_loops_find(&graph, NULL, &a->scratch, &loops));
	if (loops.count == 1)
		return NULL;
	struct dfg_err *err = dfg_loops_order(&graph, &loops, &a->scratch, order);
	if (!err)
		err = dfg_loop_shapes(&builder, &loops, order, &a->scratch);
	*a->facts = builder.facts;
	return err;
}

/* Passes in topological order, until nothing changes; then the sides of Merges are compared, and what follows from it. */
static struct dfg_err *run_analysis(struct dfg_row_analysis *a)
{
	uint32_t *order, count;
	DFG_TRY(dfg_pass_order(a->graph, &a->scratch, &order, &count));
	do {
		a->changed = false;
		for (uint32_t i = 0; i < count; i++)
			DFG_TRY(visit(a, order ? order[i] : i));
		if (!a->changed && !a->is_settled)
			a->is_settled = a->changed = true;
	} while (a->changed);
	return NULL;
}

struct dfg_err *dfg_row_independence(const struct dfg_graph *graph, struct dfg_facts *facts, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_edge *out, uint32_t n_out, struct dfg_row_verdict *out_verdict)
{
	struct dfg_row_analysis a = {.graph = graph, .facts = facts};
	struct dfg_err *err = begin(&a);
	if (!err)
		err = infer_loops(&a);
	for (uint32_t i = 0; !err && i < n_in; i++)
		feed(&a, in[i]);
	if (!err)
		err = run_analysis(&a);
	for (uint32_t i = 0; !err && i < n_out; i++)
		give_verdict(&a, out[i], &out_verdict[i]);
	dfg_arena_release(&a.scratch);
	return err;
}
