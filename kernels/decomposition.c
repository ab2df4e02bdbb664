#include "kernels/factor.h"
#include "kernels/gradient_helpers.h"
#include "kernels/math.h"
#include "kernels/matrices.h"
#include "kernels/shape_rules.h"

/* Decompositions of batches of matrices, one after another on any thread, in f64 for both types. */

static struct dfg_err *logdet_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_matrices(node->in[0], true));
	node->out[0] = node->out[1] = dfg_matrix_shape(node->in[0], 0, 0, 0);
	return NULL;
}

static struct dfg_err *lu_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_matrices(node->in[0], true));
	node->out[0] = *node->in[0];
	node->out[1] = dfg_matrix_shape(node->in[0], 1, node->in[0]->dim[node->in[0]->rank - 1], 0);
	return NULL;
}

static struct dfg_err *qr_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	DFG_TRY(dfg_need_matrices(in, false));
	int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1];
	int64_t wide = node->call->attr[0].b ? rows : dfg_smaller_dim(rows, columns);
	node->out[0] = dfg_matrix_shape(in, 2, rows, wide);
	node->out[1] = dfg_matrix_shape(in, 2, wide, columns);
	return NULL;
}

static struct dfg_err *symmetric_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	DFG_TRY(dfg_need_matrices(in, true));
	node->out[0] = dfg_matrix_shape(in, 1, in->dim[in->rank - 1], 0);
	node->out[1] = node->call->attr[0].b ? *in : DFG_SHAPE_VECTOR(0);
	return NULL;
}

static struct dfg_err *svd_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	DFG_TRY(dfg_need_matrices(in, false));
	int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1], count = dfg_smaller_dim(rows, columns);
	bool whole = node->call->attr[1].b, vectors = node->call->attr[0].b;
	node->out[0] = dfg_matrix_shape(in, 1, count, 0);
	node->out[1] = vectors ? dfg_matrix_shape(in, 2, rows, whole ? rows : count) : DFG_SHAPE_VECTOR(0);
	node->out[2] = vectors ? dfg_matrix_shape(in, 2, columns, whole ? columns : count) : DFG_SHAPE_VECTOR(0);
	return NULL;
}

/* The memory of one matrix: itself, its transpose, a square of the smaller side, and the wider factor, which is an output. */
static int64_t numbers_of(const struct dfg_matrix_work *work)
{
	int64_t n = dfg_smaller_dim(work->rows, work->columns), left = work->rows * work->wide[0],
			right = work->columns * work->wide[1];
	return 2 * work->rows * work->columns + n * n + work->rows + work->columns + (left > right ? left : right) + 1;
}

static bool logdet_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows, *row = (int64_t *)(memory + n * n);
	double log = 0, sign;
	int exchanges;
	dfg_matrix_read(DFG_F64, work->in, t * n * n, n * n, memory);
	bool regular = dfg_factor_lu(n, memory, row, &exchanges);
	sign = exchanges;
	for (int64_t i = 0; i < n && regular; i++) {
		double pivot = memory[i * n + i];
		log += log_f64(pivot < 0 ? -pivot : pivot);
		sign = pivot < 0 ? -sign : pivot != pivot ? pivot : sign;
	}
	sign = regular ? sign : 0;
	log = regular ? log : -MATH_INFINITY;
	dfg_matrix_write(DFG_F64, work->out[0], t, 1, &sign);
	dfg_matrix_write(DFG_F64, work->out[1], t, 1, &log);
	return true;
}

static bool lu_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows, *row = (int64_t *)(memory + n * n);
	int sign;
	dfg_matrix_read(DFG_F64, work->in, t * n * n, n * n, memory);
	if (!dfg_factor_lu(n, memory, row, &sign))
		return false;
	dfg_matrix_write(DFG_F64, work->out[0], t * n * n, n * n, memory);
	dfg_convert(work->out[1]->dtype, dfg_tensor_at(work->out[1], t * n), DFG_I64, row, n);
	return true;
}

static bool qr_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t rows = work->rows, columns = work->columns, wide = work->wide[0];
	double *q = memory + rows * columns;
	dfg_matrix_read(DFG_F64, work->in, t * rows * columns, rows * columns, memory);
	dfg_factor_qr(rows, columns, memory, wide, q);
	dfg_matrix_write(DFG_F64, work->out[0], t * rows * wide, rows * wide, q);
	dfg_matrix_write(DFG_F64, work->out[1], t * wide * columns, wide * columns, memory);
	return true;
}

static bool symmetric_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows;
	double *v = memory + n * n, *value = v + n * n;
	dfg_matrix_read(DFG_F64, work->in, t * n * n, n * n, memory);
	if (!dfg_factor_symmetric(n, memory, value, v))
		return false;
	dfg_matrix_write(DFG_F64, work->out[0], t * n, n, value);
	if (work->with_vectors)
		dfg_matrix_write(DFG_F64, work->out[1], t * n * n, n * n, v);
	return true;
}

/* Writes orthonormal columns: those of `from`, divided by their values up to the first that is 0, and further ones. */
static void widen(int64_t rows, int64_t count, const double *from, const double *value, int64_t wide, double *to)
{
	int64_t rank = 0;
	while (rank < count && (!value || value[rank] > 0))
		rank++;
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < rank; j++)
			to[i * wide + j] = from[i * count + j] / (value ? value[j] : 1);
	dfg_factor_complete(rows, wide, rank, to);
}

static bool svd_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t rows = work->rows, columns = work->columns;
	bool flat = rows < columns; /* the transpose has the same values, and its vectors exchanged */
	int64_t tall = flat ? columns : rows, n = flat ? rows : columns;
	double *v = memory + rows * columns, *value = v + n * n, *wide = value + n;
	dfg_matrix_read(DFG_F64, work->in, t * rows * columns, rows * columns, flat ? wide : memory);
	for (int64_t i = 0; i < rows * columns && flat; i++)
		memory[i % columns * rows + i / columns] = wide[i];
	if (!dfg_factor_singular(tall, n, memory, value, v))
		return false;
	dfg_matrix_write(DFG_F64, work->out[0], t * n, n, value);
	for (int side = 0; side < 2 && work->with_vectors; side++) {
		int64_t size = side ? columns : rows, count = work->wide[side];
		bool left = (side == 0) != flat;
		widen(size, n, left ? memory : v, left ? value : NULL, count, wide);
		dfg_matrix_write(DFG_F64, work->out[1 + side], t * size * count, size * count, wide);
	}
	return true;
}

static struct dfg_err *logdet(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(ctx, &(struct dfg_matrix_work){0}, numbers_of, logdet_of, "");
}

static struct dfg_err *lu(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(ctx, &(struct dfg_matrix_work){0}, numbers_of, lu_of, "cannot be inverted");
}

static struct dfg_err *qr(struct dfg_kernel *ctx)
{
	struct dfg_shape shape[2];
	DFG_TRY(dfg_shapes_now(ctx, 2, shape));
	return dfg_each_matrix(
		ctx, &(struct dfg_matrix_work){.wide = {shape[0].dim[shape[0].rank - 1]}}, numbers_of, qr_of, "");
}

#define NO_CONVERGENCE "has no decomposition: an element is not finite, or too large"

static struct dfg_err *symmetric(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(ctx, &(struct dfg_matrix_work){.with_vectors = dfg_kernel_attr(ctx)[0].b}, numbers_of,
		symmetric_of, NO_CONVERGENCE);
}

static struct dfg_err *svd(struct dfg_kernel *ctx)
{
	struct dfg_shape shape[3];
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	struct dfg_matrix_work work = {.with_vectors = dfg_kernel_attr(ctx)[0].b};
	for (int i = 0; i < 2 && work.with_vectors; i++)
		work.wide[i] = shape[1 + i].dim[shape[1 + i].rank - 1];
	return dfg_each_matrix(ctx, &work, numbers_of, svd_of, NO_CONVERGENCE);
}

#define TURNED(x) "Einsum([" x "], equation = \"...ij->...ji\")"

/* For eigenvectors, 1 / (e[j] - e[i]) and 0 for equal values, whose vectors have no derivative. The lower triangle is read. */
#define BY_VALUES "MatrixDiag(de)"
#define BY_VECTORS "DivNoNan(OnesLike(between), between) * BatchMatMulV2(v, dv, adj_x = true)"
#define BETWEEN "between = ExpandDims(e, -2) - ExpandDims(e, -1)\n"
#define SYMMETRIC(before, inner, vectors) \
	before "full = BatchMatMulV2(" vectors ", BatchMatMulV2(" inner ", " vectors ", adj_y = true))\n" \
		   "both = MatrixBandPart(full + " TURNED("full") ", -1, 0)\n"                              \
		   "dinput = both - 0.5 * MatrixBandPart(both, 0, 0)"

static struct dfg_err *symmetric_gradient(struct dfg_gradient *node)
{
	static const char recomputed[] =
		SYMMETRIC("again, vectors = SelfAdjointEigV2(input, compute_v = true)\n", BY_VALUES, "vectors");
	static const char values[] = SYMMETRIC("", BY_VALUES, "v");
	static const char vectors[] = SYMMETRIC(BETWEEN, BY_VECTORS, "v");
	static const char both[] = SYMMETRIC(BETWEEN, "(" BY_VALUES " + " BY_VECTORS ")", "v");
	if (!node->call->attr[0].b)
		return dfg_gradient_formula(node, recomputed);
	if (!dfg_gradient_has(node, 1))
		return dfg_gradient_formula(node, values);
	return dfg_gradient_formula(node, dfg_gradient_has(node, 0) ? both : vectors);
}

/* Walter, Lehmann and Lamour 2012; for reduced factors of matrices that are not wider than tall. */
#define QR(dq, dr) \
	"qdq = BatchMatMulV2(q, " dq ", adj_x = true)\n"                                                           \
	"rdr = BatchMatMulV2(r, " dr ", adj_y = true)\n"                                                           \
	"lower = MatrixBandPart(qdq - " TURNED("qdq") " + rdr - " TURNED("rdr") ", -1, 0)\n"                       \
	"left = MatrixTriangularSolve(r, " TURNED("lower") ", lower = false)\n"                                    \
	"beside = " dq " - BatchMatMulV2(q, qdq)\n"                                                                \
	"right = MatrixTriangularSolve(r, " TURNED("beside") ", lower = false)\n"                                  \
	"dinput = BatchMatMulV2(q, " dr " + " TURNED("left") ") + " TURNED("right")

static struct dfg_err *qr_gradient(struct dfg_gradient *node)
{
	static const char of_q[] = QR("dq", "ZerosLike(r)"), of_r[] = QR("ZerosLike(q)", "dr"), of_both[] = QR("dq", "dr");
	struct dfg_shape in = dfg_adjoint_fact(node, node->in[0]).shape;
	int64_t rows = in.rank < 2 ? DFG_UNKNOWN : in.dim[in.rank - 2], columns = in.rank < 2 ? 0 : in.dim[in.rank - 1];
	if (rows < 0 || columns < 0 || rows < columns || (rows > columns && node->call->attr[0].b))
		return DFG_ERR(DFG_DATA,
			"no gradient for %s: it requires a known shape with at least as many rows as columns, and full_matrices = "
			"false unless they are equal",
			dfg_shape_words(&in).s);
	if (!dfg_gradient_has(node, 1))
		return dfg_gradient_formula(node, of_q);
	return dfg_gradient_formula(node, dfg_gradient_has(node, 0) ? of_both : of_r);
}

/*
 * The gradient for a matrix that is not taller than wide. Its right singular vectors are the columns of v, which may be fewer
 * than the columns of the matrix (https://j-towns.github.io/papers/svd-derivative.pdf). A tall matrix is transposed first. Terms of equal singular
 * values are left out, because their vectors have no derivative.
 */
#define SVD(u, v, ds, du, dv, product) \
	"square = s * s\n"                                                                                   \
	"between = ExpandDims(square, -2) - ExpandDims(square, -1)\n"                                        \
	"over = DivNoNan(OnesLike(between), between)\n"                                                      \
	"left = over * BatchMatMulV2(" u ", " du ", adj_x = true)\n"                                         \
	"right = over * BatchMatMulV2(" v ", " dv ", adj_x = true)\n"                                        \
	"of_left = (left + " TURNED("left") ") * ExpandDims(s, -2)\n"                                        \
	"of_right = ExpandDims(s, -1) * (right + " TURNED("right") ")\n"                                     \
	"inner = MatrixDiag(" ds ") + of_left + of_right\n"                                                  \
	"beside = " TURNED(dv) " - BatchMatMulV2(BatchMatMulV2(" dv ", " v ", adj_x = true), " v ", adj_y = true)\n" \
	"scaled = " u " * ExpandDims(DivNoNan(OnesLike(s), s), -2)\n"                                        \
	"full = BatchMatMulV2(" u ", BatchMatMulV2(inner, " v ", adj_y = true)) + BatchMatMulV2(scaled, beside)\n" \
	"dinput = " product

static struct dfg_err *svd_gradient(struct dfg_gradient *node)
{
#define TEXT(wide, ds, du, dv) (wide ? SVD("u", "v", ds, du, dv, "full") : SVD("v", "u", ds, dv, du, TURNED("full")))
#define OF_VECTORS(wide, ds)                                                                    \
	{                                                                                           \
		{TEXT(wide, ds, "ZerosLike(u)", "ZerosLike(v)"), TEXT(wide, ds, "ZerosLike(u)", "dv")}, \
		{                                                                                       \
			TEXT(wide, ds, "du", "ZerosLike(v)"), TEXT(wide, ds, "du", "dv")                    \
		}                                                                                       \
	}
	static const char of_values[] =
		"again, left, right = Svd(input, compute_uv = true)\n"
		"dinput = BatchMatMulV2(left * ExpandDims(ds, -2), right, adj_y = true)";
	static const char *const formula[2][2][2][2] = {
		{OF_VECTORS(0, "ZerosLike(s)"), OF_VECTORS(0, "ds")}, {OF_VECTORS(1, "ZerosLike(s)"), OF_VECTORS(1, "ds")}};
	if (!node->call->attr[0].b)
		return dfg_gradient_formula(node, of_values);
	struct dfg_shape in = dfg_adjoint_fact(node, node->in[0]).shape;
	int64_t rows = in.rank < 2 ? DFG_UNKNOWN : in.dim[in.rank - 2], columns = in.rank < 2 ? 0 : in.dim[in.rank - 1];
	if (rows < 0 || columns < 0 || (rows != columns && node->call->attr[1].b))
		return DFG_ERR(DFG_DATA,
			"no gradient for %s: it requires known numbers of rows and columns, and full_matrices = false unless they "
			"are "
			"equal",
			dfg_shape_words(&in).s);
	return dfg_gradient_formula(node,
		formula[rows <= columns][dfg_gradient_has(node, 0)][dfg_gradient_has(node, 1)][dfg_gradient_has(node, 2)]);
}

#define KERNELS(function)                          \
	{                                              \
		[DFG_F32] = function, [DFG_F64] = function \
	}

const struct dfg_op dfg_op_LogMatrixDeterminant = {
	.name = "LogMatrixDeterminant",
	.doc = "sign of the determinant of each matrix, and logarithm of its absolute value",
	.sig = "<T: f32|f64>(input: T) -> (sign: T, log_abs_determinant: T)",
	.flags = DFG_EXPENSIVE,
	.shape = logdet_shape,
	.gradient = "dinput = ExpandDims(ExpandDims(dlog_abs_determinant, -1), -1) * MatrixInverse(input, adjoint = true)",
	.kernel = KERNELS(logdet),
};

const struct dfg_op dfg_op_Lu = {
	.name = "Lu",
	.doc = "lower and upper triangle, in one matrix, whose product is the matrix with its rows in the order p",
	.sig = "<T: f32|f64, output_idx_type: index = i32>(input: T) -> (lu: T, p: output_idx_type)",
	.flags = DFG_EXPENSIVE | DFG_NO_GRADIENT,
	.shape = lu_shape,
	.kernel = KERNELS(lu),
};

const struct dfg_op dfg_op_Qr = {
	.name = "Qr",
	.doc = "orthogonal matrix and upper triangle whose product is the matrix",
	.sig = "<T: f32|f64>(input: T) -> (q: T, r: T)",
	.attr = {"full_matrices: bool = false"},
	.flags = DFG_EXPENSIVE,
	.shape = qr_shape,
	.gradient_fn = qr_gradient,
	.kernel = KERNELS(qr),
};

const struct dfg_op dfg_op_SelfAdjointEigV2 = {
	.name = "SelfAdjointEigV2",
	.doc = "eigenvalues, ascending, and eigenvectors of symmetric matrices, of which the lower triangle is read",
	.sig = "<T: f32|f64>(input: T) -> (e: T, v: T)",
	.attr = {"compute_v: bool = true"},
	.flags = DFG_EXPENSIVE,
	.shape = symmetric_shape,
	.gradient_fn = symmetric_gradient,
	.kernel = KERNELS(symmetric),
};

const struct dfg_op dfg_op_Svd = {
	.name = "Svd",
	.doc = "singular values, descending, and singular vectors of matrices",
	.sig = "<T: f32|f64>(input: T) -> (s: T, u: T, v: T)",
	.attr = {"compute_uv: bool = true", "full_matrices: bool = false"},
	.flags = DFG_EXPENSIVE,
	.shape = svd_shape,
	.gradient_fn = svd_gradient,
	.kernel = KERNELS(svd),
};
