#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

/* Products and systems of matrices that are 0 except for their three middle diagonals, each of n elements. */
enum { UPPER, MAIN, LOWER, RHS }; /* operands; the last element of UPPER and the first of LOWER are not read */

struct work {
	const void *in[4]; /* of a system, UPPER has all three diagonals */
	void *out, *scratch;
	int64_t n, k; /* right sides are n x k */
	bool pivots, perturbs;
	double epsilon;
	bool *failed; /* by matrix */
};

#define TEMPLATE "kernels/tridiagonal.inc"
#include "kernels/each_float.inc"
#include "kernels/each_complex.inc"

#define EACH(X, argument)       \
	DFG_EACH_float(X, argument) \
	DFG_EACH_complex(X, argument)

/* An operand's last two dimensions must be rows x n, and those before those of the right side. */
static struct dfg_err *need_diagonals(const struct dfg_infer *node, int i, int rhs, int64_t rows)
{
	const struct dfg_shape *side = node->in[rhs], *in = node->in[i];
	struct dfg_shape expected = *side;
	if (side->rank < 2)
		return DFG_ERR(DFG_DATA, "the right side has shape %s, expected matrices", dfg_shape_words(side).s);
	expected.dim[side->rank - 2] = rows;
	expected.dim[side->rank - 1] = side->dim[side->rank - 2];
	if (!dfg_shape_fits(in, &expected))
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected %s for right sides %s", i, dfg_shape_words(in).s,
			dfg_shape_words(&expected).s, dfg_shape_words(side).s);
	return NULL;
}

static struct dfg_err *product_shape(struct dfg_infer *node)
{
	for (int i = UPPER; i < RHS; i++)
		DFG_TRY(need_diagonals(node, i, RHS, 1));
	node->out[0] = *node->in[RHS];
	return NULL;
}

static struct dfg_err *system_shape(struct dfg_infer *node)
{
	DFG_TRY(need_diagonals(node, 0, 1, 3));
	node->out[0] = *node->in[1];
	return NULL;
}

/* Runs a loop over the matrices of the right side, input `rhs`. */
static struct dfg_err *run_loop(
	struct dfg_kernel *ctx, int rhs, struct work *work, dfg_range_fn *const *loop, int64_t *out_count)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	const struct dfg_shape *shape = &out->shape;
	work->in[RHS] = ctx->in[rhs]->data;
	work->out = out->data;
	work->n = shape->dim[shape->rank - 2];
	work->k = shape->dim[shape->rank - 1];
	work->epsilon = out->dtype == DFG_F32 || out->dtype == DFG_C64 ? 0x1p-24 : 0x1p-53;
	*out_count = dfg_count_between(shape, 0, shape->rank - 2);
	if (!dfg_shape_count(shape)) /* there may be too many diagonals to count */
		*out_count = 0;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)*out_count + 1, (void **)&work->failed));
	DFG_TRY(
		dfg_kernel_scratch(ctx, (size_t)(*out_count * 3 * work->n) * dfg_dtype_size(out->dtype) + 1, &work->scratch));
	dfg_kernel_ranges(ctx, *out_count, dfg_kernel_block(work->n * (work->k + 2), 1 << 14), loop[out->dtype], work);
	return NULL;
}

static struct dfg_err *product(struct dfg_kernel *ctx)
{
	static dfg_range_fn *const loop[] = {EACH(DFG_BY_DTYPE, multiply)};
	struct work work = {.in = {ctx->in[UPPER]->data, ctx->in[MAIN]->data, ctx->in[LOWER]->data}};
	int64_t count;
	return run_loop(ctx, RHS, &work, loop, &count);
}

static struct dfg_err *solution(struct dfg_kernel *ctx)
{
	static dfg_range_fn *const loop[] = {EACH(DFG_BY_DTYPE, solve)};
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct work work = {.in = {ctx->in[0]->data}, .pivots = attr[0].b, .perturbs = attr[1].b};
	int64_t count;
	if (work.perturbs && !work.pivots)
		return DFG_ERR(DFG_DATA, "perturb_singular requires partial_pivoting");
	DFG_TRY(run_loop(ctx, 1, &work, loop, &count));
	for (int64_t t = 0; t < count; t++)
		if (work.failed[t])
			return DFG_ERR(DFG_DATA, "matrix %lld %s", (long long)t,
				work.pivots ? "cannot be inverted" : "has a pivot that is 0: partial_pivoting may help");
	return NULL;
}

/* A product with ones above the diagonal shifts rows up by one, and a 0 comes in; with ones below, down. */
#define PRODUCT_GRADIENT(conjugate)                                                                \
	"ones, zeros = OnesLike(maindiag), ZerosLike(maindiag)\n"                                      \
	"x = " conjugate                                                                               \
	"(rhs)\n"                                                                                      \
	"dsuperdiag = ExpandDims(Sum(TridiagonalMatMul(ones, zeros, zeros, x) * doutput, [-1]), -2)\n" \
	"dmaindiag = ExpandDims(Sum(x * doutput, [-1]), -2)\n"                                         \
	"dsubdiag = ExpandDims(Sum(TridiagonalMatMul(zeros, zeros, ones, x) * doutput, [-1]), -2)\n"   \
	"last = Rank(maindiag) - 1\n"                                                                  \
	"upper, lower = Roll(" conjugate "(subdiag), -1, last), Roll(" conjugate                       \
	"(superdiag), 1, last)\n"                                                                      \
	"drhs = TridiagonalMatMul(upper, " conjugate "(maindiag), lower, doutput)"

static struct dfg_err *product_gradient(struct dfg_gradient *node)
{
	if (dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex"))
		return dfg_gradient_formula(node, PRODUCT_GRADIENT("Conj"));
	return dfg_gradient_formula(node, PRODUCT_GRADIENT(""));
}

#define SYSTEM_GRADIENT(conjugate)                                                                                 \
	"superdiag, maindiag, subdiag = Split(Rank(diagonals) - 2, " conjugate                                         \
	"(diagonals), num_split = 3)\n"                                                                                \
	"ones, zeros, last = OnesLike(maindiag), ZerosLike(maindiag), Rank(maindiag) - 1\n"                            \
	"turned = ConcatV2([Roll(subdiag, -1, last), maindiag, Roll(superdiag, 1, last)], last - 1)\n"                 \
	"drhs = TridiagonalSolve(turned, doutput, partial_pivoting = partial_pivoting, perturb_singular = "            \
	"perturb_singular)\n"                                                                                          \
	"x = " conjugate                                                                                               \
	"(output)\n"                                                                                                   \
	"above = Sum(TridiagonalMatMul(ones, zeros, zeros, x) * drhs, [-1])\n"                                         \
	"below = Sum(TridiagonalMatMul(zeros, zeros, ones, x) * drhs, [-1])\n"                                         \
	"ddiagonals = -ConcatV2([ExpandDims(above, -2), ExpandDims(Sum(x * drhs, [-1]), -2), ExpandDims(below, -2)], " \
	"last - 1)"

static struct dfg_err *system_gradient(struct dfg_gradient *node)
{
	if (dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex"))
		return dfg_gradient_formula(node, SYSTEM_GRADIENT("Conj"));
	return dfg_gradient_formula(node, SYSTEM_GRADIENT(""));
}

const struct dfg_op dfg_op_TridiagonalMatMul = {
	.name = "TridiagonalMatMul",
	.doc = "products of matrices that are given by their three middle diagonals",
	.sig = "<T: f32|f64|complex>(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)",
	.shape = product_shape,
	.gradient_fn = product_gradient,
	.kernel = {EACH(DFG_FOR_DTYPE, product)},
};

const struct dfg_op dfg_op_TridiagonalSolve = {
	.name = "TridiagonalSolve",
	.doc = "solution of systems whose matrices are given by their three middle diagonals",
	.sig = "<T: f32|f64|complex>(diagonals: T, rhs: T) -> (output: T)",
	.attr = {"partial_pivoting: bool = true", "perturb_singular: bool = false"},
	.shape = system_shape,
	.gradient_fn = system_gradient,
	.kernel = {EACH(DFG_FOR_DTYPE, solution)},
};
