#include "kernels/pool_loops.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

/* Pooling of volumes [batch, depth, height, width, channels]. */
enum { PADDING, FORMAT, KSIZE, STRIDES }; /* attributes */

static struct dfg_err *fit(
	const struct dfg_resolved_node *call, const struct dfg_shape *volume, struct dfg_window *out_window)
{
	const union dfg_value *attr = call->attr;
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(NULL, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_list(attr[KSIZE].list, "ksize", rule.rank, rule.size));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_only_space(&rule, "ksize", dfg_window_channel_dim(rule.rank, rule.channels_first)));
	return dfg_window_fit(&rule, volume, out_window);
}

static struct dfg_err *check_shape(const struct dfg_shape *given, const struct dfg_shape *expected, const char *name)
{
	if (!dfg_shape_fits(given, expected))
		return DFG_ERR(
			DFG_DATA, "'%s' has shape %s, expected %s", name, dfg_shape_words(given).s, dfg_shape_words(expected).s);
	return NULL;
}

static struct dfg_err *pool_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[0], &window));
	node->out[0] = dfg_window_out(&window, window.channels);
	return NULL;
}

/* The shape of MaxPool3DGrad's output: a volume; with `pick` that of MaxPool3DGradGrad's, whose grad is a volume. */
static struct dfg_err *max_back_shape(struct dfg_infer *node, bool pick)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[0], &window));
	const struct dfg_shape pooled = dfg_window_out(&window, window.channels);
	if (node->call->in_dtype[0] != node->call->in_dtype[2])
		return DFG_ERR(DFG_DATA, "TInput is %s and T is %s, expected the same type",
			dfg_dtype_name(node->call->in_dtype[0]), dfg_dtype_name(node->call->in_dtype[2]));
	DFG_TRY(check_shape(node->in[1], &pooled, "orig_output"));
	node->out[0] = pick ? pooled : *node->in[0];
	return check_shape(node->in[2], pick ? node->in[0] : &pooled, "grad");
}

static struct dfg_err *max_grad_shape(struct dfg_infer *node)
{
	return max_back_shape(node, false);
}

static struct dfg_err *max_pick_shape(struct dfg_infer *node)
{
	return max_back_shape(node, true);
}

static struct dfg_err *average_grad_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_shape_of(node, 0, &node->out[0]));
	if (node->out[0].rank != 5)
		return DFG_ERR(DFG_DATA, "'orig_input_shape' has %d numbers, expected 5", node->out[0].rank);
	DFG_TRY(fit(node->call, &node->out[0], &window));
	const struct dfg_shape pooled = dfg_window_out(&window, window.channels);
	return check_shape(node->in[1], &pooled, "grad");
}

/* Pools the volume, or the output if it is NULL; `grad` is NULL unless the pooling reads a gradient. */
static struct dfg_err *pool_volume(
	struct dfg_kernel *ctx, enum dfg_pooling pooling, const struct dfg_tensor *volume, const struct dfg_tensor *grad)
{
	struct dfg_window window;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(fit(ctx->call, volume ? &volume->shape : &out->shape, &window));
	if (!dfg_shape_count(&out->shape))
		return NULL;
	return dfg_pool(
		ctx, pooling, &window, out->dtype, volume ? volume->data : NULL, grad ? grad->data : NULL, out->data);
}

static struct dfg_err *max_pool(struct dfg_kernel *ctx)
{
	return pool_volume(ctx, DFG_POOL_MAX, dfg_kernel_input(ctx, 0), NULL);
}

static struct dfg_err *average_pool(struct dfg_kernel *ctx)
{
	return pool_volume(ctx, DFG_POOL_MEAN, dfg_kernel_input(ctx, 0), NULL);
}

static struct dfg_err *max_pool_grad(struct dfg_kernel *ctx)
{
	return pool_volume(ctx, DFG_POOL_MAX_GRADIENT, dfg_kernel_input(ctx, 0), dfg_kernel_input(ctx, 2));
}

static struct dfg_err *max_pool_pick(struct dfg_kernel *ctx)
{
	return pool_volume(ctx, DFG_POOL_MAX_ELEMENTS, dfg_kernel_input(ctx, 0), dfg_kernel_input(ctx, 2));
}

static struct dfg_err *average_pool_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *sizes = dfg_kernel_input(ctx, 0);
	for (int64_t i = 0; i < dfg_shape_count(&sizes->shape); i++)
		if (dfg_tensor_int(sizes, i) < 0)
			return DFG_ERR(
				DFG_DATA, "'orig_input_shape' has negative dimension %lld", (long long)dfg_tensor_int(sizes, i));
	return pool_volume(ctx, DFG_POOL_MEAN_GRADIENT, NULL, dfg_kernel_input(ctx, 1));
}

#define ATTRS                                                                                                   \
	{                                                                                                           \
		[PADDING] = "padding: string in SAME|VALID", [FORMAT] = "data_format: string = 'NDHWC' in NDHWC|NCDHW", \
		[KSIZE] = "ksize: list(int) >= 5", [STRIDES] = "strides: list(int) >= 5"                                \
	}
#define SAME "ksize = ksize, strides = strides, padding = padding, data_format = data_format)"

const struct dfg_op dfg_op_MaxPool3D = {
	.name = "MaxPool3D",
	.doc = "the largest element of a window that moves over volumes",
	.sig = "<T: float>(input: T) -> (output: T)",
	.attr = ATTRS,
	.shape = pool_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = MaxPool3DGrad(input, output, doutput, " SAME,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, max_pool)},
};

const struct dfg_op dfg_op_MaxPool3DGrad = {
	.name = "MaxPool3DGrad",
	.doc = "gradient of MaxPool3D: passed whole to the first largest element of each window",
	.sig = "<T: float = f32, TInput: float = f32>(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = max_grad_shape,
	.gradient = "dgrad = MaxPool3DGradGrad(orig_input, orig_output, doutput, " SAME,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, max_pool_grad)},
};

const struct dfg_op dfg_op_MaxPool3DGradGrad = {
	.name = "MaxPool3DGradGrad",
	.doc = "gradient of MaxPool3DGrad: the element of grad at the first largest element of each window",
	.sig = "<T: float>(orig_input: T, orig_output: T, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = max_pick_shape,
	.gradient = "dgrad = MaxPool3DGrad(orig_input, orig_output, doutput, " SAME,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, max_pool_pick)},
};

const struct dfg_op dfg_op_AvgPool3D = {
	.name = "AvgPool3D",
	.doc = "the mean of a window that moves over volumes; padding does not count",
	.sig = "<T: float>(input: T) -> (output: T)",
	.attr = ATTRS,
	.shape = pool_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = AvgPool3DGrad(Shape(input), doutput, " SAME,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, average_pool)},
};

const struct dfg_op dfg_op_AvgPool3DGrad = {
	.name = "AvgPool3DGrad",
	.doc = "gradient of AvgPool3D: divided equally among the elements of each window",
	.sig = "<T: float>(orig_input_shape: i32, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = average_grad_shape,
	.gradient = "dgrad = AvgPool3D(doutput, " SAME,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, average_pool_grad)},
};
