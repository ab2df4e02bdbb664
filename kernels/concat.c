/* Tensors joined along an axis, old or new. */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>

/* Inputs [first, first + count) are joined along the axis in input `axis`: Concat has it first, ConcatV2 last. */
struct join {
	int first, count, axis;
};

static struct join join_of(const struct dfg_resolved_node *call)
{
	bool in_front = call->in_first[1] == 1 && call->signature->in[0].count < 0;
	return (struct join){in_front, call->n_in - 1, in_front ? 0 : call->n_in - 1};
}

/* The axis is negative if it is not known. */
static struct dfg_err *cannot_join(const struct dfg_infer *node, int a, int b, int axis)
{
	const struct dfg_shape *first = node->in[a], *other = node->in[b];
	if (axis < 0)
		return DFG_ERR(DFG_DATA, "inputs %d and %d have shapes %s and %s, expected equal numbers of dimensions", a, b,
			dfg_shape_words(first).s, dfg_shape_words(other).s);
	return DFG_ERR(DFG_DATA, "inputs %d and %d have shapes %s and %s, expected equal shapes except along axis %d", a, b,
		dfg_shape_words(first).s, dfg_shape_words(other).s, axis);
}

/* The shape of the result: the dimensions of all parts merged, except the axis, which is their sum. */
static struct dfg_err *join_shapes(const struct dfg_infer *node, struct join join, int64_t given, struct dfg_shape *out)
{
	int64_t sum = 0;
	int axis = -1;
	*out = DFG_SHAPE_UNKNOWN;
	for (int i = join.first; i < join.first + join.count; i++) {
		struct dfg_shape part = *node->in[i];
		if (part.rank == 0)
			return DFG_ERR(DFG_DATA, "input %d is a scalar, and cannot be concatenated", i);
		if (part.rank > 0 && given != DFG_NOT_KNOWN)
			DFG_TRY(dfg_axis(given, part.rank, &axis));
		if (part.rank < 0 || sum < 0 || axis < 0 || part.dim[axis] < 0)
			sum = DFG_UNKNOWN;
		else if (__builtin_add_overflow(sum, part.dim[axis], &sum))
			return DFG_ERR(DFG_DATA, "the sizes of inputs 0 to %d along axis %d add up to more than 2^63 - 1", i, axis);
		for (int d = 0; d < part.rank; d++)
			part.dim[d] = axis < 0 || d == axis ? DFG_UNKNOWN : part.dim[d];
		if (!dfg_shape_fits(out, &part))
			return cannot_join(node, join.first, i, axis);
		*out = dfg_shape_merge(out, &part);
	}
	if (axis >= 0)
		out->dim[axis] = sum;
	return NULL;
}

static struct dfg_err *concat_shape(struct dfg_infer *node)
{
	struct join join = join_of(node->call);
	DFG_TRY(dfg_need_rank(node, join.axis, 0));
	return join_shapes(node, join, dfg_int_of(node, join.axis, 0), &node->out[0]);
}

static struct dfg_err *concat_known(struct dfg_infer *node)
{
	struct join join = join_of(node->call);
	struct dfg_known_value *known;
	int64_t next = 0;
	if (node->out[0].rank != 1)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 1, node->out[0].dim[0], &known));
	for (int i = join.first; known && i < join.first + join.count; i++)
		for (int64_t k = 0; k < node->in[i]->dim[0]; k++)
			known->v[next++] = dfg_int_of(node, i, k);
	return NULL;
}

/* Copies the parts one after another, once for each index of the dimensions before the axis. */
static void join_parts(struct dfg_kernel *ctx, struct join join, int axis, struct dfg_tensor *out)
{
	int64_t outer = dfg_count_between(&out->shape, 0, axis), at = 0;
	int64_t whole = dfg_count_between(&out->shape, axis, out->shape.rank);
	for (int i = join.first; i < join.first + join.count; i++) {
		const struct dfg_tensor *part = dfg_kernel_input(ctx, i);
		int64_t run = outer ? dfg_shape_count(&part->shape) / outer : 0;
		struct dfg_strided_box box = {2, {outer, run}, {run, 1}, {whole, 1}};
		dfg_box_copy(ctx, dfg_dtype_size(out->dtype), box, part->data, dfg_tensor_at(out, at));
		at += run;
	}
}

static struct dfg_err *concat_run(struct dfg_kernel *ctx)
{
	struct join join = join_of(ctx->call);
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[join.axis], 0), out->shape.rank, &axis));
	join_parts(ctx, join, axis, out);
	return dfg_moved(ctx, 0);
}

/* The parts' sizes along the axis; false if one is not known. */
static bool sizes_known(struct dfg_gradient *node, struct join join, int64_t *out_axis, int64_t *sizes)
{
	const struct dfg_known_value *axis = dfg_adjoint_fact(node, node->in[join.axis]).known;
	for (int i = 0; i < join.count; i++) {
		const struct dfg_shape part = dfg_adjoint_fact(node, node->in[join.first + i]).shape;
		int d;
		if (!axis || axis->v[0] == DFG_NOT_KNOWN || part.rank < 0)
			return false;
		struct dfg_err *err = dfg_axis(axis->v[0], part.rank, &d);
		dfg_err_free(err);
		if (err || part.dim[d] < 0)
			return false;
		sizes[i] = part.dim[d];
		*out_axis = d;
	}
	return true;
}

static struct dfg_err *concat_split(struct dfg_gradient *node, struct join join, int64_t axis, const int64_t *sizes)
{
	struct dfg_edge in[3] = {node->dy[0]}, parts;
	DFG_TRY(dfg_adjoint_ints(node, 1, sizes, join.count, &in[1]));
	DFG_TRY(dfg_adjoint_ints(node, 0, &axis, 1, &in[2]));
	DFG_TRY(dfg_gradient_op(node, "SplitV", in, 3, &DFG_ATTR_I("num_split", join.count), 1, &parts));
	for (int i = 0; i < join.count; i++)
		dfg_gradient_set(node, join.first + i, (struct dfg_edge){parts.node, i});
	return NULL;
}

/* Each part's cotangent is a slice of its shape, at its offset. edges has space for the axis and the parts' shapes. */
static struct dfg_err *concat_slices(struct dfg_gradient *node, struct join join, struct dfg_edge *edges)
{
	struct dfg_edge shapes, offsets, dx;
	DFG_TRY(dfg_gradient_op(node, "ShapeN", node->in + join.first, (uint32_t)join.count, NULL, 0, &shapes));
	edges[0] = node->in[join.axis];
	if (dfg_adjoint_fact(node, edges[0]).dtype != DFG_I32)
		DFG_TRY(dfg_gradient_op(node, "Cast", &edges[0], 1, &DFG_ATTR_T("DstT", DFG_I32), 1, &edges[0]));
	for (int i = 0; i < join.count; i++)
		edges[1 + i] = (struct dfg_edge){shapes.node, i};
	DFG_TRY(dfg_gradient_op(node, "ConcatOffset", edges, (uint32_t)join.count + 1, NULL, 0, &offsets));
	for (int i = 0; i < join.count; i++) {
		if (!node->wanted[join.first + i])
			continue;
		DFG_TRY(dfg_adjoint_op(
			node, "Slice", node->dy[0], (struct dfg_edge){offsets.node, i}, (struct dfg_edge){shapes.node, i}, &dx));
		dfg_gradient_set(node, join.first + i, dx);
	}
	return NULL;
}

static struct dfg_err *concat_gradient(struct dfg_gradient *node)
{
	struct join join = join_of(node->call);
	int64_t axis = 0;
	int64_t *sizes = dfg_zeros((size_t)join.count + 1, sizeof *sizes + sizeof(struct dfg_edge));
	if (!sizes)
		return DFG_ERR(DFG_MEMORY, "no memory for the gradient of %d parts", join.count);
	struct dfg_err *err = sizes_known(node, join, &axis, sizes)
							  ? concat_split(node, join, axis, sizes)
							  : concat_slices(node, join, (struct dfg_edge *)(sizes + join.count + 1));
	dfg_free(sizes);
	return err;
}

static const char *join_rows(const struct dfg_infer *node, uint64_t by_row, int axis)
{
	for (int i = 0; i < node->call->n_in; i++)
		if ((by_row >> i & 1) == (i == axis))
			return "some of its inputs depend on the batch, others do not";
	return dfg_rows_axis(dfg_int_of(node, axis, 0), node->out[0].rank);
}

static const char *concat_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return join_rows(node, by_row, node->call->n_in - 1);
}

static const char *concat_first_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return join_rows(node, by_row, 0);
}

static const char *pack_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const char *why = dfg_rows_all(node, by_row);
	return why ? why : dfg_rows_axis(node->call->attr[0].i, node->out[0].rank);
}

const struct dfg_op dfg_op_Concat = {
	.name = "Concat",
	.doc = "the values concatenated along an axis (older form)",
	.sig = "<T: type, N: int >= 2>(concat_dim: i32, values: N * T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = concat_shape,
	.known = concat_known,
	.rows = concat_first_rows,
	.gradient_fn = concat_gradient,
	.run = concat_run,
};

const struct dfg_op dfg_op_ConcatV2 = {
	.name = "ConcatV2",
	.doc = "the values concatenated along an axis",
	.sig = "<T: type, N: int >= 2, Tidx: index = i32>(values: N * T, axis: Tidx) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = concat_shape,
	.known = concat_known,
	.rows = concat_rows,
	.gradient_fn = concat_gradient,
	.run = concat_run,
};

static struct dfg_err *concat_offset_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 0));
	for (int i = 1; i < node->call->n_in; i++) {
		DFG_TRY(dfg_need_rank(node, i, 1));
		node->out[i - 1] = *node->in[i];
	}
	return NULL;
}

/* The shapes must be equal except along the axis; a part's offset is the sum of the parts before it. */
static struct dfg_err *concat_offset_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *first = dfg_kernel_input(ctx, 1);
	int64_t offset = 0, rank = dfg_shape_count(&first->shape);
	int axis;
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "input 1 is a shape of %" PRId64 " dimensions: the limit is %d", rank, DFG_RANK_MAX);
	if (ctx->in[0]->shape.rank)
		return DFG_ERR(DFG_DATA, "the axis has shape %s, expected a scalar", dfg_shape_words(&ctx->in[0]->shape).s);
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[0], 0), (int)rank, &axis));
	for (int i = 1; i < ctx->call->n_in; i++) {
		const struct dfg_tensor *shape = dfg_kernel_input(ctx, i);
		struct dfg_tensor *out;
		if (!dfg_shape_equal(&shape->shape, &DFG_SHAPE_VECTOR(rank)))
			return DFG_ERR(
				DFG_DATA, "input %d has shape %s, expected [%" PRId64 "]", i, dfg_shape_words(&shape->shape).s, rank);
		DFG_TRY(dfg_kernel_output(ctx, i - 1, &shape->shape, &out));
		for (int d = 0; d < rank; d++) {
			int64_t dim = dfg_tensor_int(shape, d), value = d == axis ? offset : 0;
			if (d != axis && dim != dfg_tensor_int(first, d))
				return DFG_ERR(DFG_DATA, "dimension %d of input %d is %" PRId64 ", expected %" PRId64 " as in input 1",
					d, i, dim, dfg_tensor_int(first, d));
			dfg_convert(out->dtype, dfg_tensor_at(out, d), DFG_I64, &value, 1);
		}
		if (__builtin_add_overflow(offset, dfg_tensor_int(shape, axis), &offset))
			return DFG_ERR(DFG_DATA, "the sizes of inputs 1 to %d along axis %d add up to more than 2^63 - 1", i, axis);
	}
	return NULL;
}

const struct dfg_op dfg_op_ConcatOffset = {
	.name = "ConcatOffset",
	.doc = "the offset of each part in the concatenation of parts of the given shapes",
	.sig = "<N: int >= 2, shape_type: index = i32>(concat_dim: i32, shape: N * shape_type) -> (offset: N * shape_type)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = concat_offset_shape,
	.run = concat_offset_run,
};

static struct dfg_err *pack_shape(struct dfg_infer *node)
{
	struct dfg_shape part = DFG_SHAPE_UNKNOWN;
	int axis;
	for (int i = 0; i < node->call->n_in; i++) {
		if (!dfg_shape_fits(&part, node->in[i]))
			return DFG_ERR(DFG_DATA, "input %d has shape %s, but those before it %s: expected equal shapes", i,
				dfg_shape_words(node->in[i]).s, dfg_shape_words(&part).s);
		part = dfg_shape_merge(&part, node->in[i]);
	}
	if (part.rank < 0)
		return NULL;
	if (part.rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions", dfg_shape_words(&part).s,
			DFG_RANK_MAX);
	DFG_TRY(dfg_axis(node->call->attr[0].i, part.rank + 1, &axis));
	node->out[0].rank = part.rank + 1;
	for (int d = 0; d <= part.rank; d++)
		node->out[0].dim[d] = d == axis ? node->call->n_in : part.dim[d - (d > axis)];
	return NULL;
}

static struct dfg_err *pack_known(struct dfg_infer *node)
{
	struct dfg_known_value *known;
	if (node->out[0].rank != 1)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 1, node->call->n_in, &known));
	for (int i = 0; known && i < node->call->n_in; i++)
		known->v[i] = dfg_int_of(node, i, 0);
	return NULL;
}

static struct dfg_err *pack_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(dfg_axis(ctx->call->attr[0].i, out->shape.rank, &axis));
	join_parts(ctx, (struct join){0, ctx->call->n_in, 0}, axis, out);
	return dfg_moved(ctx, 0);
}

static struct dfg_err *pack_gradient(struct dfg_gradient *node)
{
	struct dfg_attr attr[] = {DFG_ATTR_I("axis", node->call->attr[0].i), DFG_ATTR_I("num", node->call->n_in)};
	struct dfg_edge parts;
	DFG_TRY(dfg_gradient_op(node, "Unpack", node->dy, 1, attr, 2, &parts));
	for (int i = 0; i < node->call->n_in; i++)
		dfg_gradient_set(node, i, (struct dfg_edge){parts.node, i});
	return NULL;
}

const struct dfg_op dfg_op_Pack = {
	.name = "Pack",
	.doc = "the values stacked along a new axis",
	.sig = "<T: type, N: int>(values: N * T) -> (output: T)",
	.attr = {"axis: int = 0"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_PACKED,
	.shape = pack_shape,
	.known = pack_known,
	.rows = pack_rows,
	.gradient_fn = pack_gradient,
	.run = pack_run,
};
