/* Broadcasting as an op of its own, and arithmetic on shapes that broadcast. */
#include <inttypes.h>

#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

static struct dfg_err *broadcast_to_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	struct dfg_shape to, both;
	DFG_TRY(dfg_shape_of(node, 1, &to));
	node->out[0] = to;
	for (int d = 0; d < to.rank; d++)
		if (dfg_int_of(node, 1, d) == -1)
			return DFG_ERR(DFG_DATA, "dimension %d of the shape is -1, expected at least 0", d);
	if (to.rank < 0 || in->rank < 0)
		return NULL;
	if (in->rank > to.rank || !dfg_shape_known(&to) || !dfg_shape_known(in)) {
		if (in->rank > to.rank)
			return DFG_ERR(DFG_DATA, "cannot broadcast %s to %s", dfg_shape_words(in).s, dfg_shape_words(&to).s);
		return NULL;
	}
	DFG_TRY(dfg_shape_broadcast((const struct dfg_shape *const[]){in, &to}, 2, &both));
	if (!dfg_shape_equal(&both, &to))
		return DFG_ERR(DFG_DATA, "cannot broadcast %s to %s", dfg_shape_words(in).s, dfg_shape_words(&to).s);
	return NULL;
}

static struct dfg_err *broadcast_to_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX];
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	for (int d = 0, lead = out->shape.rank - in->shape.rank; d < out->shape.rank; d++)
		dfg_box_axis(&box, out->shape.dim[d], d < lead || in->shape.dim[d - lead] == 1 ? 0 : from[d - lead], to[d]);
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, in->data, out->data);
	return dfg_moved(ctx, 0);
}

/* The first dimension is the number of rows: they are all the same if the input's has one row, or none. */
static const char *broadcast_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_shape *in = node->in[0];
	int64_t rank = dfg_length_of(node, 1);
	bool repeats = by_row == 2 && rank > 0 && in->rank >= 0 && (in->rank < rank || in->dim[0] == 1);
	return repeats ? NULL : "it repeats rows";
}

const struct dfg_op dfg_op_BroadcastTo = {
	.name = "BroadcastTo",
	.doc = "input broadcast to the shape: repeated along its dimensions of 1 and along new ones in front",
	.sig = "<T: type, Tidx: index = i32>(input: T, shape: Tidx) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_REPEATED,
	.shape = broadcast_to_shape,
	.rows = broadcast_rows,
	.gradient = "dinput = Reshape(Sum(doutput, BroadcastGradientArgs(Shape(output), Shape(input)).r1), Shape(input))",
	.run = broadcast_to_run,
};

static struct dfg_err *two_vectors(const struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	return dfg_need_rank(node, 1, 1);
}

static struct dfg_err *broadcast_args_shape(struct dfg_infer *node)
{
	DFG_TRY(two_vectors(node));
	int64_t a = dfg_length_of(node, 0), b = dfg_length_of(node, 1);
	node->out[0] = DFG_SHAPE_VECTOR(a < 0 || b < 0 ? DFG_UNKNOWN : a > b ? a : b);
	return NULL;
}

/* A vector of integers as a shape. */
static struct dfg_err *as_shape(const struct dfg_tensor *vector, struct dfg_shape *out_shape)
{
	int64_t rank = vector->shape.rank == 1 ? vector->shape.dim[0] : DFG_RANK_MAX + 1;
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the input that gives the shape has shape %s, expected a vector of at most %d",
			dfg_shape_words(&vector->shape).s, DFG_RANK_MAX);
	*out_shape = (struct dfg_shape){.rank = (int)rank};
	for (int d = 0; d < rank; d++)
		if ((out_shape->dim[d] = dfg_tensor_int(vector, d)) < 0)
			return DFG_ERR(
				DFG_DATA, "dimension %d of the shape is %" PRId64 ", expected at least 0", d, out_shape->dim[d]);
	return NULL;
}

/* n integers as output i. */
static struct dfg_err *give_ints(struct dfg_kernel *ctx, int i, const int64_t *v, int n)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(n), &out));
	dfg_convert(out->dtype, out->data, DFG_I64, v, n);
	return NULL;
}

/* Both inputs as shapes, and the one they broadcast to. */
static struct dfg_err *shapes_of(struct dfg_kernel *ctx, struct dfg_shape in[2], struct dfg_shape *out_both)
{
	DFG_TRY(as_shape(ctx->in[0], &in[0]));
	DFG_TRY(as_shape(ctx->in[1], &in[1]));
	return dfg_shape_broadcast((const struct dfg_shape *const[]){&in[0], &in[1]}, 2, out_both);
}

static struct dfg_err *broadcast_args_run(struct dfg_kernel *ctx)
{
	struct dfg_shape in[2], both;
	DFG_TRY(shapes_of(ctx, in, &both));
	return give_ints(ctx, 0, both.dim, both.rank);
}

const struct dfg_op dfg_op_BroadcastArgs = {
	.name = "BroadcastArgs",
	.doc = "the shape that shapes s0 and s1 broadcast to",
	.sig = "<T: index = i32>(s0: T, s1: T) -> (r0: T)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = broadcast_args_shape,
	.run = broadcast_args_run,
};

static struct dfg_err *gradient_args_shape(struct dfg_infer *node)
{
	DFG_TRY(two_vectors(node));
	node->out[0] = node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* No axis is summed if the shapes are equal, not even dimensions of 1. */
static struct dfg_err *gradient_args_run(struct dfg_kernel *ctx)
{
	struct dfg_shape in[2], both;
	DFG_TRY(shapes_of(ctx, in, &both));
	bool equal = dfg_shape_equal(&in[0], &in[1]);
	for (int i = 0; i < 2; i++) {
		int64_t axis[DFG_RANK_MAX];
		int n = 0, lead = both.rank - in[i].rank;
		for (int d = 0; d < both.rank && !equal; d++)
			if (d < lead || in[i].dim[d - lead] == 1)
				axis[n++] = d;
		DFG_TRY(give_ints(ctx, i, axis, n));
	}
	return NULL;
}

const struct dfg_op dfg_op_BroadcastGradientArgs = {
	.name = "BroadcastGradientArgs",
	.doc = "the axes over which gradients are summed for operands of shapes s0 and s1 that were broadcast",
	.sig = "<T: index = i32>(s0: T, s1: T) -> (r0: T, r1: T)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = gradient_args_shape,
	.run = gradient_args_run,
};

static struct dfg_err *tile_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int64_t n = dfg_length_of(node, 1);
	DFG_TRY(dfg_need_rank(node, 1, 1));
	if (n > DFG_RANK_MAX || (n >= 0 && in->rank >= 0 && n != in->rank))
		return DFG_ERR(DFG_DATA, "multiples have shape %s, expected one for each dimension of %s",
			dfg_shape_words(node->in[1]).s, dfg_shape_words(in).s);
	node->out[0].rank = in->rank >= 0 ? in->rank : (int)n;
	for (int d = 0; d < node->out[0].rank; d++) {
		int64_t multiple = dfg_int_of(node, 1, d);
		if (multiple < 0 && multiple != DFG_NOT_KNOWN)
			return DFG_ERR(DFG_DATA, "multiples[%d] is %" PRId64 ", expected at least 0", d, multiple);
		DFG_TRY(dfg_dim_product(in->rank < 0 ? DFG_UNKNOWN : in->dim[d], multiple, &node->out[0].dim[d]));
	}
	return NULL;
}

static struct dfg_err *tile_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX];
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	for (int d = 0; d < in->shape.rank; d++) {
		int64_t dim = in->shape.dim[d];
		dfg_box_axis(&box, dim ? out->shape.dim[d] / dim : 0, 0, dim * to[d]);
		dfg_box_axis(&box, dim, from[d], to[d]);
	}
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, in->data, out->data);
	return dfg_moved(ctx, 0);
}

/*
 * The gradient splits each dimension into [multiple, dim] and sums over the multiples, which are the even axes. Pack
 * along axis 1 makes that shape.
 */
static const char *tile_rows(const struct dfg_infer *node, uint64_t by_row)
{
	bool is_batch = by_row == 1 && dfg_int_of(node, 1, 0) == 1;
	bool repeats_one = by_row == 2 && dfg_length_of(node, 1) > 0 && node->in[0]->rank > 0 && node->in[0]->dim[0] == 1;
	return is_batch || repeats_one ? NULL : "it may repeat the batch";
}

const struct dfg_op dfg_op_Tile = {
	.name = "Tile",
	.doc = "input repeated, multiples[i] times along dimension i",
	.sig = "<T: type, Tmultiples: index = i32>(input: T, multiples: Tmultiples) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = tile_shape,
	.rows = tile_rows,
	.gradient =
		"dinput = Reshape(Sum(Reshape(doutput, Reshape(Pack([i32(multiples), Shape(input)], axis = 1), [-1])),"
		" Range(0, 2 * Size(multiples), 2)), Shape(input))",
	.run = tile_run,
};
