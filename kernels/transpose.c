/* Transpose, InvertPermutation, ReverseV2. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>

static struct dfg_err *transpose_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int64_t n = dfg_length_of(node, 1);
	unsigned met = 0;
	DFG_TRY(dfg_need_rank(node, 1, 1));
	if (n > DFG_RANK_MAX || (n >= 0 && in->rank >= 0 && n != in->rank))
		return DFG_ERR(DFG_DATA, "the permutation has %" PRId64 " axes, expected the %d of %s", n, in->rank,
			dfg_shape_words(in).s);
	node->out[0].rank = in->rank >= 0 ? in->rank : (int)n;
	for (int d = 0; d < node->out[0].rank; d++) {
		int64_t axis = dfg_int_of(node, 1, d);
		int from;
		node->out[0].dim[d] = DFG_UNKNOWN;
		if (axis == DFG_NOT_KNOWN)
			continue;
		DFG_TRY(dfg_axis(axis, node->out[0].rank, &from));
		if (met & 1U << from)
			return DFG_ERR(DFG_DATA, "axis %d occurs twice in the permutation", from);
		met |= 1U << from;
		if (in->rank >= 0)
			node->out[0].dim[d] = in->dim[from];
	}
	return NULL;
}

static struct dfg_err *transpose_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *perm = dfg_kernel_input(ctx, 1);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX];
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	for (int d = 0; d < in->shape.rank; d++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(perm, d), in->shape.rank, &axis));
		dfg_box_axis(&box, in->shape.dim[axis], from[axis], to[d]);
	}
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, in->data, out->data);
	return dfg_moved(ctx, 0);
}

static const char *transpose_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return by_row == 1 && dfg_int_of(node, 1, 0) == 0 ? NULL : "it moves the batch to another axis";
}

const struct dfg_op dfg_op_Transpose = {
	.name = "Transpose",
	.doc = "x with its axes in another order: axis i of the result is axis perm[i] of x",
	.sig = "<T: type, Tperm: index = i32>(x: T, perm: Tperm) -> (y: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = transpose_shape,
	.rows = transpose_rows,
	.gradient = "dx = Transpose(dy, InvertPermutation(perm))",
	.run = transpose_run,
};

#define CONJUGATE(NAME, name, type, ...)                                   \
	static struct dfg_err *conjugate_##name(struct dfg_kernel *ctx)        \
	{                                                                      \
		DFG_TRY(transpose_run(ctx));                                       \
		type *y = ctx->out[0]->data;                                       \
		for (int64_t i = 0; i < dfg_shape_count(&ctx->out[0]->shape); i++) \
			y[i] = ~y[i];                                                  \
		return NULL;                                                       \
	}
DFG_EACH_complex(CONJUGATE)

const struct dfg_op dfg_op_ConjugateTranspose = {
	.name = "ConjugateTranspose",
	.doc = "as Transpose, and complex elements conjugated",
	.sig = "<T: type, Tperm: index = i32>(x: T, perm: Tperm) -> (y: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = transpose_shape,
	.gradient = "dx = ConjugateTranspose(dy, InvertPermutation(perm))",
	.kernel = {DFG_EACH_complex(DFG_BY_DTYPE, conjugate)},
	.run = transpose_run,
};

static struct dfg_err *invert_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	node->out[0] = *node->in[0];
	return NULL;
}

#define INVERT(NAME, name, type, ...)                                                                              \
	static struct dfg_err *invert_##name(struct dfg_kernel *ctx)                                                   \
	{                                                                                                              \
		const type *x = ctx->in[0]->data;                                                                          \
		struct dfg_tensor *out;                                                                                    \
		DFG_TRY(dfg_output_now(ctx, &out));                                                                        \
		int64_t n = out->shape.dim[0];                                                                             \
		type *y = out->data;                                                                                       \
		for (int64_t i = 0; i < n; i++)                                                                            \
			y[i] = -1;                                                                                             \
		for (int64_t i = 0; i < n; i++) {                                                                          \
			if (x[i] < 0 || x[i] >= n)                                                                             \
				return DFG_ERR(                                                                                    \
					DFG_DATA, "element %" PRId64 " is %" PRId64 ", outside [0,%" PRId64 ")", i, (int64_t)x[i], n); \
			if (y[x[i]] >= 0)                                                                                      \
				return DFG_ERR(DFG_DATA, "%" PRId64 " occurs twice in the permutation", (int64_t)x[i]);            \
			y[x[i]] = (type)i;                                                                                     \
		}                                                                                                          \
		return NULL;                                                                                               \
	}
INVERT(I32, i32, int32_t)
INVERT(I64, i64, int64_t)

const struct dfg_op dfg_op_InvertPermutation = {
	.name = "InvertPermutation",
	.doc = "the inverse of permutation x",
	.sig = "<T: index = i32>(x: T) -> (y: T)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = invert_shape,
	.kernel = {[DFG_I32] = invert_i32, [DFG_I64] = invert_i64},
};

static struct dfg_err *reverse_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int64_t n = dfg_length_of(node, 1);
	unsigned met = 0;
	DFG_TRY(dfg_need_rank(node, 1, 1));
	node->out[0] = *in;
	if (n > DFG_RANK_MAX) /* axes must differ */
		return DFG_ERR(
			DFG_DATA, "%" PRId64 " axes are given for %s, expected one for each dimension", n, dfg_shape_words(in).s);
	for (int64_t i = 0; i < n && in->rank >= 0; i++) {
		int64_t given = dfg_int_of(node, 1, i);
		int axis;
		if (given == DFG_NOT_KNOWN)
			continue;
		DFG_TRY(dfg_axis(given, in->rank, &axis));
		if (met & 1U << axis)
			return DFG_ERR(DFG_DATA, "axis %d is given twice", axis);
		met |= 1U << axis;
	}
	return NULL;
}

static struct dfg_err *reverse_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *axes = dfg_kernel_input(ctx, 1);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX], first = 0;
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	for (int64_t i = 0, n = dfg_shape_count(&axes->shape); i < n; i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), in->shape.rank, &axis));
		first += (in->shape.dim[axis] - 1) * from[axis];
		from[axis] = -from[axis];
	}
	for (int d = 0; d < in->shape.rank; d++)
		dfg_box_axis(&box, in->shape.dim[d], from[d], to[d]);
	if (dfg_shape_count(&in->shape))
		dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, dfg_tensor_at(in, first), out->data);
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_ReverseV2 = {
	.name = "ReverseV2",
	.doc = "tensor reversed along the given axes",
	.sig = "<T: plain|string, Tidx: index = i32>(tensor: T, axis: Tidx) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = reverse_shape,
	.gradient = "dtensor = ReverseV2(doutput, axis)",
	.run = reverse_run,
};
