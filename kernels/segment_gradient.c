/* The ops of TensorFlow for gradients of SparseSegmentSum, -Mean and -SqrtN. */
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { GRAD, INDICES, IDS, ROWS };

static struct dfg_err *sparse_grad_shape(struct dfg_infer *node)
{
	const struct dfg_shape *grad = node->in[GRAD], *indices = node->in[INDICES], *ids = node->in[IDS];
	int64_t rows = dfg_int_of(node, ROWS, 0);
	DFG_TRY(dfg_need_rank(node, INDICES, 1));
	DFG_TRY(dfg_need_rank(node, IDS, 1));
	DFG_TRY(dfg_need_rank(node, ROWS, 0));
	if (grad->rank < 1)
		return DFG_ERR(DFG_DATA, "grad is a scalar, expected at least one dimension");
	if (indices->dim[0] >= 0 && ids->dim[0] >= 0 && indices->dim[0] != ids->dim[0])
		return DFG_ERR(DFG_DATA, "there are %" PRId64 " segment ids for %" PRId64 " indices, expected one for each",
			ids->dim[0], indices->dim[0]);
	if (rows < 0 && rows != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "output_dim0 is %" PRId64 ", expected at least 0", rows);
	node->out[0] = *grad;
	node->out[0].dim[0] = rows == DFG_NOT_KNOWN ? DFG_UNKNOWN : rows;
	return NULL;
}

static struct dfg_err *check_ids(const struct dfg_tensor *ids, const char *what, int64_t bound)
{
	for (int64_t i = 0, n = dfg_shape_count(&ids->shape); i < n; i++) {
		int64_t id = dfg_tensor_int(ids, i);
		if (id < 0 || id >= bound)
			return DFG_ERR(DFG_DATA, "%s[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", what, i, id, bound);
	}
	return NULL;
}

/* The factor of a row of grad whose segment has `shared` rows. */
typedef double factor_fn(int64_t shared);

static double all(int64_t shared)
{
	(void)shared;
	return 1;
}

static double mean(int64_t shared)
{
	return 1 / (double)shared;
}

static double root(int64_t shared)
{
	return 1 / sqrt((double)shared);
}

struct spread {
	const struct dfg_tensor *grad, *indices, *ids;
	struct dfg_tensor *out;
	const int64_t *shared;
	factor_fn *factor;
	int64_t n; /* elements of a row */
};

#define SPREAD(NAME, name, type, ...)                                                  \
	static void spread_##name(const struct spread *s)                                  \
	{                                                                                  \
		for (int64_t i = 0, count = dfg_shape_count(&s->ids->shape); i < count; i++) { \
			const int64_t segment = dfg_tensor_int(s->ids, i);                         \
			const type *from = (const type *)s->grad->data + segment * s->n;           \
			type *to = (type *)s->out->data + dfg_tensor_int(s->indices, i) * s->n;    \
			const type factor = (type)s->factor(s->shared[segment]);                   \
			for (int64_t e = 0; e < s->n; e++)                                         \
				to[e] += from[e] * factor;                                             \
		}                                                                              \
	}
DFG_EACH_float(SPREAD)

static struct dfg_err *run_gradient(struct dfg_kernel *ctx, factor_fn *factor)
{
	struct spread s = {
		dfg_kernel_input(ctx, GRAD), dfg_kernel_input(ctx, INDICES), dfg_kernel_input(ctx, IDS), .factor = factor};
	int64_t segments = s.grad->shape.dim[0], *shared;
	DFG_TRY(dfg_output_now(ctx, &s.out));
	DFG_TRY(check_ids(s.ids, "segment_ids", segments));
	DFG_TRY(check_ids(s.indices, "indices", s.out->shape.dim[0]));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)segments + 1) * sizeof *shared, (void **)&shared));
	memset(shared, 0, ((size_t)segments + 1) * sizeof *shared);
	for (int64_t i = 0, count = dfg_shape_count(&s.ids->shape); i < count; i++)
		shared[dfg_tensor_int(s.ids, i)]++;
	s.shared = shared;
	s.n = dfg_count_between(&s.grad->shape, 1, s.grad->shape.rank);
	memset(s.out->data, 0, dfg_tensor_bytes(s.out));
	(s.grad->dtype == DFG_F64 ? spread_f64 : spread_f32)(&s);
	return NULL;
}

#define GRADIENT(Op, stem, text)                                                                   \
	static struct dfg_err *run_##stem(struct dfg_kernel *ctx)                                      \
	{                                                                                              \
		return run_gradient(ctx, stem);                                                            \
	}                                                                                              \
	const struct dfg_op dfg_op_SparseSegment##Op##Grad = {                                         \
		.name = "SparseSegment" #Op "Grad",                                                        \
		.doc = "gradient of SparseSegment" #Op ": " text,                                          \
		.sig =                                                                                     \
			"<T: float, Tidx: index = i32, Tsegmentids: index = i32>"                              \
			"(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: i32) -> (output: T)", \
		.flags = DFG_NO_GRADIENT | DFG_EXACT,                                                      \
		.shape = sparse_grad_shape,                                                                \
		.kernel = {[DFG_F32] = run_##stem, [DFG_F64] = run_##stem},                                \
	};
GRADIENT(Sum, all, "each row is added to all rows of its segment")
GRADIENT(Mean, mean, "each row is divided equally among the rows of its segment")
GRADIENT(SqrtN, root,
	"each row, divided by the square root of the number of rows of its segment, is added to all rows of its segment")
