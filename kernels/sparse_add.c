/* Sparse tensors combined entry by entry: SparseAdd, SparseSparseMaximum; and SparseSoftmax. */
#include "kernels/math.h"
#include "kernels/sparse.h"
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

enum { A_INDICES, A_VALUES, A_DIMS, B_INDICES, B_VALUES, B_DIMS, THRESH };

extern const struct dfg_op dfg_op_AddV2, dfg_op_Maximum, dfg_op_Minimum;

static struct dfg_err *read_both(struct dfg_kernel *ctx, struct dfg_sparse *a, struct dfg_sparse *b)
{
	DFG_TRY(dfg_sparse_of(ctx, A_INDICES, A_VALUES, A_DIMS, a));
	DFG_TRY(dfg_sparse_of(ctx, B_INDICES, B_VALUES, B_DIMS, b));
	if (a->rank != b->rank)
		return DFG_ERR(
			DFG_DATA, "the dense shapes have %d and %d dimensions, expected equal numbers", a->rank, b->rank);
	for (int d = 0; d < a->rank; d++)
		if (a->dim[d] != b->dim[d])
			return DFG_ERR(DFG_DATA,
				"the dense shapes have %" PRId64 " and %" PRId64 " in dimension %d, expected equal shapes", a->dim[d],
				b->dim[d], d);
	return NULL;
}

/* Entries of a and b in the order of their indices, both of which are sorted: at each step one of them, or both. */
struct merge {
	struct dfg_sparse a, b;
	int64_t i, j;
	bool of_a, of_b; /* whose entry the step has: i - 1, j - 1 */
};

static bool merge_next(struct merge *m)
{
	int order = 0;
	if (m->i == m->a.n && m->j == m->b.n)
		return false;
	if (m->i < m->a.n && m->j < m->b.n)
		order = dfg_sparse_compare(m->a.at + m->i * m->a.rank, m->b.at + m->j * m->b.rank, m->a.rank);
	m->of_a = m->i < m->a.n && (m->j == m->b.n || order <= 0);
	m->of_b = m->j < m->b.n && (m->i == m->a.n || order >= 0);
	m->i += m->of_a;
	m->j += m->of_b;
	return true;
}

static const int64_t *merge_index(const struct merge *m)
{
	return m->of_a ? m->a.at + (m->i - 1) * m->a.rank : m->b.at + (m->j - 1) * m->b.rank;
}

/* The magnitude of an element, for the threshold; that of a complex number too. */
static double magnitude(const struct dfg_tensor *tensor, const void *element)
{
	double parts[2] = {0, 0};
	if (tensor->dtype == DFG_C64 || tensor->dtype == DFG_C128) {
		dfg_convert(DFG_F64, parts, tensor->dtype == DFG_C64 ? DFG_F32 : DFG_F64, element, 2);
		return __builtin_sqrt(parts[0] * parts[0] + parts[1] * parts[1]);
	}
	dfg_convert(DFG_F64, parts, tensor->dtype, element, 1);
	return abs_f64(parts[0]);
}

/* The values of a step of the merge, combined; an absent one is 0 if `zeros`, else left out. */
static void combine_entry(
	const struct merge *m, struct dfg_tensor *const *in, dfg_row_fn *row, bool zeros, void *out_value)
{
	static const char zero[16];
	const size_t bytes = dfg_dtype_size(in[A_VALUES]->dtype);
	const void *a = m->of_a ? dfg_tensor_at(in[A_VALUES], m->i - 1) : zero;
	const void *b = m->of_b ? dfg_tensor_at(in[B_VALUES], m->j - 1) : zero;
	memcpy(out_value, m->of_a || zeros ? a : b, bytes);
	if (zeros || (m->of_a && m->of_b))
		dfg_combine(row, in[A_VALUES]->dtype, 1, out_value, b);
}

/* The entries of the result, in scratch memory. */
struct entries {
	int64_t n, *at;
	char *value;
};

static struct dfg_err *merge_entries(
	struct dfg_kernel *ctx, struct merge *m, const struct dfg_op *combination, struct entries *to)
{
	const struct dfg_tensor *thresh = ctx->call->n_in > THRESH ? ctx->in[THRESH] : NULL;
	const size_t most = (size_t)(m->a.n + m->b.n), bytes = dfg_dtype_size(ctx->in[A_VALUES]->dtype);
	const double least = thresh ? dfg_tensor_float(thresh, 0) : 0;
	dfg_row_fn *row;
	DFG_TRY(dfg_row_of(combination, ctx->in[A_VALUES]->dtype, &row));
	DFG_TRY(dfg_kernel_scratch(ctx, (most * (size_t)m->a.rank + 1) * sizeof *to->at, (void **)&to->at));
	DFG_TRY(dfg_kernel_scratch(ctx, most * bytes + 1, (void **)&to->value));
	for (to->n = 0; merge_next(m);) {
		char *value = to->value + (size_t)to->n * bytes;
		combine_entry(m, ctx->in, row, !thresh, value);
		if (thresh && m->of_a && m->of_b && !(least <= magnitude(ctx->in[A_VALUES], value)))
			continue;
		memcpy(to->at + to->n * m->a.rank, merge_index(m), (size_t)m->a.rank * sizeof *to->at);
		to->n++;
	}
	return NULL;
}

static struct dfg_err *give_entries(struct dfg_kernel *ctx, const struct entries *from, int rank)
{
	struct dfg_tensor *at, *value;
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {from->n, rank}}, &at));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(from->n), &value));
	if (!from->n)
		return NULL;
	memcpy(at->data, from->at, (size_t)from->n * (size_t)rank * sizeof *from->at);
	memcpy(value->data, from->value, dfg_tensor_bytes(value));
	return NULL;
}

static struct dfg_err *pair_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, A_INDICES, A_VALUES, A_DIMS));
	DFG_TRY(dfg_sparse_need(node, B_INDICES, B_VALUES, B_DIMS));
	const int64_t rank = node->in[A_DIMS]->rank == 1 ? node->in[A_DIMS]->dim[0] : DFG_UNKNOWN;
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank}};
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	if (node->call->n_out > 2)
		node->out[2] = DFG_SHAPE_VECTOR(rank);
	return node->call->n_in > THRESH ? dfg_need_rank(node, THRESH, 0) : NULL;
}

static struct dfg_err *add_run(struct dfg_kernel *ctx)
{
	struct merge merge = {0};
	struct entries entries;
	struct dfg_tensor *dims;
	DFG_TRY(read_both(ctx, &merge.a, &merge.b));
	DFG_TRY(merge_entries(ctx, &merge, &dfg_op_AddV2, &entries));
	DFG_TRY(give_entries(ctx, &entries, merge.a.rank));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(merge.a.rank), &dims));
	if (merge.a.rank)
		memcpy(dims->data, merge.a.dim, (size_t)merge.a.rank * sizeof *merge.a.dim);
	return NULL;
}

#define PAIR "a_indices: i64, a_values: T, a_shape: i64, b_indices: i64, b_values: T, b_shape: i64"
const struct dfg_op dfg_op_SparseAdd = {
	.name = "SparseAdd",
	.doc = "the sum of two sparse tensors; sums of two entries of magnitude below thresh are left out",
	.sig = "<T: numeric|half, Treal: number|half>(" PAIR
		   ", thresh: Treal) -> "
		   "(sum_indices: i64, sum_values: T, sum_shape: i64)",
	.flags = DFG_ANY_RANK,
	.shape = pair_shape,
	.gradient = "da_values, db_values = SparseAddGrad(dsum_values, a_indices, b_indices, sum_indices)",
	.run = add_run,
};

/* SparseAddGrad. */
enum { GRAD, GRAD_A, GRAD_B, GRAD_SUM };

static struct dfg_err *add_grad_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, GRAD, 1));
	for (int i = GRAD_A; i <= GRAD_SUM; i++)
		DFG_TRY(dfg_need_rank(node, i, 2));
	node->out[0] = DFG_SHAPE_VECTOR(node->in[GRAD_A]->dim[0]);
	node->out[1] = DFG_SHAPE_VECTOR(node->in[GRAD_B]->dim[0]);
	return NULL;
}

/* Each entry has the gradient of the sum's entry with the same index, or 0 if the sum has none. */
static struct dfg_err *match_entries(struct dfg_kernel *ctx, int i)
{
	const struct dfg_tensor *grad = ctx->in[GRAD], *at = ctx->in[GRAD_A + i], *sum = ctx->in[GRAD_SUM];
	const int64_t rank = sum->shape.dim[1];
	struct dfg_tensor *out;
	int64_t k = 0;
	if (at->shape.dim[1] != rank)
		return DFG_ERR(DFG_DATA,
			"the indices of an operand have shape %s, but those of the sum %s: expected equal rows",
			dfg_shape_words(&at->shape).s, dfg_shape_words(&sum->shape).s);
	if (grad->shape.dim[0] != sum->shape.dim[0])
		return DFG_ERR(DFG_DATA,
			"the gradient has shape %s, expected a value for each of the sum's %" PRId64 " entries",
			dfg_shape_words(&grad->shape).s, sum->shape.dim[0]);
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(at->shape.dim[0]), &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t e = 0; e < at->shape.dim[0]; e++) {
		const int64_t *index = (const int64_t *)at->data + e * rank, *other = sum->data;
		while (k < sum->shape.dim[0] && dfg_sparse_compare(other + k * rank, index, (int)rank) < 0)
			k++;
		if (k < sum->shape.dim[0] && !dfg_sparse_compare(other + k * rank, index, (int)rank))
			memcpy(dfg_tensor_at(out, e), dfg_tensor_at(grad, k), dfg_dtype_size(out->dtype));
	}
	return NULL;
}

static struct dfg_err *add_grad_run(struct dfg_kernel *ctx)
{
	DFG_TRY(match_entries(ctx, 0));
	return match_entries(ctx, 1);
}

const struct dfg_op dfg_op_SparseAddGrad = {
	.name = "SparseAddGrad",
	.doc = "the gradients of SparseAdd with respect to the values of both tensors",
	.sig =
		"<T: numeric|half>(backprop_val_grad: T, a_indices: i64, b_indices: i64, sum_indices: i64) -> "
		"(a_val_grad: T, b_val_grad: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = add_grad_shape,
	.run = add_grad_run,
};

static struct dfg_err *extreme_run(struct dfg_kernel *ctx, const struct dfg_op *combination)
{
	struct merge merge = {0};
	struct entries entries;
	DFG_TRY(read_both(ctx, &merge.a, &merge.b));
	DFG_TRY(merge_entries(ctx, &merge, combination, &entries));
	return give_entries(ctx, &entries, merge.a.rank);
}

static struct dfg_err *maximum_run(struct dfg_kernel *ctx)
{
	return extreme_run(ctx, &dfg_op_Maximum);
}

static struct dfg_err *minimum_run(struct dfg_kernel *ctx)
{
	return extreme_run(ctx, &dfg_op_Minimum);
}

#define EXTREME(Op, word, run_)                                                                          \
	const struct dfg_op dfg_op_##Op = {                                                                  \
		.name = #Op,                                                                                     \
		.doc = "the " word " of the values of two sparse tensors, where one has 0 if it lacks an entry", \
		.sig = "<T: number|half>(" PAIR ") -> (output_indices: i64, output_values: T)",                  \
		.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,                                                         \
		.shape = pair_shape,                                                                             \
		.run = run_,                                                                                     \
	};
EXTREME(SparseSparseMaximum, "larger", maximum_run)
EXTREME(SparseSparseMinimum, "smaller", minimum_run)

/* SparseSoftmax. */

static struct dfg_err *softmax_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, A_INDICES, A_VALUES, A_DIMS));
	node->out[0] = *node->in[A_VALUES];
	return NULL;
}

/* The entries from `first` on whose indices differ in the last dimension alone end before the result. */
static int64_t row_end(const struct dfg_sparse *s, int64_t first)
{
	int64_t end = first + 1;
	while (end < s->n && !dfg_sparse_compare(s->at + first * s->rank, s->at + end * s->rank, s->rank - 1))
		end++;
	return end;
}

#define SOFTMAX(NAME, name, type, ...)                                                                  \
	static struct dfg_err *softmax_##name(struct dfg_kernel *ctx)                                       \
	{                                                                                                   \
		struct dfg_sparse s;                                                                            \
		struct dfg_tensor *out;                                                                         \
		const type *x = ctx->in[A_VALUES]->data;                                                        \
		DFG_TRY(dfg_sparse_of(ctx, A_INDICES, A_VALUES, A_DIMS, &s));                                   \
		if (s.rank < 2)                                                                                 \
			return DFG_ERR(DFG_DATA, "the dense shape has %d dimensions, expected at least 2", s.rank); \
		DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(s.n), &out));                               \
		type *y = out->data;                                                                            \
		for (int64_t first = 0, end; first < s.n; first = end) {                                        \
			type most = x[first], sum = 0;                                                              \
			end = row_end(&s, first);                                                                   \
			for (int64_t i = first; i < end; i++)                                                       \
				most = x[i] > most ? x[i] : most;                                                       \
			for (int64_t i = first; i < end; i++)                                                       \
				sum += y[i] = exp_##name(x[i] - most);                                                  \
			for (int64_t i = first; i < end; i++)                                                       \
				y[i] /= sum;                                                                            \
		}                                                                                               \
		return NULL;                                                                                    \
	}
DFG_EACH_float(SOFTMAX)

const struct dfg_op dfg_op_SparseSoftmax = {
	.name = "SparseSoftmax",
	.doc = "softmax of the values that a sparse tensor has in each row of its last dimension",
	.sig = "<T: f16|f32|f64>(sp_indices: i64, sp_values: T, sp_shape: i64) -> (output: T)",
	.flags = DFG_ANY_RANK,
	.shape = softmax_shape,
	.gradient =
		"sum = SparseReduceSum(sp_indices, output * doutput, sp_shape, [-1], keep_dims = true)\n"
		"dsp_values = SparseDenseCwiseAdd(sp_indices, doutput, sp_shape, -sum) * output",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, softmax)},
};
