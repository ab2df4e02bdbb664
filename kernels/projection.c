#include "kernels/shape_rules.h"

#include <math.h>

/*
 * Projective transformations of images [batch, height, width, channels]. The pixel at (x, y) is the one of the image at
 * ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), where k is c0 x + c1 y + 1, in f32.
 */
enum { IMAGES, TRANSFORMS, SIZE, FILL };          /* inputs */
enum { INTERPOLATION, MODE };                     /* attributes */
enum { OF_X = 0, OF_Y = 3, OF_K = 6, TERMS = 8 }; /* coefficients of a transformation */

struct work {
	const void *in;
	void *out;
	const float *transform;
	bool one; /* transformation for all images */
	int64_t size[2], out_size[2], channels;
	float fill; /* of pixels outside the image */
	bool nearest;
	float (*mode)(float at, int64_t n); /* moves a coordinate into an axis of n pixels; NULL: not moved */
};

static float clamp(float at, int64_t n)
{
	return at > 0 ? fminf(at, (float)(n - 1)) : 0;
}

/* A multiple of n that is not larger, towards zero. */
static float whole(float at, int64_t n)
{
	return truncf(at / (float)n) * (float)n;
}

/* dcba|abcd|dcba */
static float reflect(float at, int64_t n)
{
	if (n <= 1 || (at >= 0 && at <= (float)(n - 1)))
		return clamp(at, n);
	if (at < 0) {
		at += whole(-at, 2 * n);
		return clamp(at < (float)-n ? at + (float)(2 * n) : -at - 1, n);
	}
	at -= whole(at, 2 * n);
	return clamp(at >= (float)n ? (float)(2 * n) - at - 1 : at, n);
}

/* abcd|abcd|abcd; between the last and the first pixel is one pixel's distance, as TensorFlow has it. */
static float wrap(float at, int64_t n)
{
	if (n <= 1 || (at >= 0 && at <= (float)(n - 1)))
		return clamp(at, n);
	if (at < 0)
		return clamp(at + (float)n * (truncf(-at / (float)(n - 1)) + 1), n);
	return clamp(at - (float)n * truncf(at / (float)(n - 1)), n);
}

/* The row and column of the image for a pixel of the output; false: it has none. */
static bool source_of(const struct work *work, int64_t image, int64_t row, int64_t column, float out_at[2])
{
	const float *t = work->transform + (work->one ? 0 : image * TERMS), x = (float)column, y = (float)row;
	const float k = t[OF_K] * x + t[OF_K + 1] * y + 1;
	if (k == 0)
		return false;
	out_at[1] = (t[OF_X] * x + t[OF_X + 1] * y + t[OF_X + 2]) / k;
	out_at[0] = (t[OF_Y] * x + t[OF_Y + 1] * y + t[OF_Y + 2]) / k;
	for (int axis = 0; axis < 2 && work->mode; axis++)
		out_at[axis] = work->mode(out_at[axis], work->size[axis]);
	return isfinite(out_at[0]) && isfinite(out_at[1]);
}

#define TEMPLATE "kernels/projection.inc"
#include "kernels/each_number.inc"

static struct dfg_err *projection_shape(struct dfg_infer *node)
{
	const struct dfg_shape *images = node->in[IMAGES], *transforms = node->in[TRANSFORMS];
	const struct dfg_shape one = {.rank = 2, .dim = {1, TERMS}};
	DFG_TRY(dfg_need_rank(node, IMAGES, 4));
	const struct dfg_shape each = {.rank = 2, .dim = {images->dim[0], TERMS}};
	if (!dfg_shape_fits(transforms, &one) && !dfg_shape_fits(transforms, &each))
		return DFG_ERR(DFG_DATA, "the transforms have shape %s, expected %s, or [1,8] for all images",
			dfg_shape_words(transforms).s, dfg_shape_words(&each).s);
	DFG_TRY(dfg_need_rank(node, SIZE, 1));
	if (dfg_length_of(node, SIZE) != 2 && dfg_length_of(node, SIZE) != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "output_shape has shape %s, expected 2 numbers", dfg_shape_words(node->in[SIZE]).s);
	if (node->call->n_in > FILL)
		DFG_TRY(dfg_need_rank(node, FILL, 0));
	node->out[0] = *images;
	for (int axis = 0; axis < 2; axis++) {
		int64_t size = dfg_int_of(node, SIZE, axis);
		if (size != DFG_NOT_KNOWN && size <= 0)
			return DFG_ERR(DFG_DATA, "output_shape has a size of %lld, expected at least 1", (long long)size);
		node->out[0].dim[1 + axis] = size == DFG_NOT_KNOWN ? DFG_UNKNOWN : size;
	}
	return NULL;
}

static float (*mode_of(const struct dfg_kernel *ctx))(float at, int64_t n)
{
	switch (dfg_kernel_attr(ctx)[MODE].s.s[0]) {
	case 'R':
		return reflect;
	case 'W':
		return wrap;
	case 'N':
		return clamp;
	default:
		return NULL;
	}
}

static struct dfg_err *project(struct dfg_kernel *ctx)
{
	static dfg_range_fn *const loop[] = { DFG_EACH_number(DFG_BY_DTYPE, project) };
	const struct dfg_tensor *in = dfg_kernel_input(ctx, IMAGES);
	struct dfg_tensor *out;
	float fill = ctx->call->n_in > FILL ? (float)dfg_tensor_float(ctx->in[FILL], 0) : 0;
	int64_t as_pixel;
	DFG_TRY(dfg_output_now(ctx, &out));
	const struct dfg_shape *shape = &out->shape;
	dfg_convert(in->dtype, &as_pixel, DFG_F32, &fill, 1);
	dfg_convert(DFG_F32, &fill, in->dtype, &as_pixel, 1);
	struct work work = {.in = in->data,
		.out = out->data,
		.transform = ctx->in[TRANSFORMS]->data,
		.one = ctx->in[TRANSFORMS]->shape.dim[0] == 1,
		.size = {in->shape.dim[1], in->shape.dim[2]},
		.out_size = {shape->dim[1], shape->dim[2]},
		.channels = shape->dim[3],
		.fill = fill,
		.nearest = dfg_kernel_attr(ctx)[INTERPOLATION].s.s[0] == 'N',
		.mode = in->shape.dim[1] && in->shape.dim[2] ? mode_of(ctx) : NULL};
	if (dfg_shape_count(shape))
		dfg_kernel_ranges(ctx, shape->dim[0] * shape->dim[1], dfg_kernel_block(shape->dim[2] * shape->dim[3], 4096),
			loop[in->dtype], &work);
	return NULL;
}

#define ATTRIBUTES                                                                 \
	{                                                                              \
		[INTERPOLATION] = "interpolation: string in NEAREST|BILINEAR",             \
		[MODE] = "fill_mode: string = 'CONSTANT' in CONSTANT|REFLECT|WRAP|NEAREST" \
	}

const struct dfg_op dfg_op_ImageProjectiveTransformV2 = {
	.name = "ImageProjectiveTransformV2",
	.doc = "images warped by projective transforms",
	.sig =
		"<dtype: half|f32|f64|u8|i32|i64>(images: dtype, transforms: f32, output_shape: i32) -> "
		"(transformed_images: dtype)",
	.attr = ATTRIBUTES,
	.flags = DFG_EXPENSIVE | DFG_NO_GRADIENT,
	.shape = projection_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, project)},
};

const struct dfg_op dfg_op_ImageProjectiveTransformV3 = {
	.name = "ImageProjectiveTransformV3",
	.doc = "images warped by projective transforms, with fill_value outside of the image",
	.sig =
		"<dtype: half|f32|f64|u8|i32|i64>(images: dtype, transforms: f32, output_shape: i32, fill_value: f32) -> "
		"(transformed_images: dtype)",
	.attr = ATTRIBUTES,
	.flags = DFG_EXPENSIVE | DFG_NO_GRADIENT,
	.shape = projection_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, project)},
};
