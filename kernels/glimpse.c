#include "kernels/philox.h"
#include "kernels/random_words.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

/*
 * Windows of one size from images [batch, height, width, channels], each at its own offset. Where a window is outside its
 * image, it has noise: zeros, or numbers of a stream that is the same in each step.
 */
enum { IMAGES, SIZE, OFFSETS };                /* inputs */
enum { CENTERED, NORMALIZED, UNIFORM, NOISE }; /* attributes */

extern const struct dfg_op dfg_op_ExtractGlimpse;

struct work {
	const float *image, *offset;
	float *out;
	int64_t size[2], window[2], channels;
	bool centered, normalized, first_version;
	enum { ZEROS, UNIFORM_NUMBERS, NORMAL_NUMBERS } noise;
};

/* The first row or column of the window of an image. The second version centers windows only where it normalizes. */
static int64_t start_of(const struct work *work, int64_t image, int axis)
{
	float at = work->offset[2 * image + axis], size = (float)work->size[axis];
	bool halved = work->centered && (work->first_version || work->normalized);
	if (work->normalized)
		at *= size;
	if (work->centered)
		at = (halved ? at / 2 : at) + size / 2;
	if (halved || work->first_version)
		at -= (float)work->window[axis] / 2;
	return at > -1e9f ? at < 1e9f ? (int64_t)at : 1000000000 : -1000000000;
}

static void fill(const struct work *work, int64_t image, int64_t count, float *to)
{
	struct dfg_philox philox = {.key = {1234, (uint32_t)image}};
	struct backwards numbers = {0};
	for (int64_t i = 0; i < count; i++)
		to[i] = work->noise == ZEROS             ? 0
				: work->noise == UNIFORM_NUMBERS ? (float)next_unit(&philox, &numbers)
												 : (float)next_normal(&philox, &numbers);
}

static void cut_windows(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const int64_t n = work->channels, *size = work->size, *window = work->window, each = window[0] * window[1] * n;
	for (int64_t b = first; b < last; b++) {
		const int64_t top = start_of(work, b, 0), left = start_of(work, b, 1);
		const int64_t right = left + window[1] < size[1] ? left + window[1] : size[1], from = left < 0 ? 0 : left;
		float *to = work->out + b * each;
		const float *image = work->image + b * size[0] * size[1] * n;
		if (top < 0 || left < 0 || top + window[0] > size[0] || left + window[1] > size[1])
			fill(work, b, each, to);
		for (int64_t y = top < 0 ? -top : 0; y < window[0] && top + y < size[0] && from < right; y++)
			memcpy(to + (y * window[1] + from - left) * n, image + ((top + y) * size[1] + from) * n,
				(size_t)((right - from) * n) * sizeof *to);
	}
}

static struct dfg_err *glimpse_shape(struct dfg_infer *node)
{
	const struct dfg_shape *images = node->in[IMAGES];
	DFG_TRY(dfg_need_rank(node, IMAGES, 4));
	const struct dfg_shape offsets = {.rank = 2, .dim = {images->dim[0], 2}};
	if (!dfg_shape_fits(node->in[OFFSETS], &offsets))
		return DFG_ERR(DFG_DATA, "the offsets have shape %s, expected %s", dfg_shape_words(node->in[OFFSETS]).s,
			dfg_shape_words(&offsets).s);
	DFG_TRY(dfg_need_rank(node, SIZE, 1));
	if (dfg_length_of(node, SIZE) != 2 && dfg_length_of(node, SIZE) != DFG_UNKNOWN)
		return DFG_ERR(DFG_DATA, "size has shape %s, expected 2 numbers", dfg_shape_words(node->in[SIZE]).s);
	node->out[0] = *images;
	for (int axis = 0; axis < 2; axis++) {
		int64_t size = dfg_int_of(node, SIZE, axis);
		if (size != DFG_NOT_KNOWN && size <= 0)
			return DFG_ERR(DFG_DATA, "size is %lld, expected at least 1", (long long)size);
		node->out[0].dim[1 + axis] = size == DFG_NOT_KNOWN ? DFG_UNKNOWN : size;
	}
	return NULL;
}

static struct dfg_err *glimpse(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_shape *images = &ctx->in[IMAGES]->shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	char noise = attr[NOISE].s.s[0];
	struct work work = {.image = ctx->in[IMAGES]->data,
		.offset = ctx->in[OFFSETS]->data,
		.out = out->data,
		.size = {images->dim[1], images->dim[2]},
		.window = {out->shape.dim[1], out->shape.dim[2]},
		.channels = images->dim[3],
		.centered = attr[CENTERED].b,
		.normalized = attr[NORMALIZED].b,
		.first_version = ctx->call->op == &dfg_op_ExtractGlimpse,
		.noise = attr[UNIFORM].b && noise == 'u' ? UNIFORM_NUMBERS
				 : noise == 'g'                  ? NORMAL_NUMBERS
												 : ZEROS};
	if (dfg_shape_count(&out->shape))
		dfg_kernel_ranges(ctx, images->dim[0], 1, cut_windows, &work);
	return NULL;
}

#define ATTRIBUTES                                                                                               \
	{                                                                                                            \
		[CENTERED] = "centered: bool = true", [NORMALIZED] = "normalized: bool = true",                          \
		[UNIFORM] = "uniform_noise: bool = true", [NOISE] = "noise: string = 'uniform' in uniform|gaussian|zero" \
	}

const struct dfg_op dfg_op_ExtractGlimpse = {
	.name = "ExtractGlimpse",
	.doc = "windows of images around offsets",
	.sig = "(input: f32, size: i32, offsets: f32) -> (glimpse: f32)",
	.attr = ATTRIBUTES,
	.flags = DFG_NO_GRADIENT,
	.shape = glimpse_shape,
	.run = glimpse,
};

const struct dfg_op dfg_op_ExtractGlimpseV2 = {
	.name = "ExtractGlimpseV2",
	.doc = "windows of images at offsets, or around normalized ones",
	.sig = "(input: f32, size: i32, offsets: f32) -> (glimpse: f32)",
	.attr = ATTRIBUTES,
	.flags = DFG_NO_GRADIENT,
	.shape = glimpse_shape,
	.run = glimpse,
};
