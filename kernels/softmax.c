#include "kernels/softmax.h"

#include "kernels/math.h"
#include "lib/base/vector.h"

/*
 * Softmax and what is made of it, a row at a time: the largest element, then the exponentials and their sum while they
 * are written, then the result, all while the row is in the first cache. Sums have LANES parts, the same on every
 * machine. A NaN in a row spreads through the sum to all of it.
 */
enum { LANES = 16, BLOCK = 16 * 1024 };

#define ROW(NAME, name, type, ...)                                                                  \
	DFG_CLONES static type most_##name(int64_t n, const type *x)                                    \
	{                                                                                               \
		type lane[LANES], most = x[0];                                                              \
		int64_t i = 0;                                                                              \
		for (int l = 0; l < LANES; l++)                                                             \
			lane[l] = most;                                                                         \
		for (; i + LANES <= n; i += LANES)                                                          \
			for (int l = 0; l < LANES; l++)                                                         \
				lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];                                  \
		for (int l = 0; l < LANES; l++)                                                             \
			most = lane[l] > most ? lane[l] : most;                                                 \
		for (; i < n; i++)                                                                          \
			most = x[i] > most ? x[i] : most;                                                       \
		return most;                                                                                \
	}                                                                                               \
	DFG_CLONES static void exps_##name(int64_t n, const type *x, type less, type *out)              \
	{                                                                                               \
		DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = exp_##name(x[i] - less);           \
	}                                                                                               \
	DFG_CLONES static type sum_##name(int64_t n, const type *x)                                     \
	{                                                                                               \
		type lane[LANES] = {0}, sum = 0;                                                            \
		int64_t i = 0;                                                                              \
		for (; i + LANES <= n; i += LANES)                                                          \
			for (int l = 0; l < LANES; l++)                                                         \
				lane[l] += x[i + l];                                                                \
		for (; i < n; i++)                                                                          \
			lane[i % LANES] += x[i];                                                                \
		for (int half = LANES / 2; half; half /= 2)                                                 \
			for (int l = 0; l < half; l++)                                                          \
				lane[l] += lane[l + half];                                                          \
		sum = lane[0];                                                                              \
		return sum;                                                                                 \
	}                                                                                               \
	DFG_CLONES static void multiply_##name(int64_t n, type by, type *out)                           \
	{                                                                                               \
		DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] *= by;                               \
	}                                                                                               \
	DFG_CLONES static void less_##name(int64_t n, const type *x, type less, type also, type *out)   \
	{                                                                                               \
		DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = x[i] - less - also;                \
	}                                                                                               \
	/* The row's softmax; *out_most and *out_log make its log softmax: x - most - log. */           \
	void dfg_softmax_row_##name(int64_t n, const type *x, type *out, type *out_most, type *out_log) \
	{                                                                                               \
		*out_most = most_##name(n, x);                                                              \
		exps_##name(n, x, *out_most, out);                                                          \
		type sum = sum_##name(n, out);                                                              \
		*out_log = log_##name(sum);                                                                 \
		multiply_##name(n, 1 / sum, out);                                                           \
	}
DFG_EACH_float(ROW)

struct work {
	const void *in;
	void *out;
	int64_t n;
};

#define ROWS(NAME, name, type, ...)                                                    \
	static void softmax_##name(void *arg, int64_t first, int64_t last)                 \
	{                                                                                  \
		const struct work *work = arg;                                                 \
		for (int64_t row = first; row < last; row++) {                                 \
			const type *in = (const type *)work->in + row * work->n;                   \
			type most, logarithm, *out = (type *)work->out + row * work->n;            \
			dfg_softmax_row_##name(work->n, in, out, &most, &logarithm);               \
		}                                                                              \
	}                                                                                  \
	static void log_softmax_##name(void *arg, int64_t first, int64_t last)             \
	{                                                                                  \
		const struct work *work = arg;                                                 \
		for (int64_t row = first; row < last; row++) {                                 \
			const type *in = (const type *)work->in + row * work->n;                   \
			type *out = (type *)work->out + row * work->n;                             \
			const type most = most_##name(work->n, in);                                \
			exps_##name(work->n, in, most, out);                                       \
			less_##name(work->n, in, most, log_##name(sum_##name(work->n, out)), out); \
		}                                                                              \
	}
DFG_EACH_float(ROWS)

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
		return DFG_ERR(DFG_DATA, "needs one dim or more");
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
		return DFG_ERR(DFG_DATA, "needs one dim or more");
	node->out[0] = *node->in[0];
	return NULL;
}

const struct dfg_op dfg_op_Softmax = {
	.name = "Softmax",
	.doc = "exponentials of a row over their sum",
	.sig = "<T: float>(logits: T) -> (softmax: T)",
	.shape = softmax_shape,
	.gradient = "dlogits = (dsoftmax - Sum(dsoftmax * softmax, [-1], keep_dims = true)) * softmax",
	.kernel = {[DFG_F32] = softmax, [DFG_F64] = softmax},
};

const struct dfg_op dfg_op_LogSoftmax = {
	.name = "LogSoftmax",
	.doc = "logarithm of a row's softmax",
	.sig = "<T: float>(logits: T) -> (logsoftmax: T)",
	.shape = softmax_shape,
	.gradient = "dlogits = dlogsoftmax - Sum(dlogsoftmax, [-1], keep_dims = true) * Exp(logsoftmax)",
	.kernel = {[DFG_F32] = log_softmax, [DFG_F64] = log_softmax},
};
