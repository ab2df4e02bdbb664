#include "lib/pass/parallel/batch_private.h"

#include <string.h>

enum { AXES_MOST = DFG_RANK_MAX };

struct masks {
	int64_t begin, end, ellipsis, new_axis, shrink;
};

static struct masks masks_of(const struct dfg_node *node)
{
	struct masks m = {0};
	dfg_node_mark(node, "begin_mask", &m.begin);
	dfg_node_mark(node, "end_mask", &m.end);
	dfg_node_mark(node, "ellipsis_mask", &m.ellipsis);
	dfg_node_mark(node, "new_axis_mask", &m.new_axis);
	dfg_node_mark(node, "shrink_axis_mask", &m.shrink);
	return m;
}

/* Constant bounds: the leading axis is kept whole. */
static struct dfg_err *slice_each(struct dfg_batch *b, uint32_t n, const struct masks *m)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[4] = {dfg_batch_of(b, node.in[0]).edge};
	for (uint32_t e = 1; e < 4; e++) {
		const struct dfg_known_value *known;
		int64_t value[AXES_MOST + 1] = {e == 3};
		DFG_TRY(dfg_batch_known(b, n, e, &known));
		if (known->count > AXES_MOST)
			return dfg_batch_refuse(b, n, "it has too many axes");
		memcpy(value + 1, known->v, (size_t)known->count * sizeof *value);
		DFG_TRY(dfg_batch_ints(b, value, known->count + 1, &in[e]));
	}
	const struct dfg_attr attr[] = {DFG_ATTR_I("begin_mask", m->begin << 1 | 1),
		DFG_ATTR_I("end_mask", m->end << 1 | 1), DFG_ATTR_I("ellipsis_mask", m->ellipsis << 1),
		DFG_ATTR_I("new_axis_mask", m->new_axis << 1), DFG_ATTR_I("shrink_axis_mask", m->shrink << 1)};
	return dfg_batch_replace(b, n, "StridedSlice", in, 4, attr, 5, true);
}

/* Element k of the vector in input 1, which is packed from scalars: an old tensor. */
static struct dfg_err *begin_of(struct dfg_batch *b, uint32_t n, uint32_t k, struct dfg_edge *out)
{
	const struct dfg_graph *graph = b->builder->graph;
	const struct dfg_node *pack = &graph->node[graph->node[n].in[1].node];
	if (!dfg_node_means(pack, DFG_MEANS_PACKED) || k >= pack->n_in || dfg_batch_fact(b, pack->in[k])->shape.rank)
		return dfg_batch_refuse(b, n, "its bounds depend on the iteration and are not packed from scalars");
	*out = pack->in[k];
	return NULL;
}

static bool never_negative(const struct dfg_batch *b, struct dfg_edge edge)
{
	struct dfg_batched value = dfg_batch_of(b, edge);
	const struct dfg_known_value *known = dfg_batch_fact(b, edge)->known;
	return dfg_edge_same(value.edge, b->number) || (known && known->v[0] >= 0);
}

/* An index that may count from the end, for ops that do not know such indices: index < 0 ? index + extent : index. */
static struct dfg_err *from_the_start(
	struct dfg_batch *b, uint32_t n, struct dfg_edge data, uint32_t axis, struct dfg_edge *index)
{
	enum dfg_dtype dtype = dfg_batch_fact(b, *index)->dtype;
	const struct dfg_attr type = DFG_ATTR_T("out_type", dtype), to = DFG_ATTR_T("DstT", dtype);
	struct dfg_edge shape, extent, sum, zero, is_negative, at[3];
	DFG_TRY(dfg_batch_build(b, n, "Shape", &data, 1, &type, 1, &shape));
	DFG_TRY(dfg_batch_int(b, axis, &at[1]));
	DFG_TRY(dfg_batch_int(b, 0, &at[2]));
	at[0] = shape;
	DFG_TRY(dfg_batch_build(b, n, "GatherV2", at, 3, NULL, 0, &extent));
	DFG_TRY(dfg_batch_build(b, n, "Cast", &at[2], 1, &to, 1, &zero));
	DFG_TRY(dfg_batch_build(b, n, "AddV2", (struct dfg_edge[]){*index, extent}, 2, NULL, 0, &sum));
	DFG_TRY(dfg_batch_build(b, n, "Less", (struct dfg_edge[]){*index, zero}, 2, NULL, 0, &is_negative));
	return dfg_batch_build(b, n, "SelectV2", (struct dfg_edge[]){is_negative, sum, *index}, 3, NULL, 0, index);
}

/* Index k, repeated for each iteration. */
static struct dfg_err *index_of(struct dfg_batch *b, uint32_t n, uint32_t k, bool in_rows, struct dfg_edge *out)
{
	struct dfg_edge old, data = dfg_batch_of(b, b->builder->graph->node[n].in[0]).edge;
	DFG_TRY(begin_of(b, n, k, &old));
	DFG_TRY(dfg_batch_repeat(b, n, old, out));
	return never_negative(b, old) ? NULL : from_the_start(b, n, data, k + in_rows, out);
}

/* Leading axes at indices that vary, further axes whole: a gather. */
static struct dfg_err *gather(struct dfg_batch *b, uint32_t n, uint32_t axes)
{
	struct dfg_batched data = dfg_batch_of(b, b->builder->graph->node[n].in[0]);
	struct dfg_edge index[AXES_MOST], in[3] = {data.edge};
	const struct dfg_attr attr[] = {DFG_ATTR_I("axis", -1), DFG_ATTR_I("batch_dims", data.varies)};
	if (data.varies && axes > 1)
		return dfg_batch_refuse(
			b, n, "it indexes several axes of a value, and both the value and the indices depend on the iteration");
	for (uint32_t k = 0; k < axes; k++)
		DFG_TRY(index_of(b, n, k, data.varies, &index[k]));
	if (axes == 1) {
		in[1] = index[0];
		DFG_TRY(dfg_batch_int(b, data.varies, &in[2]));
		return dfg_batch_replace(b, n, "GatherV2", in, 3, &attr[1], 1, true);
	}
	DFG_TRY(dfg_batch_build(b, n, "Pack", index, axes, attr, 1, &in[1]));
	return dfg_batch_replace(b, n, "GatherNd", in, 2, NULL, 0, true);
}

/* Whether items [0, *out_axes) are indices and all later ones take their axis whole. */
static bool takes_leading(
	const struct dfg_batch *b, const struct dfg_node *node, const struct masks *m, uint32_t *out_axes)
{
	const struct dfg_known_value *strides = dfg_batch_fact(b, node->in[3])->known;
	const struct dfg_shape *shape = &dfg_batch_fact(b, node->in[1])->shape;
	int64_t items = shape->rank == 1 ? shape->dim[0] : -1;
	*out_axes = 0;
	if (items < 1 || items > AXES_MOST || m->ellipsis || m->new_axis || !dfg_known_whole(strides))
		return false;
	while (*out_axes < items && m->shrink >> *out_axes & 1)
		++*out_axes;
	for (int64_t i = 0; i < items; i++)
		if (strides->v[i] != 1 || (i >= *out_axes && !(m->begin >> i & 1 && m->end >> i & 1)))
			return false;
	return *out_axes > 0;
}

struct dfg_err *dfg_batch_slice(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct masks m = masks_of(&node);
	uint32_t axes;
	if (!dfg_batch_of(b, node.in[1]).varies)
		return slice_each(b, n, &m);
	if (!takes_leading(b, &node, &m, &axes))
		return dfg_batch_refuse(b, n, "the bounds of a slice depend on the iteration");
	return gather(b, n, axes);
}
