#include "kernels/conv/depthwise.h"
#include "lib/base/vector.h"
#include "kernels/row_rules.h"

#include <string.h>

/*
 * Depthwise convolutions: each channel has its own filters, [height, width, channels, multiplier]. Output channel
 * c * multiplier + m is channel c filtered by the m-th of its filters.
 */
enum { STRIDES, PADDING, FORMAT, DILATIONS, EXPLICIT }; /* attributes */

struct depthwise {
	struct dfg_window window;
	int64_t channels, multiplier, outputs, pixels, positions;
};

static struct dfg_err *fit(const struct dfg_resolved_node *call, const struct dfg_shape *image,
	const struct dfg_shape *filter, struct depthwise *out)
{
	const union dfg_value *attr = call->attr;
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_list(attr[DILATIONS].list, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_paddings(attr[EXPLICIT].list, &rule));
	if (filter->rank != 4)
		return DFG_ERR(DFG_DATA, "the filter has shape %s, expected 4 dimensions", dfg_shape_words(filter).s);
	if (!filter->dim[2] || !filter->dim[3])
		return DFG_ERR(DFG_DATA, "the filter is empty: %s", dfg_shape_words(filter).s);
	for (int i = 0; i < 2; i++)
		rule.size[dfg_window_dim(4, rule.channels_first, i + 1)] = filter->dim[i];
	DFG_TRY(dfg_window_fit(&rule, image, &out->window));
	int64_t channels = out->window.channels;
	if (channels != filter->dim[2] && channels != DFG_UNKNOWN && filter->dim[2] != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "image %s has %lld channels, filter %s is for %lld", dfg_shape_words(image).s,
			(long long)channels, dfg_shape_words(filter).s, (long long)filter->dim[2]);
	out->channels = channels == DFG_UNKNOWN ? filter->dim[2] : channels;
	out->multiplier = filter->dim[3];
	bool known = out->channels != DFG_UNKNOWN && out->multiplier != DFG_UNKNOWN;
	out->outputs = known ? out->channels * out->multiplier : DFG_UNKNOWN;
	out->pixels = dfg_window_pixels(&out->window);
	out->positions = dfg_window_positions(&out->window);
	return NULL;
}

/* The convolution of each output channel by itself: where a channel has several, of an image that repeats it. */
static struct dfg_convolution by_channels(const struct depthwise *d, enum dfg_dtype dtype)
{
	struct dfg_convolution c = {
		.window = d->window, .groups = d->outputs, .group_in = 1, .group_out = 1, .dtype = dtype};
	c.window.channels = d->outputs;
	return c;
}

/* Arguments of the loops over pixels with `channels` channels, each of `multiplier` outputs. */
struct repeat {
	const void *in;
	void *out;
	int64_t channels, multiplier;
};

#define REPEAT(NAME, name, type, ...)                                        \
	static void repeat_##name(void *arg, int64_t first, int64_t last)        \
	{                                                                        \
		const struct repeat *r = arg;                                        \
		const type *in = r->in;                                              \
		type *out = r->out;                                                  \
		for (int64_t i = first * r->channels; i < last * r->channels; i++)   \
			for (int64_t m = 0; m < r->multiplier; m++)                      \
				out[i * r->multiplier + m] = in[i];                          \
	}                                                                        \
	static void gather_##name(void *arg, int64_t first, int64_t last)        \
	{                                                                        \
		const struct repeat *r = arg;                                        \
		const type *in = r->in;                                              \
		type *out = r->out;                                                  \
		for (int64_t i = first * r->channels; i < last * r->channels; i++) { \
			out[i] = in[i * r->multiplier];                                  \
			for (int64_t m = 1; m < r->multiplier; m++)                      \
				out[i] += in[i * r->multiplier + m];                         \
		}                                                                    \
	}
DFG_EACH_float(REPEAT)

static int64_t pixels_together(const struct depthwise *d)
{
	return 64 * 1024 / (d->outputs + 1) + 1;
}

/* The image as by_channels() reads it. */
static struct dfg_err *repeated(
	struct dfg_kernel *ctx, const struct depthwise *d, enum dfg_dtype dtype, const void **image)
{
	struct repeat repeat = {*image, NULL, d->channels, d->multiplier};
	const int64_t pixels = d->window.batch * d->pixels;
	if (d->multiplier == 1)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(pixels * d->outputs) * dfg_dtype_size(dtype) + 1, &repeat.out));
	dfg_kernel_ranges(ctx, pixels, pixels_together(d), dtype == DFG_F32 ? repeat_f32 : repeat_f64, &repeat);
	*image = repeat.out;
	return NULL;
}

/* An input with its channels last: its own data, or a transposed copy in scratch memory. */
static struct dfg_err *channels_last(
	struct dfg_kernel *ctx, const struct depthwise *d, const struct dfg_tensor *image, const void **out_data)
{
	void *transposed;
	*out_data = image->data;
	if (!d->window.channels_first)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, dfg_tensor_bytes(image) + 1, &transposed));
	dfg_transpose_images(ctx, image->dtype, image->shape.dim[0], image->shape.dim[1],
		image->shape.dim[2] * image->shape.dim[3], image->data, transposed);
	*out_data = transposed;
	return NULL;
}

/* Memory for an output with its channels last; finish_image() moves it to the output. */
static struct dfg_err *start_image(
	struct dfg_kernel *ctx, const struct depthwise *d, const struct dfg_tensor *out, void **out_to)
{
	*out_to = out->data;
	return d->window.channels_first ? dfg_kernel_scratch(ctx, dfg_tensor_bytes(out) + 1, out_to) : NULL;
}

static void finish_image(
	struct dfg_kernel *ctx, const struct depthwise *d, const struct dfg_tensor *out, const void *to)
{
	if (d->window.channels_first)
		dfg_transpose_images(ctx, out->dtype, out->shape.dim[0], out->shape.dim[2] * out->shape.dim[3],
			out->shape.dim[1], to, out->data);
}

static struct dfg_err *forward_shape(struct dfg_infer *node)
{
	struct depthwise d;
	DFG_TRY(fit(node->call, node->in[0], node->in[1], &d));
	node->out[0] = dfg_window_out(&d.window, d.outputs);
	return NULL;
}

static struct dfg_err *forward(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0), *filter = dfg_kernel_input(ctx, 1);
	struct depthwise d;
	struct dfg_tensor *out;
	const void *in;
	void *to;
	DFG_TRY(fit(ctx->call, &image->shape, &filter->shape, &d));
	struct dfg_shape shape = dfg_window_out(&d.window, d.outputs);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	if (!dfg_shape_count(&shape))
		return NULL;
	DFG_TRY(channels_last(ctx, &d, image, &in));
	DFG_TRY(start_image(ctx, &d, out, &to));
	DFG_TRY(repeated(ctx, &d, out->dtype, &in));
	const struct dfg_convolution c = by_channels(&d, out->dtype);
	DFG_TRY(dfg_depthwise(ctx, &c, in, filter->data, to));
	finish_image(ctx, &d, out, to);
	return NULL;
}

/* The shape whose dimensions are the elements of an input: what is known before the graph runs, and its value. */
static struct dfg_shape known_shape(const struct dfg_known_value *known)
{
	struct dfg_shape shape = {.rank = 4};
	for (int i = 0; i < 4; i++)
		shape.dim[i] = known && known->count == 4 && known->v[i] >= 0 ? known->v[i] : DFG_UNKNOWN;
	return shape;
}

static struct dfg_err *shape_by_value(const struct dfg_tensor *sizes, struct dfg_shape *out_shape)
{
	size_t bytes;
	*out_shape = (struct dfg_shape){.rank = 4};
	if (sizes->shape.rank != 1 || sizes->shape.dim[0] != 4)
		return DFG_ERR(
			DFG_DATA, "the sizes have shape %s, expected a vector of 4 elements", dfg_shape_words(&sizes->shape).s);
	for (int i = 0; i < 4; i++) {
		out_shape->dim[i] = dfg_tensor_int(sizes, i);
		if (out_shape->dim[i] < 0)
			return DFG_ERR(
				DFG_DATA, "element %d of the sizes is %lld, expected at least 0", i, (long long)out_shape->dim[i]);
	}
	return dfg_shape_bytes(out_shape, DFG_F64, &bytes);
}

static struct dfg_err *check_out(const struct depthwise *d, const struct dfg_shape *d_out)
{
	struct dfg_shape wanted = dfg_window_out(&d->window, d->outputs);
	if (!dfg_shape_fits(&wanted, d_out))
		return DFG_ERR(DFG_DATA, "the output's gradient has shape %s, expected %s", dfg_shape_words(d_out).s,
			dfg_shape_words(&wanted).s);
	return NULL;
}

static struct dfg_err *input_shape(struct dfg_infer *node)
{
	struct depthwise d;
	node->out[0] = known_shape(node->known[0]);
	DFG_TRY(fit(node->call, &node->out[0], node->in[1], &d));
	return check_out(&d, node->in[2]);
}

static struct dfg_err *filter_shape(struct dfg_infer *node)
{
	struct depthwise d;
	node->out[0] = known_shape(node->known[1]);
	DFG_TRY(fit(node->call, node->in[0], &node->out[0], &d));
	return check_out(&d, node->in[2]);
}

static struct dfg_err *backward_input(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *filter = dfg_kernel_input(ctx, 1), *d_out = dfg_kernel_input(ctx, 2);
	struct dfg_shape shape;
	struct depthwise d;
	struct dfg_tensor *out;
	const void *from;
	void *to;
	DFG_TRY(shape_by_value(dfg_kernel_input(ctx, 0), &shape));
	DFG_TRY(fit(ctx->call, &shape, &filter->shape, &d));
	DFG_TRY(check_out(&d, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	if (!dfg_shape_count(&shape))
		return NULL;
	DFG_TRY(channels_last(ctx, &d, d_out, &from));
	DFG_TRY(start_image(ctx, &d, out, &to));
	struct repeat repeat = {to, to, d.channels, d.multiplier};
	const int64_t pixels = d.window.batch * d.pixels;
	const struct dfg_convolution c = by_channels(&d, out->dtype);
	if (d.multiplier > 1)
		DFG_TRY(
			dfg_kernel_scratch(ctx, (size_t)(pixels * d.outputs) * dfg_dtype_size(out->dtype), (void **)&repeat.in));
	DFG_TRY(dfg_depthwise_input(ctx, &c, filter->data, from, (void *)repeat.in));
	if (d.multiplier > 1)
		dfg_kernel_ranges(ctx, pixels, pixels_together(&d), out->dtype == DFG_F32 ? gather_f32 : gather_f64, &repeat);
	finish_image(ctx, &d, out, to);
	return NULL;
}

static struct dfg_err *backward_filter(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0), *d_out = dfg_kernel_input(ctx, 2);
	struct dfg_shape shape;
	struct depthwise d;
	struct dfg_tensor *out;
	const void *in, *from;
	DFG_TRY(shape_by_value(dfg_kernel_input(ctx, 1), &shape));
	DFG_TRY(fit(ctx->call, &image->shape, &shape, &d));
	DFG_TRY(check_out(&d, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(channels_last(ctx, &d, image, &in));
	DFG_TRY(channels_last(ctx, &d, d_out, &from));
	DFG_TRY(repeated(ctx, &d, out->dtype, &in));
	const struct dfg_convolution c = by_channels(&d, out->dtype);
	return dfg_depthwise_filter(ctx, &c, in, from, out->data);
}

#define ATTRS                                                                                                        \
	{                                                                                                                \
		[STRIDES] = "strides: list(int)", [PADDING] = "padding: string in SAME|VALID|EXPLICIT",                      \
		[FORMAT] = "data_format: string = 'NHWC' in NHWC|NCHW", [DILATIONS] = "dilations: list(int) = [1, 1, 1, 1]", \
		[EXPLICIT] = "explicit_paddings: list(int) = []"                                                             \
	}
#define SAME                                                                                   \
	"strides = strides, padding = padding, data_format = data_format, dilations = dilations, " \
	"explicit_paddings = explicit_paddings)"

const struct dfg_op dfg_op_DepthwiseConv2dNative = {
	.name = "DepthwiseConv2dNative",
	.doc = "each channel of images filtered by its own filters",
	.sig = "<T: float>(input: T, filter: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_EXPENSIVE,
	.shape = forward_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = DepthwiseConv2dNativeBackpropInput(Shape(input), filter, doutput, " SAME
				"\n"
				"dfilter = DepthwiseConv2dNativeBackpropFilter(input, Shape(filter), doutput, " SAME,
	.kernel = {[DFG_F32] = forward, [DFG_F64] = forward},
};

const struct dfg_op dfg_op_DepthwiseConv2dNativeBackpropInput = {
	.name = "DepthwiseConv2dNativeBackpropInput",
	.doc = "gradient of DepthwiseConv2dNative with respect to its input",
	.sig = "<T: float>(input_sizes: i32, filter: T, out_backprop: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_EXPENSIVE,
	.shape = input_shape,
	.gradient = "dfilter = DepthwiseConv2dNativeBackpropFilter(doutput, Shape(filter), out_backprop, " SAME
				"\n"
				"dout_backprop = DepthwiseConv2dNative(doutput, filter, " SAME,
	.kernel = {[DFG_F32] = backward_input, [DFG_F64] = backward_input},
};

const struct dfg_op dfg_op_DepthwiseConv2dNativeBackpropFilter = {
	.name = "DepthwiseConv2dNativeBackpropFilter",
	.doc = "gradient of DepthwiseConv2dNative with respect to its filter",
	.sig = "<T: float>(input: T, filter_sizes: i32, out_backprop: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_EXPENSIVE,
	.shape = filter_shape,
	.gradient = "dinput = DepthwiseConv2dNativeBackpropInput(Shape(input), doutput, out_backprop, " SAME
				"\n"
				"dout_backprop = DepthwiseConv2dNative(input, doutput, " SAME,
	.kernel = {[DFG_F32] = backward_filter, [DFG_F64] = backward_filter},
};
