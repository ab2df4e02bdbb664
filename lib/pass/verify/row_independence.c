#include "lib/pass/verify/row_independence.h"

#include "lib/graph/cycle.h"

#include <stdio.h>

enum { INPUTS_MOST = 64 }; /* of a node that rules judge: the bits of by_row */

struct analysis {
	const struct dfg_graph *graph;
	struct dfg_facts *facts;
	struct dfg_arena scratch;
	uint8_t *kind;     /* by tensor (facts->first): enum dfg_row_kind */
	bool *is_fed;      /* by tensor */
	uint32_t *culprit; /* by node with a mixed output: the node that mixes the rows; else DFG_NONE */
	const char **why;  /* by the same node: the reason */
	uint8_t *effect;   /* by node: the worst kind among its inputs and outputs, which holds for its control edges */
	bool changed;
	bool is_settled; /* the kinds do not change any more, so that those of a Merge's inputs can be compared */
};

static size_t number(const struct analysis *a, struct dfg_edge edge)
{
	return a->facts->first[edge.node] + (uint32_t)edge.port;
}

static bool is_data(const struct analysis *a, struct dfg_edge edge)
{
	return edge.port >= 0 && (uint32_t)edge.port < dfg_facts_outputs(a->facts, edge.node);
}

static enum dfg_row_kind kind_of(const struct analysis *a, struct dfg_edge edge)
{
	return is_data(a, edge) ? a->kind[number(a, edge)] : DFG_ROWS_NONE;
}

static void set_kind(struct analysis *a, struct dfg_edge edge, enum dfg_row_kind kind)
{
	size_t at = number(a, edge);
	if (a->is_fed[at] || a->kind[at] >= kind)
		return;
	a->kind[at] = (uint8_t)kind;
	a->changed = true;
}

static void set_outputs(struct analysis *a, uint32_t n, enum dfg_row_kind kind)
{
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		set_kind(a, (struct dfg_edge){n, (int32_t)port}, kind);
	if (a->effect[n] < kind) {
		a->effect[n] = (uint8_t)kind;
		a->changed = true;
	}
}

static void mix(struct analysis *a, uint32_t n, uint32_t culprit, const char *why)
{
	if (a->effect[n] != DFG_ROWS_MIXED) {
		a->culprit[n] = culprit;
		a->why[n] = why;
	}
	set_outputs(a, n, DFG_ROWS_MIXED);
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
static void give_rows(struct analysis *a, uint32_t n)
{
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++) {
		if (!carries_rows(&a->graph->node[n], port))
			continue;
		const struct dfg_shape *shape = &dfg_facts_of(a->facts, (struct dfg_edge){n, (int32_t)port})->shape;
		bool has_rows = shape->rank > 0 && shape->dim[0] < 0;
		set_kind(a, (struct dfg_edge){n, (int32_t)port}, has_rows ? DFG_ROWS_EACH : DFG_ROWS_MIXED);
		if (!has_rows && a->culprit[n] == DFG_NONE) {
			a->culprit[n] = n;
			a->why[n] = shape->rank < 0 ? "the rank of its value is not known before it runs" : "an output has no rows";
		}
	}
	if (a->effect[n] < DFG_ROWS_EACH) {
		a->effect[n] = DFG_ROWS_EACH;
		a->changed = true;
	}
}

/* Resolves the node and asks its op. */
static struct dfg_err *judge(struct analysis *a, uint32_t n, uint64_t by_row, const char **out_why)
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
 * because no node of such a step writes any.
 */
static const char *why_unsteady(const struct dfg_op *op)
{
	if (op->flags & DFG_WRITES)
		return "it writes state";
	if (!(op->flags & DFG_STATEFUL) || op->flags & DFG_READS || op->role == DFG_VARIABLE || op->role == DFG_READ)
		return NULL;
	return "its result differs from step to step";
}

static bool has_unfed_output(const struct analysis *a, uint32_t n)
{
	for (uint32_t port = 0; port < dfg_facts_outputs(a->facts, n); port++)
		if (!a->is_fed[a->facts->first[n] + port])
			return true;
	return !dfg_facts_outputs(a->facts, n);
}

/*
 * The first input that makes the node mixed, or DFG_NONE; then *out_by_row has bit i set if input i has rows, and the last
 * bit if any of the further inputs has.
 */
static uint32_t find_mixed(const struct analysis *a, const struct dfg_node *node, uint64_t *out_by_row)
{
	*out_by_row = 0;
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++) {
		bool is_control = i >= node->n_in;
		uint32_t from = node->in[i].node;
		enum dfg_row_kind kind = is_control ? a->effect[from] : kind_of(a, node->in[i]);
		if (kind == DFG_ROWS_MIXED && (!is_control || has_unfed_output(a, from)))
			return from;
		if (kind == DFG_ROWS_EACH && !is_control)
			*out_by_row |= (uint64_t)1 << (i < INPUTS_MOST ? i : INPUTS_MOST - 1);
	}
	return DFG_NONE;
}

/*
 * The reason why a primitive of control flow mixes rows. Where the batch does not decide, all rows take the same way, which
 * is that of each of them alone; but a Merge must not give rows from one side and the same for all requests from another.
 * The ranks of a loop's values are not inferred, so a loop over rows is refused.
 */
static const char *flow(const struct analysis *a, const struct dfg_node *node, uint64_t by_row)
{
	if (node->op->role == DFG_LOOP_COND || (node->op->role == DFG_SWITCH && by_row & 2))
		return "control flow depends on the batch";
	for (uint32_t i = 0; a->is_settled && node->op->role == DFG_MERGE && i < node->n_in; i++)
		if (kind_of(a, node->in[i]) == DFG_ROWS_NONE)
			return "only one of its branches gives a value with a row for each sample of the batch";
	return NULL;
}

/* *out_why: the reason why a node with unmixed inputs mixes rows or cannot be in a shared step; NULL: none. */
static struct dfg_err *find_reason(struct analysis *a, uint32_t n, uint64_t by_row, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	*out_why = node->op ? why_unsteady(node->op) : "the op is unknown";
	if (*out_why || !by_row)
		return NULL;
	if (dfg_role_is_flow(node->op->role))
		*out_why = flow(a, node, by_row);
	else if (dfg_role_is_structural(node->op->role))
		*out_why = "control flow depends on the batch";
	else if (node->n_in > INPUTS_MOST)
		*out_why = "it has more than 64 inputs";
	else if (node->op->role != DFG_IDENTITY)
		return judge(a, n, by_row, out_why);
	return NULL;
}

static struct dfg_err *visit(struct analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	const char *why;
	uint64_t by_row;
	if (!has_unfed_output(a, n))
		return NULL;
	uint32_t from = find_mixed(a, node, &by_row);
	if (from != DFG_NONE) {
		mix(a, n, a->culprit[from] == DFG_NONE ? from : a->culprit[from], a->why[from]);
		return NULL;
	}
	DFG_TRY(find_reason(a, n, by_row, &why));
	if (why) {
		mix(a, n, n, why);
	} else if (by_row && node->op->role == DFG_IDENTITY) {
		for (uint32_t i = 0; i < dfg_facts_outputs(a->facts, n); i++)
			set_kind(a, (struct dfg_edge){n, (int32_t)i}, kind_of(a, node->in[i]));
	} else if (by_row) {
		give_rows(a, n);
	}
	return NULL;
}

/* An input must have a leading dimension of any extent. */
static void feed(struct analysis *a, struct dfg_edge edge)
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

static struct dfg_err *begin(struct analysis *a)
{
	uint32_t nodes = a->graph->count;
	a->kind = dfg_arena_zeros(&a->scratch, a->facts->count, sizeof *a->kind);
	a->is_fed = dfg_arena_zeros(&a->scratch, a->facts->count, sizeof *a->is_fed);
	a->culprit = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->culprit);
	a->why = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->why);
	a->effect = dfg_arena_zeros(&a->scratch, nodes, sizeof *a->effect);
	if (!a->kind || !a->is_fed || !a->culprit || !a->why || !a->effect)
		return dfg_no_memory("the rows of a graph");
	for (uint32_t n = 0; n < nodes; n++)
		a->culprit[n] = DFG_NONE;
	return NULL;
}

static void give_verdict(const struct analysis *a, struct dfg_edge edge, struct dfg_row_verdict *verdict)
{
	*verdict = (struct dfg_row_verdict){.kind = kind_of(a, edge)};
	if (verdict->kind != DFG_ROWS_MIXED)
		return;
	uint32_t n = a->culprit[edge.node] == DFG_NONE ? edge.node : a->culprit[edge.node];
	snprintf(verdict->why, sizeof verdict->why, "node '%.100s' (%.40s): %s", a->graph->node[n].name,
		a->graph->node[n].op_name, a->why[n] ? a->why[n] : "its rows are not known to be independent");
}

/* Passes in topological order, until nothing changes; then the sides of Merges are compared, and what follows from it. */
static struct dfg_err *run_analysis(struct analysis *a)
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
	struct analysis a = {.graph = graph, .facts = facts};
	struct dfg_err *err = begin(&a);
	for (uint32_t i = 0; !err && i < n_in; i++)
		feed(&a, in[i]);
	if (!err)
		err = run_analysis(&a);
	for (uint32_t i = 0; !err && i < n_out; i++)
		give_verdict(&a, out[i], &out_verdict[i]);
	dfg_arena_release(&a.scratch);
	return err;
}
