/* Sum, Mean, Prod, Max, Min, EuclideanNorm, All, Any and L2Loss: their reducers and derivatives. */
#include "kernels/gradient_helpers.h"
#include "kernels/reduce.h"
#include "lib/base/vector.h"

enum { LANES = DFG_REDUCE_LANES, PART = 16 };

/* Sums wrap around; the accumulators of a mean do not. */
#define STEM(x) sum_##x
#define CLASS "kernels/each_numeric.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#include "kernels/reduction.inc"

#define STEM(x) prod_##x
#define CLASS "kernels/each_numeric.inc"
#define EMPTY 1
#define JOIN(a, b) a *b
#include "kernels/reduction.inc"

#define STEM(x) mean_##x
#define CLASS "kernels/each_float.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define LAST(a, n) a / (ACC)n
#include "kernels/reduction.inc"

#define STEM(x) mean_##x
#define CLASS "kernels/each_complex.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define LAST(a, n) a / (ACC)n
#include "kernels/reduction.inc"

#define STEM(x) mean_##x
#define CLASS "kernels/each_signed.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define LAST(a, n) n ? a / (ACC)n : 0
#define ACC int64_t
#include "kernels/reduction.inc"

#define STEM(x) mean_##x
#define CLASS "kernels/each_unsigned.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define LAST(a, n) n ? a / (ACC)n : 0
#define ACC uint64_t
#include "kernels/reduction.inc"

/* If there is a NaN, it is the result: comparisons with it are false. */
#define STEM(x) max_##x
#define CLASS "kernels/each_number.inc"
#define EMPTY LEAST
#define JOIN(a, b) a >= b || a != a ? a : b
#include "kernels/reduction.inc"

#define STEM(x) min_##x
#define CLASS "kernels/each_number.inc"
#define EMPTY GREATEST
#define JOIN(a, b) a <= b || a != a ? a : b
#include "kernels/reduction.inc"

#define STEM(x) all_##x
#define CLASS "kernels/each_bool.inc"
#define EMPTY true
#define JOIN(a, b) a &&b
#include "kernels/reduction.inc"

#define STEM(x) any_##x
#define CLASS "kernels/each_bool.inc"
#define EMPTY false
#define JOIN(a, b) a || b
#include "kernels/reduction.inc"

#define STEM(x) l2_loss_##x
#define CLASS "kernels/each_float.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define ONE(x) x *x
#define LAST(a, n) a / 2
#define RUN dfg_reduce_all
#include "kernels/reduction.inc"

#define STEM(x) norm_##x
#define CLASS "kernels/each_float.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define ONE(x) x *x
#define LAST(a, n) (ACC) __builtin_sqrt((double)(a))
#include "kernels/reduction.inc"

#define STEM(x) norm_##x
#define CLASS "kernels/each_complex.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define ONE(x) __real__ x *__real__ x + __imag__ x *__imag__ x
#define LAST(a, n) (ACC) __builtin_sqrt((double)__real__(a))
#include "kernels/reduction.inc"

/* Squares wrap around; a sum that became negative has no root. */
#define STEM(x) norm_##x
#define CLASS "kernels/each_signed.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define ONE(x) x *x
#define LAST(a, n) a > 0 ? (ACC)__builtin_sqrt((double)(a)) : 0
#include "kernels/reduction.inc"

#define STEM(x) norm_##x
#define CLASS "kernels/each_unsigned.inc"
#define EMPTY 0
#define JOIN(a, b) a + b
#define ONE(x) x *x
#define LAST(a, n) (ACC) __builtin_sqrt((double)(a))
#include "kernels/reduction.inc"

const struct dfg_reducer *dfg_sum_reducer(enum dfg_dtype dtype)
{
	return dtype == DFG_F32 ? sum_reducer_f32 : sum_reducer_f64;
}

const struct dfg_reducer *dfg_max_reducer(enum dfg_dtype dtype)
{
	return dtype == DFG_F32 ? max_reducer_f32 : max_reducer_f64;
}

/* A tensor of the output's shape, such as the cotangent, with the reduced dimensions restored as 1. */
static struct dfg_err *put_back(struct dfg_gradient *node, struct dfg_edge reduced, struct dfg_edge *out_edge)
{
	const struct dfg_shape in = dfg_adjoint_fact(node, node->in[0]).shape;
	const struct dfg_known_value *axes = dfg_adjoint_fact(node, node->in[1]).known;
	bool gone[DFG_RANK_MAX] = {0}, known = axes && in.rank >= 0;
	*out_edge = reduced;
	if (node->call->attr[0].b)
		return NULL;
	for (int64_t i = 0; known && i < axes->count; i++)
		if (axes->v[i] == DFG_NOT_KNOWN)
			known = false;
		else
			gone[axes->v[i] < 0 ? axes->v[i] + in.rank : axes->v[i]] = true;
	for (int64_t d = 0; known && d < in.rank; d++) {
		struct dfg_edge axis;
		if (!gone[d])
			continue;
		DFG_TRY(dfg_adjoint_ints(node, 0, &d, 1, &axis));
		DFG_TRY(dfg_adjoint_op(node, "ExpandDims", *out_edge, axis, DFG_NO_EDGE, out_edge));
	}
	if (known)
		return NULL;
	/* The shape with 1 at the axes is that of a sum of any tensor of the input's shape with keep_dims. */
	struct dfg_edge sum[2] = {node->in[0], node->in[1]}, shape;
	DFG_TRY(dfg_gradient_op(node, "ZerosLike", &sum[0], 1, NULL, 0, &sum[0]));
	DFG_TRY(dfg_gradient_op(node, "Sum", sum, 2, &DFG_ATTR_B("keep_dims", true), 1, &sum[0]));
	DFG_TRY(dfg_gradient_op(node, "Shape", sum, 1, NULL, 0, &shape));
	return dfg_adjoint_op(node, "Reshape", reduced, shape, DFG_NO_EDGE, out_edge);
}

/* The cotangent, broadcast to all elements of the sum. */
static struct dfg_err *spread(struct dfg_gradient *node, struct dfg_edge *out_edge)
{
	struct dfg_edge shape;
	DFG_TRY(put_back(node, node->dy[0], out_edge));
	DFG_TRY(dfg_adjoint_shape(node, node->in[0], &shape));
	return dfg_adjoint_op(node, "BroadcastTo", *out_edge, shape, DFG_NO_EDGE, out_edge);
}

static struct dfg_err *sum_gradient(struct dfg_gradient *node)
{
	struct dfg_edge dx;
	DFG_TRY(spread(node, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

/* The number of elements of a tensor, but at least 1; a constant if it is known. */
static struct dfg_err *count_of(struct dfg_gradient *node, struct dfg_edge of, struct dfg_edge *out_edge)
{
	const struct dfg_shape shape = dfg_adjoint_fact(node, of).shape;
	int64_t one = 1, count = dfg_shape_known(&shape) ? dfg_shape_count(&shape) : DFG_UNKNOWN;
	struct dfg_edge size;
	if (count >= 0) {
		count = count ? count : 1;
		return dfg_adjoint_ints(node, 0, &count, 1, out_edge);
	}
	DFG_TRY(dfg_gradient_op(node, "Size", &of, 1, NULL, 0, &size));
	DFG_TRY(dfg_adjoint_ints(node, 0, &one, 1, out_edge));
	return dfg_adjoint_op(node, "Maximum", size, *out_edge, DFG_NO_EDGE, out_edge);
}

/* Casts the other number to i64 if one of two is i64. */
static struct dfg_err *same_width(struct dfg_gradient *node, struct dfg_edge *a, struct dfg_edge *b)
{
	const struct dfg_attr wide = DFG_ATTR_T("DstT", DFG_I64);
	enum dfg_dtype first = dfg_adjoint_fact(node, *a).dtype, second = dfg_adjoint_fact(node, *b).dtype;
	if (first == second)
		return NULL;
	struct dfg_edge *narrow = first == DFG_I64 ? b : a;
	return dfg_gradient_op(node, "Cast", narrow, 1, &wide, 1, narrow);
}

static struct dfg_err *mean_gradient(struct dfg_gradient *node)
{
	struct dfg_edge dx, in, out, share;
	const struct dfg_attr dtype = DFG_ATTR_T("DstT", (enum dfg_dtype)node->call->out_dtype[0]);
	DFG_TRY(put_back(node, node->dy[0], &dx));
	DFG_TRY(count_of(node, node->in[0], &in));
	DFG_TRY(count_of(node, dfg_gradient_output(node, 0), &out));
	DFG_TRY(same_width(node, &in, &out));
	DFG_TRY(dfg_adjoint_op(node, "FloorDiv", in, out, DFG_NO_EDGE, &share));
	DFG_TRY(dfg_gradient_op(node, "Cast", &share, 1, &dtype, 1, &share));
	DFG_TRY(dfg_adjoint_op(node, "RealDiv", dx, share, DFG_NO_EDGE, &dx));
	DFG_TRY(dfg_adjoint_shape(node, node->in[0], &in));
	DFG_TRY(dfg_adjoint_op(node, "BroadcastTo", dx, in, DFG_NO_EDGE, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

/* The cotangent is divided equally among the elements that are equal to the extreme. */
static struct dfg_err *extreme_gradient(struct dfg_gradient *node)
{
	struct dfg_edge dx, y, is, number[2] = {{0, 0}, node->in[1]};
	const struct dfg_attr dtype = DFG_ATTR_T("DstT", (enum dfg_dtype)node->call->out_dtype[0]);
	DFG_TRY(put_back(node, node->dy[0], &dx));
	DFG_TRY(put_back(node, dfg_gradient_output(node, 0), &y));
	DFG_TRY(dfg_adjoint_op(node, "Equal", y, node->in[0], DFG_NO_EDGE, &is));
	DFG_TRY(dfg_gradient_op(node, "Cast", &is, 1, &dtype, 1, &is));
	number[0] = is;
	DFG_TRY(dfg_gradient_op(node, "Sum", number, 2, &DFG_ATTR_B("keep_dims", true), 1, &number[0]));
	DFG_TRY(dfg_adjoint_op(node, "RealDiv", is, number[0], DFG_NO_EDGE, &is));
	DFG_TRY(dfg_adjoint_op(node, "Mul", is, dx, DFG_NO_EDGE, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

/*
 * The derivative by an element is the product of the others. Division cannot give that if one is 0; therefore the
 * reduced axes are transposed to the front and merged, and the products of all elements before and after are
 * multiplied.
 */
static const char prod_gradient[] =
	"rank = Rank(input)\n"
	"axes = Reshape(FloorMod(i32(reduction_indices) + rank, Maximum(rank, 1)), [-1])\n"
	"others = ListDiff(Range(0, rank, 1), axes).out\n"
	"perm = ConcatV2([axes, others], 0)\n"
	"shape = Shape(input)\n"
	"front = GatherV2(shape, perm, 0)\n"
	"flat = Reshape(Transpose(input, perm), Pack([Prod(GatherV2(shape, axes, 0), 0), Prod(GatherV2(shape, others, 0), "
	"0)]))\n"
	"rest = Cumprod(flat, 0, exclusive = true) * Cumprod(flat, 0, exclusive = true, reverse = true)\n"
	"kept = Shape(Sum(ZerosLike(input), reduction_indices, keep_dims = true))\n"
	"dinput = Reshape(BroadcastTo(Reshape(doutput, kept), shape)"
	" * Transpose(Reshape(rest, front), InvertPermutation(perm)), shape)";

#define REDUCTION(Op, types, stem, text, ...)                                                          \
	const struct dfg_op dfg_op_##Op = {.name = #Op,                                                    \
		.doc = text,                                                                                   \
		.sig = "<T: " #types ", Tidx: index = i32>(input: T, reduction_indices: Tidx) -> (output: T)", \
		.attr = {"keep_dims: bool = false"},                                                           \
		.flags = DFG_EXACT | DFG_ANALYTIC,                                                             \
		.shape = dfg_reduce_shape,                                                                     \
		.kernel = {DFG_EACH_##types(DFG_BY_DTYPE, stem##_run)},                                        \
		.reducer = DFG_REDUCER_TABLE{DFG_EACH_##types(DFG_BY_DTYPE, stem##_reducer)},                  \
		__VA_ARGS__};

REDUCTION(Sum, numeric, sum, "the sum over the given axes", .gradient_fn = sum_gradient)
REDUCTION(Mean, numeric, mean, "the mean over the given axes", .gradient_fn = mean_gradient)
REDUCTION(Prod, numeric, prod, "the product over the given axes", .gradient = prod_gradient)
REDUCTION(Max, number, max, "the largest over the given axes; NaN if one is", .gradient_fn = extreme_gradient)
REDUCTION(Min, number, min, "the smallest over the given axes; NaN if one is", .gradient_fn = extreme_gradient)
REDUCTION(EuclideanNorm, numeric, norm, "the square root of the sum of squares over the given axes",
	.gradient =
		"kept = Shape(Sum(ZerosLike(input), reduction_indices, keep_dims = true))\n"
		"dinput = input / (Reshape(output, kept) / Reshape(doutput, kept))")

const struct dfg_op dfg_op_All = {
	.name = "All",
	.doc = "whether all are true over the given axes",
	.sig = "<Tidx: index = i32>(input: bool, reduction_indices: Tidx) -> (output: bool)",
	.attr = {"keep_dims: bool = false"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = dfg_reduce_shape,
	.run = all_run_bool,
};

const struct dfg_op dfg_op_Any = {
	.name = "Any",
	.doc = "whether any is true over the given axes",
	.sig = "<Tidx: index = i32>(input: bool, reduction_indices: Tidx) -> (output: bool)",
	.attr = {"keep_dims: bool = false"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = dfg_reduce_shape,
	.run = any_run_bool,
};

static struct dfg_err *l2_loss_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

const struct dfg_op dfg_op_L2Loss = {
	.name = "L2Loss",
	.doc = "half the sum of the squares",
	.sig = "<T: float>(t: T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = l2_loss_shape,
	.gradient = "dt = t * doutput",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, l2_loss_run)},
};
