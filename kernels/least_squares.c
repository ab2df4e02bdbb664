#include "kernels/factor.h"
#include "kernels/gradient_helpers.h"
#include "kernels/matrices.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

/*
 * Linear systems in the sense of least squares, in f64. A complex system of m x n is the real one of 2 m x 2 n whose matrix
 * has the blocks (re, -im) and (im, re), and whose sides are real parts above imaginary ones.
 */
struct systems {
	struct dfg_matrix_work work; /* first, so that the work of a matrix is that of its systems */
	const struct dfg_tensor *rhs;
	int64_t sides;
	double regularizer;
	bool fast;
};

static int64_t parts_of(const struct systems *systems)
{
	return dfg_dtype_is(systems->rhs->dtype, "complex") ? 2 : 1;
}

/* Matrix and transpose, the vectors and a square; the sides, their products and the complex forms of all. */
static int64_t numbers_of(const struct dfg_matrix_work *work)
{
	const struct systems *systems = (const struct systems *)work;
	int64_t parts = parts_of(systems), rows = parts * work->rows, columns = parts * work->columns;
	int64_t least = dfg_smaller_dim(rows, columns), most = rows + columns;
	return 4 * rows * columns + least * least + least + (rows + columns + most) * systems->sides + 2;
}

/* Real matrices from a tensor: for a complex one its real form, with `twice` both of its columns of blocks. */
static void read_real(const struct dfg_tensor *in, int64_t t, int64_t rows, int64_t columns, int64_t parts, bool twice,
	double *memory, double *to)
{
	int64_t n = rows * columns, wide = twice ? parts * columns : columns;
	dfg_matrix_read(parts == 2 ? DFG_C128 : DFG_F64, in, t * n, n, memory);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++) {
			double re = memory[(i * columns + j) * parts], im = parts == 2 ? memory[(i * columns + j) * 2 + 1] : 0;
			to[i * wide + j] = re;
			if (parts == 2)
				to[(rows + i) * wide + j] = im;
			if (parts == 2 && twice) {
				to[i * wide + columns + j] = -im;
				to[(rows + i) * wide + columns + j] = re;
			}
		}
}

static void write_real(const struct dfg_tensor *out, int64_t t, int64_t rows, int64_t columns, int64_t parts,
	const double *x, double *memory)
{
	for (int64_t p = 0; p < parts; p++)
		for (int64_t i = 0; i < rows * columns; i++)
			memory[i * parts + p] = x[p * rows * columns + i];
	dfg_matrix_write(parts == 2 ? DFG_C128 : DFG_F64, out, t * rows * columns, rows * columns, memory);
}

/* out += a b, of rows x inner and inner x columns, or with a transposed, whose rows are then inner. */
static void add_product(
	int64_t rows, int64_t inner, int64_t columns, bool transposed, const double *a, const double *b, double *out)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < inner; k++)
			for (int64_t j = 0; j < columns; j++)
				out[i * columns + j] += (transposed ? a[k * rows + i] : a[i * inner + k]) * b[k * columns + j];
}

/* Solves for x in place by Cholesky's triangle of a, which replaces it. False: a is not positive definite. */
static bool solve_definite(int64_t n, double *a, int64_t sides, double *x)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++) {
			double sum = a[i * n + j];
			for (int64_t k = 0; k < j; k++)
				sum -= a[i * n + k] * a[j * n + k];
			if (i == j && !(sum > 0))
				return false;
			a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
		}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < sides; j++) {
			for (int64_t k = 0; k < i; k++)
				x[i * sides + j] -= a[i * n + k] * x[k * sides + j];
			x[i * sides + j] /= a[i * n + i];
		}
	for (int64_t i = n - 1; i >= 0; i--)
		for (int64_t j = 0; j < sides; j++) {
			for (int64_t k = i + 1; k < n; k++)
				x[i * sides + j] -= a[k * n + i] * x[k * sides + j];
			x[i * sides + j] /= a[i * n + i];
		}
	return true;
}

/* By the normal equations, of the smaller of the two products of the matrix and its transpose. */
static bool solve_fast(const struct systems *systems, int64_t rows, int64_t columns, const double *a, const double *b,
	double *x, double *memory)
{
	bool tall = rows >= columns;
	int64_t n = tall ? columns : rows, inner = tall ? rows : columns, sides = systems->sides;
	double *gram = memory, *y = memory + n * n;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = i == j ? systems->regularizer : 0;
			for (int64_t k = 0; k < inner; k++)
				sum += tall ? a[k * columns + i] * a[k * columns + j] : a[i * columns + k] * a[j * columns + k];
			gram[i * n + j] = sum;
		}
	memset(x, 0, (size_t)(columns * sides) * sizeof *x);
	if (tall) {
		add_product(columns, rows, sides, true, a, b, x);
		return solve_definite(n, gram, sides, x);
	}
	memcpy(y, b, (size_t)(rows * sides) * sizeof *y);
	bool regular = solve_definite(n, gram, sides, y);
	add_product(columns, rows, sides, true, a, y, x);
	return regular;
}

/* The solution of least norm, by the singular values that are not negligible. `a` is overwritten. */
static bool solve_by_values(
	int64_t rows, int64_t columns, double epsilon, double *a, const double *b, int64_t sides, double *x, double *memory)
{
	bool flat = rows < columns; /* of the transpose, the vectors are exchanged */
	int64_t tall = flat ? columns : rows, n = flat ? rows : columns;
	double *turned = memory, *v = turned + rows * columns, *value = v + n * n, *part = value + n;
	for (int64_t i = 0; i < rows * columns && flat; i++)
		turned[i % columns * rows + i / columns] = a[i];
	double *u = flat ? turned : a;
	if (!dfg_factor_singular(tall, n, u, value, v))
		return false;
	memset(part, 0, (size_t)(n * sides) * sizeof *part);
	memset(x, 0, (size_t)(columns * sides) * sizeof *x);
	add_product(n, rows, sides, true, flat ? v : u, b, part);
	for (int64_t i = 0; i < n; i++) /* the columns of u are left vectors times values */
		for (int64_t j = 0; j < sides; j++)
			part[i * sides + j] *= value[i] > epsilon * (double)tall * value[0] ? 1 / (value[i] * value[i]) : 0;
	add_product(columns, n, sides, false, flat ? u : v, part, x);
	return true;
}

static bool solve(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	const struct systems *systems = (const struct systems *)work;
	int64_t parts = parts_of(systems), rows = parts * work->rows, columns = parts * work->columns,
			sides = systems->sides;
	double *a = memory, *b = a + rows * columns, *x = b + rows * sides, *more = x + columns * sides;
	bool narrow = systems->rhs->dtype == DFG_F32 || systems->rhs->dtype == DFG_C64;
	read_real(work->in, t, work->rows, work->columns, parts, true, more, a);
	read_real(systems->rhs, t, work->rows, sides, parts, false, more, b);
	if (systems->fast ? !solve_fast(systems, rows, columns, a, b, x, more)
					  : !solve_by_values(rows, columns, narrow ? 0x1p-23 : 0x1p-52, a, b, sides, x, more))
		return false;
	write_real(work->out[0], t, work->columns, sides, parts, x, more);
	return true;
}

static struct dfg_err *least_squares_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0], *rhs = node->in[1];
	DFG_TRY(dfg_need_matrices(in, false));
	DFG_TRY(dfg_need_matrices(rhs, false));
	DFG_TRY(dfg_need_rank(node, 2, 0));
	int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1], sides = rhs->dim[rhs->rank - 1];
	struct dfg_shape expected = dfg_matrix_shape(in, 2, rows, sides);
	if (!dfg_shape_fits(rhs, &expected))
		return DFG_ERR(DFG_DATA,
			"cannot solve for matrices %s and right sides %s: a matrix must have as many rows as its right side, and "
			"their batch dimensions must be equal",
			dfg_shape_words(in).s, dfg_shape_words(rhs).s);
	node->out[0] = dfg_matrix_shape(in, 2, columns, sides);
	return NULL;
}

static struct dfg_err *least_squares(struct dfg_kernel *ctx)
{
	const struct dfg_shape *rhs = &ctx->in[1]->shape;
	struct systems systems = {.rhs = ctx->in[1],
		.sides = rhs->dim[rhs->rank - 1],
		.regularizer = dfg_tensor_float(ctx->in[2], 0),
		.fast = dfg_kernel_attr(ctx)[0].b};
	if (!(systems.regularizer >= 0))
		return DFG_ERR(DFG_DATA, "l2_regularizer is %g, expected at least 0", systems.regularizer);
	return dfg_each_matrix(ctx, &systems.work, numbers_of, solve,
		systems.fast ? "is not of full rank: fast = false may help" : "has an element that is not finite");
}

/* The normal equations of tall matrices, or of wide ones; k is the regularizer on the diagonal. */
#define REGULARIZER "k = MatrixDiag(ZerosLike(MatrixDiagPart(gram)) + Cast(l2_regularizer, DstT = T))\n"
#define TALL                                                                                   \
	"gram = BatchMatMulV2(matrix, matrix, adj_x = true)\n" REGULARIZER                         \
	"z = MatrixSolve(gram + k, doutput)\n"                                                     \
	"drhs = BatchMatMulV2(matrix, z)\n"                                                        \
	"both = BatchMatMulV2(output, z, adj_y = true) + BatchMatMulV2(z, output, adj_y = true)\n" \
	"dmatrix = BatchMatMulV2(rhs, z, adj_y = true) - BatchMatMulV2(matrix, both)"
#define WIDE                                                           \
	"gram = BatchMatMulV2(matrix, matrix, adj_y = true)\n" REGULARIZER \
	"drhs = MatrixSolve(gram + k, BatchMatMulV2(matrix, doutput))\n"   \
	"w = MatrixSolve(gram + k, rhs)\n"                                 \
	"beside = doutput - BatchMatMulV2(matrix, drhs, adj_x = true)\n"   \
	"dmatrix = BatchMatMulV2(w, beside, adj_y = true) - BatchMatMulV2(drhs, output, adj_y = true)"

static struct dfg_err *least_squares_gradient(struct dfg_gradient *node)
{
	struct dfg_shape in = dfg_adjoint_fact(node, node->in[0]).shape;
	int64_t rows = in.rank < 2 ? DFG_UNKNOWN : in.dim[in.rank - 2], columns = in.rank < 2 ? 0 : in.dim[in.rank - 1];
	if (!node->call->attr[0].b || rows < 0 || columns < 0)
		return DFG_ERR(DFG_DATA, "no gradient for %s: it requires fast = true and known numbers of rows and columns",
			dfg_shape_words(&in).s);
	DFG_TRY(dfg_adjoint_refuse(node, 2));
	return rows >= columns ? dfg_gradient_formula(node, TALL) : dfg_gradient_formula(node, WIDE);
}

const struct dfg_op dfg_op_MatrixSolveLs = {
	.name = "MatrixSolveLs",
	.doc = "solution of each system of linear equations by least squares; of least norm if there are several",
	.sig = "<T: f32|f64|complex>(matrix: T, rhs: T, l2_regularizer: f64) -> (output: T)",
	.attr = {"fast: bool = true"},
	.flags = DFG_EXPENSIVE,
	.shape = least_squares_shape,
	.gradient_fn = least_squares_gradient,
	.kernel =
		{[DFG_F32] = least_squares, [DFG_F64] = least_squares, [DFG_C64] = least_squares, [DFG_C128] = least_squares},
};
