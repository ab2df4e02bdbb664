#include "lib/base/vector.h"
#include "lib/graph/kernel.h"
#include "kernels/row_rules.h"

#include <string.h>

enum { VALUE, BIAS }; /* inputs of BiasAdd */

/*
 * A tensor as `outer` rows of all channels, each of which has `inner` adjacent elements. Channels are the last
 * dimension, or dimension 1 if the format is NCHW, for any rank.
 */
struct channels {
	int dim;
	int64_t outer, count, inner;
};

static bool channels_first(const struct dfg_resolved_node *call)
{
	return call->op->attr[0] && call->attr[0].s.length == 4 && !memcmp(call->attr[0].s.s, "NCHW", 4);
}

static struct dfg_err *find_channels(const struct dfg_resolved_node *call, const struct dfg_shape *value, int *out_dim)
{
	if (value->rank < 2)
		return DFG_ERR(DFG_DATA, "the value has shape %s, expected at least two dimensions", dfg_shape_words(value).s);
	*out_dim = channels_first(call) ? 1 : value->rank - 1;
	return NULL;
}

static struct dfg_err *check_bias(
	const struct dfg_resolved_node *call, const struct dfg_shape *value, const struct dfg_shape *bias)
{
	int dim;
	DFG_TRY(find_channels(call, value, &dim));
	if (bias->rank != 1 ||
		(bias->dim[0] != value->dim[dim] && bias->dim[0] != DFG_UNKNOWN && value->dim[dim] != DFG_UNKNOWN))
		return DFG_ERR(DFG_DATA, "cannot add bias %s to dimension %d of %s", dfg_shape_words(bias).s, dim,
			dfg_shape_words(value).s);
	return NULL;
}

static struct channels channels_of(const struct dfg_shape *value, int dim)
{
	struct channels channels = {.dim = dim, .outer = 1, .count = value->dim[dim], .inner = 1};
	for (int i = 0; i < dim; i++)
		channels.outer *= value->dim[i];
	for (int i = dim + 1; i < value->rank; i++)
		channels.inner *= value->dim[i];
	return channels;
}

static struct dfg_err *bias_shape(struct dfg_infer *node)
{
	DFG_TRY(check_bias(node->call, node->in[VALUE], node->in[BIAS]));
	node->out[0] = *node->in[VALUE];
	return NULL;
}

/* Arguments of the loops. A row is all channels once if inner is 1, else one channel. */
struct work {
	const void *in, *bias;
	void *out;
	struct channels channels;
	int64_t rows; /* in a block */
};

enum { BLOCK = 32 * 1024 };

static int64_t rows_in_block(int64_t row)
{
	return row < BLOCK ? BLOCK / (row > 0 ? row : 1) : 1;
}

#define ADD(NAME, name, type, ...)                                                                                  \
	DFG_CLONED(void, add_row_##name, (int64_t n, type * out, const type *in, const type *bias), (n, out, in, bias)) \
	{                                                                                                               \
		DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = in[i] + bias[i];                                   \
	}                                                                                                               \
	DFG_CLONED(void, add_one_##name, (int64_t n, type * out, const type *in, type bias), (n, out, in, bias))        \
	{                                                                                                               \
		DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = in[i] + bias;                                      \
	}                                                                                                               \
	static void add_##name(void *arg, int64_t first, int64_t last)                                                  \
	{                                                                                                               \
		const struct work *work = arg;                                                                              \
		const struct channels *c = &work->channels;                                                                 \
		const type *bias = work->bias;                                                                              \
		for (int64_t row = first; row < last; row++) {                                                              \
			int64_t at = row * (c->inner == 1 ? c->count : c->inner);                                               \
			type *out = (type *)work->out + at;                                                                     \
			const type *in = (const type *)work->in + at;                                                           \
			if (c->inner == 1)                                                                                      \
				add_row_##name(c->count, out, in, bias);                                                            \
			else                                                                                                    \
				add_one_##name(c->inner, out, in, bias[row % c->count]);                                            \
		}                                                                                                           \
	}
DFG_EACH_numeric(ADD)

static void (*const add_of[DFG_DTYPES])(void *arg, int64_t first, int64_t last) = {DFG_EACH_numeric(DFG_BY_DTYPE, add)};

static struct dfg_err *bias_add(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, VALUE), *bias = dfg_kernel_input(ctx, BIAS);
	struct dfg_tensor *out;
	int dim;
	DFG_TRY(check_bias(ctx->call, &value->shape, &bias->shape));
	DFG_TRY(find_channels(ctx->call, &value->shape, &dim));
	DFG_TRY(dfg_kernel_output(ctx, 0, &value->shape, &out));
	struct work work = {
		.in = value->data, .bias = bias->data, .out = out->data, .channels = channels_of(&out->shape, dim)};
	const struct channels *c = &work.channels;
	int64_t rows = c->inner == 1 ? c->outer : c->outer * c->count, row = c->inner == 1 ? c->count : c->inner;
	if (row)
		dfg_kernel_ranges(ctx, rows, rows_in_block(row), add_of[out->dtype], &work);
	return NULL;
}

const struct dfg_op dfg_op_BiasAdd = {
	.name = "BiasAdd",
	.doc = "value with bias added to each of its channels",
	.sig = "<T: numeric>(value: T, bias: T) -> (output: T)",
	.attr = {"data_format: string = 'NHWC' in NHWC|NCHW"},
	.flags = DFG_IN_PLACE,
	.shape = bias_shape,
	.rows = dfg_rows_matrix,
	.gradient = "dvalue = doutput\ndbias = BiasAddGrad(doutput, data_format = data_format)",
	.kernel = {DFG_EACH_numeric(DFG_FOR_DTYPE, bias_add)},
};

const struct dfg_op dfg_op_BiasAddV1 = {
	.name = "BiasAddV1",
	.doc = "value with bias added along its last dimension",
	.sig = "<T: numeric>(value: T, bias: T) -> (output: T)",
	.flags = DFG_IN_PLACE,
	.shape = bias_shape,
	.rows = dfg_rows_matrix,
	.gradient = "dvalue = doutput\ndbias = BiasAddGrad(doutput)",
	.kernel = {DFG_EACH_numeric(DFG_FOR_DTYPE, bias_add)},
};

static struct dfg_err *bias_grad_shape(struct dfg_infer *node)
{
	int dim;
	DFG_TRY(find_channels(node->call, node->in[0], &dim));
	node->out[0] = DFG_SHAPE_VECTOR(node->in[0]->dim[dim]);
	return NULL;
}

/* Block i sums its rows into row i of `out`; the rows of the blocks are added in order. */
#define SUM(NAME, name, type, ...)                                                                              \
	DFG_CLONED(void, sum_rows_##name, (int64_t rows, int64_t n, const type *in, type *out), (rows, n, in, out)) \
	{                                                                                                           \
		for (int64_t r = 0; r < rows; r++)                                                                      \
			DFG_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += in[r * n + i];                            \
	}                                                                                                           \
	DFG_CLONED(type, sum_run_##name, (int64_t n, const type *in), (n, in))                                      \
	{                                                                                                           \
		type lane[16] = {0}, total = 0;                                                                         \
		int64_t i = 0;                                                                                          \
		for (; i + 16 <= n; i += 16)                                                                            \
			for (int l = 0; l < 16; l++)                                                                        \
				lane[l] += in[i + l];                                                                           \
		for (int l = 0; l < 16; l++)                                                                            \
			total += lane[l];                                                                                   \
		for (; i < n; i++)                                                                                      \
			total += in[i];                                                                                     \
		return total;                                                                                           \
	}                                                                                                           \
	static void sum_##name(void *arg, int64_t first, int64_t last)                                              \
	{                                                                                                           \
		const struct work *work = arg;                                                                          \
		const struct channels *c = &work->channels;                                                             \
		type *out = (type *)work->out + first / work->rows * c->count;                                          \
		const type *in = (const type *)work->in + first * c->count * c->inner;                                  \
		for (int64_t i = 0; i < c->count; i++)                                                                  \
			out[i] = 0;                                                                                         \
		if (c->inner == 1) {                                                                                    \
			sum_rows_##name(last - first, c->count, in, out);                                                   \
			return;                                                                                             \
		}                                                                                                       \
		for (int64_t row = 0; row < (last - first) * c->count; row++)                                           \
			out[row % c->count] += sum_run_##name(c->inner, in + row * c->inner);                               \
	}
DFG_EACH_numeric(SUM)

static void (*const sum_of[DFG_DTYPES])(void *arg, int64_t first, int64_t last) = {DFG_EACH_numeric(DFG_BY_DTYPE, sum)};

/* The sums of the blocks are rows again, and are summed in the same way. */
static struct dfg_err *bias_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	int dim;
	DFG_TRY(find_channels(ctx->call, &in->shape, &dim));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(in->shape.dim[dim]), &out));
	struct work work = {.in = in->data, .out = out->data, .channels = channels_of(&in->shape, dim)};
	const struct channels *c = &work.channels;
	work.rows = rows_in_block(c->count * c->inner);
	int64_t blocks = (c->outer + work.rows - 1) / work.rows;
	if (blocks > 1)
		DFG_TRY(
			dfg_kernel_scratch(ctx, (size_t)blocks * (size_t)c->count * dfg_dtype_size(in->dtype), (void **)&work.out));
	if (blocks)
		dfg_kernel_ranges(ctx, c->outer, work.rows, sum_of[in->dtype], &work);
	if (blocks == 1)
		return NULL;
	struct work sums = {
		.in = work.out, .out = out->data, .channels = {.count = c->count, .inner = 1}, .rows = blocks + 1};
	sum_of[in->dtype](&sums, 0, blocks);
	return NULL;
}

const struct dfg_op dfg_op_BiasAddGrad = {
	.name = "BiasAddGrad",
	.doc = "sum of each channel: the gradient of BiasAdd with respect to its bias",
	.sig = "<T: numeric>(out_backprop: T) -> (output: T)",
	.attr = {"data_format: string = 'NHWC' in NHWC|NCHW"},
	.shape = bias_grad_shape,
	.gradient = "dout_backprop = BiasAdd(ZerosLike(out_backprop), doutput, data_format = data_format)",
	.kernel = {DFG_EACH_numeric(DFG_FOR_DTYPE, bias_grad)},
};
