#include "kernels/pool_loops.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

/* Pooling of images. */
enum { PADDING, FORMAT, KSIZE, STRIDES, EXPLICIT }; /* attributes; the V2 forms have KSIZE and STRIDES as inputs */

static bool is_v2(const struct dfg_resolved_node *call)
{
	return !call->op->attr[KSIZE];
}

static struct dfg_err *check_rule(const struct dfg_window_rule *rule)
{
	if (rule->size[0] != 1)
		return DFG_ERR(DFG_DATA, "the window has size %lld along the batch, expected 1", (long long)rule->size[0]);
	for (int i = 0; i < rule->rank; i++)
		if ((rule->before[i] > 0 && rule->before[i] >= rule->size[i]) ||
			(rule->after[i] > 0 && rule->after[i] >= rule->size[i]))
			return DFG_ERR(DFG_DATA, "the padding of dimension %d is not smaller than the window", i);
	return NULL;
}

static struct dfg_err *start_rule(const struct dfg_resolved_node *call, struct dfg_window_rule *rule)
{
	const union dfg_value *attr = call->attr;
	*rule = (struct dfg_window_rule){0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, rule));
	DFG_TRY(dfg_window_list(NULL, "dilations", rule->rank, rule->dilation));
	if (is_v2(call))
		return NULL;
	DFG_TRY(dfg_window_list(attr[KSIZE].list, "ksize", rule->rank, rule->size));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule->rank, rule->stride));
	if (call->op->attr[EXPLICIT])
		DFG_TRY(dfg_window_paddings(attr[EXPLICIT].list, rule));
	return check_rule(rule);
}

static struct dfg_err *need_image(const struct dfg_window_rule *rule, const struct dfg_shape *image)
{
	if (image->rank != rule->rank)
		return DFG_ERR(
			DFG_DATA, "the image has shape %s, expected %d dimensions", dfg_shape_words(image).s, rule->rank);
	return NULL;
}

/* Reads input i of a V2 form: a positive number for each dimension of the image. */
static struct dfg_err *read_sizes(struct dfg_kernel *ctx, int i, int rank, int64_t *out_numbers)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, i);
	union dfg_value item[DFG_RANK_MAX];
	if (in->shape.rank != 1 || in->shape.dim[0] != rank)
		return DFG_ERR(
			DFG_DATA, "input %d has shape %s, expected a vector of %d", i, dfg_shape_words(&in->shape).s, rank);
	for (int d = 0; d < rank; d++)
		item[d].i = dfg_tensor_int(in, d);
	return dfg_window_list(
		&(struct dfg_list){DFG_ATTR_INT, (uint32_t)rank, item}, ctx->call->signature->in[i].name, rank, out_numbers);
}

/* Whether the window is over channels; it then covers one pixel, and its size must divide the channels. */
static struct dfg_err *over_channels(
	const struct dfg_window_rule *rule, const struct dfg_shape *image, bool *out_is, struct dfg_shape *out_shape)
{
	int channel = dfg_window_channel_dim(rule->rank, rule->channels_first);
	int64_t size = rule->size[channel], channels = image->dim[channel];
	*out_is = size != 1;
	if (!*out_is)
		return NULL;
	for (int d = 0; d < rule->rank; d++)
		if (d != channel && (rule->size[d] != 1 || rule->stride[d] != 1))
			return DFG_ERR(DFG_DATA,
				"a window over channels has size %lld and stride %lld along dimension %d, expected 1 and 1",
				(long long)rule->size[d], (long long)rule->stride[d], d);
	if (rule->stride[channel] != size)
		return DFG_ERR(DFG_DATA, "a window over channels has size %lld and stride %lld, expected equal ones",
			(long long)size, (long long)rule->stride[channel]);
	if (channels >= 0 && channels % size)
		return DFG_ERR(DFG_DATA, "a window over channels has size %lld, which does not divide the %lld channels",
			(long long)size, (long long)channels);
	if (rule->padding == DFG_EXPLICIT)
		return DFG_ERR(DFG_DATA, "a window over channels cannot have explicit padding");
	*out_shape = *image;
	out_shape->dim[channel] = channels < 0 ? DFG_UNKNOWN : channels / size;
	return NULL;
}

/* The same window over an image of one row, whose pixels are the channels. */
static struct dfg_window row_of_channels(const struct dfg_window_rule *rule, const struct dfg_shape *image)
{
	const struct dfg_axis still = {1, 1, 1, 1, 1, 0};
	int channel = dfg_window_channel_dim(rule->rank, rule->channels_first);
	int64_t n = image->dim[channel], size = rule->size[channel];
	return (struct dfg_window){.axes = 2,
		.batch = dfg_count_between(image, 0, channel),
		.channels = dfg_count_between(image, channel + 1, image->rank),
		.axis = {still, still, {.in = n, .out = n / size, .size = size, .stride = size, .dilation = 1}}};
}

/*
 * The positions of the node's window on the image, and the shape of the output. Sizes and strides are attributes, or
 * the last two inputs of a V2 form.
 */
static struct dfg_err *fit(
	struct dfg_kernel *ctx, const struct dfg_shape *image, struct dfg_window *out_window, struct dfg_shape *out_shape)
{
	bool channels;
	struct dfg_window_rule rule;
	DFG_TRY(start_rule(ctx->call, &rule));
	if (is_v2(ctx->call)) {
		DFG_TRY(read_sizes(ctx, ctx->call->n_in - 2, rule.rank, rule.size));
		DFG_TRY(read_sizes(ctx, ctx->call->n_in - 1, rule.rank, rule.stride));
		DFG_TRY(check_rule(&rule));
	}
	DFG_TRY(need_image(&rule, image));
	DFG_TRY(over_channels(&rule, image, &channels, out_shape));
	if (channels) {
		*out_window = row_of_channels(&rule, image);
		return NULL;
	}
	DFG_TRY(dfg_window_fit(&rule, image, out_window));
	*out_shape = dfg_window_out(out_window, out_window->channels);
	return NULL;
}

static struct dfg_err *infer_fit(struct dfg_infer *node, const struct dfg_shape *image, struct dfg_shape *out_shape)
{
	struct dfg_window_rule rule;
	struct dfg_window window;
	bool channels;
	DFG_TRY(start_rule(node->call, &rule));
	DFG_TRY(need_image(&rule, image));
	*out_shape = (struct dfg_shape){.rank = rule.rank};
	const struct dfg_known_value *const *known = node->known + node->call->n_in - 2;
	for (int i = 0; i < rule.rank && is_v2(node->call); i++) {
		bool there = known[0] && known[1] && known[0]->count == rule.rank && known[1]->count == rule.rank;
		rule.size[i] = there ? known[0]->v[i] : DFG_NOT_KNOWN;
		rule.stride[i] = there ? known[1]->v[i] : DFG_NOT_KNOWN;
		if (rule.size[i] < 1 || rule.stride[i] < 1) { /* unknown, or an error when it runs */
			for (int d = 0; d < rule.rank; d++)
				out_shape->dim[d] = DFG_UNKNOWN;
			return NULL;
		}
	}
	DFG_TRY(over_channels(&rule, image, &channels, out_shape));
	if (channels)
		return NULL;
	DFG_TRY(dfg_window_fit(&rule, image, &window));
	*out_shape = dfg_window_out(&window, window.channels);
	return NULL;
}

static struct dfg_err *pool_shape(struct dfg_infer *node)
{
	return infer_fit(node, node->in[0], &node->out[0]);
}

static struct dfg_err *pool(struct dfg_kernel *ctx, enum dfg_pooling pooling)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0);
	struct dfg_window window;
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(fit(ctx, &image->shape, &window, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	if (!dfg_shape_count(&shape))
		return NULL;
	return dfg_pool(ctx, pooling, &window, image->dtype, image->data, NULL, out->data);
}

static struct dfg_err *max_pool(struct dfg_kernel *ctx)
{
	return pool(ctx, DFG_POOL_MAX);
}

enum { ORIG_INPUT, ORIG_OUTPUT, GRAD }; /* inputs of MaxPoolGrad and MaxPoolGradGrad */

static struct dfg_err *check_shape(const struct dfg_shape *given, const struct dfg_shape *expected, const char *name)
{
	if (!dfg_shape_fits(given, expected))
		return DFG_ERR(
			DFG_DATA, "'%s' has shape %s, expected %s", name, dfg_shape_words(given).s, dfg_shape_words(expected).s);
	return NULL;
}

static struct dfg_err *max_grad_shape(struct dfg_infer *node)
{
	struct dfg_shape out;
	DFG_TRY(infer_fit(node, node->in[ORIG_INPUT], &out));
	DFG_TRY(check_shape(node->in[ORIG_OUTPUT], &out, "orig_output"));
	DFG_TRY(check_shape(node->in[GRAD], &out, "grad"));
	node->out[0] = *node->in[ORIG_INPUT];
	return NULL;
}

static struct dfg_err *max_pick_shape(struct dfg_infer *node)
{
	DFG_TRY(infer_fit(node, node->in[ORIG_INPUT], &node->out[0]));
	DFG_TRY(check_shape(node->in[ORIG_OUTPUT], &node->out[0], "orig_output"));
	return check_shape(node->in[GRAD], node->in[ORIG_INPUT], "grad");
}

static struct dfg_err *max_back(struct dfg_kernel *ctx, bool pick)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, ORIG_INPUT), *grad = dfg_kernel_input(ctx, GRAD);
	struct dfg_window window;
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(fit(ctx, &image->shape, &window, &shape));
	DFG_TRY(check_shape(&ctx->in[ORIG_OUTPUT]->shape, &shape, "orig_output"));
	DFG_TRY(check_shape(&grad->shape, pick ? &image->shape : &shape, "grad"));
	DFG_TRY(dfg_kernel_output(ctx, 0, pick ? &shape : &image->shape, &out));
	if (!dfg_shape_count(&out->shape))
		return NULL;
	return dfg_pool(ctx, pick ? DFG_POOL_MAX_ELEMENTS : DFG_POOL_MAX_GRADIENT, &window, image->dtype, image->data,
		grad->data, out->data);
}

static struct dfg_err *max_pool_grad(struct dfg_kernel *ctx)
{
	return max_back(ctx, false);
}

static struct dfg_err *max_pool_pick(struct dfg_kernel *ctx)
{
	return max_back(ctx, true);
}

static struct dfg_err *average_pool(struct dfg_kernel *ctx)
{
	return pool(ctx, DFG_POOL_MEAN);
}

static struct dfg_err *average_grad_shape(struct dfg_infer *node)
{
	struct dfg_shape out;
	const struct dfg_known_value *known = node->known[0];
	node->out[0] = *node->in[1];
	for (int i = 0; i < node->out[0].rank; i++) {
		bool there = known && known->count == node->out[0].rank && known->v[i] != DFG_NOT_KNOWN && known->v[i] >= 0;
		node->out[0].dim[i] = there ? known->v[i] : DFG_UNKNOWN;
	}
	DFG_TRY(infer_fit(node, &node->out[0], &out));
	return check_shape(node->in[1], &out, "grad");
}

static struct dfg_err *average_pool_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *sizes = dfg_kernel_input(ctx, 0), *grad = dfg_kernel_input(ctx, 1);
	struct dfg_window window;
	struct dfg_tensor *out;
	struct dfg_shape shape = {.rank = grad->shape.rank}, of_grad;
	if (sizes->shape.rank != 1 || sizes->shape.dim[0] != shape.rank)
		return DFG_ERR(
			DFG_DATA, "input 0 has shape %s, expected a vector of %d", dfg_shape_words(&sizes->shape).s, shape.rank);
	for (int i = 0; i < shape.rank; i++) {
		shape.dim[i] = dfg_tensor_int(sizes, i);
		if (shape.dim[i] < 0)
			return DFG_ERR(DFG_DATA, "input 0 has negative dimension %lld", (long long)shape.dim[i]);
	}
	DFG_TRY(fit(ctx, &shape, &window, &of_grad));
	DFG_TRY(check_shape(&grad->shape, &of_grad, "grad"));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	if (!dfg_shape_count(&shape))
		return NULL;
	return dfg_pool(ctx, DFG_POOL_MEAN_GRADIENT, &window, grad->dtype, NULL, grad->data, out->data);
}

#define ATTRS_PLAIN [PADDING] = "padding: string in SAME|VALID", [FORMAT] = "data_format: string = 'NHWC' in NHWC|NCHW"
#define ATTRS_LISTS [KSIZE] = "ksize: list(int) >= 4", [STRIDES] = "strides: list(int) >= 4"
#define ATTRS_EXPLICIT                                                                                            \
	[PADDING] = "padding: string in SAME|VALID|EXPLICIT", [FORMAT] = "data_format: string = 'NHWC' in NHWC|NCHW", \
	ATTRS_LISTS, [EXPLICIT] = "explicit_paddings: list(int) = []"
#define SAME_PLAIN "padding = padding, data_format = data_format)"
#define SAME_LISTS "ksize = ksize, strides = strides, " SAME_PLAIN

const struct dfg_op dfg_op_MaxPool = {
	.name = "MaxPool",
	.doc = "the largest element of a window that moves over images",
	.sig = "<T: number = f32>(input: T) -> (output: T)",
	.attr = {ATTRS_EXPLICIT},
	.shape = pool_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = MaxPoolGrad(input, output, doutput, explicit_paddings = explicit_paddings, " SAME_LISTS,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool)},
};

const struct dfg_op dfg_op_MaxPoolV2 = {
	.name = "MaxPoolV2",
	.doc = "the largest element of a window of a given size that moves over images",
	.sig = "<T: number = f32>(input: T, ksize: i32, strides: i32) -> (output: T)",
	.attr = {ATTRS_PLAIN},
	.shape = pool_shape,
	.gradient = "dinput = MaxPoolGradV2(input, output, doutput, ksize, strides, " SAME_PLAIN,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool)},
};

const struct dfg_op dfg_op_MaxPoolGrad = {
	.name = "MaxPoolGrad",
	.doc = "gradient of MaxPool: passed whole to the first largest element of each window",
	.sig = "<T: number = f32>(orig_input: T, orig_output: T, grad: T) -> (output: T)",
	.attr = {ATTRS_EXPLICIT},
	.shape = max_grad_shape,
	.gradient = "dgrad = MaxPoolGradGrad(orig_input, orig_output, doutput, " SAME_LISTS,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool_grad)},
};

const struct dfg_op dfg_op_MaxPoolGradV2 = {
	.name = "MaxPoolGradV2",
	.doc = "gradient of MaxPoolV2: passed whole to the first largest element of each window",
	.sig = "<T: number = f32>(orig_input: T, orig_output: T, grad: T, ksize: i32, strides: i32) -> (output: T)",
	.attr = {ATTRS_PLAIN},
	.shape = max_grad_shape,
	.gradient = "dgrad = MaxPoolGradGradV2(orig_input, orig_output, doutput, ksize, strides, " SAME_PLAIN,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool_grad)},
};

const struct dfg_op dfg_op_MaxPoolGradGrad = {
	.name = "MaxPoolGradGrad",
	.doc = "gradient of MaxPoolGrad: the element of grad at the first largest element of each window",
	.sig = "<T: number>(orig_input: T, orig_output: T, grad: T) -> (output: T)",
	.attr = {ATTRS_PLAIN, ATTRS_LISTS},
	.shape = max_pick_shape,
	.gradient = "dgrad = MaxPoolGrad(orig_input, orig_output, doutput, " SAME_LISTS,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool_pick)},
};

const struct dfg_op dfg_op_MaxPoolGradGradV2 = {
	.name = "MaxPoolGradGradV2",
	.doc = "gradient of MaxPoolGradV2: the element of grad at the first largest element of each window",
	.sig = "<T: number>(orig_input: T, orig_output: T, grad: T, ksize: i32, strides: i32) -> (output: T)",
	.attr = {ATTRS_PLAIN},
	.shape = max_pick_shape,
	.gradient = "dgrad = MaxPoolGradV2(orig_input, orig_output, doutput, ksize, strides, " SAME_PLAIN,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, max_pool_pick)},
};

const struct dfg_op dfg_op_AvgPool = {
	.name = "AvgPool",
	.doc = "the mean of a window that moves over images; padding does not count",
	.sig = "<T: float>(value: T) -> (output: T)",
	.attr = {ATTRS_PLAIN, ATTRS_LISTS},
	.shape = pool_shape,
	.rows = dfg_rows_first,
	.gradient = "dvalue = AvgPoolGrad(Shape(value), doutput, " SAME_LISTS,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, average_pool)},
};

const struct dfg_op dfg_op_AvgPoolGrad = {
	.name = "AvgPoolGrad",
	.doc = "gradient of AvgPool: divided equally among the elements of each window",
	.sig = "<T: float>(orig_input_shape: i32, grad: T) -> (output: T)",
	.attr = {ATTRS_PLAIN, ATTRS_LISTS},
	.shape = average_grad_shape,
	.gradient = "dgrad = AvgPool(doutput, " SAME_LISTS,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, average_pool_grad)},
};
