#include "kernels/shape_rules.h"
#include "kernels/window.h"

#include <string.h>

/*
 * Pooling of volumes [batch, depth, height, width, channels]; with channels first, each channel is a volume of one channel.
 * The first of equal largest elements of a window counts; NaN is larger than any number.
 */
enum { PADDING, FORMAT, KSIZE, STRIDES }; /* attributes */
enum { WIDE = 64 };                       /* channels whose largest elements are found together */

/* Positions and pixels are counted within one volume. */
struct pool {
	struct dfg_window window;
	int64_t channels, positions, pixels;
	const void *from, *picked, *grad;
	void *out;
};

/* The part of a window that is on the volume: pixels [low, high) along each axis. */
struct part {
	int64_t low[DFG_AXES], high[DFG_AXES];
};

static struct part part_of(const struct dfg_window *window, int64_t position)
{
	struct part part;
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		const struct dfg_axis *axis = &window->axis[a];
		int64_t at = position % axis->out * axis->stride - axis->before;
		part.low[a] = at < 0 ? 0 : at;
		part.high[a] = at + axis->size < axis->in ? at + axis->size : axis->in;
		part.high[a] = part.high[a] < part.low[a] ? part.low[a] : part.high[a];
		position /= axis->out;
	}
	return part;
}

static int64_t part_size(const struct part *part)
{
	return (part->high[0] - part->low[0]) * (part->high[1] - part->low[1]) * (part->high[2] - part->low[2]);
}

#define EACH_PIXEL(window, part, pixel)                                                                 \
	for (int64_t d_ = (part).low[0]; d_ < (part).high[0]; d_++)                                         \
		for (int64_t h_ = (part).low[1]; h_ < (part).high[1]; h_++)                                     \
			for (int64_t pixel = (d_ * (window).axis[1].in + h_) * (window).axis[2].in + (part).low[2], \
						 end_ = pixel + (part).high[2] - (part).low[2];                                 \
				 pixel < end_; pixel++)

#define TEMPLATE "kernels/pool3d.inc"
#include "kernels/each_float.inc"

static struct dfg_err *fit(
	const struct dfg_resolved_node *call, const struct dfg_shape *volume, struct dfg_window *out_window)
{
	const union dfg_value *attr = call->attr;
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(NULL, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_list(attr[KSIZE].list, "ksize", rule.rank, rule.size));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	if (rule.size[0] != 1 || rule.size[dfg_window_channel_dim(rule.rank, rule.channels_first)] != 1)
		return DFG_ERR(DFG_DATA, "the window is over the batch or the channels, where its size must be 1");
	return dfg_window_fit(&rule, volume, out_window);
}

static struct dfg_err *check_shape(const struct dfg_shape *given, const struct dfg_shape *expected, const char *name)
{
	if (!dfg_shape_fits(given, expected))
		return DFG_ERR(
			DFG_DATA, "'%s' is %s, expected %s", name, dfg_shape_words(given).s, dfg_shape_words(expected).s);
	return NULL;
}

static struct dfg_err *pool_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[0], &window));
	node->out[0] = dfg_window_out(&window, window.channels);
	return NULL;
}

/* Of MaxPool3DGrad, whose result is a volume, and of MaxPool3DGradGrad, whose grad is one. */
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

typedef void range_fn(void *arg, int64_t first, int64_t last);

static struct dfg_err *pool_of(struct dfg_kernel *ctx, const struct dfg_shape *volume, struct pool *out_pool)
{
	struct dfg_window *window = &out_pool->window;
	DFG_TRY(fit(ctx->call, volume, window));
	out_pool->channels = window->channels_first ? 1 : window->channels;
	out_pool->positions = dfg_window_positions(window);
	out_pool->pixels = dfg_window_pixels(window);
	window->batch *= window->channels_first ? window->channels : 1;
	return NULL;
}

/* Blocks are of positions, or of volumes where windows that overlap write to the same element. */
static void run_pool(struct dfg_kernel *ctx, struct pool *pool, bool volumes, range_fn *range)
{
	int64_t count = pool->window.batch * (volumes ? 1 : pool->positions);
	int64_t work = (volumes ? pool->positions : 1) * pool->channels * dfg_window_size(&pool->window);
	dfg_kernel_ranges(ctx, count, work < 32 * 1024 ? 32 * 1024 / (work > 0 ? work : 1) : 1, range, pool);
}

static struct dfg_err *forward(struct dfg_kernel *ctx, range_fn *f32, range_fn *f64)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct pool pool = {.from = in->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(pool_of(ctx, &in->shape, &pool));
	pool.out = out->data;
	if (dfg_shape_count(&out->shape))
		run_pool(ctx, &pool, false, in->dtype == DFG_F32 ? f32 : f64);
	return NULL;
}

static struct dfg_err *max_pool(struct dfg_kernel *ctx)
{
	return forward(ctx, max_f32, max_f64);
}

static struct dfg_err *average_pool(struct dfg_kernel *ctx)
{
	return forward(ctx, average_f32, average_f64);
}

static struct dfg_err *max_pool_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct pool pool = {.from = in->data, .grad = ctx->in[2]->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(pool_of(ctx, &in->shape, &pool));
	pool.out = out->data;
	if (dfg_shape_count(&out->shape))
		run_pool(ctx, &pool, true, in->dtype == DFG_F32 ? max_grad_f32 : max_grad_f64);
	return NULL;
}

static struct dfg_err *max_pool_pick(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct pool pool = {.from = in->data, .picked = ctx->in[2]->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(pool_of(ctx, &in->shape, &pool));
	pool.out = out->data;
	if (dfg_shape_count(&out->shape))
		run_pool(ctx, &pool, false, in->dtype == DFG_F32 ? max_f32 : max_f64);
	return NULL;
}

static struct dfg_err *average_pool_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *sizes = dfg_kernel_input(ctx, 0), *grad = dfg_kernel_input(ctx, 1);
	struct pool pool = {.grad = grad->data};
	struct dfg_tensor *out;
	for (int64_t i = 0; i < dfg_shape_count(&sizes->shape); i++)
		if (dfg_tensor_int(sizes, i) < 0)
			return DFG_ERR(
				DFG_DATA, "'orig_input_shape' has negative dimension %lld", (long long)dfg_tensor_int(sizes, i));
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(pool_of(ctx, &out->shape, &pool));
	pool.out = out->data;
	if (dfg_shape_count(&out->shape))
		run_pool(ctx, &pool, true, grad->dtype == DFG_F32 ? average_grad_f32 : average_grad_f64);
	return NULL;
}

#define FOR_EACH(NAME, name, type, number, function) [DFG_##NAME] = function,
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
	.gradient = "dinput = MaxPool3DGrad(input, output, doutput, " SAME,
	.kernel = {DFG_EACH_float(FOR_EACH, max_pool)},
};

const struct dfg_op dfg_op_MaxPool3DGrad = {
	.name = "MaxPool3DGrad",
	.doc = "gradient of MaxPool3D: all of it to the first largest element of each window",
	.sig = "<T: float = f32, TInput: float = f32>(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = max_grad_shape,
	.gradient = "dgrad = MaxPool3DGradGrad(orig_input, orig_output, doutput, " SAME,
	.kernel = {DFG_EACH_float(FOR_EACH, max_pool_grad)},
};

const struct dfg_op dfg_op_MaxPool3DGradGrad = {
	.name = "MaxPool3DGradGrad",
	.doc = "gradient of MaxPool3DGrad: that of the first largest element of each window",
	.sig = "<T: float>(orig_input: T, orig_output: T, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = max_pick_shape,
	.gradient = "dgrad = MaxPool3DGrad(orig_input, orig_output, doutput, " SAME,
	.kernel = {DFG_EACH_float(FOR_EACH, max_pool_pick)},
};

const struct dfg_op dfg_op_AvgPool3D = {
	.name = "AvgPool3D",
	.doc = "the mean of a window that moves over volumes, without padding",
	.sig = "<T: float>(input: T) -> (output: T)",
	.attr = ATTRS,
	.shape = pool_shape,
	.gradient = "dinput = AvgPool3DGrad(Shape(input), doutput, " SAME,
	.kernel = {DFG_EACH_float(FOR_EACH, average_pool)},
};

const struct dfg_op dfg_op_AvgPool3DGrad = {
	.name = "AvgPool3DGrad",
	.doc = "gradient of AvgPool3D: divided equally among the elements of each window",
	.sig = "<T: float>(orig_input_shape: i32, grad: T) -> (output: T)",
	.attr = ATTRS,
	.shape = average_grad_shape,
	.gradient = "dgrad = AvgPool3D(doutput, " SAME,
	.kernel = {DFG_EACH_float(FOR_EACH, average_pool_grad)},
};
