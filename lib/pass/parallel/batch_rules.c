#include "lib/pass/parallel/batch_private.h"

#include <string.h>

enum { INPUTS_MOST = 64, NUMBERS_MOST = 64 };

/* The new tensors of all inputs. */
static struct dfg_err *read_inputs(const struct dfg_batch *b, uint32_t n, struct dfg_edge *out_in)
{
	const struct dfg_node node = b->builder->graph->node[n];
	if (node.n_in > INPUTS_MOST)
		return dfg_batch_refuse(b, n, "it has too many inputs");
	for (uint32_t e = 0; e < node.n_in; e++)
		out_in[e] = dfg_batch_of(b, node.in[e]).edge;
	return NULL;
}

static bool varies(const struct dfg_batch *b, uint32_t n, uint32_t e)
{
	return dfg_batch_of(b, b->builder->graph->node[n].in[e]).varies;
}

static struct dfg_err *copy(struct dfg_batch *b, uint32_t n)
{
	struct dfg_edge in[INPUTS_MOST];
	DFG_TRY(read_inputs(b, n, in));
	return dfg_batch_copy(b, n, in, true);
}

/* Operands broadcast from the last axis: those that vary get axes of 1 after the leading one, up to the largest rank. */
static struct dfg_err *elementwise(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[INPUTS_MOST];
	int rank[INPUTS_MOST], most = 0;
	DFG_TRY(read_inputs(b, n, in));
	for (uint32_t e = 0; e < node.n_in; e++) {
		DFG_TRY(dfg_batch_rank(b, n, node.in[e], &rank[e]));
		most = rank[e] > most ? rank[e] : most;
	}
	for (uint32_t e = 0; e < node.n_in; e++)
		if (varies(b, n, e))
			DFG_TRY(dfg_batch_expand(b, n, in[e], most - rank[e], &in[e]));
	return dfg_batch_copy(b, n, in, true);
}

/* The axes of an old tensor of that rank, as axes of the new one. */
static struct dfg_err *shift_axes(
	const struct dfg_batch *b, uint32_t n, const int64_t *axis, int64_t count, int rank, int64_t out_axis[NUMBERS_MOST])
{
	if (count > NUMBERS_MOST)
		return dfg_batch_refuse(b, n, "it has too many axes");
	for (int64_t i = 0; i < count; i++)
		out_axis[i] = axis[i] < 0 ? axis[i] + rank + 1 : axis[i] + 1;
	return NULL;
}

/* Input 0 varies; input 1 is axes of it. */
static struct dfg_err *along_axes(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_known_value *axes;
	struct dfg_edge in[INPUTS_MOST];
	int64_t axis[NUMBERS_MOST];
	int rank;
	DFG_TRY(dfg_batch_known(b, n, 1, &axes));
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	DFG_TRY(shift_axes(b, n, axes->v, axes->count, rank, axis));
	DFG_TRY(read_inputs(b, n, in));
	if (axes->rank)
		DFG_TRY(dfg_batch_ints(b, axis, axes->count, &in[1]));
	else
		DFG_TRY(dfg_batch_int(b, axis[0], &in[1]));
	return dfg_batch_replace(b, n, node.op_name, in, node.n_in, node.attr, node.n_attr, true);
}

/* As the copy, but the type of the axes is that of the new constant. */
static struct dfg_err *without(struct dfg_batch *b, uint32_t n, const char *attr, const struct dfg_edge *in)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_attr *left = dfg_arena_zeros(b->arena, node.n_attr + 1, sizeof *left);
	uint32_t count = 0;
	if (!left)
		return dfg_no_memory("the body of a loop");
	for (uint32_t i = 0; i < node.n_attr; i++)
		if (strcmp(node.attr[i].name, attr) != 0)
			left[count++] = node.attr[i];
	return dfg_batch_replace(b, n, node.op_name, in, node.n_in, left, count, true);
}

static struct dfg_err *expand_dims(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_known_value *axis;
	struct dfg_edge in[2] = {dfg_batch_of(b, node.in[0]).edge};
	int rank;
	DFG_TRY(dfg_batch_known(b, n, 1, &axis));
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	DFG_TRY(dfg_batch_int(b, axis->v[0] < 0 ? axis->v[0] + rank + 2 : axis->v[0] + 1, &in[1]));
	return without(b, n, "Tdim", in);
}

static struct dfg_err *squeeze(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_attr *given = dfg_node_attr(&node, "squeeze_dims");
	const struct dfg_shape *shape = &dfg_batch_fact(b, node.in[0])->shape;
	const struct dfg_edge in = dfg_batch_of(b, node.in[0]).edge;
	union dfg_value item[NUMBERS_MOST];
	struct dfg_list list = {DFG_ATTR_INT, 0, item};
	if (!dfg_shape_known(shape))
		return dfg_batch_refuse(b, n, "the shape of its input is not known before it runs");
	for (uint32_t i = 0; given && i < given->value.list->count && i < NUMBERS_MOST; i++) {
		int64_t axis = given->value.list->item[i].i;
		item[list.count++].i = axis < 0 ? axis + shape->rank + 1 : axis + 1;
	}
	for (int d = 0; !list.count && d < shape->rank; d++)
		if (shape->dim[d] == 1)
			item[list.count++].i = d + 1;
	const struct dfg_attr attr = {"squeeze_dims", DFG_ATTR_LIST, {.list = &list}};
	return list.count ? dfg_batch_replace(b, n, "Squeeze", &in, 1, &attr, 1, true)
					  : dfg_batch_replace(b, n, "Identity", &in, 1, NULL, 0, true);
}

/* [number of iterations] + the shape in input e. */
static struct dfg_err *with_count(struct dfg_batch *b, uint32_t n, uint32_t e, struct dfg_edge *out)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge part[3] = {b->count, node.in[e]};
	const struct dfg_attr to = DFG_ATTR_T("DstT", DFG_I32);
	if (varies(b, n, e))
		return dfg_batch_refuse(b, n, "the shape of one of its inputs depends on the iteration");
	if (dfg_batch_fact(b, node.in[e])->dtype != DFG_I32)
		DFG_TRY(dfg_batch_build(b, n, "Cast", &node.in[e], 1, &to, 1, &part[1]));
	DFG_TRY(dfg_batch_int(b, 0, &part[2]));
	return dfg_batch_build(b, n, "ConcatV2", part, 3, NULL, 0, out);
}

static struct dfg_err *reshape(struct dfg_batch *b, uint32_t n)
{
	struct dfg_edge in[2] = {dfg_batch_of(b, b->builder->graph->node[n].in[0]).edge};
	DFG_TRY(with_count(b, n, 1, &in[1]));
	return without(b, n, "Tshape", in);
}

static struct dfg_err *broadcast_to(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[2] = {dfg_batch_of(b, node.in[0]).edge};
	const struct dfg_shape *shape = &dfg_batch_fact(b, (struct dfg_edge){n, 0})->shape;
	int rank;
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	if (shape->rank < 0)
		return dfg_batch_refuse(b, n, "its rank is not known before it runs");
	DFG_TRY(with_count(b, n, 1, &in[1]));
	DFG_TRY(dfg_batch_expand(b, n, in[0], shape->rank - rank, &in[0]));
	return without(b, n, "Tidx", in);
}

/* Fill(dims, value) with a value that varies. */
static struct dfg_err *fill(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_shape *shape = &dfg_batch_fact(b, (struct dfg_edge){n, 0})->shape;
	struct dfg_edge in[2] = {dfg_batch_of(b, b->builder->graph->node[n].in[1]).edge};
	if (shape->rank < 0)
		return dfg_batch_refuse(b, n, "its rank is not known before it runs");
	DFG_TRY(with_count(b, n, 0, &in[1]));
	DFG_TRY(dfg_batch_expand(b, n, in[0], shape->rank, &in[0]));
	return dfg_batch_replace(b, n, "BroadcastTo", in, 2, NULL, 0, true);
}

static struct dfg_err *join_attr(struct dfg_batch *b, uint32_t n, const char *name, int rank, struct dfg_attr *out)
{
	int64_t axis = 0, shifted[NUMBERS_MOST];
	dfg_node_mark(&b->builder->graph->node[n], name, &axis);
	DFG_TRY(shift_axes(b, n, &axis, 1, rank, shifted));
	*out = DFG_ATTR_I(name, shifted[0]);
	return NULL;
}

static struct dfg_err *pack(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[INPUTS_MOST];
	struct dfg_attr axis;
	int rank;
	DFG_TRY(read_inputs(b, n, in));
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	for (uint32_t e = 0; e < node.n_in; e++)
		DFG_TRY(dfg_batch_repeat(b, n, node.in[e], &in[e]));
	DFG_TRY(join_attr(b, n, "axis", rank + 1, &axis));
	return dfg_batch_replace(b, n, "Pack", in, node.n_in, &axis, 1, true);
}

static struct dfg_err *concat(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_known_value *axis;
	struct dfg_edge in[INPUTS_MOST];
	int64_t shifted[NUMBERS_MOST];
	int rank;
	DFG_TRY(read_inputs(b, n, in));
	DFG_TRY(dfg_batch_known(b, n, node.n_in - 1, &axis));
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	for (uint32_t e = 0; e + 1 < node.n_in; e++)
		DFG_TRY(dfg_batch_repeat(b, n, node.in[e], &in[e]));
	DFG_TRY(shift_axes(b, n, axis->v, 1, rank, shifted));
	DFG_TRY(dfg_batch_int(b, shifted[0], &in[node.n_in - 1]));
	return without(b, n, "Tidx", in);
}

static struct dfg_err *transpose(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_known_value *perm;
	struct dfg_edge in[2] = {dfg_batch_of(b, node.in[0]).edge};
	int64_t shifted[NUMBERS_MOST + 1] = {0};
	DFG_TRY(dfg_batch_known(b, n, 1, &perm));
	DFG_TRY(shift_axes(b, n, perm->v, perm->count, 0, shifted + 1));
	DFG_TRY(dfg_batch_ints(b, shifted, perm->count + 1, &in[1]));
	return without(b, n, "Tperm", in);
}

/* Matrices of a batch: operands that do not vary are the same for each. The products have the same bits. */
static struct dfg_err *product(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[2];
	bool flag[2];
	for (uint32_t e = 0; e < 2; e++) {
		const struct dfg_attr *attr = dfg_node_attr(&node, e ? "transpose_b" : "transpose_a");
		flag[e] = attr && attr->value.b;
		in[e] = dfg_batch_of(b, node.in[e]).edge;
	}
	const struct dfg_attr attr[] = {DFG_ATTR_B("adj_x", flag[0]), DFG_ATTR_B("adj_y", flag[1])};
	if (dfg_dtype_is(dfg_batch_fact(b, node.in[0])->dtype, "complex"))
		return dfg_batch_refuse(b, n, "products of complex matrices are not batched");
	return dfg_batch_replace(b, n, "BatchMatMulV2", in, 2, attr, 2, true);
}

/* Input 0 at the indices in input 1 along the axis in input 2. */
static struct dfg_err *gather(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_known_value *axis = NULL;
	struct dfg_edge in[INPUTS_MOST];
	int64_t batch = 0, shifted[NUMBERS_MOST], along = 0;
	bool data = varies(b, n, 0), indices = varies(b, n, 1);
	int rank;
	DFG_TRY(read_inputs(b, n, in));
	dfg_node_mark(&node, "batch_dims", &batch);
	if (node.n_in > 2) {
		DFG_TRY(dfg_batch_known(b, n, 2, &axis));
		along = axis->v[0];
	}
	if (!data)
		return along || batch ? dfg_batch_refuse(b, n, "it gathers along an axis other than the first")
							  : dfg_batch_copy(b, n, in, true);
	DFG_TRY(dfg_batch_rank(b, n, node.in[0], &rank));
	if (batch < 0 || (batch && !indices))
		return dfg_batch_refuse(b, n, "it has batch dimensions");
	DFG_TRY(shift_axes(b, n, &along, 1, rank, shifted));
	DFG_TRY(dfg_batch_int(b, shifted[0], &in[2]));
	const struct dfg_attr attr = DFG_ATTR_I("batch_dims", indices ? batch + 1 : 0);
	return dfg_batch_replace(b, n, "GatherV2", in, 3, &attr, 1, true);
}

/* The shape of one iteration's value, which is the same in all. */
static struct dfg_err *shape_of(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_attr *type = dfg_node_attr(&node, "out_type");
	struct dfg_edge whole, in = dfg_batch_of(b, node.in[0]).edge, cut[4];
	const struct dfg_attr mask = DFG_ATTR_I("end_mask", 1);
	DFG_TRY(dfg_batch_build(b, n, "Shape", &in, 1, type, type != NULL, &whole));
	cut[0] = whole;
	DFG_TRY(dfg_batch_ints(b, (int64_t[]){1}, 1, &cut[1]));
	DFG_TRY(dfg_batch_ints(b, (int64_t[]){0}, 1, &cut[2]));
	cut[3] = cut[1];
	return dfg_batch_replace(b, n, "StridedSlice", cut, 4, &mask, 1, false);
}

static struct dfg_err *write_element(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_edge in[4];
	DFG_TRY(read_inputs(b, n, in));
	if (varies(b, n, 0) || varies(b, n, 3))
		return dfg_batch_refuse(b, n, "it writes to a different array in each iteration");
	if (!varies(b, n, 1))
		return dfg_batch_refuse(b, n, "all iterations write the same element of an array");
	DFG_TRY(dfg_batch_repeat(b, n, node.in[2], &in[2]));
	return dfg_batch_replace(b, n, "TensorArrayScatterV3", in, 4, NULL, 0, false);
}

/* An op whose rule for rows shows that the copy computes each row by itself. */
static struct dfg_err *by_rows(struct dfg_batch *b, uint32_t n)
{
	struct dfg_graph *graph = b->builder->graph;
	const struct dfg_node node = graph->node[n];
	struct dfg_arena brief = {0};
	struct dfg_resolved_node call;
	const struct dfg_shape *in[INPUTS_MOST];
	const struct dfg_known_value *known[INPUTS_MOST];
	struct dfg_shape out[8];
	uint64_t by_row = 0;
	DFG_TRY(copy(b, n));
	uint32_t made = b->instead[n], outputs = dfg_facts_outputs(&b->builder->facts, made);
	for (uint32_t e = 0; e < node.n_in; e++) {
		const struct dfg_inferred *fact = dfg_batch_fact(b, graph->node[made].in[e]);
		in[e] = &fact->shape;
		known[e] = fact->known;
		by_row |= (uint64_t)varies(b, n, e) << e;
	}
	const char *why = outputs > 8 ? "it has too many outputs" : NULL;
	for (uint32_t i = 0; !why && i < outputs; i++) {
		out[i] = dfg_batch_fact(b, (struct dfg_edge){made, (int32_t)i})->shape;
		const struct dfg_shape *before = &dfg_batch_fact(b, (struct dfg_edge){n, (int32_t)i})->shape;
		if (before->rank < 0 || out[i].rank != before->rank + 1)
			why = "its result for several iterations does not have exactly one more axis";
	}
	struct dfg_err *err = dfg_facts_resolve(&b->builder->facts, graph, made, &brief, &call);
	struct dfg_infer infer = {.call = &call, .in = in, .known = known, .out = out};
	if (!err && !why)
		why = node.op->rows(&infer, by_row);
	dfg_arena_release(&brief);
	return err ? err : why ? dfg_batch_refuse(b, n, why) : NULL;
}

typedef struct dfg_err *rule(struct dfg_batch *b, uint32_t n);
static const struct {
	const char *op;
	rule *apply;
} rules[] = {
	{"StridedSlice", dfg_batch_slice},
	{"ExpandDims", expand_dims},
	{"Squeeze", squeeze},
	{"Reshape", reshape},
	{"BroadcastTo", broadcast_to},
	{"Fill", fill},
	{"Pack", pack},
	{"ConcatV2", concat},
	{"Transpose", transpose},
	{"MatMul", product},
	{"BatchMatMulV2", elementwise},
	{"Gather", gather},
	{"GatherV2", gather},
	{"Cumsum", along_axes},
	{"Cumprod", along_axes},
	{"ArgMax", along_axes},
	{"ArgMin", along_axes},
	{"Shape", shape_of},
	{"TensorArrayWriteV3", write_element},
};

static bool gathers_only_indices(const struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	int64_t batch = 0;
	dfg_node_mark(&node, "batch_dims", &batch);
	return node.op->elements != DFG_ELEMENTS_ALL && node.n_in == 2 && !varies(b, n, 0) && !batch;
}

struct dfg_err *dfg_batch_apply(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	const struct dfg_op *op = node.op;
	if (!op)
		return dfg_batch_refuse(b, n, "the op is unknown");
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!strcmp(op->name, rules[i].op))
			return rules[i].apply(b, n);
	if (op->role == DFG_SWITCH || op->role == DFG_MERGE)
		return op->role == DFG_SWITCH ? dfg_batch_switch(b, n) : dfg_batch_merge(b, n);
	if (op->flags & DFG_READS && gathers_only_indices(b, n))
		return copy(b, n);
	if (dfg_role_is_structural(op->role) || (op->flags & (DFG_STATEFUL | DFG_READS | DFG_WRITES)))
		return dfg_batch_refuse(b, n,
			dfg_role_is_structural(op->role) ? "a loop depends on the iteration"
											 : "dfg has no rule to run this op for several iterations at once");
	if (op->role == DFG_IDENTITY || op->means == DFG_MEANS_ZEROS || op->means == DFG_MEANS_ONES)
		return copy(b, n);
	if (op->row)
		return elementwise(b, n);
	if (op->reducer)
		return along_axes(b, n);
	return op->rows ? by_rows(b, n)
					: dfg_batch_refuse(b, n, "dfg has no rule to run this op for several iterations at once");
}
