/* A tensor divided along an axis: Split, SplitV, Unpack. */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>

/* The outputs' shapes if the axis is unknown: of the value's rank, with unknown dimensions. */
static void parts_unknown(struct dfg_infer *node, const struct dfg_shape *in)
{
	for (int i = 0; i < node->call->n_out; i++) {
		node->out[i] = *in;
		for (int d = 0; d < in->rank; d++)
			node->out[i].dim[d] = DFG_UNKNOWN;
	}
}

enum { SPLIT_DIM, VALUE };

static struct dfg_err *split_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[VALUE];
	int64_t given = dfg_int_of(node, SPLIT_DIM, 0), n = node->call->n_out;
	int axis;
	DFG_TRY(dfg_need_rank(node, SPLIT_DIM, 0));
	if (in->rank < 0)
		return NULL;
	if (given == DFG_NOT_KNOWN) {
		parts_unknown(node, in);
		return NULL;
	}
	DFG_TRY(dfg_axis(given, in->rank, &axis));
	if (in->dim[axis] >= 0 && in->dim[axis] % n)
		return DFG_ERR(
			DFG_DATA, "cannot split dimension %d of %s into %" PRId64 " equal parts", axis, dfg_shape_words(in).s, n);
	for (int i = 0; i < n; i++) {
		node->out[i] = *in;
		if (in->dim[axis] >= 0)
			node->out[i].dim[axis] = in->dim[axis] / n;
	}
	return NULL;
}

/* Copies the value's parts along the axis to the outputs, which have these shapes. */
static struct dfg_err *take_apart(
	struct dfg_kernel *ctx, const struct dfg_tensor *value, int axis, const struct dfg_shape *shapes)
{
	int64_t outer = dfg_count_between(&value->shape, 0, axis), at = 0;
	int64_t whole = dfg_count_between(&value->shape, axis, value->shape.rank);
	for (int i = 0; i < ctx->call->n_out; i++) {
		struct dfg_tensor *out;
		DFG_TRY(dfg_kernel_output(ctx, i, &shapes[i], &out));
		int64_t run = outer ? dfg_shape_count(&shapes[i]) / outer : 0;
		struct dfg_strided_box box = {2, {outer, run}, {whole, 1}, {run, 1}};
		dfg_box_copy(ctx, dfg_dtype_size(value->dtype), box, dfg_tensor_at(value, at), out->data);
		at += run;
		DFG_TRY(dfg_moved(ctx, i));
	}
	return NULL;
}

static struct dfg_err *shapes_of_all(struct dfg_kernel *ctx, struct dfg_shape **out_shapes)
{
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, ctx->call->n_out * sizeof **out_shapes, &memory));
	*out_shapes = memory;
	return dfg_shapes_now(ctx, ctx->call->n_out, *out_shapes);
}

/* Splits input `value` along the axis in input `axis_input`. */
static struct dfg_err *split_along(struct dfg_kernel *ctx, int axis_input, int value)
{
	struct dfg_shape *shapes;
	int axis;
	DFG_TRY(shapes_of_all(ctx, &shapes));
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[axis_input], 0), ctx->in[value]->shape.rank, &axis));
	return take_apart(ctx, ctx->in[value], axis, shapes);
}

static struct dfg_err *split_run(struct dfg_kernel *ctx)
{
	return split_along(ctx, SPLIT_DIM, VALUE);
}

/* dvalue: the cotangents joined by ConcatV2 along the axis in input axis_input, or by Pack along attribute axis. */
static struct dfg_err *join_cotangents(struct dfg_gradient *node, int value, int axis_input)
{
	uint32_t n = node->call->n_out;
	struct dfg_edge dx, *in = dfg_zeros(n + 1, sizeof *in);
	struct dfg_err *err = in ? NULL : DFG_ERR(DFG_MEMORY, "no memory for the gradient of %u parts", n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = dfg_adjoint_of(node, (int)i, &in[i]);
	if (!err && axis_input >= 0) {
		in[n] = node->in[axis_input];
		err = dfg_gradient_op(node, "ConcatV2", in, n + 1, NULL, 0, &dx);
	} else if (!err) {
		err = dfg_gradient_op(node, "Pack", in, n, &DFG_ATTR_I("axis", node->call->attr[0].i), 1, &dx);
	}
	if (!err)
		dfg_gradient_set(node, value, dx);
	dfg_free(in);
	return err;
}

/* The cotangent of a single part is that of the value; ConcatV2 requires two. */
static struct dfg_err *split_gradient(struct dfg_gradient *node)
{
	if (node->call->n_out == 1)
		dfg_gradient_set(node, VALUE, node->dy[0]);
	else
		DFG_TRY(join_cotangents(node, VALUE, SPLIT_DIM));
	return NULL;
}

static const char *split_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return dfg_rows_along(node, by_row, 1, 0);
}

static const char *split_v_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return dfg_rows_along(node, by_row, 0, 2);
}

static const char *unpack_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const char *why = dfg_rows_first(node, by_row);
	return why ? why : dfg_rows_axis(node->call->attr[0].i, node->in[0]->rank);
}

const struct dfg_op dfg_op_Split = {
	.name = "Split",
	.doc = "value in num_split equal parts along an axis",
	.sig = "<T: type, num_split: int>(split_dim: i32, value: T) -> (output: num_split * T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = split_shape,
	.rows = split_rows,
	.gradient_fn = split_gradient,
	.run = split_run,
};

enum { WHOLE, SIZES, AXIS };
enum { PARTS_MAX = 1024 }; /* as many values as a shape function sees */

/* One size may be -1: the remainder. */
static struct dfg_err *split_sizes(const struct dfg_infer *node, int axis, struct dfg_shape *out)
{
	const struct dfg_shape *in = node->in[WHOLE];
	int64_t sum = 0, left = -1;
	for (int i = 0; i < node->call->n_out; i++) {
		int64_t size = dfg_int_of(node, SIZES, i);
		if (size == DFG_NOT_KNOWN)
			return NULL; /* the dimensions along the axis stay unknown */
		if (size < -1 || (size == -1 && left >= 0))
			return DFG_ERR(DFG_DATA, "size %d is %" PRId64 ", expected 0 or more; one size may be -1", i, size);
		if (size == -1)
			left = i;
		else if (__builtin_add_overflow(sum, size, &sum))
			return DFG_ERR(DFG_DATA, "sizes 0 to %d add up to more than 2^63 - 1", i);
	}
	if (in->dim[axis] >= 0 && (left >= 0 ? sum > in->dim[axis] : sum != in->dim[axis]))
		return DFG_ERR(DFG_DATA, "sizes add up to %" PRId64 ", which does not fit dimension %d of %s", sum, axis,
			dfg_shape_words(in).s);
	for (int i = 0; i < node->call->n_out; i++)
		out[i].dim[axis] = i != left           ? dfg_int_of(node, SIZES, i)
						   : in->dim[axis] < 0 ? DFG_UNKNOWN
											   : in->dim[axis] - sum;
	return NULL;
}

static struct dfg_err *split_v_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[WHOLE];
	int64_t given = dfg_int_of(node, AXIS, 0), n = dfg_length_of(node, SIZES);
	int axis;
	DFG_TRY(dfg_need_rank(node, AXIS, 0));
	DFG_TRY(dfg_need_rank(node, SIZES, 1));
	if (n >= 0 && n != node->call->n_out)
		return DFG_ERR(
			DFG_DATA, "there are %" PRId64 " sizes for %d parts, expected one for each", n, node->call->n_out);
	if (in->rank < 0)
		return NULL;
	parts_unknown(node, in);
	if (given == DFG_NOT_KNOWN)
		return NULL;
	DFG_TRY(dfg_axis(given, in->rank, &axis));
	for (int i = 0; i < node->call->n_out; i++)
		for (int d = 0; d < in->rank; d++)
			node->out[i].dim[d] = d == axis ? DFG_UNKNOWN : in->dim[d];
	return split_sizes(node, axis, node->out);
}

static struct dfg_err *split_v_run(struct dfg_kernel *ctx)
{
	if (ctx->call->n_out > PARTS_MAX)
		return DFG_ERR(DFG_DATA, "num_split is %d: the limit is %d", ctx->call->n_out, PARTS_MAX);
	return split_along(ctx, AXIS, WHOLE);
}

static struct dfg_err *split_v_gradient(struct dfg_gradient *node)
{
	if (node->call->n_out == 1)
		dfg_gradient_set(node, WHOLE, node->dy[0]);
	else
		DFG_TRY(join_cotangents(node, WHOLE, AXIS));
	return NULL;
}

const struct dfg_op dfg_op_SplitV = {
	.name = "SplitV",
	.doc = "value in parts of the given sizes along an axis; one size may be -1: the remainder",
	.sig =
		"<T: type, num_split: int, Tlen: index|i8 = i64>"
		"(value: T, size_splits: Tlen, split_dim: i32) -> (output: num_split * T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = split_v_shape,
	.rows = split_v_rows,
	.gradient_fn = split_v_gradient,
	.run = split_v_run,
};

static struct dfg_err *unpack_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int axis;
	DFG_TRY(dfg_axis(node->call->attr[0].i, in->rank, &axis));
	if (in->dim[axis] >= 0 && in->dim[axis] != node->call->n_out)
		return DFG_ERR(DFG_DATA, "cannot unpack dimension %d of %s, expected size %d", axis, dfg_shape_words(in).s,
			node->call->n_out);
	for (int i = 0; i < node->call->n_out; i++) {
		node->out[i].rank = in->rank - 1;
		for (int d = 0; d < in->rank - 1; d++)
			node->out[i].dim[d] = in->dim[d + (d >= axis)];
	}
	return NULL;
}

static struct dfg_err *unpack_known(struct dfg_infer *node)
{
	const struct dfg_known_value *in = node->known[0];
	for (int i = 0; in && in->rank == 1 && i < node->call->n_out; i++) {
		struct dfg_known_value *known;
		DFG_TRY(dfg_known_new(node, i, 0, 1, &known));
		known->v[0] = dfg_int_of(node, 0, i);
	}
	return NULL;
}

static struct dfg_err *unpack_run(struct dfg_kernel *ctx)
{
	struct dfg_shape *shapes;
	int axis;
	DFG_TRY(shapes_of_all(ctx, &shapes));
	DFG_TRY(dfg_axis(ctx->call->attr[0].i, ctx->in[0]->shape.rank, &axis));
	return take_apart(ctx, ctx->in[0], axis, shapes);
}

static struct dfg_err *unpack_gradient(struct dfg_gradient *node)
{
	return node->call->n_out ? join_cotangents(node, 0, -1) : NULL;
}

const struct dfg_op dfg_op_Unpack = {
	.name = "Unpack",
	.doc = "the num slices along an axis, without that axis",
	.sig = "<T: type, num: int >= 0>(value: T) -> (output: num * T)",
	.attr = {"axis: int = 0"},
	.flags = DFG_EXACT,
	.shape = unpack_shape,
	.known = unpack_known,
	.rows = unpack_rows,
	.gradient_fn = unpack_gradient,
	.run = unpack_run,
};
