#include "lib/pass/verify/array_flow.h"

#include <string.h>

struct taken {
	uint32_t by;   /* first write that consumes the flow */
	uint32_t runs; /* condition under which any of the writes seen so far runs */
};

struct linear {
	const struct dfg_graph *graph;
	struct dfg_predicates *predicates;
	const uint32_t *runs;
	struct dfg_arena *scratch;
	struct dfg_faults *faults;
	struct dfg_map flows; /* by the flow's tensor (struct dfg_edge as bytes): index into taken */
	struct taken *taken;
	bool *used; /* by node: some other node reads it */
};

bool dfg_has_flow(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_TENSOR_ARRAY;
}

/* The index of the flow input of an op whose only output is a flow; -1 for other ops. */
static int flow_of_write(const struct dfg_node *node, const struct dfg_signature *signature)
{
	if (signature->n_out != 1 || strcmp(signature->out[0].name, "flow_out"))
		return -1;
	for (int i = 0; i < signature->n_in && i < (int)node->n_in; i++)
		if (!strcmp(signature->in[i].name, "flow_in"))
			return i;
	return -1;
}

static bool makes_array(const struct dfg_node *node, const struct dfg_signature *signature)
{
	return dfg_has_flow(node) && signature->n_out == 2 && !strcmp(signature->out[0].name, "handle");
}

static struct dfg_err *take(struct linear *l, uint32_t n, int input)
{
	const struct dfg_node *node = &l->graph->node[n];
	struct dfg_edge flow = dfg_predicate_origin(l->predicates, node->in[input]);
	const char *key = dfg_arena_copy(l->scratch, &flow, sizeof flow);
	uint32_t number;
	bool is_new;
	if (!key || !dfg_map_put(&l->flows, key, sizeof flow, &number, &is_new))
		return dfg_no_memory("the flows of TensorArrays");
	struct taken *taken = &l->taken[number];
	if (is_new)
		*taken = (struct taken){n, DFG_NEVER};
	uint32_t both = dfg_bdd_and(&l->predicates->logic, taken->runs, l->runs[n]);
	const struct dfg_node *other = &l->graph->node[taken->by];
	if (both != DFG_NEVER && both != DFG_LOST)
		dfg_fault(
			l->faults, DFG_ERR(DFG_DATA,
						   "node '%.200s' (%.100s): consumes the flow of '%.200s' and so does '%.200s' (%.100s)%s, so "
						   "their order "
						   "is undefined; connect flow_in to the flow_out of '%.200s'",
						   node->name, node->op_name, l->graph->node[flow.node].name, other->name, other->op_name,
						   dfg_predicate_words(l->predicates, both, DFG_ALWAYS), other->name));
	taken->runs = dfg_bdd_or(&l->predicates->logic, taken->runs, l->runs[n]);
	return NULL;
}

static struct dfg_err *check_node(struct linear *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	const struct dfg_signature *signature;
	if (!dfg_has_flow(node) || !node->n_in || !l->used[n])
		return NULL;
	DFG_TRY(dfg_op_signature(node->op, &signature));
	int input = flow_of_write(node, signature);
	const struct dfg_node *array = &l->graph->node[dfg_predicate_origin(l->predicates, node->in[0]).node];
	if (input < 0 || !array->op)
		return NULL;
	DFG_TRY(dfg_op_signature(array->op, &signature));
	return makes_array(array, signature) ? take(l, n, input) : NULL;
}

static struct dfg_err *check_all(struct linear *l, uint32_t arrays)
{
	const struct dfg_graph *graph = l->graph;
	l->taken = dfg_arena_zeros(l->scratch, arrays, sizeof *l->taken);
	l->used = dfg_arena_zeros(l->scratch, graph->count, sizeof *l->used);
	if (!l->taken || !l->used)
		return dfg_no_memory("the flows of TensorArrays");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			l->used[graph->node[n].in[e].node] = true;
	for (uint32_t n = 0; n < graph->count && l->faults->left > 0; n++)
		DFG_TRY(check_node(l, n));
	return NULL;
}

struct dfg_err *dfg_array_flow_check(const struct dfg_graph *graph, struct dfg_predicates *predicates,
	const uint32_t *runs, struct dfg_arena *scratch, struct dfg_faults *faults)
{
	struct linear l = {.graph = graph, .predicates = predicates, .runs = runs, .scratch = scratch, .faults = faults};
	uint32_t arrays = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		arrays += dfg_has_flow(&graph->node[n]);
	struct dfg_err *err = arrays ? check_all(&l, arrays) : NULL;
	dfg_map_release(&l.flows);
	return err;
}
