/*
 * The batch as axis 1, as loops over time have it: the rows of all steps are stacked, [time, batch, ...], and each step takes one of
 * them. Only ops that move whole elements or work on each by itself keep it apart.
 */
#include "lib/pass/verify/row_independence_private.h"

#include <string.h>

static const struct dfg_shape *shape_of(const struct dfg_row_analysis *a, struct dfg_edge edge)
{
	return &dfg_facts_of(a->facts, edge)->shape;
}

/* A transposition of an input whose batch is axis `from`. */
static const char *transpose(struct dfg_row_analysis *a, uint32_t n, int from)
{
	const struct dfg_node *node = &a->graph->node[n];
	const struct dfg_known_value *axes = dfg_facts_of(a->facts, node->in[1])->known;
	for (int64_t to = 0; axes && to < axes->count && to < 2; to++)
		if (axes->v[to] == from) {
			dfg_row_give(a, n, 0, (int)to);
			return NULL;
		}
	return "it moves the batch to another axis";
}

/* Whether an operand broadcasts to a result of that rank so that its batch, if it has one, is axis 1 there. */
static bool broadcasts(const struct dfg_row_analysis *a, struct dfg_edge edge, int rank)
{
	const struct dfg_shape *in = shape_of(a, edge);
	int kind = dfg_row_kind(a, edge), axis = 1 - (rank - in->rank);
	if (kind == DFG_ROWS_NONE)
		return axis < 0 || in->dim[axis] == 1;
	return (kind == DFG_ROWS_SECOND && axis == 1) || (kind == DFG_ROWS_EACH && axis == 0);
}

static const char *elementwise(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	int rank = shape_of(a, (struct dfg_edge){n, 0})->rank;
	for (uint32_t i = 0; i < node->n_in; i++) {
		if (rank < 2 || shape_of(a, node->in[i])->rank < 0)
			return "the rank of an input is not known before it runs";
		if (!broadcasts(a, node->in[i], rank))
			return "it broadcasts the batch along another axis";
	}
	dfg_row_give(a, n, 0, 1);
	return NULL;
}

/* A slice by the first axis alone: one step, or a range of steps. */
static const char *slice(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	const struct dfg_shape *begin = shape_of(a, node->in[1]), *in = shape_of(a, node->in[0]);
	const struct dfg_shape *out = shape_of(a, (struct dfg_edge){n, 0});
	if (begin->rank != 1 || begin->dim[0] != 1 || in->rank < 2 || out->rank > in->rank || out->rank < in->rank - 1)
		return "it takes some rows of the batch";
	dfg_row_give(a, n, 0, out->rank == in->rank ? 1 : 0);
	return NULL;
}

bool dfg_row_turns(const struct dfg_row_analysis *a, uint32_t n)
{
	return !strcmp(a->graph->node[n].op->name, "Transpose");
}

const char *dfg_row_second(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	for (uint32_t i = 1; i < node->n_in && !node->op->row; i++)
		if (dfg_row_kind(a, node->in[i]) != DFG_ROWS_NONE)
			return "several of its inputs depend on the batch, which is the second axis of one";
	if (node->op->row)
		return elementwise(a, n);
	if (node->op->means == DFG_MEANS_SLICE)
		return slice(a, n);
	if (dfg_row_turns(a, n))
		return transpose(a, n, dfg_row_kind(a, node->in[0]) == DFG_ROWS_SECOND ? 1 : 0);
	return "the batch is the second axis of its input";
}
