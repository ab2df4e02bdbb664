#include "kernels/gradient_helpers.h"
#include "kernels/gemm/halves.h"
#include "kernels/row_rules.h"
#include "lib/exec/device/product_launch.h"
#include "lib/graph/half.h"

#include <tgmath.h>

enum { A, B };                            /* inputs */
enum { TRANSPOSE_A, TRANSPOSE_B };        /* attributes: transposed, or for the batched ops the adjoint */
enum { BATCH = DFG_PRODUCT_LAUNCH_RANK }; /* most batch dimensions */

_Static_assert(DFG_PRODUCT_LAUNCH_CHAIN == (int)DFG_PRODUCT_CHAIN, "devices have the order of sums of the host");

/* A batch of `count` products of equal sizes; of complex numbers, also the factors that are conjugated. */
struct matrices {
	struct dfg_product each;
	bool conjugate_a, conjugate_b;
	struct dfg_shape out;
};

static struct dfg_err *misfit(const struct dfg_shape *a, const struct dfg_shape *b, const union dfg_value *attr)
{
	return DFG_ERR(DFG_DATA, "cannot multiply %s%s by %s%s", dfg_shape_words(a).s,
		attr[TRANSPOSE_A].b ? " transposed" : "", dfg_shape_words(b).s, attr[TRANSPOSE_B].b ? " transposed" : "");
}

/*
 * Checks that the matrices in the last two dimensions fit, before and while the graph runs. Unknown dimensions fit any.
 */
static struct dfg_err *fit(
	const struct dfg_shape *a, const struct dfg_shape *b, const union dfg_value *attr, struct matrices *out)
{
	int at_a = a->rank - 2, at_b = b->rank - 2;
	bool transpose_a = attr[TRANSPOSE_A].b, transpose_b = attr[TRANSPOSE_B].b;
	int64_t k = a->dim[at_a + !transpose_a], also_k = b->dim[at_b + transpose_b];
	if (k != also_k && k != DFG_UNKNOWN && also_k != DFG_UNKNOWN)
		return misfit(a, b, attr);
	int64_t m = a->dim[at_a + transpose_a], n = b->dim[at_b + !transpose_b];
	*out = (struct matrices){
		.each =
			{
				.m = m,
				.n = n,
				.k = k,
				.a_row = transpose_a ? 1 : k,
				.a_column = transpose_a ? m : 1,
				.b_row = transpose_b ? 1 : n,
				.b_column = transpose_b ? k : 1,
				.c_row = n,
			},
		.out = {.rank = 2, .dim = {m, n}},
	};
	return NULL;
}

static struct dfg_err *fit_plain(
	const struct dfg_shape *a, const struct dfg_shape *b, const union dfg_value *attr, struct matrices *out)
{
	if (a->rank != 2 || b->rank != 2)
		return DFG_ERR(
			DFG_DATA, "inputs have shape %s and %s, expected matrices", dfg_shape_words(a).s, dfg_shape_words(b).s);
	return fit(a, b, attr, out);
}

static struct dfg_shape in_front(const struct dfg_shape *shape)
{
	struct dfg_shape batch = {.rank = shape->rank - 2};
	for (int i = 0; i < batch.rank; i++)
		batch.dim[i] = shape->dim[i];
	return batch;
}

static struct dfg_err *fit_batch(const struct dfg_resolved_node *call, const struct dfg_shape *a,
	const struct dfg_shape *b, bool broadcasts, struct matrices *out)
{
	const union dfg_value *attr = call->attr;
	if (a->rank < 2 || b->rank < 2 || a->rank - 2 > BATCH || b->rank - 2 > BATCH)
		return DFG_ERR(
			DFG_DATA, "inputs have shape %s and %s, expected matrices", dfg_shape_words(a).s, dfg_shape_words(b).s);
	struct dfg_shape of_a = in_front(a), of_b = in_front(b), batch;
	if (!broadcasts && !dfg_shape_fits(&of_a, &of_b))
		return DFG_ERR(DFG_DATA, "batch dimensions differ: %s and %s", dfg_shape_words(a).s, dfg_shape_words(b).s);
	if (broadcasts)
		DFG_TRY(dfg_shape_broadcast((const struct dfg_shape *const[]){&of_a, &of_b}, 2, &batch));
	else
		batch = dfg_shape_merge(&of_a, &of_b);
	DFG_TRY(fit(a, b, attr, out));
	bool is_complex = dfg_dtype_is((enum dfg_dtype)call->out_dtype[0], "complex");
	out->conjugate_a = is_complex && attr[TRANSPOSE_A].b;
	out->conjugate_b = is_complex && attr[TRANSPOSE_B].b;
	out->out = batch;
	out->out.rank = batch.rank + 2;
	out->out.dim[batch.rank] = out->each.m;
	out->out.dim[batch.rank + 1] = out->each.n;
	return NULL;
}

static struct dfg_err *matmul_shape(struct dfg_infer *node)
{
	struct matrices matrices;
	DFG_TRY(fit_plain(node->in[A], node->in[B], node->call->attr, &matrices));
	node->out[0] = matrices.out;
	return NULL;
}

static struct dfg_err *batch_shape(struct dfg_infer *node)
{
	struct matrices matrices;
	DFG_TRY(fit_batch(node->call, node->in[A], node->in[B], false, &matrices));
	node->out[0] = matrices.out;
	return NULL;
}

static struct dfg_err *broadcast_shape(struct dfg_infer *node)
{
	struct matrices matrices;
	DFG_TRY(fit_batch(node->call, node->in[A], node->in[B], true, &matrices));
	node->out[0] = matrices.out;
	return NULL;
}

/* Arguments of the loops for integers and complex numbers: row i of product t is row t * m + i of the work. */
struct loops {
	const struct matrices *matrices;
	const void *a, *b;
	void *c;
	const int64_t *a_at, *b_at;
};

#define SAME(x, turned) (x)
#define CONJUGATE(x, turned) ((turned) ? conj(x) : (x))
#define LOOPS(NAME, name, type, number, ONE)                                                 \
	static void loops_##name(void *arg, int64_t first, int64_t last)                         \
	{                                                                                        \
		const struct loops *loops = arg;                                                     \
		const struct matrices *all = loops->matrices;                                        \
		const struct dfg_product *p = &all->each;                                            \
		for (int64_t row = first; row < last; row++) {                                       \
			int64_t t = row / p->m;                                                          \
			const type *a = (const type *)loops->a + loops->a_at[t] + row % p->m * p->a_row; \
			const type *b = (const type *)loops->b + loops->b_at[t];                         \
			type *c = (type *)loops->c + row * p->c_row;                                     \
			for (int64_t j = 0; j < p->n; j++)                                               \
				c[j] = 0;                                                                    \
			for (int64_t s = 0; s < p->k; s++) {                                             \
				const type x = ONE(a[s * p->a_column], all->conjugate_a);                    \
				for (int64_t j = 0; j < p->n; j++)                                           \
					c[j] += x * ONE(b[s * p->b_row + j * p->b_column], all->conjugate_b);    \
			}                                                                                \
		}                                                                                    \
	}
DFG_EACH_int(LOOPS, SAME)
DFG_EACH_complex(LOOPS, CONJUGATE)

static void (*const loops_of[DFG_DTYPES])(void *arg, int64_t first, int64_t last) = {
	DFG_EACH_int(DFG_BY_DTYPE, loops) DFG_EACH_complex(DFG_BY_DTYPE, loops)};

/* Computes the offset, in elements, of each matrix of an input. Missing batch dimensions, and those of 1, broadcast. */
static void find_offsets(const struct dfg_shape *in, const struct dfg_shape *out, int64_t count, int64_t *at)
{
	int64_t step[DFG_RANK_MAX] = {0}, size = in->dim[in->rank - 2] * in->dim[in->rank - 1];
	for (int i = in->rank - 3, o = out->rank - 3; i >= 0; i--, o--) {
		step[o] = in->dim[i] == 1 ? 0 : size;
		size *= in->dim[i];
	}
	for (int64_t t = 0; t < count; t++) {
		int64_t remainder = t;
		at[t] = 0;
		for (int o = out->rank - 3; o >= 0; o--) {
			at[t] += remainder % out->dim[o] * step[o];
			remainder /= out->dim[o];
		}
	}
}

/* All a with the same b are one tall matrix. */
static bool is_one_tall_matrix(const struct dfg_product *p, int64_t count, const struct dfg_shape *a,
	const struct dfg_shape *b, const struct dfg_shape *c)
{
	return count > 1 && a->rank == c->rank && dfg_shape_count(b) == p->k * p->n && p->a_column == 1 &&
		   dfg_shape_count(a) == count * p->m * p->k;
}

/* The product of that matrix; returns the number of products. */
static int64_t join_rows(struct dfg_product *p, int64_t count)
{
	p->m *= count;
	p->a_row = p->k; /* 1 before, if a is transposed */
	return 1;
}

static struct dfg_err *run_products(struct dfg_kernel *ctx, struct matrices *matrices)
{
	const struct dfg_tensor *a = dfg_kernel_input(ctx, A), *b = dfg_kernel_input(ctx, B);
	struct dfg_product *p = &matrices->each;
	struct dfg_tensor *c;
	DFG_TRY(dfg_kernel_output(ctx, 0, &matrices->out, &c));
	int64_t elements = dfg_shape_count(&c->shape), count = elements ? elements / (p->m * p->n) : 0, *at;
	if (!count)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, 2 * (size_t)count * sizeof *at, (void **)&at));
	find_offsets(&a->shape, &c->shape, count, at);
	find_offsets(&b->shape, &c->shape, count, at + count);

	if (loops_of[c->dtype]) {
		struct loops loops = {matrices, a->data, b->data, c->data, at, at + count};
		int64_t each = p->n * (p->k > 0 ? p->k : 1);
		dfg_kernel_ranges(ctx, count * p->m, each < 1 << 16 ? (1 << 16) / each : 1, loops_of[c->dtype], &loops);
		return NULL;
	}
	if (is_one_tall_matrix(p, count, &a->shape, &b->shape, &c->shape))
		count = join_rows(p, count);
	const struct dfg_products products = {
		.each = *p,
		.dtype = c->dtype,
		.count = count,
		.a = a->data,
		.b = b->data,
		.c = c->data,
		.a_at = at,
		.b_at = at + (elements / (matrices->out.dim[c->shape.rank - 2] * p->n)),
		.c_step = p->m * p->n,
		.b_is_input_1 = true,
	};
	return dfg_kernel_products(ctx, &products);
}

/* A product of halves by blocks, or by operands that are widened as a whole. */
static struct dfg_err *run_halves(struct dfg_kernel *ctx, struct matrices *matrices)
{
	const struct dfg_tensor *a = dfg_kernel_input(ctx, A), *b = dfg_kernel_input(ctx, B);
	struct dfg_product p = matrices->each;
	const int64_t elements = dfg_shape_count(&matrices->out);
	int64_t count = elements ? elements / (p.m * p.n) : 0;
	struct dfg_tensor *c;
	if (is_one_tall_matrix(&p, count, &a->shape, &b->shape, &matrices->out))
		count = join_rows(&p, count);
	if (count != 1 || !dfg_product_widens_blocks(&p))
		return dfg_half_run(ctx);
	DFG_TRY(dfg_kernel_output(ctx, 0, &matrices->out, &c));
	return dfg_kernel_product_of_halves(ctx, &p, c->dtype, a->data, b->data, c->data);
}

static struct dfg_err *multiply(struct dfg_kernel *ctx, struct matrices *matrices)
{
	return dfg_is_half((enum dfg_dtype)ctx->call->out_dtype[0]) ? run_halves(ctx, matrices)
																: run_products(ctx, matrices);
}

static struct dfg_err *matmul(struct dfg_kernel *ctx)
{
	struct matrices matrices;
	DFG_TRY(fit_plain(&ctx->in[A]->shape, &ctx->in[B]->shape, ctx->call->attr, &matrices));
	return multiply(ctx, &matrices);
}

static struct dfg_err *batch_matmul(struct dfg_kernel *ctx)
{
	struct matrices matrices;
	DFG_TRY(fit_batch(ctx->call, &ctx->in[A]->shape, &ctx->in[B]->shape, false, &matrices));
	return multiply(ctx, &matrices);
}

static struct dfg_err *broadcast_matmul(struct dfg_kernel *ctx)
{
	struct matrices matrices;
	DFG_TRY(fit_batch(ctx->call, &ctx->in[A]->shape, &ctx->in[B]->shape, true, &matrices));
	return multiply(ctx, &matrices);
}

#define KERNELS(function)                                                                    \
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, function) DFG_EACH_int(DFG_FOR_DTYPE, function) \
				   DFG_EACH_complex(DFG_FOR_DTYPE, function)[DFG_F16] = function,            \
		[DFG_BF16] = function}

/* Complex factors are conjugated first, because MatMul transposes, but does not take the adjoint. */
#define MATMUL_GRADIENT(a, b)                                        \
	"static if transpose_a { da = MatMul(" b                         \
	", dproduct, transpose_a = transpose_b, transpose_b = true) }\n" \
	"else { da = MatMul(dproduct, " b                                \
	", transpose_b = not transpose_b) }\n"                           \
	"static if transpose_b { db = MatMul(dproduct, " a               \
	", transpose_a = true, transpose_b = transpose_a) }\n"           \
	"else { db = MatMul(" a ", dproduct, transpose_a = not transpose_a) }"

static struct dfg_err *matmul_gradient(struct dfg_gradient *node)
{
	if (dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex"))
		return dfg_gradient_formula(node, MATMUL_GRADIENT("Conj(a)", "Conj(b)"));
	return dfg_gradient_formula(node, MATMUL_GRADIENT("a", "b"));
}

/* An element's sum depends on k alone, so a row of a has the same bits in any matrix. */
static const char *matmul_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return node->call->attr[TRANSPOSE_A].b ? "it transposes the batch" : dfg_rows_first(node, by_row);
}

static const char *batch_rows(const struct dfg_infer *node, uint64_t by_row)
{
	int rank = node->in[A]->rank > node->in[B]->rank ? node->in[A]->rank : node->in[B]->rank;
	if (rank == 2 && by_row == 1 && !node->call->attr[TRANSPOSE_A].b)
		return NULL;
	if (rank < 3)
		return "the batch is an axis of the matrices";
	for (int i = A; i <= B; i++)
		if ((by_row >> i & 1) ? node->in[i]->rank != rank : node->in[i]->rank == rank && node->in[i]->dim[0] != 1)
			return "it broadcasts the batch along an axis other than the first";
	return NULL;
}

const struct dfg_op dfg_op_MatMul = {
	.name = "MatMul",
	.means = DFG_MEANS_MATRICES,
	.doc = "matrix product of a and b",
	.sig = "<T: numeric>(a: T, b: T) -> (product: T)",
	.attr = {[TRANSPOSE_A] = "transpose_a: bool = false",
		[TRANSPOSE_B] = "transpose_b: bool = false",
		"grad_a: bool = false",
		"grad_b: bool = false"},
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = matmul_shape,
	.rows = matmul_rows,
	.gradient_fn = matmul_gradient,
	KERNELS(matmul),
};

/* The gradient pass sums a result to the shape of an input that was broadcast. */
#define ADJOINT_GRADIENT                                                                \
	"static if adj_x { dx = BatchMatMulV2(y, doutput, adj_x = adj_y, adj_y = true) }\n" \
	"else { dx = BatchMatMulV2(doutput, y, adj_y = not adj_y) }\n"                      \
	"static if adj_y { dy = BatchMatMulV2(doutput, x, adj_x = true, adj_y = adj_x) }\n" \
	"else { dy = BatchMatMulV2(x, doutput, adj_x = not adj_x) }"
#define ADJOINT_ATTRS                                                                                         \
	{                                                                                                         \
		[TRANSPOSE_A] = "adj_x: bool = false", [TRANSPOSE_B] = "adj_y: bool = false", "grad_x: bool = false", \
		"grad_y: bool = false"                                                                                \
	}

const struct dfg_op dfg_op_BatchMatMul = {
	.name = "BatchMatMul",
	.means = DFG_MEANS_MATRICES,
	.doc = "matrix products of two batches of equal shape",
	.sig = "<T: numeric>(x: T, y: T) -> (output: T)",
	.attr = ADJOINT_ATTRS,
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = batch_shape,
	.rows = batch_rows,
	.gradient = ADJOINT_GRADIENT,
	KERNELS(batch_matmul),
};

const struct dfg_op dfg_op_BatchMatMulV2 = {
	.name = "BatchMatMulV2",
	.means = DFG_MEANS_MATRICES,
	.doc = "matrix products of two batches that broadcast",
	.sig = "<T: numeric>(x: T, y: T) -> (output: T)",
	.attr = ADJOINT_ATTRS,
	.flags = DFG_EXPENSIVE | DFG_BROADCASTS | DFG_WEIGHTS,
	.shape = broadcast_shape,
	.rows = batch_rows,
	.gradient = ADJOINT_GRADIENT,
	KERNELS(broadcast_matmul),
};
