#include "kernels/shape_rules.h"

#include <string.h>

/* Outlines of boxes, drawn one over another on images [batch, height, width, channels]. */
enum { IMAGES, BOXES, COLORS }; /* inputs */
enum { TABLE = 10, CHANNELS = 4 };

struct work {
	float *image;
	const float *box, *color;
	int64_t size[2], channels, boxes, colors, color_channels;
};

/* Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia. */
static const float table[TABLE][CHANNELS] = {
	{1, 1, 0, 1},
	{0, 0, 1, 1},
	{1, 0, 0, 1},
	{0, 1, 0, 1},
	{0.5f, 0, 0.5f, 1},
	{0.5f, 0.5f, 0, 1},
	{0.5f, 0, 0, 1},
	{0, 0, 0.5f, 1},
	{0, 1, 1, 1},
	{1, 0, 1, 1},
};

static void set_pixel(const struct work *work, float *image, int64_t y, int64_t x, const float *color)
{
	float *to = image + (y * work->size[1] + x) * work->channels;
	for (int64_t c = 0; c < work->channels; c++)
		to[c] = !work->color && work->channels == 1 ? 1 : color[c];
}

/* The pixel of a border, far outside the image if it is not finite. */
static int64_t border(float part, int64_t size)
{
	float at = part * (float)(size - 1);
	return at >= 0 ? at < (float)size ? (int64_t)at : size : at > -1 ? 0 : -1;
}

static void draw_box(const struct work *work, float *image, const float *box, const float *color)
{
	int64_t low[2], high[2], first[2], last[2];
	for (int axis = 0; axis < 2; axis++) {
		low[axis] = border(box[axis], work->size[axis]);
		high[axis] = border(box[axis + 2], work->size[axis]);
		if (low[axis] > high[axis] || low[axis] >= work->size[axis] || high[axis] < 0)
			return;
		first[axis] = low[axis] < 0 ? 0 : low[axis];
		last[axis] = high[axis] < work->size[axis] ? high[axis] : work->size[axis] - 1;
	}
	for (int64_t x = first[1]; x <= last[1]; x++) {
		if (low[0] >= 0)
			set_pixel(work, image, low[0], x, color);
		if (high[0] < work->size[0])
			set_pixel(work, image, high[0], x, color);
	}
	for (int64_t y = first[0]; y <= last[0]; y++) {
		if (low[1] >= 0)
			set_pixel(work, image, y, low[1], color);
		if (high[1] < work->size[1])
			set_pixel(work, image, y, high[1], color);
	}
}

static void draw_images(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t b = first; b < last; b++)
		for (int64_t i = 0; i < work->boxes; i++)
			draw_box(work, work->image + b * work->size[0] * work->size[1] * work->channels,
				work->box + (b * work->boxes + i) * 4,
				work->color ? work->color + i % work->colors * work->color_channels : table[i % TABLE]);
}

static struct dfg_err *boxes_shape(struct dfg_infer *node)
{
	const struct dfg_shape *images = node->in[IMAGES];
	DFG_TRY(dfg_need_rank(node, IMAGES, 4));
	const struct dfg_shape boxes = {.rank = 3, .dim = {images->dim[0], DFG_UNKNOWN, 4}};
	int64_t channels = images->dim[3];
	if (!dfg_shape_fits(node->in[BOXES], &boxes))
		return DFG_ERR(DFG_DATA, "the boxes have shape %s, expected [%lld,any,4]", dfg_shape_words(node->in[BOXES]).s,
			(long long)images->dim[0]);
	if (channels != DFG_UNKNOWN && channels != 1 && channels != 3 && channels != 4)
		return DFG_ERR(DFG_DATA, "the images have shape %s, expected 1, 3 or 4 channels", dfg_shape_words(images).s);
	if (node->call->n_in > COLORS)
		DFG_TRY(dfg_need_rank(node, COLORS, 2));
	node->out[0] = *images;
	return NULL;
}

static struct dfg_err *draw_boxes(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, IMAGES);
	const struct dfg_shape *shape = &in->shape;
	const struct dfg_tensor *colors = ctx->call->n_in > COLORS ? ctx->in[COLORS] : NULL;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	if (!dfg_shape_count(shape))
		return NULL;
	struct work work = {.image = out->data,
		.box = ctx->in[BOXES]->data,
		.size = {shape->dim[1], shape->dim[2]},
		.channels = shape->dim[3],
		.boxes = ctx->in[BOXES]->shape.dim[1]};
	if (colors && colors->shape.dim[0] > 0) {
		work.color = colors->data;
		work.colors = colors->shape.dim[0];
		work.color_channels = colors->shape.dim[1];
		if (work.color_channels < work.channels)
			return DFG_ERR(DFG_DATA, "the colors have shape %s, expected at least the %lld channels of the images",
				dfg_shape_words(&colors->shape).s, (long long)work.channels);
	}
	if (out->data != in->data)
		memcpy(out->data, in->data, (size_t)dfg_shape_count(shape) * sizeof(float));
	dfg_kernel_ranges(ctx, shape->dim[0], 1, draw_images, &work);
	return NULL;
}

const struct dfg_op dfg_op_DrawBoundingBoxes = {
	.name = "DrawBoundingBoxes",
	.doc = "images with the outlines of boxes in ten colors",
	.sig = "<T: half|f32 = f32>(images: T, boxes: f32) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = boxes_shape,
	.kernel = {[DFG_F32] = draw_boxes},
};

const struct dfg_op dfg_op_DrawBoundingBoxesV2 = {
	.name = "DrawBoundingBoxesV2",
	.doc = "images with the outlines of boxes in the given colors, or in ten if there are none",
	.sig = "<T: half|f32 = f32>(images: T, boxes: f32, colors: f32) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = boxes_shape,
	.kernel = {[DFG_F32] = draw_boxes},
};
