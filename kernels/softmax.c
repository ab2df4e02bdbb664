#include "kernels/softmax.h"

#include "kernels/math.h"
#include "kernels/reduce.h"
#include "lib/base/vector.h"

/*
 * Softmax and log softmax, a row at a time: the largest element, the exponentials, their sum and the result, while the
 * row is in the first cache. Sums are added in the order of Sum. A NaN in a row makes all of the row NaN.
 */
enum { BLOCK = 16 * 1024 };

struct work {
	const void *in;
	void *out;
	int64_t n;
};

#define DTYPE (sizeof(TYPE) == 4 ? DFG_F32 : DFG_F64)
#define NEAR (sizeof(TYPE) == 4 ? EXP_NEAR_F32 : EXP_NEAR_F64)
#define TEMPLATE "kernels/softmax.inc"
#include "kernels/each_float.inc"
#include "kernels/row_rules.h"

int64_t dfg_softmax_rows_in_block(int64_t n)
{
	return n < BLOCK ? BLOCK / (n > 0 ? n : 1) : 1;
}

static struct dfg_err *rows(
	struct dfg_kernel *ctx, void (*f32)(void *, int64_t, int64_t), void (*f64)(void *, int64_t, int64_t))
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	if (in->shape.rank < 1)
		return DFG_ERR(DFG_DATA, "logits are a scalar, expected at least one dimension");
	DFG_TRY(dfg_kernel_output(ctx, 0, &in->shape, &out));
	struct work work = {in->data, out->data, in->shape.dim[in->shape.rank - 1]};
	if (work.n)
		dfg_kernel_ranges(ctx, dfg_shape_count(&in->shape) / work.n, dfg_softmax_rows_in_block(work.n),
			in->dtype == DFG_F32 ? f32 : f64, &work);
	return NULL;
}

static struct dfg_err *softmax(struct dfg_kernel *ctx)
{
	return rows(ctx, softmax_f32, softmax_f64);
}

static struct dfg_err *log_softmax(struct dfg_kernel *ctx)
{
	return rows(ctx, log_softmax_f32, log_softmax_f64);
}

static struct dfg_err *softmax_shape(struct dfg_infer *node)
{
	if (node->in[0]->rank < 1)
		return DFG_ERR(DFG_DATA, "logits are a scalar, expected at least one dimension");
	node->out[0] = *node->in[0];
	return NULL;
}

const struct dfg_op dfg_op_Softmax = {
	.name = "Softmax",
	.means = DFG_MEANS_SOFTMAX,
	.doc = "exponentials of a row divided by their sum",
	.sig = "<T: float>(logits: T) -> (softmax: T)",
	.shape = softmax_shape,
	.rows = dfg_rows_matrix,
	.gradient = "dlogits = (dsoftmax - Sum(dsoftmax * softmax, [-1], keep_dims = true)) * softmax",
	.kernel = {[DFG_F32] = softmax, [DFG_F64] = softmax},
};

const struct dfg_op dfg_op_LogSoftmax = {
	.name = "LogSoftmax",
	.doc = "logarithm of a row's softmax",
	.sig = "<T: float>(logits: T) -> (logsoftmax: T)",
	.shape = softmax_shape,
	.rows = dfg_rows_matrix,
	.gradient = "dlogits = dlogsoftmax - Sum(dlogsoftmax, [-1], keep_dims = true) * Exp(logsoftmax)",
	.kernel = {[DFG_F32] = log_softmax, [DFG_F64] = log_softmax},
};
