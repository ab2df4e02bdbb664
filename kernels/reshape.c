/*
 * Ops whose output shares the elements of their first input: in another shape, or marked or checked in the same shape.
 */
#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>

static struct dfg_err *view_run(struct dfg_kernel *ctx)
{
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	return dfg_kernel_view(ctx, 0, 0, &shape);
}

static struct dfg_err *view_known(struct dfg_infer *node)
{
	return dfg_known_same(node, 0);
}

static struct dfg_err *cannot_reshape(const struct dfg_infer *node, const struct dfg_shape *to)
{
	return DFG_ERR(DFG_DATA, "cannot reshape %s to %s", dfg_shape_words(node->in[0]).s, dfg_shape_words(to).s);
}

/* The product of the dimensions that are not 0. */
static struct dfg_err *count_without_zeros(struct dfg_shape shape, int64_t *out_count)
{
	size_t bytes;
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] += !shape.dim[d];
	DFG_TRY(dfg_shape_bytes(&shape, DFG_U8, &bytes));
	*out_count = (int64_t)bytes;
	return NULL;
}

/*
 * Computes dimension `free` of `to`, which is -1. If there are no elements, dimensions of 0 are ignored on both sides.
 */
static struct dfg_err *fill_free(const struct dfg_infer *node, struct dfg_shape *to, int free)
{
	size_t bytes;
	struct dfg_shape known = *to;
	known.dim[free] = 1;
	if (!dfg_shape_known(node->in[0]) || !dfg_shape_known(&known))
		return NULL;
	DFG_TRY(dfg_shape_bytes(&known, DFG_U8, &bytes));
	int64_t count = dfg_shape_count(node->in[0]), others = dfg_shape_count(&known);
	bool nothing = !others && !count;
	if (nothing) {
		DFG_TRY(count_without_zeros(*node->in[0], &count));
		DFG_TRY(count_without_zeros(known, &others));
	}
	if (!others || (count % others && !nothing))
		return cannot_reshape(node, to);
	to->dim[free] = count / others;
	return NULL;
}

static struct dfg_err *reshape_shape(struct dfg_infer *node)
{
	struct dfg_shape *to = &node->out[0];
	DFG_TRY(dfg_shape_of(node, 1, to));
	int free = -1;
	bool known = to->rank >= 0;
	for (int d = 0; d < to->rank; d++) {
		int64_t dim = dfg_int_of(node, 1, d);
		known &= dim != DFG_NOT_KNOWN;
		if (dim == -1 && free >= 0)
			return DFG_ERR(
				DFG_DATA, "cannot reshape to %s: dimensions %d and %d are both -1", dfg_shape_words(to).s, free, d);
		if (dim == -1)
			free = d;
	}
	if (!known)
		return NULL;
	if (free >= 0)
		return fill_free(node, to, free);
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(to, DFG_U8, &bytes));
	if (dfg_shape_known(node->in[0]) && dfg_shape_count(node->in[0]) != dfg_shape_count(to))
		return cannot_reshape(node, to);
	return NULL;
}

/* Elements stay in their rows if a row has as many of them as before. */
static const char *reshape_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_shape *in = node->in[0], *out = &node->out[0];
	int64_t before = 1, after = 1;
	bool is_count = by_row == 3 && dfg_length_of(node, 1) > 0; /* the shape begins with the number of rows */
	for (int d = 1; is_count && d < out->rank; d++)
		if (dfg_int_of(node, 1, d) == -1)
			return NULL;
	if (!(by_row == 1 || is_count) || in->rank < 1 || out->rank < 1 || dfg_int_of(node, 1, 0) >= 0)
		return "its shape fixes or depends on the number of rows";
	for (int d = 1; d < in->rank; d++)
		if (in->dim[d] < 0 || __builtin_mul_overflow(before, in->dim[d], &before))
			return "the number of elements in a row is not known before it runs";
	for (int d = 1; d < out->rank; d++)
		if (out->dim[d] < 0 || __builtin_mul_overflow(after, out->dim[d], &after))
			return "the number of elements in a row is not known before it runs";
	return before == after ? NULL : "it moves elements between rows";
}

static const char *expand_dims_rows(const struct dfg_infer *node, uint64_t by_row)
{
	int rank = node->in[0]->rank;
	return by_row == 1 ? dfg_rows_axis(dfg_int_of(node, 1, 0), rank < 0 ? rank : rank + 1)
					   : "its axis depends on the batch";
}

static const char *squeeze_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_list *axes = node->call->attr[0].list;
	const char *why = axes->count ? dfg_rows_first(node, by_row) : "it removes the batch where that is one row";
	for (uint32_t i = 0; i < axes->count && !why; i++)
		why = dfg_rows_axis(axes->item[i].i, node->in[0]->rank);
	return why;
}

static const char *ensure_shape_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const struct dfg_shape *shape = node->call->attr[0].shape;
	return shape->rank > 0 && shape->dim[0] >= 0 ? "it fixes the number of rows" : dfg_rows_first(node, by_row);
}

const struct dfg_op dfg_op_Reshape = {
	.name = "Reshape",
	.doc = "the elements of tensor in another shape, of which one dimension may be -1: computed from the others",
	.sig = "<T: type, Tshape: index = i32>(tensor: T, shape: Tshape) -> (output: T)",
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_EXACT,
	.shape = reshape_shape,
	.known = view_known,
	.rows = reshape_rows,
	.gradient = "dtensor = Reshape(doutput, Shape(tensor))",
	.run = view_run,
};

static struct dfg_err *expand_dims_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int64_t dim = dfg_int_of(node, 1, 0), length = dfg_length_of(node, 1);
	int axis;
	if (length >= 0 && length != 1)
		return DFG_ERR(DFG_DATA, "the axis has shape %s, expected one number", dfg_shape_words(node->in[1]).s);
	if (in->rank < 0)
		return NULL;
	if (in->rank == DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions", dfg_shape_words(in).s, DFG_RANK_MAX);
	if (dim != DFG_NOT_KNOWN)
		DFG_TRY(dfg_axis(dim, in->rank + 1, &axis));
	node->out[0].rank = in->rank + 1;
	for (int d = 0; d <= in->rank; d++)
		node->out[0].dim[d] = dim == DFG_NOT_KNOWN ? DFG_UNKNOWN : d == axis ? 1 : in->dim[d - (d > axis)];
	return NULL;
}

const struct dfg_op dfg_op_ExpandDims = {
	.name = "ExpandDims",
	.doc = "input with a dimension of 1 inserted before dimension dim",
	.sig = "<T: type, Tdim: index = i32>(input: T, dim: Tdim) -> (output: T)",
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_EXACT,
	.shape = expand_dims_shape,
	.known = view_known,
	.rows = expand_dims_rows,
	.gradient = "dinput = Reshape(doutput, Shape(input))",
	.run = view_run,
};

/* Marks the axes to remove: those of the list, or all of size 1. */
static struct dfg_err *squeezed(const struct dfg_infer *node, bool *gone)
{
	const struct dfg_shape *in = node->in[0];
	const struct dfg_list *axes = node->call->attr[0].list;
	for (int d = 0; d < in->rank; d++)
		gone[d] = !axes->count && in->dim[d] == 1;
	for (uint32_t i = 0; i < axes->count; i++) {
		int axis;
		DFG_TRY(dfg_axis(axes->item[i].i, in->rank, &axis));
		if (in->dim[axis] != 1 && in->dim[axis] >= 0)
			return DFG_ERR(DFG_DATA, "cannot squeeze dimension %d of %s, which is not 1", axis, dfg_shape_words(in).s);
		gone[axis] = true;
	}
	return NULL;
}

static struct dfg_err *squeeze_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	bool gone[DFG_RANK_MAX];
	DFG_TRY(squeezed(node, gone));
	if (!node->call->attr[0].list->count && !dfg_shape_known(in))
		return NULL; /* an unknown dimension may be 1 */
	node->out[0].rank = 0;
	for (int d = 0; d < in->rank; d++)
		if (!gone[d])
			node->out[0].dim[node->out[0].rank++] = in->dim[d];
	return NULL;
}

const struct dfg_op dfg_op_Squeeze = {
	.name = "Squeeze",
	.doc = "input without its dimensions of 1, or without those of the list",
	.sig = "<T: type>(input: T) -> (output: T)",
	.attr = {"squeeze_dims: list(int) = []"},
	.flags = DFG_VIEW | DFG_EXACT,
	.shape = squeeze_shape,
	.known = view_known,
	.rows = squeeze_rows,
	.gradient = "dinput = Reshape(doutput, Shape(input))",
	.run = view_run,
};

static struct dfg_err *ensure_shape_shape(struct dfg_infer *node)
{
	const struct dfg_shape *shape = node->call->attr[0].shape;
	if (!dfg_shape_fits(node->in[0], shape))
		return DFG_ERR(
			DFG_DATA, "the shape is %s, expected %s", dfg_shape_words(node->in[0]).s, dfg_shape_words(shape).s);
	node->out[0] = dfg_shape_merge(node->in[0], shape);
	return NULL;
}

const struct dfg_op dfg_op_EnsureShape = {
	.name = "EnsureShape",
	.doc = "input, or an error if it does not have the shape",
	.sig = "<T: type>(input: T) -> (output: T)",
	.attr = {"shape: shape"},
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_EXACT,
	.shape = ensure_shape_shape,
	.known = view_known,
	.rows = ensure_shape_rows,
	.gradient = "dinput = doutput",
	.run = view_run,
};

static struct dfg_err *same_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

const struct dfg_op dfg_op_StopGradient = {
	.name = "StopGradient",
	.doc = "input, which is treated as a constant by derivatives",
	.sig = "<T: type>(input: T) -> (output: T)",
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_EXACT,
	.shape = same_shape,
	.known = view_known,
	.rows = dfg_rows_first,
	.gradient = "",
	.run = view_run,
};

const struct dfg_op dfg_op_GuaranteeConst = {
	.name = "GuaranteeConst",
	.doc = "input, which the graph's author guarantees never to change",
	.sig = "<T: type>(input: T) -> (output: T)",
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = same_shape,
	.known = view_known,
	.rows = dfg_rows_first,
	.run = view_run,
};

static struct dfg_err *prevent_gradient(struct dfg_gradient *node)
{
	struct dfg_string message = node->call->attr[0].s;
	return DFG_ERR(DFG_DATA, "the graph forbids this gradient: %.*s",
		(int)(message.length < 400 ? message.length : 400), message.s ? message.s : "");
}

const struct dfg_op dfg_op_PreventGradient = {
	.name = "PreventGradient",
	.doc = "input; an error if its derivative is requested",
	.sig = "<T: type>(input: T) -> (output: T)",
	.attr = {"message: string = ''"},
	.flags = DFG_VIEW | DFG_ANY_RANK | DFG_EXACT,
	.shape = same_shape,
	.known = view_known,
	.rows = dfg_rows_first,
	.gradient_fn = prevent_gradient,
	.run = view_run,
};
