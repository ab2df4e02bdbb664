#include "kernels/shape_rules.h"
#include "lib/graph/kernel.h"

#include <math.h>

/*
 * Colours of pixels, which are the last dimension: red, green and blue, or hue (in turns, from red over green and blue),
 * saturation and value.
 */
struct work {
	const void *in;
	void *out;
	enum kind { TO_HSV, TO_RGB, TURN_HUE, SCALE_SATURATION } kind;
	float amount;
	int64_t pixels, channels; /* of an image, for the contrast */
};

#define TEMPLATE "kernels/colour.inc"
#include "kernels/each_float.inc"

/* The shape of RGBToHSV and HSVToRGB. */
static struct dfg_err *colour_shape(struct dfg_infer *node)
{
	const struct dfg_shape *images = node->in[0];
	if (images->rank < 1)
		return DFG_ERR(DFG_DATA, "the images have shape %s, expected at least 1 dimension", dfg_shape_words(images).s);
	int64_t channels = images->dim[images->rank - 1];
	if (channels != 3 && channels != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "the images have shape %s, expected 3 channels", dfg_shape_words(images).s);
	node->out[0] = *images;
	return NULL;
}

static struct dfg_err *contrast_shape(struct dfg_infer *node)
{
	if (node->in[0]->rank < 3)
		return DFG_ERR(
			DFG_DATA, "the images have shape %s, expected at least 3 dimensions", dfg_shape_words(node->in[0]).s);
	node->out[0] = *node->in[0];
	return dfg_need_rank(node, 1, 0);
}

/* The shape of AdjustHue and AdjustSaturation. */
static struct dfg_err *adjust_shape(struct dfg_infer *node)
{
	DFG_TRY(contrast_shape(node));
	return colour_shape(node);
}

static struct dfg_err *convert(struct dfg_kernel *ctx, enum kind kind)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct work work = {.in = in->data, .kind = kind};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	work.out = out->data;
	if (ctx->call->n_in == 2)
		work.amount = (float)dfg_tensor_float(ctx->in[1], 0);
	dfg_kernel_ranges(
		ctx, dfg_shape_count(&in->shape) / 3, 1024, in->dtype == DFG_F32 ? convert_f32 : convert_f64, &work);
	return NULL;
}

static struct dfg_err *to_hsv(struct dfg_kernel *ctx)
{
	return convert(ctx, TO_HSV);
}

static struct dfg_err *to_rgb(struct dfg_kernel *ctx)
{
	return convert(ctx, TO_RGB);
}

static struct dfg_err *adjust_hue(struct dfg_kernel *ctx)
{
	return convert(ctx, TURN_HUE);
}

static struct dfg_err *adjust_saturation(struct dfg_kernel *ctx)
{
	return convert(ctx, SCALE_SATURATION);
}

static struct dfg_err *adjust_contrast(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	int rank = in->shape.rank;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	struct work work = {.in = in->data,
		.out = out->data,
		.amount = (float)dfg_tensor_float(ctx->in[1], 0),
		.channels = in->shape.dim[rank - 1],
		.pixels = in->shape.dim[rank - 2] * in->shape.dim[rank - 3]};
	int64_t each = work.pixels * work.channels;
	if (each)
		dfg_kernel_ranges(ctx, dfg_count_between(&in->shape, 0, rank - 3), each < 8192 ? 8192 / each : 1,
			in->dtype == DFG_F32 ? contrast_f32 : contrast_f64, &work);
	return NULL;
}

const struct dfg_op dfg_op_RGBToHSV = {
	.name = "RGBToHSV",
	.doc = "hue, saturation and value of colours",
	.sig = "<T: float = f32>(images: T) -> (output: T)",
	.shape = colour_shape,
	/* With i the index of the largest channel, the hue is (channel i + 1 - channel i + 2) / (6 range) and a constant. */
	.gradient =
		"most = OneHot(ArgMax(images, -1), 3, Cast(1, DstT = T), Cast(0, DstT = T))\n"
		"least = OneHot(ArgMin(images, -1), 3, Cast(1, DstT = T), Cast(0, DstT = T))\n"
		"between = Roll(most, 1, -1) - Roll(most, 2, -1)\n"
		"value = Max(images, [-1], keep_dims = true)\n"
		"range = value - Min(images, [-1], keep_dims = true)\n"
		"difference = Sum(images * between, [-1], keep_dims = true)\n"
		"by_hue = DivNoNan(between, 6.0 * range) - DivNoNan(difference, 6.0 * Square(range)) * (most - least)\n"
		"by_saturation = DivNoNan(most * (value - range), Square(value)) - DivNoNan(least, value)\n"
		"dh, ds, dv = Split(-1, doutput, num_split = 3)\n"
		"dimages = dh * by_hue + ds * by_saturation + dv * most",
	.kernel = {[DFG_F32] = to_hsv, [DFG_F64] = to_hsv},
};

const struct dfg_op dfg_op_HSVToRGB = {
	.name = "HSVToRGB",
	.doc = "red, green and blue of colours that are given by hue, saturation and value",
	.sig = "<T: float = f32>(images: T) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = colour_shape,
	.kernel = {[DFG_F32] = to_rgb, [DFG_F64] = to_rgb},
};

const struct dfg_op dfg_op_AdjustHue = {
	.name = "AdjustHue",
	.doc = "colours whose hue is rotated by delta",
	.sig = "<T: half|f32 = f32>(images: T, delta: f32) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = adjust_shape,
	.kernel = {[DFG_F32] = adjust_hue},
};

const struct dfg_op dfg_op_AdjustSaturation = {
	.name = "AdjustSaturation",
	.doc = "colours whose saturation is scaled",
	.sig = "<T: half|f32 = f32>(images: T, scale: f32) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = adjust_shape,
	.kernel = {[DFG_F32] = adjust_saturation},
};

const struct dfg_op dfg_op_AdjustContrastv2 = {
	.name = "AdjustContrastv2",
	.doc = "images whose channels' distance from their mean is scaled",
	.sig = "<T: half|f32 = f32>(images: T, contrast_factor: f32) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = contrast_shape,
	.kernel = {[DFG_F32] = adjust_contrast},
};
