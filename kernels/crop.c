#include "kernels/shape_rules.h"
#include "lib/graph/kernel.h"

#include <math.h>
#include <string.h>

/*
 * Crops of images [batch, height, width, channels], each resized to one size. A box is y1, x1, y2, x2 in parts of the image,
 * where 0 and 1 are the centers of the first and last pixel; coordinates are f32.
 */
enum { WORK = 8 * 1024 }; /* elements of a block */

struct work {
	const void *image;
	const float *box, *grads;
	const int32_t *of; /* number of the image of each box */
	void *out;
	int64_t boxes, batch, size[2], crop[2], channels;
	float outside; /* value of pixels outside the image */
	bool nearest;
};

/* The source of row or column i of a crop: between pixels low and high, at fraction lerp; low is -1 outside the image. */
struct source {
	int64_t low, high;
	float lerp;
};

static struct source source_of(const struct work *work, const float *box, int axis, int64_t i)
{
	float most = (float)(work->size[axis] - 1), a = box[axis], b = box[axis + 2];
	int64_t n = work->crop[axis];
	float at = n > 1 ? a * most + (float)i * ((b - a) * most / (float)(n - 1)) : 0.5f * (a + b) * most;
	if (!(at >= 0 && at <= most))
		return (struct source){-1, -1, 0};
	if (work->nearest)
		return (struct source){(int64_t)roundf(at), (int64_t)roundf(at), 0};
	return (struct source){(int64_t)floorf(at), (int64_t)ceilf(at), at - floorf(at)};
}

/* Rows [first, last) of all crops. */
#define CROP(NAME, name, type, ...)                                                                       \
	static void crop_##name(void *arg, int64_t first, int64_t last)                                       \
	{                                                                                                     \
		const struct work *work = arg;                                                                    \
		const int64_t n = work->channels, width = work->size[1] * n;                                      \
		float *to = (float *)work->out + first * work->crop[1] * n;                                       \
		for (int64_t row = first; row < last; row++) {                                                    \
			const int64_t b = row / work->crop[0];                                                        \
			const struct source y = source_of(work, work->box + b * 4, 0, row % work->crop[0]);           \
			const type *image = (const type *)work->image + work->of[b] * work->size[0] * width;          \
			for (int64_t column = 0; column < work->crop[1]; column++, to += n) {                         \
				const struct source x = source_of(work, work->box + b * 4, 1, column);                    \
				const bool inside = y.low >= 0 && x.low >= 0;                                             \
				const type *top = image + (inside ? y.low * width : 0);                                   \
				const type *bottom = image + (inside ? y.high * width : 0);                               \
				for (int64_t c = 0; c < n; c++) {                                                         \
					const int64_t left = inside ? x.low * n + c : 0, right = inside ? x.high * n + c : 0; \
					const float tl = (float)top[left], tr = (float)top[right];                            \
					const float bl = (float)bottom[left], br = (float)bottom[right];                      \
					const float high = tl + (tr - tl) * x.lerp, low = bl + (br - bl) * x.lerp;            \
					to[c] = inside ? high + (low - high) * y.lerp : work->outside;                        \
				}                                                                                         \
			}                                                                                             \
		}                                                                                                 \
	}
DFG_EACH_number(CROP)

/* Adds to images [first, last) the gradients of their boxes, in the order of the boxes. */
#define GRAD_IMAGE(NAME, name, type, ...)                                                \
	static void box_back_##name(const struct work *work, int64_t b, type *image)         \
	{                                                                                    \
		const int64_t n = work->channels, width = work->size[1] * n;                     \
		const float *from = work->grads + b * work->crop[0] * work->crop[1] * n;         \
		for (int64_t row = 0; row < work->crop[0]; row++) {                              \
			const struct source y = source_of(work, work->box + b * 4, 0, row);          \
			for (int64_t column = 0; column < work->crop[1]; column++, from += n) {      \
				const struct source x = source_of(work, work->box + b * 4, 1, column);   \
				for (int64_t c = 0; c < n && y.low >= 0 && x.low >= 0; c++) {            \
					const float low = from[c] * y.lerp, high = (1 - y.lerp) * from[c];   \
					image[y.low * width + x.low * n + c] += (type)((1 - x.lerp) * high); \
					image[y.low * width + x.high * n + c] += (type)(x.lerp * high);      \
					image[y.high * width + x.low * n + c] += (type)((1 - x.lerp) * low); \
					image[y.high * width + x.high * n + c] += (type)(x.lerp * low);      \
				}                                                                        \
			}                                                                            \
		}                                                                                \
	}                                                                                    \
	static void images_back_##name(void *arg, int64_t first, int64_t last)               \
	{                                                                                    \
		const struct work *work = arg;                                                   \
		const int64_t each = work->size[0] * work->size[1] * work->channels;             \
		type *out = work->out;                                                           \
		memset(out + first * each, 0, (size_t)((last - first) * each) * sizeof *out);    \
		for (int64_t b = 0; b < work->boxes; b++)                                        \
			if (work->of[b] >= first && work->of[b] < last)                              \
				box_back_##name(work, b, out + work->of[b] * each);                      \
	}
DFG_EACH_float(GRAD_IMAGE)

/* Adds the derivatives of a pixel's weighted sum over channels with respect to its row [0] and its column [1]. */
#define SLOPES(NAME, name, type, ...)                                                                                  \
	static void slopes_##name(                                                                                         \
		const struct work *work, int64_t image, const struct source source[2], const float *grad, double out_slope[2]) \
	{                                                                                                                  \
		const int64_t n = work->channels, width = work->size[1] * n;                                                   \
		const type *from = (const type *)work->image + image * work->size[0] * width;                                  \
		const type *top = from + source[0].low * width, *bottom = from + source[0].high * width;                       \
		const double y = (double)source[0].lerp, x = (double)source[1].lerp;                                           \
		for (int64_t c = 0; c < n; c++) {                                                                              \
			const int64_t left = source[1].low * n + c, right = source[1].high * n + c;                                \
			const double tl = (double)top[left], tr = (double)top[right];                                              \
			const double bl = (double)bottom[left], br = (double)bottom[right];                                        \
			out_slope[0] += (double)grad[c] * ((1 - x) * (bl - tl) + x * (br - tr));                                   \
			out_slope[1] += (double)grad[c] * ((1 - y) * (tr - tl) + y * (br - bl));                                   \
		}                                                                                                              \
	}
DFG_EACH_number(SLOPES)

/* Adds a pixel's slope to the two ends of the box along an axis. */
static void add_ends(const struct work *work, int axis, int64_t i, double slope, double *box)
{
	double most = (double)(work->size[axis] - 1), n = (double)work->crop[axis];
	double part = n > 1 ? (double)i / (n - 1) : 0.5;
	box[axis] += slope * most * (1 - part);
	box[axis + 2] += slope * most * part;
}

#define GRAD_BOXES(NAME, name, type, ...)                                                                        \
	static void boxes_back_##name(void *arg, int64_t first, int64_t last)                                        \
	{                                                                                                            \
		const struct work *work = arg;                                                                           \
		const int64_t row = work->crop[1] * work->channels;                                                      \
		for (int64_t b = first; b < last; b++) {                                                                 \
			double box[4] = {0};                                                                                 \
			for (int64_t i = 0; i < work->crop[0] * work->crop[1]; i++) {                                        \
				const int64_t at[2] = {i / work->crop[1], i % work->crop[1]};                                    \
				const struct source source[2] = {                                                                \
					source_of(work, work->box + b * 4, 0, at[0]), source_of(work, work->box + b * 4, 1, at[1])}; \
				const float *grad = work->grads + (b * work->crop[0] + at[0]) * row + at[1] * work->channels;    \
				double slope[2] = {0};                                                                           \
				if (source[0].low < 0 || source[1].low < 0)                                                      \
					continue;                                                                                    \
				slopes_##name(work, work->of[b], source, grad, slope);                                           \
				add_ends(work, 0, at[0], slope[0], box);                                                         \
				add_ends(work, 1, at[1], slope[1], box);                                                         \
			}                                                                                                    \
			for (int k = 0; k < 4; k++)                                                                          \
				((float *)work->out)[b * 4 + k] = (float)box[k];                                                 \
		}                                                                                                        \
	}
DFG_EACH_number(GRAD_BOXES)

static dfg_range_fn *const crop_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, crop)};
static dfg_range_fn *const boxes_back_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, boxes_back)};

static struct dfg_err *check_ranks(
	const struct dfg_shape *image, const struct dfg_shape *boxes, const struct dfg_shape *of)
{
	const struct dfg_shape four = {.rank = 2, .dim = {of->rank == 1 ? of->dim[0] : DFG_UNKNOWN, 4}};
	if (image->rank != 4)
		return DFG_ERR(DFG_DATA, "the image has shape %s, expected 4 dimensions", dfg_shape_words(image).s);
	if (of->rank != 1 || !dfg_shape_fits(boxes, &four))
		return DFG_ERR(DFG_DATA, "boxes have shape %s and box_ind %s, expected [n,4] and [n]", dfg_shape_words(boxes).s,
			dfg_shape_words(of).s);
	return NULL;
}

static struct dfg_err *check_boxes(struct dfg_kernel *ctx, int boxes, struct work *work)
{
	const struct dfg_tensor *of = dfg_kernel_input(ctx, boxes + 1);
	work->box = ctx->in[boxes]->data;
	work->of = of->data;
	work->boxes = of->shape.dim[0];
	for (int64_t b = 0; b < work->boxes; b++)
		if (work->of[b] < 0 || work->of[b] >= work->batch)
			return DFG_ERR(
				DFG_DATA, "box_ind contains %d, expected 0 to %lld", work->of[b], (long long)work->batch - 1);
	return NULL;
}

static void set_image(struct work *work, const struct dfg_shape *image)
{
	work->batch = image->dim[0];
	work->size[0] = image->dim[1];
	work->size[1] = image->dim[2];
	work->channels = image->dim[3];
}

static bool is_nearest(const struct dfg_resolved_node *call)
{
	return call->attr[0].s.length == strlen("nearest");
}

static struct dfg_err *crop_shape(struct dfg_infer *node)
{
	DFG_TRY(check_ranks(node->in[0], node->in[1], node->in[2]));
	DFG_TRY(dfg_need_rank(node, 3, 1));
	node->out[0] = (struct dfg_shape){.rank = 4, .dim = {node->in[2]->dim[0], 0, 0, node->in[0]->dim[3]}};
	for (int i = 0; i < 2; i++) {
		int64_t size = dfg_int_of(node, 3, i);
		if (size != DFG_NOT_KNOWN && size < 1)
			return DFG_ERR(DFG_DATA, "'crop_size' contains %lld, expected positive numbers", (long long)size);
		node->out[0].dim[i + 1] = size == DFG_NOT_KNOWN ? DFG_UNKNOWN : size;
	}
	return NULL;
}

static struct dfg_err *crop(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 0), *size = dfg_kernel_input(ctx, 3);
	struct work work = {
		.image = image->data, .nearest = is_nearest(ctx->call), .outside = (float)dfg_kernel_attr(ctx)[1].f};
	struct dfg_tensor *out;
	if (size->shape.rank != 1 || size->shape.dim[0] != 2)
		return DFG_ERR(DFG_DATA, "'crop_size' has shape %s, expected a vector of 2", dfg_shape_words(&size->shape).s);
	DFG_TRY(dfg_output_now(ctx, &out));
	set_image(&work, &image->shape);
	if (!work.size[0] || !work.size[1])
		return DFG_ERR(DFG_DATA, "the image is empty: %s", dfg_shape_words(&image->shape).s);
	DFG_TRY(check_boxes(ctx, 1, &work));
	for (int i = 0; i < 2; i++)
		work.crop[i] = out->shape.dim[i + 1];
	work.out = out->data;
	if (dfg_shape_count(&out->shape))
		dfg_kernel_ranges(ctx, work.boxes * work.crop[0], dfg_kernel_block(work.crop[1] * work.channels, WORK),
			crop_of[image->dtype], &work);
	return NULL;
}

static struct dfg_err *check_grads(const struct dfg_shape *grads, int64_t boxes, int64_t channels)
{
	const struct dfg_shape expected = {.rank = 4, .dim = {boxes, DFG_UNKNOWN, DFG_UNKNOWN, channels}};
	if (!dfg_shape_fits(grads, &expected))
		return DFG_ERR(
			DFG_DATA, "'grads' has shape %s, expected %s", dfg_shape_words(grads).s, dfg_shape_words(&expected).s);
	return NULL;
}

static void set_grads(struct work *work, const struct dfg_tensor *grads)
{
	work->grads = grads->data;
	work->crop[0] = grads->shape.dim[1];
	work->crop[1] = grads->shape.dim[2];
}

static struct dfg_err *image_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 3, 1));
	DFG_TRY(dfg_shape_of(node, 3, &node->out[0]));
	DFG_TRY(check_ranks(&node->out[0], node->in[1], node->in[2]));
	return check_grads(node->in[0], node->in[2]->dim[0], node->out[0].dim[3]);
}

static struct dfg_err *crop_grad_image(struct dfg_kernel *ctx)
{
	struct work work = {.nearest = is_nearest(ctx->call)};
	struct dfg_tensor *out;
	const struct dfg_tensor *size = dfg_kernel_input(ctx, 3);
	for (int64_t i = 0; i < dfg_shape_count(&size->shape); i++)
		if (dfg_tensor_int(size, i) < 1)
			return DFG_ERR(
				DFG_DATA, "'image_size' contains %lld, expected positive numbers", (long long)dfg_tensor_int(size, i));
	DFG_TRY(dfg_output_now(ctx, &out));
	set_image(&work, &out->shape);
	set_grads(&work, ctx->in[0]);
	DFG_TRY(check_boxes(ctx, 1, &work));
	work.out = out->data;
	dfg_kernel_ranges(ctx, work.batch, dfg_kernel_block(work.size[0] * work.size[1] * work.channels, WORK),
		out->dtype == DFG_F32 ? images_back_f32 : images_back_f64, &work);
	return NULL;
}

static struct dfg_err *boxes_shape(struct dfg_infer *node)
{
	DFG_TRY(check_ranks(node->in[1], node->in[2], node->in[3]));
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {node->in[3]->dim[0], 4}};
	return check_grads(node->in[0], node->in[3]->dim[0], node->in[1]->dim[3]);
}

static struct dfg_err *crop_grad_boxes(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *image = dfg_kernel_input(ctx, 1);
	struct work work = {.image = image->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	set_image(&work, &image->shape);
	if (!work.size[0] || !work.size[1])
		return DFG_ERR(DFG_DATA, "the image is empty: %s", dfg_shape_words(&image->shape).s);
	set_grads(&work, ctx->in[0]);
	DFG_TRY(check_boxes(ctx, 2, &work));
	work.out = out->data;
	dfg_kernel_ranges(ctx, work.boxes, dfg_kernel_block(work.crop[0] * work.crop[1] * work.channels, WORK),
		boxes_back_of[image->dtype], &work);
	return NULL;
}

#define METHOD "method: string = 'bilinear' in bilinear|nearest"

const struct dfg_op dfg_op_CropAndResize = {
	.name = "CropAndResize",
	.doc = "crops of images by boxes, resized to one size",
	.sig = "<T: number>(image: T, boxes: f32, box_ind: i32, crop_size: i32) -> (crops: f32)",
	.attr = {METHOD, "extrapolation_value: float = 0"},
	.shape = crop_shape,
	/* Pixels that are nearest ones do not change with the boxes. */
	.gradient =
		"static if method == \"bilinear\" { slope = CropAndResizeGradBoxes(dcrops, image, boxes, box_ind) }\n"
		"else { slope = ZerosLike(boxes) }\n"
		"dboxes = slope\n"
		"dimage = CropAndResizeGradImage(dcrops, boxes, box_ind, Shape(image), T = T, method = method)",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, crop)},
};

const struct dfg_op dfg_op_CropAndResizeGradImage = {
	.name = "CropAndResizeGradImage",
	.doc = "gradient of CropAndResize with respect to the images",
	.sig = "<T: float>(grads: f32, boxes: f32, box_ind: i32, image_size: i32) -> (output: T)",
	.attr = {METHOD},
	.flags = DFG_NO_GRADIENT,
	.shape = image_shape,
	.kernel = {DFG_EACH_float(DFG_FOR_DTYPE, crop_grad_image)},
};

const struct dfg_op dfg_op_CropAndResizeGradBoxes = {
	.name = "CropAndResizeGradBoxes",
	.doc = "gradient of CropAndResize with respect to the boxes",
	.sig = "<T: number>(grads: f32, image: T, boxes: f32, box_ind: i32) -> (output: f32)",
	.attr = {"method: string = 'bilinear' in bilinear"},
	.flags = DFG_NO_GRADIENT,
	.shape = boxes_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, crop_grad_boxes)},
};
