#include "kernels/gradient_helpers.h"
#include "lib/base/vector.h"
#include "lib/graph/kernel.h"

#include <math.h>
#include <string.h>

/* Linear algebra on batches of matrices, which are in the last two dimensions; one task for each matrix. */
enum { MATRIX, RHS }; /* inputs */

/*
 * Arguments of the loops. matrix_at and rhs_at are offsets in elements, one for each result, if the batches broadcast.
 */
struct work {
	const void *in, *rhs;
	void *out, *scratch;
	int64_t n, k; /* matrix n x n, right side n x k */
	const int64_t *matrix_at, *rhs_at;
	bool adjoint, lower;
	bool *failed; /* by result */
};

/* The size by which pivots are chosen; for complex numbers a value within a factor of sqrt(2) suffices. */
static inline double magnitude(double real, double imaginary)
{
	return fabs(real) + fabs(imaginary);
}

#define CONJUGATE(NAME, name, type, number, expr) \
	static inline type conjugate_##name(type x)   \
	{                                             \
		return expr;                              \
	}
DFG_EACH_float(CONJUGATE, x)
DFG_EACH_complex(CONJUGATE, ~x)

#define TEMPLATE "kernels/linalg.inc"
#include "kernels/each_float.inc"
#include "kernels/each_complex.inc"

/* The loops of a stem, by dtype. */
#define EACH(X, argument)       \
	DFG_EACH_float(X, argument) \
	DFG_EACH_complex(X, argument)
#define LOOPS(stem)              \
	(dfg_range_fn *const[])      \
	{                            \
		EACH(DFG_BY_DTYPE, stem) \
	}

/* Matrices must be square. */
static struct dfg_err *check_square(const struct dfg_shape *matrix)
{
	int rank = matrix->rank;
	if (rank < 2 || (matrix->dim[rank - 1] != matrix->dim[rank - 2] && matrix->dim[rank - 1] != DFG_UNKNOWN &&
						matrix->dim[rank - 2] != DFG_UNKNOWN))
		return DFG_ERR(DFG_DATA, "input has shape %s, expected square matrices", dfg_shape_words(matrix).s);
	return NULL;
}

static struct dfg_shape in_front(const struct dfg_shape *shape)
{
	struct dfg_shape batch = {.rank = shape->rank - 2};
	memcpy(batch.dim, shape->dim, (size_t)batch.rank * sizeof *batch.dim);
	return batch;
}

static struct dfg_err *check_system(
	const struct dfg_shape *matrix, const struct dfg_shape *rhs, bool broadcasts, struct dfg_shape *out_shape)
{
	DFG_TRY(check_square(matrix));
	if (rhs->rank < 2)
		return DFG_ERR(DFG_DATA, "the right side has shape %s, expected matrices", dfg_shape_words(rhs).s);
	struct dfg_shape of_matrix = in_front(matrix), of_rhs = in_front(rhs);
	const struct dfg_shape rows = DFG_SHAPE_VECTOR(matrix->dim[matrix->rank - 1]);
	const struct dfg_shape also = DFG_SHAPE_VECTOR(rhs->dim[rhs->rank - 2]);
	if (!dfg_shape_fits(&rows, &also) || (!broadcasts && !dfg_shape_fits(&of_matrix, &of_rhs)))
		return DFG_ERR(DFG_DATA,
			"cannot solve for matrices %s and right sides %s: a matrix must have as many rows as its right side, "
			"and their batch dimensions must be equal",
			dfg_shape_words(matrix).s, dfg_shape_words(rhs).s);
	if (broadcasts)
		DFG_TRY(dfg_shape_broadcast((const struct dfg_shape *const[]){&of_matrix, &of_rhs}, 2, out_shape));
	else
		*out_shape = dfg_shape_merge(&of_matrix, &of_rhs);
	out_shape->dim[out_shape->rank++] = dfg_shape_merge(&rows, &also).dim[0];
	out_shape->dim[out_shape->rank++] = rhs->dim[rhs->rank - 1];
	return NULL;
}

static struct dfg_err *square_shape(struct dfg_infer *node)
{
	DFG_TRY(check_square(node->in[MATRIX]));
	node->out[0] = *node->in[MATRIX];
	return NULL;
}

static struct dfg_err *determinant_shape(struct dfg_infer *node)
{
	DFG_TRY(check_square(node->in[MATRIX]));
	node->out[0] = in_front(node->in[MATRIX]);
	return NULL;
}

static struct dfg_err *system_shape(struct dfg_infer *node)
{
	return check_system(node->in[MATRIX], node->in[RHS], false, &node->out[0]);
}

static struct dfg_err *broadcast_shape(struct dfg_infer *node)
{
	return check_system(node->in[MATRIX], node->in[RHS], true, &node->out[0]);
}

/* Computes the offset, in elements, of the matrix of an input that belongs to each result. */
static void find_offsets(const struct dfg_shape *in, const struct dfg_shape *out, int64_t count, int64_t *at)
{
	for (int64_t t = 0; t < count; t++) {
		int64_t remainder = t, step = in->dim[in->rank - 2] * in->dim[in->rank - 1];
		at[t] = 0;
		for (int i = in->rank - 3, o = out->rank - 3; o >= 0; i--, o--) {
			at[t] += i >= 0 && in->dim[i] != 1 ? remainder % out->dim[o] * step : 0;
			step *= i >= 0 ? in->dim[i] : 1;
			remainder /= out->dim[o];
		}
	}
}

/* Runs a loop over `count` matrices; the error "matrix i FAILURE" if one failed. failure is NULL if none can fail. */
static struct dfg_err *run_matrices(
	struct dfg_kernel *ctx, struct work *work, int64_t count, dfg_range_fn *const *loop, const char *failure)
{
	enum dfg_dtype dtype = ctx->in[MATRIX]->dtype;
	size_t matrix = (size_t)(work->n * work->n) * dfg_dtype_size(dtype);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)count * matrix + 1, &work->scratch));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)count + 1, (void **)&work->failed));
	memset(work->failed, 0, (size_t)count + 1);
	int64_t each = work->n * work->n * (work->n + work->k);
	dfg_kernel_ranges(ctx, count, each < 1 << 15 ? (1 << 15) / (each + 1) + 1 : 1, loop[dtype], work);
	for (int64_t t = 0; t < count; t++)
		if (work->failed[t])
			return DFG_ERR(DFG_DATA, "matrix %lld %s", (long long)t, failure);
	return NULL;
}

static int64_t count_of(const struct dfg_shape *matrices)
{
	struct dfg_shape batch = in_front(matrices);
	return dfg_shape_count(&batch);
}

#define SINGULAR "cannot be inverted"

static struct dfg_err *cholesky(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, MATRIX);
	struct dfg_tensor *out;
	DFG_TRY(check_square(&in->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &in->shape, &out));
	struct work work = {.in = in->data, .out = out->data, .n = in->shape.dim[in->shape.rank - 1]};
	return run_matrices(ctx, &work, count_of(&in->shape), LOOPS(cholesky), NULL);
}

static struct dfg_err *determinant(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, MATRIX);
	struct dfg_tensor *out;
	DFG_TRY(check_square(&in->shape));
	struct dfg_shape shape = in_front(&in->shape);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	struct work work = {.in = in->data, .out = out->data, .n = in->shape.dim[in->shape.rank - 1]};
	return run_matrices(ctx, &work, count_of(&in->shape), LOOPS(determinant), SINGULAR);
}

static struct dfg_err *inverse(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, MATRIX);
	struct dfg_tensor *out;
	DFG_TRY(check_square(&in->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &in->shape, &out));
	int64_t n = in->shape.dim[in->shape.rank - 1];
	struct work work = {.in = in->data, .out = out->data, .n = n, .k = n, .adjoint = dfg_kernel_attr(ctx)[0].b};
	return run_matrices(ctx, &work, count_of(&in->shape), LOOPS(solve), SINGULAR);
}

static struct dfg_err *solve(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, MATRIX), *rhs = dfg_kernel_input(ctx, RHS);
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(check_system(&in->shape, &rhs->shape, false, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	struct work work = {
		.in = in->data,
		.rhs = rhs->data,
		.out = out->data,
		.n = shape.dim[shape.rank - 2],
		.k = shape.dim[shape.rank - 1],
		.adjoint = dfg_kernel_attr(ctx)[0].b,
	};
	return run_matrices(ctx, &work, count_of(&shape), LOOPS(solve), SINGULAR);
}

enum { LOWER, ADJOINT }; /* attributes of MatrixTriangularSolve */

static struct dfg_err *triangular(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, MATRIX), *rhs = dfg_kernel_input(ctx, RHS);
	struct dfg_shape shape;
	struct dfg_tensor *out;
	int64_t *at;
	DFG_TRY(check_system(&in->shape, &rhs->shape, true, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	int64_t count = count_of(&shape);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(2 * count + 1) * sizeof *at, (void **)&at));
	find_offsets(&in->shape, &shape, count, at);
	find_offsets(&rhs->shape, &shape, count, at + count);
	struct work work = {
		.in = in->data,
		.rhs = rhs->data,
		.out = out->data,
		.n = shape.dim[shape.rank - 2],
		.k = shape.dim[shape.rank - 1],
		.matrix_at = at,
		.rhs_at = at + count,
		.lower = dfg_kernel_attr(ctx)[LOWER].b,
		.adjoint = dfg_kernel_attr(ctx)[ADJOINT].b,
	};
	return run_matrices(ctx, &work, count, LOOPS(triangular), SINGULAR);
}

/* The adjoint of a matrix, the transpose of a real one; and the conjugate of each element. */
#define TURNED(x) "Einsum([" x "], equation = \"...ij->...ji\")"
#define ADJOINT_OF(x) "Conj(" TURNED(x) ")"

#define CHOLESKY_GRADIENT(ADJOINT) \
	"product = BatchMatMulV2(output, doutput, adj_x = true)\n"                                  \
	"half = MatrixBandPart(product, -1, 0) - 0.5 * MatrixBandPart(product, 0, 0)\n"             \
	"left = MatrixTriangularSolve(output, half, adjoint = true)\n"                              \
	"both = MatrixTriangularSolve(output, " ADJOINT("left") ", adjoint = true)\n"               \
	"dinput = 0.5 * (both + " ADJOINT("both") ")"

static struct dfg_err *cholesky_gradient(struct dfg_gradient *node)
{
	if (dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex"))
		return dfg_gradient_formula(node, CHOLESKY_GRADIENT(ADJOINT_OF));
	return dfg_gradient_formula(node, CHOLESKY_GRADIENT(TURNED));
}

#define DETERMINANT_GRADIENT(conjugate) \
	"dinput = ExpandDims(ExpandDims(doutput * " conjugate "(output), -1), -1) * MatrixInverse(input, adjoint = true)"

static struct dfg_err *determinant_gradient(struct dfg_gradient *node)
{
	if (dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex"))
		return dfg_gradient_formula(node, DETERMINANT_GRADIENT("Conj"));
	return dfg_gradient_formula(node, DETERMINANT_GRADIENT(""));
}

const struct dfg_op dfg_op_Cholesky = {
	.name = "Cholesky",
	.doc = "the lower triangle whose product with its transpose is the matrix; NaN if that is not positive definite",
	.sig = "<T: float|complex>(input: T) -> (output: T)",
	.flags = DFG_EXPENSIVE,
	.shape = square_shape,
	.gradient_fn = cholesky_gradient,
	.kernel = {EACH(DFG_FOR_DTYPE, cholesky)},
};

const struct dfg_op dfg_op_MatrixDeterminant = {
	.name = "MatrixDeterminant",
	.doc = "determinant of each matrix",
	.sig = "<T: float|complex>(input: T) -> (output: T)",
	.flags = DFG_EXPENSIVE,
	.shape = determinant_shape,
	.gradient_fn = determinant_gradient,
	.kernel = {EACH(DFG_FOR_DTYPE, determinant)},
};

const struct dfg_op dfg_op_MatrixInverse = {
	.name = "MatrixInverse",
	.doc = "inverse of each matrix, or of its transpose",
	.sig = "<T: float|complex>(input: T) -> (output: T)",
	.attr = {"adjoint: bool = false"},
	.flags = DFG_EXPENSIVE,
	.shape = square_shape,
	.gradient =
		"dinput = -BatchMatMulV2(output, BatchMatMulV2(doutput, output, adj_x = adjoint, adj_y = not adjoint), "
		"adj_x = not adjoint)",
	.kernel = {EACH(DFG_FOR_DTYPE, inverse)},
};

#define BY_MATRIX                                                                  \
	"static if adjoint { product = -BatchMatMulV2(output, drhs, adj_y = true) }\n" \
	"else { product = -BatchMatMulV2(drhs, output, adj_y = true) }\n"

const struct dfg_op dfg_op_MatrixSolve = {
	.name = "MatrixSolve",
	.doc = "solution of systems of linear equations, one for each column of rhs",
	.sig = "<T: float|complex>(matrix: T, rhs: T) -> (output: T)",
	.attr = {"adjoint: bool = false"},
	.flags = DFG_EXPENSIVE,
	.shape = system_shape,
	.gradient = "drhs = MatrixSolve(matrix, doutput, adjoint = not adjoint)\n" BY_MATRIX "dmatrix = product",
	.kernel = {EACH(DFG_FOR_DTYPE, solve)},
};

const struct dfg_op dfg_op_MatrixTriangularSolve = {
	.name = "MatrixTriangularSolve",
	.doc = "solution of systems whose matrix is the lower or upper triangle of matrix",
	.sig = "<T: float|complex>(matrix: T, rhs: T) -> (output: T)",
	.attr = {[LOWER] = "lower: bool = true", [ADJOINT] = "adjoint: bool = false"},
	.flags = DFG_EXPENSIVE,
	.shape = broadcast_shape,
	.gradient = "drhs = MatrixTriangularSolve(matrix, doutput, lower = lower, adjoint = not adjoint)\n" BY_MATRIX
				"static if lower { dmatrix = MatrixBandPart(product, -1, 0) }\n"
				"else { dmatrix = MatrixBandPart(product, 0, -1) }",
	.kernel = {EACH(DFG_FOR_DTYPE, triangular)},
};
