#include "lib/pass/parallel/batch_private.h"

#include <string.h>

/* Updates of rows, slices or whole variables, and the update of slices that combines in the same way. */
static const struct {
	const char *op, *slices;
} scatters[] = {
	{"AssignAddVariableOp", "ResourceScatterNdAdd"},
	{"AssignSubVariableOp", "ResourceScatterNdSub"},
	{"ResourceScatterAdd", "ResourceScatterNdAdd"},
	{"ResourceScatterSub", "ResourceScatterNdSub"},
	{"ResourceScatterMax", "ResourceScatterNdMax"},
	{"ResourceScatterMin", "ResourceScatterNdMin"},
	{"ResourceScatterNdAdd", "ResourceScatterNdAdd"},
	{"ResourceScatterNdSub", "ResourceScatterNdSub"},
	{"ResourceScatterNdMax", "ResourceScatterNdMax"},
	{"ResourceScatterNdMin", "ResourceScatterNdMin"},
};

static const char *scatter_of(const struct dfg_node *node)
{
	for (size_t i = 0; i < sizeof scatters / sizeof *scatters; i++)
		if (!strcmp(node->op->name, scatters[i].op))
			return scatters[i].slices;
	return NULL;
}

bool dfg_batch_has_partial(const struct dfg_node *update)
{
	return update->op && scatter_of(update);
}

/* The shape of the rows at the new indices: of these, then of a row of the variable. */
static struct dfg_err *shape_of_rows(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge indices, struct dfg_edge *out)
{
	struct dfg_edge handle = b->builder->graph->node[n].in[0], part[3], cut[4];
	const struct dfg_attr mask = DFG_ATTR_I("end_mask", 1);
	DFG_TRY(dfg_batch_build(b, n, "Shape", &indices, 1, NULL, 0, &part[0]));
	DFG_TRY(dfg_batch_build(b, n, "VariableShape", &handle, 1, NULL, 0, &cut[0]));
	DFG_TRY(dfg_batch_ints(b, (int64_t[]){1}, 1, &cut[1]));
	DFG_TRY(dfg_batch_ints(b, (int64_t[]){0}, 1, &cut[2]));
	cut[3] = cut[1];
	DFG_TRY(dfg_batch_build(b, n, "StridedSlice", cut, 4, &mask, 1, &part[1]));
	DFG_TRY(dfg_batch_int(b, 0, &part[2]));
	return dfg_batch_build(b, n, "ConcatV2", part, 3, NULL, 0, out);
}

/* The update in input 2, for each iteration; a scalar that updates whole rows is repeated for all their elements. */
static struct dfg_err *update_of(const struct dfg_batch *b, uint32_t n, struct dfg_edge indices, struct dfg_edge *out)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_handle_type *holds = dfg_batch_fact(b, node.in[0])->holds;
	struct dfg_edge old = node.in[2], in[2];
	int rank, at;
	DFG_TRY(dfg_batch_rank(b, n, old, &rank));
	DFG_TRY(dfg_batch_rank(b, n, node.in[1], &at));
	DFG_TRY(dfg_batch_repeat(b, n, old, out));
	if (node.op->elements != DFG_ELEMENTS_ROWS || rank)
		return NULL;
	if (!holds || holds->shape.rank < 0)
		return dfg_batch_refuse(b, n, "the rank of the variable is not known before it runs");
	if (at + holds->shape.rank == 1)
		return NULL;
	DFG_TRY(shape_of_rows(b, n, indices, &in[1]));
	in[0] = *out;
	if (!b->singly)
		DFG_TRY(dfg_batch_expand(b, n, in[0], at + holds->shape.rank - 1, &in[0]));
	return dfg_batch_build(b, n, "BroadcastTo", in, 2, NULL, 0, out);
}

/* The block of each new index vector, with a last axis of 1, in the type of the indices. vectors: their shape. */
static struct dfg_err *blocks_of(const struct dfg_batch *b, uint32_t n, struct dfg_edge vectors, struct dfg_edge *out)
{
	const struct dfg_inferred *fact = dfg_batch_fact(b, vectors);
	const struct dfg_attr to = DFG_ATTR_T("DstT", fact->dtype);
	struct dfg_edge in[3] = {vectors}, block = b->block;
	DFG_TRY(dfg_batch_ints(b, (int64_t[]){0}, 1, &in[1]));
	DFG_TRY(dfg_batch_int(b, -1, &in[2]));
	DFG_TRY(dfg_batch_build(b, n, "GatherV2", in, 3, NULL, 0, &in[0]));
	DFG_TRY(dfg_batch_build(b, n, "ZerosLike", in, 1, NULL, 0, &in[0]));
	if (fact->dtype != DFG_I32)
		DFG_TRY(dfg_batch_build(b, n, "Cast", &block, 1, &to, 1, &block));
	if (!b->singly)
		DFG_TRY(dfg_batch_expand(b, n, block, fact->shape.rank - 1, &block));
	in[1] = block;
	return dfg_batch_build(b, n, "AddV2", in, 2, NULL, 0, out);
}

/* The index vectors in the partial results: a block, then the indices of the update. */
static struct dfg_err *partial_indices(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge indices, struct dfg_edge *out)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[3] = {indices};
	DFG_TRY(dfg_batch_int(b, -1, &in[1]));
	if (node.op->elements == DFG_ELEMENTS_ROWS)
		DFG_TRY(dfg_batch_build(b, n, "ExpandDims", in, 2, NULL, 0, &indices));
	DFG_TRY(blocks_of(b, n, indices, &in[0]));
	in[2] = in[1];
	in[1] = indices;
	return dfg_batch_build(b, n, "ConcatV2", in, 3, NULL, 0, out);
}

/* Combines with the partial result of the iteration's block. The variable's token orders this update as it did the old one. */
static struct dfg_err *accumulate(struct dfg_batch *b, uint32_t n, uint32_t access)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[3] = {b->partial[access]}, token, handle = dfg_batch_of(b, node.in[0]).edge, axis;
	if (node.op->elements == DFG_ELEMENTS_ALL) {
		DFG_TRY(dfg_batch_int(b, b->singly ? 0 : 1, &axis));
		DFG_TRY(dfg_batch_build(b, n, "ExpandDims", (struct dfg_edge[]){b->block, axis}, 2, NULL, 0, &in[1]));
		DFG_TRY(dfg_batch_repeat(b, n, node.in[1], &in[2]));
	} else {
		struct dfg_edge indices;
		DFG_TRY(dfg_batch_repeat(b, n, node.in[1], &indices));
		DFG_TRY(partial_indices(b, n, indices, &in[1]));
		DFG_TRY(update_of(b, n, indices, &in[2]));
	}
	DFG_TRY(dfg_batch_build(b, n, "Identity", &handle, 1, NULL, 0, &token));
	DFG_TRY(dfg_batch_replace(b, n, scatter_of(&node), in, 3, NULL, 0, false));
	return dfg_node_add_control(b->builder->graph, b->instead[n], token.node);
}

struct dfg_err *dfg_batch_update(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[3];
	if (b->loops->of[n] != b->loop->loop)
		return dfg_batch_refuse(b, n, "it is in a loop of the body");
	if (b->update_of[n])
		return accumulate(b, n, b->update_of[n] - 1);
	if (node.op->elements == DFG_ELEMENTS_ALL || node.n_in != 3)
		return dfg_batch_refuse(b, n, "it replaces a whole variable");
	in[0] = dfg_batch_of(b, node.in[0]).edge;
	DFG_TRY(dfg_batch_repeat(b, n, node.in[1], &in[1]));
	DFG_TRY(update_of(b, n, in[1], &in[2]));
	return dfg_batch_copy(b, n, in, false);
}
