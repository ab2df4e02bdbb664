#include "kernels/gradient_helpers.h"
#include "kernels/math.h"
#include "kernels/matrices.h"
#include "kernels/schur.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

/* Eigenvalues, and functions of square matrices in the sense of their power series, in complex128 for all types. */
typedef double _Complex number;

enum { SQUARES = 8 }; /* matrices that a function needs as memory */

static int64_t numbers_of(const struct dfg_matrix_work *work)
{
	return 2 * (SQUARES * work->rows * work->rows + work->rows + 1);
}

static void read_square(const struct dfg_matrix_work *work, int64_t t, number *to)
{
	dfg_matrix_read(DFG_C128, work->in, t * work->rows * work->rows, work->rows * work->rows, to);
}

static void write_square(const struct dfg_matrix_work *work, int64_t t, const number *from)
{
	dfg_matrix_write(DFG_C128, work->out[0], t * work->rows * work->rows, work->rows * work->rows, from);
}

/* The largest sum of absolute values of a column. */
static double norm_of(int64_t n, const number *a)
{
	double norm = 0;
	for (int64_t j = 0; j < n; j++) {
		double sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum += dfg_complex_size(a[i * n + j]);
		norm = sum > norm || sum != sum ? sum : norm;
	}
	return norm;
}

/* q f q*, where memory has a square of its own. */
static void from_schur(int64_t n, const number *q, const number *f, number *memory, number *out)
{
	dfg_complex_product(n, q, f, false, memory);
	dfg_complex_product(n, memory, q, true, out);
}

/* The eigenvector of eigenvalue k of a triangle, as column k of y. */
static void back_substitute(int64_t n, const number *t, int64_t k, double norm, number *y)
{
	for (int64_t i = n - 1; i >= 0; i--) {
		number sum = i == k, pivot = t[i * n + i] - t[k * n + k];
		for (int64_t j = i + 1; j <= k && i < k; j++)
			sum -= t[i * n + j] * y[j * n + k];
		if (i < k)
			sum /= dfg_complex_size(pivot) < 0x1p-52 * norm ? 0x1p-52 * norm : pivot;
		y[i * n + k] = sum;
	}
}

static void make_unit(int64_t n, int64_t k, number *v)
{
	double size = 0;
	for (int64_t i = 0; i < n; i++)
		size = hypot(size, dfg_complex_size(v[i * n + k]));
	for (int64_t i = 0; i < n; i++)
		v[i * n + k] /= size;
}

/* Ascending by absolute value, as TensorFlow's; of two that are as large, the one with the smaller imaginary part first. */
static bool comes_first(number a, number b)
{
	double of_a = dfg_complex_size(a), of_b = dfg_complex_size(b), slack = 0x1p-40 * (of_a + of_b);
	return fabs(of_a - of_b) > slack ? of_a < of_b : __imag__ a < __imag__ b;
}

static void sort_pairs(int64_t n, number *value, number *v)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t best = i;
		for (int64_t j = i + 1; j < n; j++)
			if (comes_first(value[j], value[best]))
				best = j;
		number saved = value[i];
		value[i] = value[best], value[best] = saved;
		for (int64_t r = 0; r < n && best != i; r++) {
			saved = v[r * n + i];
			v[r * n + i] = v[r * n + best], v[r * n + best] = saved;
		}
	}
}

static bool eig_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows;
	number *a = (number *)memory, *q = a + n * n, *y = q + n * n, *v = y + n * n, *value = v + n * n;
	read_square(work, t, a);
	if (!dfg_schur(n, a, q))
		return false;
	double norm = norm_of(n, a) + 0x1p-1000;
	for (int64_t k = 0; k < n; k++) {
		value[k] = a[k * n + k];
		back_substitute(n, a, k, norm, y);
	}
	dfg_complex_product(n, q, y, false, v);
	for (int64_t k = 0; k < n; k++)
		make_unit(n, k, v);
	sort_pairs(n, value, v);
	dfg_matrix_write(DFG_C128, work->out[0], t * n, n, value);
	if (work->with_vectors)
		dfg_matrix_write(DFG_C128, work->out[1], t * n * n, n * n, v);
	return true;
}

/* The square root of an upper triangle, by Bjorck and Hammarling. */
static void triangle_root(int64_t n, const number *t, number *root)
{
	memset(root, 0, (size_t)(n * n) * sizeof *root);
	for (int64_t j = 0; j < n; j++) {
		root[j * n + j] = dfg_complex_root(t[j * n + j]);
		for (int64_t i = j - 1; i >= 0; i--) {
			number sum = t[i * n + j];
			for (int64_t k = i + 1; k < j; k++)
				sum -= root[i * n + k] * root[k * n + j];
			root[i * n + j] = dfg_complex_size(sum) == 0 ? 0 : sum / (root[i * n + i] + root[j * n + j]);
		}
	}
}

/* A real matrix whose root is not real has none. */
static void refuse_imaginary(int64_t n, number *a)
{
	double largest = 0, imaginary = 0;
	for (int64_t i = 0; i < n * n; i++) {
		largest = fmax(largest, dfg_complex_size(a[i]));
		imaginary = fmax(imaginary, fabs(__imag__ a[i]));
	}
	for (int64_t i = 0; i < n * n && imaginary > 1e-6 * largest; i++)
		a[i] = MATH_NAN;
}

static bool root_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows;
	number *a = (number *)memory, *q = a + n * n, *root = q + n * n, *more = root + n * n;
	read_square(work, t, a);
	if (!dfg_schur(n, a, q))
		return false;
	triangle_root(n, a, root);
	from_schur(n, q, root, more, a);
	if (!dfg_dtype_is(work->in->dtype, "complex"))
		refuse_imaginary(n, a);
	write_square(work, t, a);
	return true;
}

/* Solves a x = b for n right sides, in place of b, by elimination with row exchanges; a is overwritten. */
static void solve(int64_t n, number *a, number *b)
{
	for (int64_t s = 0; s < n; s++) {
		int64_t best = s;
		for (int64_t i = s + 1; i < n; i++)
			if (dfg_complex_size(a[i * n + s]) > dfg_complex_size(a[best * n + s]))
				best = i;
		for (int64_t j = 0; j < n && best != s; j++) {
			number saved = a[s * n + j], other = b[s * n + j];
			a[s * n + j] = a[best * n + j], a[best * n + j] = saved;
			b[s * n + j] = b[best * n + j], b[best * n + j] = other;
		}
		for (int64_t i = s + 1; i < n; i++) {
			number factor = a[i * n + s] / a[s * n + s];
			for (int64_t j = s; j < n; j++)
				a[i * n + j] -= factor * a[s * n + j];
			for (int64_t j = 0; j < n; j++)
				b[i * n + j] -= factor * b[s * n + j];
		}
	}
	for (int64_t i = n - 1; i >= 0; i--)
		for (int64_t j = 0; j < n; j++) {
			for (int64_t k = i + 1; k < n; k++)
				b[i * n + j] -= a[i * n + k] * b[k * n + j];
			b[i * n + j] /= a[i * n + i];
		}
}

/* sum_i scale[i] * power[i], and scale[count] on the diagonal. */
static void combine(int64_t n, int count, const double *scale, const number *const *power, number *out)
{
	for (int64_t i = 0; i < n * n; i++) {
		out[i] = i / n == i % n ? scale[count] : 0;
		for (int p = 0; p < count; p++)
			out[i] += scale[p] * power[p][i];
	}
}

/* The quotient of polynomials of degree 13 that is nearest to exp for matrices of norm <= 5.4; N. J. Higham 2005. */
static const double pade[] = {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
	10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1};
#define PADE_NORM 5.371920351148152

static void small_exponential(int64_t n, number *a, number *memory)
{
	number *square = memory, *fourth = square + n * n, *sixth = fourth + n * n, *odd = sixth + n * n,
		   *even = odd + n * n, *sum = even + n * n;
	dfg_complex_product(n, a, a, false, square);
	dfg_complex_product(n, square, square, false, fourth);
	dfg_complex_product(n, fourth, square, false, sixth);
	const number *const power[] = {sixth, fourth, square};
	for (int parity = 0; parity < 2; parity++) {
		number *to = parity ? odd : even;
		const double high[] = {pade[12 + parity], pade[10 + parity], pade[8 + parity], 0},
					 low[] = {pade[6 + parity], pade[4 + parity], pade[2 + parity], pade[parity]};
		combine(n, 3, high, power, sum);
		dfg_complex_product(n, sixth, sum, false, to);
		combine(n, 3, low, power, sum);
		for (int64_t i = 0; i < n * n; i++)
			to[i] += sum[i];
	}
	dfg_complex_product(n, a, odd, false, sum);
	for (int64_t i = 0; i < n * n; i++) {
		a[i] = even[i] + sum[i];
		even[i] -= sum[i];
	}
	solve(n, even, a);
}

static bool exponential_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows;
	number *a = (number *)memory, *more = a + n * n;
	int halvings;
	read_square(work, t, a);
	double norm = norm_of(n, a);
	frexp(norm / PADE_NORM, &halvings);
	halvings = norm > PADE_NORM && isfinite(norm) ? halvings : 0;
	for (int64_t i = 0; i < n * n; i++)
		a[i] = isfinite(norm) ? a[i] * ldexp(1, -halvings) : MATH_NAN;
	small_exponential(n, a, more);
	for (int i = 0; i < halvings; i++) {
		dfg_complex_product(n, a, a, false, more);
		memcpy(a, more, (size_t)(n * n) * sizeof *a);
	}
	write_square(work, t, a);
	return true;
}

/* Gauss and Legendre's nodes and weights on [0, 1]: log(1 + x) is the integral of x / (1 + s x). */
static const struct {
	double at, weight;
} gauss[] = {
	{0.019855071751231884, 0.05061426814518813},
	{0.10166676129318664, 0.11119051722668724},
	{0.23723379504183550, 0.15685332293894366},
	{0.40828267875217511, 0.18134189168918100},
	{0.59171732124782489, 0.18134189168918100},
	{0.76276620495816450, 0.15685332293894366},
	{0.89833323870681336, 0.11119051722668724},
	{0.98014492824876812, 0.05061426814518813},
};
#define LOG_NORM 0.25 /* up to which they suffice */

/* The logarithm of 1 + x, an upper triangle. */
static void small_logarithm(int64_t n, const number *x, number *memory, number *out)
{
	number *divisor = memory, *part = divisor + n * n;
	memset(out, 0, (size_t)(n * n) * sizeof *out);
	for (size_t g = 0; g < sizeof gauss / sizeof *gauss; g++) {
		for (int64_t i = 0; i < n * n; i++) {
			divisor[i] = gauss[g].at * x[i] + (i / n == i % n ? 1 : 0);
			part[i] = x[i];
		}
		solve(n, divisor, part);
		for (int64_t i = 0; i < n * n; i++)
			out[i] += gauss[g].weight * part[i];
	}
}

static number log_of(number x)
{
	number y;
	__real__ y = log(dfg_complex_size(x));
	__imag__ y = atan2(__imag__ x, __real__ x);
	return y;
}

static bool logarithm_of(const struct dfg_matrix_work *work, int64_t t, double *memory)
{
	int64_t n = work->rows;
	number *a = (number *)memory, *q = a + n * n, *x = q + n * n, *more = x + n * n, *log = more + 2 * n * n,
		   *value = log + n * n;
	int roots = 0;
	read_square(work, t, a);
	if (!dfg_schur(n, a, q))
		return false;
	for (int64_t i = 0; i < n; i++) {
		value[i] = log_of(a[i * n + i]);
		if (!isfinite(__real__ value[i]))
			return false;
	}
	for (;; roots++) {
		for (int64_t i = 0; i < n * n; i++)
			x[i] = a[i] - (i / n == i % n ? 1 : 0);
		if (norm_of(n, x) <= LOG_NORM || roots > 100)
			break;
		triangle_root(n, a, more);
		memcpy(a, more, (size_t)(n * n) * sizeof *a);
	}
	small_logarithm(n, x, more, log);
	for (int64_t i = 0; i < n * n; i++)
		log[i] = i / n == i % n ? value[i / n] : ldexp(1, roots) * log[i];
	from_schur(n, q, log, more, a);
	write_square(work, t, a);
	return true;
}

static struct dfg_err *eig_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	DFG_TRY(dfg_need_matrices(in, true));
	node->out[0] = dfg_matrix_shape(in, 1, in->dim[in->rank - 1], 0);
	node->out[1] = node->call->attr[0].b ? *in : DFG_SHAPE_VECTOR(0);
	return NULL;
}

static struct dfg_err *eig(struct dfg_kernel *ctx)
{
	struct dfg_matrix_work work = {.with_vectors = dfg_kernel_attr(ctx)[0].b};
	return dfg_each_matrix(
		ctx, &work, numbers_of, eig_of, "has no decomposition: an element is not finite, or too large");
}

static struct dfg_err *root(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(
		ctx, &(struct dfg_matrix_work){0}, numbers_of, root_of, "has no square root: an element is not finite");
}

static struct dfg_err *exponential(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(ctx, &(struct dfg_matrix_work){0}, numbers_of, exponential_of, "");
}

static struct dfg_err *logarithm(struct dfg_kernel *ctx)
{
	return dfg_each_matrix(ctx, &(struct dfg_matrix_work){0}, numbers_of, logarithm_of,
		"has no logarithm: an eigenvalue is 0, or an element is not finite");
}

/* Boeddeker and others 2017, eq. 4.77. The vectors have unit length, and equal values' vectors no derivative. */
#define EIG(before, mid)                          \
	before "solution = MatrixSolve(vectors, " mid \
		   ", adjoint = true)\n"                  \
		   "dinput = Cast(solution, DstT = T)"
#define TURNED "BatchMatMulV2(inner, vectors, adj_y = true)"
#define BY_VECTORS                                                                       \
	"vectors = v\n"                                                                      \
	"between = ExpandDims(e, -2) - ExpandDims(e, -1)\n"                                  \
	"product = BatchMatMulV2(v, dv, adj_x = true)\n"                                     \
	"along = MatrixDiag(Cast(MatrixDiagPart(Cast(product, DstT = f64)), DstT = Tout))\n" \
	"across = product - BatchMatMulV2(BatchMatMulV2(v, v, adj_x = true), along)\n"       \
	"by_vectors = Conj(DivNoNan(OnesLike(between), between)) * across\n"

static struct dfg_err *eig_gradient(struct dfg_gradient *node)
{
	static const char recomputed[] =
		EIG("again, vectors = Eig(input, Tout = Tout, compute_v = true)\ninner = MatrixDiag(de)\n", TURNED);
	static const char values[] = EIG("vectors = v\ninner = MatrixDiag(de)\n", TURNED);
	static const char vectors[] = EIG(BY_VECTORS "inner = by_vectors\n", TURNED);
	static const char both[] = EIG(BY_VECTORS "inner = by_vectors + MatrixDiag(de)\n", TURNED);
	if (!node->call->attr[0].b)
		return dfg_gradient_formula(node, recomputed);
	if (!dfg_gradient_has(node, 1))
		return dfg_gradient_formula(node, values);
	return dfg_gradient_formula(node, dfg_gradient_has(node, 0) ? both : vectors);
}

#define KERNELS(function)                                                                       \
	{                                                                                           \
		[DFG_F32] = function, [DFG_F64] = function, [DFG_C64] = function, [DFG_C128] = function \
	}

const struct dfg_op dfg_op_Eig = {
	.name = "Eig",
	.doc = "eigenvalues, ascending by absolute value, and eigenvectors of any square matrices",
	.sig = "<T: f32|f64|complex, Tout: complex>(input: T) -> (e: Tout, v: Tout)",
	.attr = {"compute_v: bool = true"},
	.flags = DFG_EXPENSIVE,
	.shape = eig_shape,
	.gradient_fn = eig_gradient,
	.kernel = KERNELS(eig),
};

/*
 * With r the root, dr solves r* x + x r* = dr (Sylvester's equation), by one system of n^2 unknowns: the rows of x one after
 * the other.
 */
const struct dfg_op dfg_op_MatrixSquareRoot = {
	.name = "MatrixSquareRoot",
	.doc = "the principal square root of each matrix; NaN where a real matrix has no real one",
	.sig = "<T: f32|f64|complex>(input: T) -> (output: T)",
	.flags = DFG_EXPENSIVE,
	.shape = dfg_square_shape,
	.gradient =
		"shape = Shape(output)\n"
		"n = StridedSlice(shape, [-1], [0], [1], end_mask = 1)\n"
		"eye = MatrixDiag(OnesLike(MatrixDiagPart(output)))\n"
		"turned = ConjugateTranspose(Reshape(output, ConcatV2([[-1], n, n], 0)), [0, 2, 1])\n"
		"flat_eye = Reshape(eye, ConcatV2([[-1], n, n], 0))\n"
		"left = Einsum([turned, flat_eye], equation = \"bij,bkl->bikjl\")\n"
		"right = Einsum([flat_eye, turned], equation = \"bij,blk->bikjl\")\n"
		"wide = ConcatV2([[-1], n * n, n * n], 0)\n"
		"solution = MatrixSolve(Reshape(left + right, wide), Reshape(doutput, ConcatV2([[-1], n * n, [1]], 0)))\n"
		"dinput = Reshape(solution, shape)",
	.kernel = KERNELS(root),
};

const struct dfg_op dfg_op_MatrixExponential = {
	.name = "MatrixExponential",
	.doc = "the exponential of each matrix",
	.sig = "<T: f32|f64|complex>(input: T) -> (output: T)",
	.flags = DFG_EXPENSIVE | DFG_NO_GRADIENT,
	.shape = dfg_square_shape,
	.kernel = KERNELS(exponential),
};

const struct dfg_op dfg_op_MatrixLogarithm = {
	.name = "MatrixLogarithm",
	.doc = "the principal logarithm of each matrix",
	.sig = "<T: complex>(input: T) -> (output: T)",
	.flags = DFG_EXPENSIVE | DFG_NO_GRADIENT,
	.shape = dfg_square_shape,
	.kernel = {[DFG_C64] = logarithm, [DFG_C128] = logarithm},
};
