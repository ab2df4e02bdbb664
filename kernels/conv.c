#include "kernels/conv/convolve.h"
#include "kernels/row_rules.h"

/*
 * Convolutions of two and three dimensions. All ops of the family relate the same three tensors: image, filter and
 * output. Two of them are inputs; the third is computed, and its shape may be an input.
 */
enum { STRIDES, PADDING, FORMAT, DILATIONS, EXPLICIT }; /* attributes; those of Conv3D end before EXPLICIT */

static struct dfg_err *read_rule(const struct dfg_resolved_node *call, struct dfg_window_rule *rule)
{
	const union dfg_value *attr = call->attr;
	*rule = (struct dfg_window_rule){0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, rule));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule->rank, rule->stride));
	DFG_TRY(dfg_window_list(attr[DILATIONS].list, "dilations", rule->rank, rule->dilation));
	return call->op->attr[EXPLICIT] ? dfg_window_paddings(attr[EXPLICIT].list, rule) : NULL;
}

/*
 * Checks that image and filter fit each other, before and while the graph runs. A dimension that is unknown fits any.
 */
static struct dfg_err *fit(const struct dfg_resolved_node *call, const struct dfg_shape *image,
	const struct dfg_shape *filter, struct dfg_convolution *out)
{
	struct dfg_window_rule rule;
	DFG_TRY(read_rule(call, &rule));
	if (filter->rank != rule.rank)
		return DFG_ERR(
			DFG_DATA, "the filter has shape %s, expected %d dimensions", dfg_shape_words(filter).s, rule.rank);
	int64_t group_in = filter->dim[rule.rank - 2], outputs = filter->dim[rule.rank - 1];
	if (!group_in || !outputs)
		return DFG_ERR(DFG_DATA, "the filter is empty: %s", dfg_shape_words(filter).s);
	for (int a = DFG_AXES - (rule.rank - 2), i = 0; a < DFG_AXES; a++, i++)
		rule.size[dfg_window_dim(rule.rank, rule.channels_first, a)] = filter->dim[i];

	*out = (struct dfg_convolution){.group_in = group_in};
	DFG_TRY(dfg_window_fit(&rule, image, &out->window));
	int64_t channels = out->window.channels;
	out->groups = channels == DFG_UNKNOWN || group_in == DFG_UNKNOWN ? 1 : channels / group_in;
	if (out->groups * group_in != channels && channels != DFG_UNKNOWN && group_in != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "%lld channels of image %s are not a multiple of the %lld of filter %s",
			(long long)channels, dfg_shape_words(image).s, (long long)group_in, dfg_shape_words(filter).s);
	if (outputs != DFG_UNKNOWN && out->groups > 0 && outputs % out->groups)
		return DFG_ERR(DFG_DATA, "%lld outputs of filter %s are not a multiple of %lld groups", (long long)outputs,
			dfg_shape_words(filter).s, (long long)out->groups);
	out->group_out = outputs == DFG_UNKNOWN ? DFG_UNKNOWN : out->groups ? outputs / out->groups : outputs;
	out->dtype = (enum dfg_dtype)call->out_dtype[0];
	return NULL;
}

static int64_t outputs_of(const struct dfg_shape *filter)
{
	return filter->dim[filter->rank - 1];
}

static struct dfg_err *conv_shape(struct dfg_infer *node)
{
	struct dfg_convolution convolution;
	DFG_TRY(fit(node->call, node->in[0], node->in[1], &convolution));
	node->out[0] = dfg_window_out(&convolution.window, outputs_of(node->in[1]));
	return NULL;
}

/* Memory for an image with its channels last: the image's own, unless they come first. */
static struct dfg_err *channels_last(
	struct dfg_kernel *ctx, bool channels_first, const struct dfg_tensor *image, void **out_data)
{
	*out_data = image->data;
	return channels_first ? dfg_kernel_scratch(ctx, dfg_tensor_bytes(image) + 1, out_data) : NULL;
}

/* Moves the channels from first to last, or back. */
static void move_channels(
	struct dfg_kernel *ctx, const struct dfg_tensor *image, bool to_last, const void *in, void *out)
{
	int64_t batch = image->shape.dim[0], channels = image->shape.dim[1], pixels = 1;
	for (int i = 2; i < image->shape.rank; i++)
		pixels *= image->shape.dim[i];
	if (in != out)
		dfg_transpose_images(
			ctx, image->dtype, batch, to_last ? channels : pixels, to_last ? pixels : channels, in, out);
}

static struct dfg_err *conv(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0), *filter = dfg_kernel_input(ctx, 1);
	struct dfg_convolution convolution;
	struct dfg_tensor *out;
	void *in, *to;
	DFG_TRY(fit(ctx->call, &image->shape, &filter->shape, &convolution));
	struct dfg_shape shape = dfg_window_out(&convolution.window, outputs_of(&filter->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	bool channels_first = convolution.window.channels_first;
	DFG_TRY(channels_last(ctx, channels_first, image, &in));
	DFG_TRY(channels_last(ctx, channels_first, out, &to));
	move_channels(ctx, image, true, image->data, in);
	DFG_TRY(dfg_convolve(ctx, &convolution, in, filter->data, to));
	move_channels(ctx, out, false, to, out->data);
	return NULL;
}

/* The shape whose dimensions are the elements of an input. */
static struct dfg_err *shape_by_value(const struct dfg_tensor *sizes, int rank, struct dfg_shape *out_shape)
{
	if (sizes->shape.rank != 1 || sizes->shape.dim[0] != rank)
		return DFG_ERR(DFG_DATA, "the sizes have shape %s, expected a vector of %d elements",
			dfg_shape_words(&sizes->shape).s, rank);
	*out_shape = (struct dfg_shape){.rank = rank};
	for (int i = 0; i < rank; i++) {
		out_shape->dim[i] = dfg_tensor_int(sizes, i);
		if (out_shape->dim[i] < 0)
			return DFG_ERR(
				DFG_DATA, "element %d of the sizes is %lld, expected at least 0", i, (long long)out_shape->dim[i]);
	}
	size_t bytes;
	return dfg_shape_bytes(out_shape, DFG_F64, &bytes);
}

/* The same before the graph runs: a dimension is unknown if its value is. */
static struct dfg_err *known_shape(const struct dfg_infer *node, int i, int rank, struct dfg_shape *out_shape)
{
	const struct dfg_known_value *known = node->known[i];
	*out_shape = (struct dfg_shape){.rank = rank};
	if (node->in[i]->rank >= 0 &&
		(node->in[i]->rank != 1 || (node->in[i]->dim[0] != rank && node->in[i]->dim[0] != DFG_UNKNOWN)))
		return DFG_ERR(DFG_DATA, "the sizes have shape %s, expected a vector of %d elements",
			dfg_shape_words(node->in[i]).s, rank);
	for (int d = 0; d < rank; d++) {
		out_shape->dim[d] = known && known->v[d] != DFG_NOT_KNOWN ? known->v[d] : DFG_UNKNOWN;
		if (known && known->v[d] != DFG_NOT_KNOWN && known->v[d] < 0)
			return DFG_ERR(DFG_DATA, "element %d of the sizes is %lld, expected at least 0", d, (long long)known->v[d]);
	}
	return NULL;
}

static struct dfg_err *check_out(
	const struct dfg_convolution *c, const struct dfg_shape *filter, const struct dfg_shape *d_out)
{
	struct dfg_shape wanted = dfg_window_out(&c->window, outputs_of(filter));
	if (!dfg_shape_fits(&wanted, d_out))
		return DFG_ERR(DFG_DATA, "the output's gradient has shape %s, expected %s", dfg_shape_words(d_out).s,
			dfg_shape_words(&wanted).s);
	return NULL;
}

enum { INPUT_SIZES, FILTER, D_OUT };                 /* inputs of ...BackpropInput */
enum { IMAGE, FILTER_SIZES, /* D_OUT: the same */ }; /* inputs of ...BackpropFilter */

static struct dfg_err *input_shape(struct dfg_infer *node)
{
	struct dfg_convolution convolution;
	struct dfg_window_rule rule;
	DFG_TRY(read_rule(node->call, &rule));
	DFG_TRY(known_shape(node, INPUT_SIZES, rule.rank, &node->out[0]));
	DFG_TRY(fit(node->call, &node->out[0], node->in[FILTER], &convolution));
	return check_out(&convolution, node->in[FILTER], node->in[D_OUT]);
}

static struct dfg_err *filter_shape(struct dfg_infer *node)
{
	struct dfg_convolution convolution;
	struct dfg_window_rule rule;
	DFG_TRY(read_rule(node->call, &rule));
	DFG_TRY(known_shape(node, FILTER_SIZES, rule.rank, &node->out[0]));
	DFG_TRY(fit(node->call, node->in[IMAGE], &node->out[0], &convolution));
	return check_out(&convolution, &node->out[0], node->in[D_OUT]);
}

static struct dfg_err *conv_input(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *filter = dfg_kernel_input(ctx, FILTER), *d_out = dfg_kernel_input(ctx, D_OUT);
	struct dfg_convolution convolution;
	struct dfg_shape shape;
	struct dfg_tensor *d_in;
	void *from, *to;
	DFG_TRY(shape_by_value(dfg_kernel_input(ctx, INPUT_SIZES), filter->shape.rank, &shape));
	DFG_TRY(fit(ctx->call, &shape, &filter->shape, &convolution));
	DFG_TRY(check_out(&convolution, &filter->shape, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &d_in));
	bool channels_first = convolution.window.channels_first;
	DFG_TRY(channels_last(ctx, channels_first, d_out, &from));
	DFG_TRY(channels_last(ctx, channels_first, d_in, &to));
	move_channels(ctx, d_out, true, d_out->data, from);
	DFG_TRY(dfg_convolve_input(ctx, &convolution, filter->data, from, to));
	move_channels(ctx, d_in, false, to, d_in->data);
	return NULL;
}

static struct dfg_err *conv_filter(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, IMAGE), *d_out = dfg_kernel_input(ctx, D_OUT);
	struct dfg_convolution convolution;
	struct dfg_shape shape;
	struct dfg_tensor *d_filter;
	void *in, *from;
	DFG_TRY(shape_by_value(dfg_kernel_input(ctx, FILTER_SIZES), image->shape.rank, &shape));
	DFG_TRY(fit(ctx->call, &image->shape, &shape, &convolution));
	DFG_TRY(check_out(&convolution, &shape, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &d_filter));
	bool channels_first = convolution.window.channels_first;
	DFG_TRY(channels_last(ctx, channels_first, image, &in));
	DFG_TRY(channels_last(ctx, channels_first, d_out, &from));
	move_channels(ctx, image, true, image->data, in);
	move_channels(ctx, d_out, true, d_out->data, from);
	return dfg_convolve_filter(ctx, &convolution, in, from, d_filter->data);
}

#define ATTRS_2D                                                                                                     \
	{                                                                                                                \
		[STRIDES] = "strides: list(int)", [PADDING] = "padding: string in SAME|VALID|EXPLICIT",                      \
		[FORMAT] = "data_format: string = 'NHWC' in NHWC|NCHW", [DILATIONS] = "dilations: list(int) = [1, 1, 1, 1]", \
		[EXPLICIT] = "explicit_paddings: list(int) = []", "use_cudnn_on_gpu: bool = true"                            \
	}
#define SAME_2D                                                                                \
	"strides = strides, padding = padding, data_format = data_format, dilations = dilations, " \
	"explicit_paddings = explicit_paddings)"

const struct dfg_op dfg_op_Conv2D = {
	.name = "Conv2D",
	.doc = "a filter moved over images: the sum of products at each position",
	.sig = "<T: float|i32>(input: T, filter: T) -> (output: T)",
	.attr = ATTRS_2D,
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = conv_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = Conv2DBackpropInput(Shape(input), filter, doutput, " SAME_2D
				"\n"
				"dfilter = Conv2DBackpropFilter(input, Shape(filter), doutput, " SAME_2D,
	.kernel = {[DFG_F32] = conv, [DFG_F64] = conv, [DFG_I32] = conv},
};

const struct dfg_op dfg_op_Conv2DBackpropInput = {
	.name = "Conv2DBackpropInput",
	.doc = "gradient of Conv2D with respect to its input",
	.sig = "<T: float|i32>(input_sizes: i32, filter: T, out_backprop: T) -> (output: T)",
	.attr = ATTRS_2D,
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = input_shape,
	.gradient = "dfilter = Conv2DBackpropFilter(doutput, Shape(filter), out_backprop, " SAME_2D
				"\n"
				"dout_backprop = Conv2D(doutput, filter, " SAME_2D,
	.kernel = {[DFG_F32] = conv_input, [DFG_F64] = conv_input, [DFG_I32] = conv_input},
};

const struct dfg_op dfg_op_Conv2DBackpropFilter = {
	.name = "Conv2DBackpropFilter",
	.doc = "gradient of Conv2D with respect to its filter",
	.sig = "<T: float>(input: T, filter_sizes: i32, out_backprop: T) -> (output: T)",
	.attr = ATTRS_2D,
	.flags = DFG_EXPENSIVE,
	.shape = filter_shape,
	.gradient = "dinput = Conv2DBackpropInput(Shape(input), doutput, out_backprop, " SAME_2D
				"\n"
				"dout_backprop = Conv2D(input, doutput, " SAME_2D,
	.kernel = {[DFG_F32] = conv_filter, [DFG_F64] = conv_filter},
};

#define ATTRS_3D                                                                            \
	{                                                                                       \
		[STRIDES] = "strides: list(int) >= 5", [PADDING] = "padding: string in SAME|VALID", \
		[FORMAT] = "data_format: string = 'NDHWC' in NDHWC|NCDHW",                          \
		[DILATIONS] = "dilations: list(int) = [1, 1, 1, 1, 1]"                              \
	}
#define SAME_3D "strides = strides, padding = padding, data_format = data_format, dilations = dilations)"

const struct dfg_op dfg_op_Conv3D = {
	.name = "Conv3D",
	.doc = "a filter moved over volumes: the sum of products at each position",
	.sig = "<T: float>(input: T, filter: T) -> (output: T)",
	.attr = ATTRS_3D,
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = conv_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = Conv3DBackpropInputV2(Shape(input), filter, doutput, " SAME_3D
				"\n"
				"dfilter = Conv3DBackpropFilterV2(input, Shape(filter), doutput, " SAME_3D,
	.kernel = {[DFG_F32] = conv, [DFG_F64] = conv},
};

const struct dfg_op dfg_op_Conv3DBackpropInputV2 = {
	.name = "Conv3DBackpropInputV2",
	.doc = "gradient of Conv3D with respect to its input",
	.sig = "<T: float, Tshape: index = i32>(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)",
	.attr = ATTRS_3D,
	.flags = DFG_EXPENSIVE | DFG_WEIGHTS,
	.shape = input_shape,
	.gradient = "dfilter = Conv3DBackpropFilterV2(doutput, Shape(filter), out_backprop, " SAME_3D
				"\n"
				"dout_backprop = Conv3D(doutput, filter, " SAME_3D,
	.kernel = {[DFG_F32] = conv_input, [DFG_F64] = conv_input},
};

const struct dfg_op dfg_op_Conv3DBackpropFilterV2 = {
	.name = "Conv3DBackpropFilterV2",
	.doc = "gradient of Conv3D with respect to its filter",
	.sig = "<T: float>(input: T, filter_sizes: i32, out_backprop: T) -> (output: T)",
	.attr = ATTRS_3D,
	.flags = DFG_EXPENSIVE,
	.shape = filter_shape,
	.gradient = "dinput = Conv3DBackpropInputV2(Shape(input), doutput, out_backprop, " SAME_3D
				"\n"
				"dout_backprop = Conv3D(input, doutput, " SAME_3D,
	.kernel = {[DFG_F32] = conv_filter, [DFG_F64] = conv_filter},
};
