#include "kernels/resize.h"

#include <math.h>
#include <string.h>

/* Resizing of images [batch, height, width, channels]. Coordinates and weights are f32 for any type of elements. */
enum { ALIGN, HALF }; /* attributes */

/* The source of an element of a new row or column: between elements low and high of the old one, at fraction lerp. */
struct source {
	int64_t low, high;
	float lerp;
};

struct work {
	const void *in;
	void *out;
	struct source *rows, *columns;
	int64_t small[2], large[2], channels; /* heights and widths; the large image is computed from the small one */
	enum dfg_dtype dtype;
};

static bool is_set(const struct dfg_resolved_node *call, const char *attr)
{
	int i = dfg_op_attr(call->signature, attr);
	return i >= 0 && call->attr[i].b;
}

struct dfg_err *dfg_resize_check(const struct dfg_resolved_node *call, const struct dfg_shape *image)
{
	if (image->rank != 4)
		return DFG_ERR(DFG_DATA, "the image has shape %s, expected 4 dimensions", dfg_shape_words(image).s);
	if (is_set(call, "align_corners") && is_set(call, "half_pixel_centers"))
		return DFG_ERR(DFG_DATA, "align_corners and half_pixel_centers cannot both be set");
	return NULL;
}

struct dfg_err *dfg_resize_shape(struct dfg_infer *node)
{
	const struct dfg_known_value *known = node->known[DFG_RESIZE_SIZE];
	DFG_TRY(dfg_resize_check(node->call, node->in[DFG_RESIZE_IMAGES]));
	node->out[0] = *node->in[DFG_RESIZE_IMAGES];
	for (int i = 0; i < 2; i++)
		node->out[0].dim[i + 1] = known && known->count == 2 && known->v[i] > 0 ? known->v[i] : DFG_UNKNOWN;
	return NULL;
}

struct dfg_err *dfg_resize_check_gradient(const struct dfg_shape *grads, const struct dfg_shape *image)
{
	if (grads->rank != 4 || image->rank != 4 ||
		!dfg_shape_fits(&DFG_SHAPE_VECTOR(grads->dim[0]), &DFG_SHAPE_VECTOR(image->dim[0])) ||
		!dfg_shape_fits(&DFG_SHAPE_VECTOR(grads->dim[3]), &DFG_SHAPE_VECTOR(image->dim[3])))
		return DFG_ERR(DFG_DATA, "gradient %s and image %s differ in batch or channels", dfg_shape_words(grads).s,
			dfg_shape_words(image).s);
	return NULL;
}

struct dfg_err *dfg_resize_gradient_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_resize_check_gradient(node->in[0], node->in[1]));
	node->out[0] = *node->in[1];
	return NULL;
}

struct dfg_err *dfg_resize_read_size(struct dfg_kernel *ctx, int64_t out_size[2])
{
	const struct dfg_tensor *size = dfg_kernel_input(ctx, DFG_RESIZE_SIZE);
	if (size->shape.rank != 1 || size->shape.dim[0] != 2)
		return DFG_ERR(DFG_DATA, "'size' has shape %s, expected a vector of 2", dfg_shape_words(&size->shape).s);
	for (int i = 0; i < 2; i++) {
		out_size[i] = dfg_tensor_int(size, i);
		if (out_size[i] < 1)
			return DFG_ERR(DFG_DATA, "'size' contains %lld, expected positive numbers", (long long)out_size[i]);
	}
	return NULL;
}

/* The distance of new elements in pixels of the old row. */
static float scale_of(const union dfg_value *attr, int64_t in, int64_t out)
{
	return attr[ALIGN].b && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
}

static void linear_spots(const union dfg_value *attr, int64_t in, int64_t out, struct source *sources)
{
	float scale = scale_of(attr, in, out);
	for (int64_t i = 0; i < out; i++) {
		float at = attr[HALF].b ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale, whole = floorf(at);
		int64_t low = whole < 0 ? 0 : (int64_t)whole, high = (int64_t)ceilf(at);
		high = high < in - 1 ? high : in - 1;
		sources[i] = (struct source){low < high ? low : high, high, at - whole};
	}
}

static void nearest_spots(const union dfg_value *attr, int64_t in, int64_t out, struct source *sources)
{
	float scale = scale_of(attr, in, out);
	for (int64_t i = 0; i < out; i++) {
		float at = attr[HALF].b ? ((float)i + 0.5f) * scale : (float)i * scale;
		int64_t whole = (int64_t)(attr[ALIGN].b ? roundf(at) : floorf(at));
		whole = whole < in - 1 ? whole : in - 1;
		sources[i] = (struct source){whole < 0 ? 0 : whole, 0, 0};
	}
}

/* Sets sizes and sources. `small` is the shape of the image that sources refer to, in the op and in its gradient. */
static struct dfg_err *prepare(struct dfg_kernel *ctx, const struct dfg_shape *small, const struct dfg_shape *large,
	void (*sources)(const union dfg_value *attr, int64_t in, int64_t out, struct source *sources), struct work *work)
{
	work->channels = small->dim[3];
	for (int i = 0; i < 2; i++) {
		work->small[i] = small->dim[i + 1];
		work->large[i] = large->dim[i + 1];
	}
	if (dfg_shape_count(large) && !(work->small[0] && work->small[1]))
		return DFG_ERR(DFG_DATA, "the image is empty: %s", dfg_shape_words(small).s);
	DFG_TRY(dfg_kernel_scratch(
		ctx, (size_t)(work->large[0] + work->large[1] + 1) * sizeof *work->rows, (void **)&work->rows));
	work->columns = work->rows + work->large[0];
	sources(dfg_kernel_attr(ctx), work->small[0], work->large[0], work->rows);
	sources(dfg_kernel_attr(ctx), work->small[1], work->large[1], work->columns);
	return NULL;
}

static int64_t block_of(const struct work *work, int64_t rows)
{
	return dfg_kernel_block(rows * work->large[1] * work->channels, 16 * 1024);
}

/* Computes rows [first, last) of the large images. */
#define BILINEAR(NAME, name, type, ...)                                                                 \
	static void bilinear_##name(void *arg, int64_t first, int64_t last)                                 \
	{                                                                                                   \
		const struct work *work = arg;                                                                  \
		const int64_t n = work->channels, width = work->small[1] * n;                                   \
		float *to = (float *)work->out + first * work->large[1] * n;                                    \
		for (int64_t row = first; row < last; row++) {                                                  \
			const struct source *y = &work->rows[row % work->large[0]];                                 \
			const type *image = (const type *)work->in + row / work->large[0] * work->small[0] * width; \
			const type *top = image + y->low * width, *bottom = image + y->high * width;                \
			for (int64_t column = 0; column < work->large[1]; column++, to += n) {                      \
				const struct source *x = &work->columns[column];                                        \
				const int64_t left = x->low * n, right = x->high * n;                                   \
				for (int64_t c = 0; c < n; c++) {                                                       \
					const float tl = (float)top[left + c], tr = (float)top[right + c];                  \
					const float bl = (float)bottom[left + c], br = (float)bottom[right + c];            \
					const float high = tl + (tr - tl) * x->lerp, low = bl + (br - bl) * x->lerp;        \
					to[c] = high + (low - high) * y->lerp;                                              \
				}                                                                                       \
			}                                                                                           \
		}                                                                                               \
	}
DFG_EACH_number(BILINEAR)

static dfg_range_fn *const bilinear_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, bilinear)};

static struct dfg_err *resize(struct dfg_kernel *ctx,
	void (*sources)(const union dfg_value *, int64_t, int64_t, struct source *), dfg_range_fn *range)
{
	const struct dfg_tensor *images = dfg_kernel_input(ctx, DFG_RESIZE_IMAGES);
	struct work work = {.in = images->data, .dtype = images->dtype};
	struct dfg_tensor *out;
	struct dfg_shape shape = images->shape;
	DFG_TRY(dfg_resize_check(ctx->call, &images->shape));
	DFG_TRY(dfg_resize_read_size(ctx, &shape.dim[1]));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(prepare(ctx, &images->shape, &shape, sources, &work));
	work.out = out->data;
	if (dfg_shape_count(&shape))
		dfg_kernel_ranges(ctx, shape.dim[0] * shape.dim[1], block_of(&work, 1), range, &work);
	return NULL;
}

static struct dfg_err *bilinear(struct dfg_kernel *ctx)
{
	return resize(ctx, linear_spots, bilinear_of[ctx->in[DFG_RESIZE_IMAGES]->dtype]);
}

/* Computes whole images: the cotangent of a pixel is the weighted sum of those of the pixels that it contributed to. */
#define BILINEAR_GRAD(NAME, name, type, ...)                                                       \
	static void bilinear_grad_##name(void *arg, int64_t first, int64_t last)                       \
	{                                                                                              \
		const struct work *work = arg;                                                             \
		const int64_t n = work->channels, width = work->small[1] * n;                              \
		const float *from = (const float *)work->in + first * work->large[0] * work->large[1] * n; \
		type *to = (type *)work->out + first * work->small[0] * width;                             \
		memset(to, 0, (size_t)((last - first) * work->small[0] * width) * sizeof *to);             \
		for (int64_t image = first; image < last; image++, to += work->small[0] * width)           \
			for (int64_t row = 0; row < work->large[0]; row++)                                     \
				for (int64_t column = 0; column < work->large[1]; column++, from += n) {           \
					const struct source *y = &work->rows[row], *x = &work->columns[column];        \
					const float down = y->lerp, up = 1 - down, right = x->lerp, left = 1 - right;  \
					for (int64_t c = 0; c < n; c++) {                                              \
						to[y->low * width + x->low * n + c] += (type)(from[c] * up * left);        \
						to[y->low * width + x->high * n + c] += (type)(from[c] * up * right);      \
						to[y->high * width + x->low * n + c] += (type)(from[c] * down * left);     \
						to[y->high * width + x->high * n + c] += (type)(from[c] * down * right);   \
					}                                                                              \
				}                                                                                  \
	}
DFG_EACH_float(BILINEAR_GRAD)

static struct dfg_err *bilinear_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *grads = dfg_kernel_input(ctx, 0), *image = dfg_kernel_input(ctx, 1);
	struct work work = {.in = grads->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_resize_check_gradient(&grads->shape, &image->shape));
	DFG_TRY(dfg_resize_check(ctx->call, &image->shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &image->shape, &out));
	DFG_TRY(prepare(ctx, &image->shape, &grads->shape, linear_spots, &work));
	work.out = out->data;
	dfg_kernel_ranges(ctx, image->shape.dim[0], block_of(&work, work.large[0]),
		out->dtype == DFG_F32 ? bilinear_grad_f32 : bilinear_grad_f64, &work);
	return NULL;
}

static void nearest_rows(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const size_t pixel = (size_t)work->channels * dfg_dtype_size(work->dtype);
	char *to = (char *)work->out + (size_t)(first * work->large[1]) * pixel;
	for (int64_t row = first; row < last; row++) {
		int64_t from = (row / work->large[0] * work->small[0] + work->rows[row % work->large[0]].low) * work->small[1];
		for (int64_t column = 0; column < work->large[1]; column++, to += pixel)
			memcpy(to, (const char *)work->in + (size_t)(from + work->columns[column].low) * pixel, pixel);
	}
}

static struct dfg_err *nearest(struct dfg_kernel *ctx)
{
	return resize(ctx, nearest_spots, nearest_rows);
}

#define NEAREST_GRAD(NAME, name, type, ...)                                                             \
	static void nearest_grad_##name(void *arg, int64_t first, int64_t last)                             \
	{                                                                                                   \
		const struct work *work = arg;                                                                  \
		const int64_t n = work->channels, width = work->small[1] * n;                                   \
		const type *from = (const type *)work->in + first * work->large[0] * work->large[1] * n;        \
		type *to = (type *)work->out + first * work->small[0] * width;                                  \
		memset(to, 0, (size_t)((last - first) * work->small[0] * width) * sizeof *to);                  \
		for (int64_t image = first; image < last; image++, to += work->small[0] * width)                \
			for (int64_t row = 0; row < work->large[0]; row++)                                          \
				for (int64_t column = 0; column < work->large[1]; column++, from += n)                  \
					for (int64_t c = 0; c < n; c++)                                                     \
						to[work->rows[row].low * width + work->columns[column].low * n + c] += from[c]; \
	}
DFG_EACH_number(NEAREST_GRAD)

static dfg_range_fn *const nearest_grad_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, nearest_grad)};

static struct dfg_err *nearest_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *grads = dfg_kernel_input(ctx, 0);
	struct work work = {.in = grads->data};
	struct dfg_tensor *out;
	struct dfg_shape shape = grads->shape;
	DFG_TRY(dfg_resize_check(ctx->call, &grads->shape));
	DFG_TRY(dfg_resize_read_size(ctx, &shape.dim[1]));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(prepare(ctx, &shape, &grads->shape, nearest_spots, &work));
	work.out = out->data;
	dfg_kernel_ranges(ctx, shape.dim[0], block_of(&work, work.large[0]), nearest_grad_of[out->dtype], &work);
	return NULL;
}

#define ATTRS                                                                                \
	{                                                                                        \
		[ALIGN] = "align_corners: bool = false", [HALF] = "half_pixel_centers: bool = false" \
	}
#define SAME "align_corners = align_corners, half_pixel_centers = half_pixel_centers)"

const struct dfg_op dfg_op_ResizeBilinear = {
	.name = "ResizeBilinear",
	.doc = "images of another size, with linear interpolation between pixels",
	.sig = "<T: number>(images: T, size: i32) -> (resized_images: f32)",
	.attr = ATTRS,
	.shape = dfg_resize_shape,
	.gradient = "dimages = ResizeBilinearGrad(dresized_images, images, " SAME,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, bilinear)},
};

const struct dfg_op dfg_op_ResizeBilinearGrad = {
	.name = "ResizeBilinearGrad",
	.doc = "gradient of ResizeBilinear",
	.sig = "<T: float>(grads: f32, original_image: T) -> (output: T)",
	.attr = ATTRS,
	.gradient = "dgrads = ResizeBilinear(doutput, Slice(Shape(grads), [1], [2]), " SAME,
	.shape = dfg_resize_gradient_shape,
	.kernel = {[DFG_F32] = bilinear_grad, [DFG_F64] = bilinear_grad},
};

const struct dfg_op dfg_op_ResizeNearestNeighbor = {
	.name = "ResizeNearestNeighbor",
	.doc = "images of another size, each pixel that of the nearest old pixel",
	.sig = "<T: number>(images: T, size: i32) -> (resized_images: T)",
	.attr = ATTRS,
	.shape = dfg_resize_shape,
	.gradient = "dimages = ResizeNearestNeighborGrad(dresized_images, Slice(Shape(images), [1], [2]), " SAME,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, nearest)},
};

const struct dfg_op dfg_op_ResizeNearestNeighborGrad = {
	.name = "ResizeNearestNeighborGrad",
	.doc = "gradient of ResizeNearestNeighbor",
	.sig = "<T: number>(grads: T, size: i32) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_NO_GRADIENT,
	.shape = dfg_resize_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, nearest_grad)},
};
