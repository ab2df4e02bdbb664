#include "kernels/convolve.h"
#include "lib/base/vector.h"

#include <string.h>

/*
 * Convolutions whose every channel has filters of its own, [height, width, channels, multiplier]: output channel
 * c * multiplier + m is channel c filtered by the m-th of its filters.
 */
enum { STRIDES, PADDING, FORMAT, DILATIONS, EXPLICIT }; /* attributes */

struct depthwise {
	struct dfg_window window;
	int64_t channels, multiplier, outputs, pixels, places;
};

static struct dfg_err *fit(
	const struct dfg_call *call, const struct dfg_shape *image, const struct dfg_shape *filter, struct depthwise *out)
{
	const union dfg_value *attr = call->attr;
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format(attr[FORMAT].s, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_list(attr[DILATIONS].list, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_paddings(attr[EXPLICIT].list, &rule));
	if (filter->rank != 4)
		return DFG_ERR(DFG_DATA, "needs a filter of 4 dims, not %s", dfg_shape_words(filter).s);
	if (!filter->dim[2] || !filter->dim[3])
		return DFG_ERR(DFG_DATA, "an empty filter: %s", dfg_shape_words(filter).s);
	for (int i = 0; i < 2; i++)
		rule.size[dfg_window_dim(4, rule.channels_first, i + 1)] = filter->dim[i];
	DFG_TRY(dfg_window_fit(&rule, image, &out->window));
	int64_t channels = out->window.channels;
	if (channels != filter->dim[2] && channels != DFG_UNKNOWN && filter->dim[2] != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "%lld channels of image %s do not fit filter %s", (long long)channels,
			dfg_shape_words(image).s, dfg_shape_words(filter).s);
	out->channels = channels == DFG_UNKNOWN ? filter->dim[2] : channels;
	out->multiplier = filter->dim[3];
	bool known = out->channels != DFG_UNKNOWN && out->multiplier != DFG_UNKNOWN;
	out->outputs = known ? out->channels * out->multiplier : DFG_UNKNOWN;
	out->pixels = dfg_window_pixels(&out->window);
	out->places = dfg_window_places(&out->window);
	return NULL;
}

/* What the loops work on, channels last. `to` is what is made, from the two others. */
struct work {
	struct depthwise d;
	const void *image, *filter, *d_out;
	void *to;
	int64_t step; /* places in a sum of the filter's gradient */
};

/* Calls on_tap for each tap of a place that is in the image, with its number and that of its pixel. */
#define EACH_TAP(w, place, on_tap)                                                                                     \
	for (int64_t i_ = 0; i_ < (w).axis[1].size; i_++)                                                                  \
		for (int64_t j_ = 0; j_ < (w).axis[2].size; j_++) {                                                            \
			const int64_t y_ = (place) / (w).axis[2].out % (w).axis[1].out * (w).axis[1].stride - (w).axis[1].before + \
							   i_ * (w).axis[1].dilation;                                                              \
			const int64_t x_ =                                                                                         \
				(place) % (w).axis[2].out * (w).axis[2].stride - (w).axis[2].before + j_ * (w).axis[2].dilation;       \
			if (y_ < 0 || y_ >= (w).axis[1].in || x_ < 0 || x_ >= (w).axis[2].in)                                      \
				continue;                                                                                              \
			const int64_t tap = i_ * (w).axis[2].size + j_, pixel = y_ * (w).axis[2].in + x_;                          \
			on_tap                                                                                                     \
		}

/* out[i] += x[i / m] * y[i] over n channels of m each; the second adds to each channel what its m products are. */
#define LOOPS(NAME, name, type, ...)                                                                               \
	DFG_CLONES static void spread_##name(int64_t n, int64_t m, const type *x, const type *y, type *out)            \
	{                                                                                                              \
		if (m == 1)                                                                                                \
			DFG_INDEPENDENT for (int64_t c = 0; c < n; c++) out[c] += x[c] * y[c];                                 \
		else                                                                                                       \
			for (int64_t c = 0; c < n; c++)                                                                        \
				for (int64_t i = c * m; i < (c + 1) * m; i++)                                                      \
					out[i] += x[c] * y[i];                                                                         \
	}                                                                                                              \
	DFG_CLONES static void gather_##name(int64_t n, int64_t m, const type *x, const type *y, type *out)            \
	{                                                                                                              \
		if (m == 1)                                                                                                \
			DFG_INDEPENDENT for (int64_t c = 0; c < n; c++) out[c] += x[c] * y[c];                                 \
		else                                                                                                       \
			for (int64_t c = 0; c < n; c++)                                                                        \
				for (int64_t i = c * m; i < (c + 1) * m; i++)                                                      \
					out[c] += x[i] * y[i];                                                                         \
	}                                                                                                              \
	static void forward_##name(void *arg, int64_t first, int64_t last)                                             \
	{                                                                                                              \
		const struct work *work = arg;                                                                             \
		const struct depthwise *d = &work->d;                                                                      \
		for (int64_t place = first; place < last; place++) {                                                       \
			const type *image = (const type *)work->image + place / d->places * d->pixels * d->channels;           \
			type *to = (type *)work->to + place * d->outputs;                                                      \
			memset(to, 0, (size_t)d->outputs * sizeof *to);                                                        \
			EACH_TAP(d->window, place,                                                                             \
					 spread_##name(d->channels, d->multiplier, image + pixel * d->channels,                        \
						 (const type *)work->filter + tap * d->outputs, to);)                                      \
		}                                                                                                          \
	}                                                                                                              \
	static void input_##name(void *arg, int64_t first, int64_t last)                                               \
	{                                                                                                              \
		const struct work *work = arg;                                                                             \
		const struct depthwise *d = &work->d;                                                                      \
		for (int64_t image = first; image < last; image++) {                                                       \
			type *to = (type *)work->to + image * d->pixels * d->channels;                                         \
			memset(to, 0, (size_t)(d->pixels * d->channels) * sizeof *to);                                         \
			for (int64_t place = image * d->places; place < (image + 1) * d->places; place++)                      \
				EACH_TAP(d->window, place,                                                                         \
						 gather_##name(d->channels, d->multiplier, (const type *)work->d_out + place * d->outputs, \
							 (const type *)work->filter + tap * d->outputs, to + pixel * d->channels);)            \
		}                                                                                                          \
	}                                                                                                              \
	static void filter_##name(void *arg, int64_t first, int64_t last)                                              \
	{                                                                                                              \
		const struct work *work = arg;                                                                             \
		const struct depthwise *d = &work->d;                                                                      \
		const int64_t size = dfg_window_size(&d->window) * d->outputs;                                             \
		type *to = (type *)work->to + first / work->step * size;                                                   \
		memset(to, 0, (size_t)size * sizeof *to);                                                                  \
		for (int64_t place = first; place < last; place++) {                                                       \
			const type *image = (const type *)work->image + place / d->places * d->pixels * d->channels;           \
			EACH_TAP(d->window, place,                                                                             \
					 spread_##name(d->channels, d->multiplier, image + pixel * d->channels,                        \
						 (const type *)work->d_out + place * d->outputs, to + tap * d->outputs);)                  \
		}                                                                                                          \
	}                                                                                                              \
	static void total_##name(const type *sums, int64_t count, int64_t size, type *to)                              \
	{                                                                                                              \
		for (int64_t i = 0; i < size; i++) {                                                                       \
			type sum = 0;                                                                                          \
			for (int64_t s = 0; s < count; s++)                                                                    \
				sum += sums[s * size + i];                                                                         \
			to[i] = sum;                                                                                           \
		}                                                                                                          \
	}
DFG_EACH_float(LOOPS)

/* An input with its channels last, turned into scratch where they come first. */
static struct dfg_err *channels_last(
	struct dfg_kernel *ctx, const struct depthwise *d, const struct dfg_tensor *image, const void **out_data)
{
	void *turned;
	*out_data = image->data;
	if (!d->window.channels_first)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, dfg_tensor_bytes(image) + 1, &turned));
	dfg_turn_images(ctx, image->dtype, image->shape.dim[0], image->shape.dim[1],
		image->shape.dim[2] * image->shape.dim[3], image->data, turned);
	*out_data = turned;
	return NULL;
}

/* Where an image is made with its channels last, and the way from there to the output. */
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
		dfg_turn_images(ctx, out->dtype, out->shape.dim[0], out->shape.dim[2] * out->shape.dim[3], out->shape.dim[1],
			to, out->data);
}

static int64_t block_of(const struct depthwise *d, int64_t each)
{
	int64_t work = each * dfg_window_size(&d->window) * d->outputs;
	return work < 64 * 1024 ? 64 * 1024 / (work > 0 ? work : 1) : 1;
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
	struct work work = {.filter = filter->data};
	struct dfg_tensor *out;
	DFG_TRY(fit(ctx->call, &image->shape, &filter->shape, &work.d));
	struct dfg_shape shape = dfg_window_out(&work.d.window, work.d.outputs);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(channels_last(ctx, &work.d, image, &work.image));
	DFG_TRY(start_image(ctx, &work.d, out, &work.to));
	if (dfg_shape_count(&shape))
		dfg_kernel_ranges(ctx, work.d.window.batch * work.d.places, block_of(&work.d, 1),
			out->dtype == DFG_F32 ? forward_f32 : forward_f64, &work);
	finish_image(ctx, &work.d, out, work.to);
	return NULL;
}

/* The shape that input i tells: as it is known before the graph runs, or now. */
static struct dfg_shape known_shape(const struct dfg_known_value *known)
{
	struct dfg_shape shape = {.rank = 4};
	for (int i = 0; i < 4; i++)
		shape.dim[i] = known && known->count == 4 && known->v[i] >= 0 ? known->v[i] : DFG_UNKNOWN;
	return shape;
}

static struct dfg_err *told_shape(const struct dfg_tensor *sizes, struct dfg_shape *out_shape)
{
	size_t bytes;
	*out_shape = (struct dfg_shape){.rank = 4};
	if (sizes->shape.rank != 1 || sizes->shape.dim[0] != 4)
		return DFG_ERR(DFG_DATA, "sizes must be 4 numbers, not %s", dfg_shape_words(&sizes->shape).s);
	for (int i = 0; i < 4; i++) {
		out_shape->dim[i] = dfg_tensor_int(sizes, i);
		if (out_shape->dim[i] < 0)
			return DFG_ERR(DFG_DATA, "sizes must not be negative: %s", dfg_shape_words(out_shape).s);
	}
	return dfg_shape_bytes(out_shape, DFG_F64, &bytes);
}

static struct dfg_err *check_out(const struct depthwise *d, const struct dfg_shape *d_out)
{
	struct dfg_shape wanted = dfg_window_out(&d->window, d->outputs);
	if (!dfg_shape_fits(&wanted, d_out))
		return DFG_ERR(
			DFG_DATA, "the output's gradient is %s, must be %s", dfg_shape_words(d_out).s, dfg_shape_words(&wanted).s);
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
	struct work work = {.filter = filter->data};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(told_shape(dfg_kernel_input(ctx, 0), &shape));
	DFG_TRY(fit(ctx->call, &shape, &filter->shape, &work.d));
	DFG_TRY(check_out(&work.d, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(channels_last(ctx, &work.d, d_out, &work.d_out));
	DFG_TRY(start_image(ctx, &work.d, out, &work.to));
	if (dfg_shape_count(&shape))
		dfg_kernel_ranges(ctx, work.d.window.batch, block_of(&work.d, work.d.places),
			out->dtype == DFG_F32 ? input_f32 : input_f64, &work);
	finish_image(ctx, &work.d, out, work.to);
	return NULL;
}

/* Sums of a fixed number of runs of places, added in order. */
static struct dfg_err *backward_filter(struct dfg_kernel *ctx)
{
	enum { SUMS = 16 };
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0), *d_out = dfg_kernel_input(ctx, 2);
	struct work work = {0};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(told_shape(dfg_kernel_input(ctx, 1), &shape));
	DFG_TRY(fit(ctx->call, &image->shape, &shape, &work.d));
	DFG_TRY(check_out(&work.d, &d_out->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(channels_last(ctx, &work.d, image, &work.image));
	DFG_TRY(channels_last(ctx, &work.d, d_out, &work.d_out));
	int64_t places = work.d.window.batch * work.d.places, least = block_of(&work.d, 1);
	work.step = (places + SUMS - 1) / SUMS;
	if (work.step < least)
		work.step = least;
	int64_t sums = (places + work.step - 1) / work.step;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(sums + 1) * dfg_tensor_bytes(out), &work.to));
	dfg_kernel_ranges(ctx, places, work.step, out->dtype == DFG_F32 ? filter_f32 : filter_f64, &work);
	if (out->dtype == DFG_F32)
		total_f32(work.to, sums, dfg_shape_count(&shape), out->data);
	else
		total_f64(work.to, sums, dfg_shape_count(&shape), out->data);
	return NULL;
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
	.doc = "filters of its own moved over each channel of images",
	.sig = "<T: float>(input: T, filter: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_EXPENSIVE,
	.shape = forward_shape,
	.gradient = "dinput = DepthwiseConv2dNativeBackpropInput(Shape(input), filter, doutput, " SAME
				"\n"
				"dfilter = DepthwiseConv2dNativeBackpropFilter(input, Shape(filter), doutput, " SAME,
	.kernel = {[DFG_F32] = forward, [DFG_F64] = forward},
};

const struct dfg_op dfg_op_DepthwiseConv2dNativeBackpropInput = {
	.name = "DepthwiseConv2dNativeBackpropInput",
	.doc = "gradient of DepthwiseConv2dNative by its input",
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
	.doc = "gradient of DepthwiseConv2dNative by its filter",
	.sig = "<T: float>(input: T, filter_sizes: i32, out_backprop: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_EXPENSIVE,
	.shape = filter_shape,
	.gradient = "dinput = DepthwiseConv2dNativeBackpropInput(Shape(input), doutput, out_backprop, " SAME
				"\n"
				"dout_backprop = DepthwiseConv2dNative(input, doutput, " SAME,
	.kernel = {[DFG_F32] = backward_filter, [DFG_F64] = backward_filter},
};
