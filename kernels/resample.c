#include "kernels/math.h"
#include "kernels/resize.h"
#include "kernels/special.h"

#include <math.h>
#include <string.h>

/*
 * Resizing of images [batch, height, width, channels] by weighted sums over rows, then over columns. The rules of an op
 * become taps; its gradient is the same sum over the transposed taps. Coordinates and weights are f32.
 */
enum { SCALE = 2, TRANSLATION }; /* inputs, after those of kernels/resize.h */

/* Element i of an axis is the sum of weight[t] * in[index[t]] over t in [first[i], first[i + 1]). */
struct taps {
	int64_t count; /* of elements */
	int64_t *first, *index;
	float *weight;
};

/* How the taps of one axis are found. */
struct rule {
	/* Writes the taps of element i, unless index is NULL; returns their number. */
	int64_t (*tap)(const struct rule *rule, int64_t i, int64_t *index, float *weight);
	int64_t in, out;
	float scale, offset; /* in pixels of the input */
	bool half_pixels;
	float (*kernel)(float x, float radius);
	float radius, widened; /* of the kernel, and the factor by which it is stretched */
};

struct work {
	const void *in;
	void *out;
	float *row; /* a row of the input's width for each block of rows of the output */
	int64_t in_size[2], out_size[2], channels, block;
	struct taps axis[2];
};

static int64_t bounded(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Cubic convolution (Keys 1981) at distance x: a is its slope parameter. */
static float cubic(double a, float x)
{
	if (x <= 1)
		return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
	return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

/* Fractions are rounded to 1/1024. At the borders, weights outside the image are dropped if pixels have centers. */
static int64_t bicubic_tap(const struct rule *rule, int64_t i, int64_t *index, float *weight)
{
	float at = rule->half_pixels ? ((float)i + 0.5f) * rule->scale - 0.5f : (float)i * rule->scale;
	float low = floorf(at), part = rintf((at - low) * 1024) / 1024, sum = 0;
	double a = rule->half_pixels ? -0.5 : -0.75;
	const float distance[4] = {1 + part, part, 1 - part, 1 - part + 1};
	for (int64_t t = 0; t < 4 && index; t++) {
		int64_t wanted = (int64_t)low - 1 + t;
		index[t] = bounded(wanted, rule->in);
		weight[t] = rule->half_pixels && index[t] != wanted ? 0 : cubic(a, distance[t]);
		sum += weight[t];
	}
	for (int64_t t = 0; t < 4 && index && rule->half_pixels && fabsf(sum) >= 0x1p-116f; t++)
		weight[t] /= sum;
	return 4;
}

/* The part of each pixel that the element covers. With aligned corners a single pixel has scale 0: all is that pixel. */
static int64_t area_tap(const struct rule *rule, int64_t i, int64_t *index, float *weight)
{
	if (rule->scale == 0) {
		if (index)
			*index = 0, *weight = 1;
		return 1;
	}
	float low = (float)i * rule->scale, high = (float)(i + 1) * rule->scale;
	int64_t first = (int64_t)floorf(low), last = (int64_t)ceilf(high);
	for (int64_t p = first; p < last && index; p++) {
		float over = (float)p < low ? ((float)(p + 1) > high ? rule->scale : (float)(p + 1) - low)
									: ((float)(p + 1) > high ? high - (float)p : 1);
		*index++ = bounded(p, rule->in);
		*weight++ = over / rule->scale;
	}
	return last - first;
}

/* The kernel's values at the pixels around the element, normalised; none if the element is outside the image. */
static int64_t kernel_tap(const struct rule *rule, int64_t i, int64_t *index, float *weight)
{
	float at = ((float)i + 0.5f) * rule->scale + rule->offset, reach = rule->radius * rule->widened, sum = 0;
	if (!(at >= 0 && at <= (float)rule->in))
		return 0;
	float low = ceilf(at - reach - 0.5f), high = floorf(at + reach - 0.5f), most = (float)(rule->in - 1);
	int64_t first = bounded((int64_t)(low < 0 ? 0 : low > most ? most : low), rule->in);
	int64_t count = bounded((int64_t)(high < 0 ? 0 : high > most ? most : high), rule->in) + 1 - first;
	for (int64_t t = 0; t < count && index; t++) {
		index[t] = first + t;
		weight[t] = rule->kernel(fabsf(((float)index[t] + 0.5f - at) * (1 / rule->widened)), rule->radius);
		sum += weight[t];
	}
	for (int64_t t = 0; t < count && index; t++)
		weight[t] = fabsf(sum) >= 1000 * 0x1p-126f ? weight[t] / sum : 0;
	return count < 0 ? 0 : count;
}

static float lanczos(float x, float radius)
{
	const double pi = 0x1.921fb54442d18p1;
	double angle = pi * (double)x;
	if (x > radius)
		return 0;
	if (x <= 1e-3f)
		return 1;
	return (float)((double)radius * dfg_math_sin(angle) * dfg_math_sin(angle / (double)radius) / (angle * angle));
}

static float gaussian(float x, float radius)
{
	double sigma = (double)radius / 3;
	return x >= radius ? 0 : (float)exp_f64(-(double)x * (double)x / (2 * sigma * sigma));
}

static float box(float x, float radius)
{
	(void)radius;
	return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}

static float triangle(float x, float radius)
{
	return x < radius ? 1 - x : 0;
}

static float keys_cubic(float x, float radius)
{
	return x >= radius ? 0 : cubic(-0.5, x);
}

/* Mitchell and Netravali 1988, with B = C = 1/3. */
static float mitchell_cubic(float x, float radius)
{
	if (x >= radius)
		return 0;
	if (x >= 1)
		return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
	return ((7.0f / 6) * x - 2) * x * x + 8.0f / 9;
}

static const struct {
	const char *name;
	float (*kernel)(float x, float radius);
	float radius;
} kernels[] = {
	{"lanczos1", lanczos, 1},
	{"lanczos3", lanczos, 3},
	{"lanczos5", lanczos, 5},
	{"gaussian", gaussian, 1.5f},
	{"box", box, 1},
	{"triangle", triangle, 1},
	{"keyscubic", keys_cubic, 2},
	{"mitchellcubic", mitchell_cubic, 2},
};

static struct dfg_err *taps_new(struct dfg_kernel *ctx, int64_t elements, int64_t count, struct taps *out_taps)
{
	out_taps->count = elements;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)elements + 1) * sizeof *out_taps->first, (void **)&out_taps->first));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)count + 1) * sizeof *out_taps->index, (void **)&out_taps->index));
	return dfg_kernel_scratch(ctx, ((size_t)count + 1) * sizeof *out_taps->weight, (void **)&out_taps->weight);
}

static struct dfg_err *taps_of(struct dfg_kernel *ctx, const struct rule *rule, struct taps *out_taps)
{
	int64_t total = 0;
	for (int64_t i = 0; i < rule->out; i++) {
		total += rule->tap(rule, i, NULL, NULL);
		if (total > INT64_MAX / 64)
			return DFG_ERR(DFG_DATA, "resizing %lld pixels to %lld has too many weights", (long long)rule->in,
				(long long)rule->out);
	}
	DFG_TRY(taps_new(ctx, rule->out, total, out_taps));
	int64_t at = 0;
	for (int64_t i = 0; i < rule->out; i++) {
		out_taps->first[i] = at;
		at += rule->tap(rule, i, out_taps->index + at, out_taps->weight + at);
	}
	out_taps->first[rule->out] = at;
	return NULL;
}

/* The taps of the gradient: element j of `elements` has those elements that it contributed to, in ascending order. */
static struct dfg_err *transpose(struct dfg_kernel *ctx, int64_t elements, struct taps *taps)
{
	struct taps from = *taps;
	int64_t total = from.first[from.count];
	DFG_TRY(taps_new(ctx, elements, total, taps));
	memset(taps->first, 0, ((size_t)elements + 1) * sizeof *taps->first);
	for (int64_t t = 0; t < total; t++)
		taps->first[from.index[t]]++;
	for (int64_t j = 0, sum = 0; j <= elements; j++) {
		sum += taps->first[j];
		taps->first[j] = sum;
	}
	for (int64_t i = from.count - 1; i >= 0; i--)
		for (int64_t t = from.first[i + 1] - 1; t >= from.first[i]; t--) {
			int64_t to = --taps->first[from.index[t]];
			taps->index[to] = i;
			taps->weight[to] = from.weight[t];
		}
	return NULL;
}

/* Adds weight * x to n elements of sum. */
#define ADD_ROW(NAME, name, type, ...)                                                    \
	static void add_##name(int64_t n, float weight, const void *x, int64_t at, float *to) \
	{                                                                                     \
		const type *from = (const type *)x + at;                                          \
		for (int64_t i = 0; i < n; i++)                                                   \
			to[i] += weight * (float)from[i];                                             \
	}
DFG_EACH_number(ADD_ROW)

typedef void add_fn(int64_t n, float weight, const void *x, int64_t at, float *to);

/* The weighted sum of rows of the input for one row of the output, counted over all images. */
static void sum_rows(const struct work *work, add_fn *add, int64_t row, float *to)
{
	const struct taps *taps = &work->axis[0];
	int64_t n = work->in_size[1] * work->channels, image = row / work->out_size[0], y = row % work->out_size[0];
	memset(to, 0, (size_t)n * sizeof *to);
	for (int64_t t = taps->first[y]; t < taps->first[y + 1]; t++)
		if (taps->weight[t] != 0)
			add(n, taps->weight[t], work->in, (image * work->in_size[0] + taps->index[t]) * n, to);
}

static void sum_columns(const struct work *work, const float *from, float *to)
{
	const struct taps *taps = &work->axis[1];
	const int64_t n = work->channels;
	memset(to, 0, (size_t)(work->out_size[1] * n) * sizeof *to);
	for (int64_t x = 0; x < work->out_size[1]; x++, to += n)
		for (int64_t t = taps->first[x]; t < taps->first[x + 1]; t++)
			for (int64_t c = 0; c < n; c++)
				to[c] += taps->weight[t] * from[taps->index[t] * n + c];
}

#define RANGE(NAME, name, type, ...)                                                             \
	static void rows_##name(void *arg, int64_t first, int64_t last)                              \
	{                                                                                            \
		const struct work *work = arg;                                                           \
		float *row = work->row + first / work->block * work->in_size[1] * work->channels;        \
		for (int64_t i = first; i < last; i++) {                                                 \
			sum_rows(work, add_##name, i, row);                                                  \
			sum_columns(work, row, (float *)work->out + i * work->out_size[1] * work->channels); \
		}                                                                                        \
	}
DFG_EACH_number(RANGE)

static dfg_range_fn *const rows_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, rows)};

/* Sets the taps, scales and kernels of the rules of rows and columns, whose `in` and `out` the caller has set. */
typedef struct dfg_err *rules_fn(struct dfg_kernel *ctx, struct rule *rule);

static struct dfg_err *corner_rules(struct dfg_kernel *ctx, struct rule *rule)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	bool bicubic = ctx->call->op->attr[1];
	for (int i = 0; i < 2; i++) {
		rule[i].tap = bicubic ? bicubic_tap : area_tap;
		rule[i].half_pixels = bicubic && attr[1].b;
		rule[i].scale = attr[0].b && rule[i].out > 1 ? (float)(rule[i].in - 1) / (float)(rule[i].out - 1)
													 : (float)rule[i].in / (float)rule[i].out;
	}
	return NULL;
}

static struct dfg_err *pair(struct dfg_kernel *ctx, int i, float *out_pair)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, i);
	if (in->shape.rank != 1 || in->shape.dim[0] != 2)
		return DFG_ERR(DFG_DATA, "'%s' has shape %s, expected a vector of 2", ctx->call->signature->in[i].name,
			dfg_shape_words(&in->shape).s);
	memcpy(out_pair, in->data, 2 * sizeof *out_pair);
	return NULL;
}

static struct dfg_err *kernel_rules(struct dfg_kernel *ctx, struct rule *rule)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	float scale[2], translation[2];
	size_t k = 0;
	while (strlen(kernels[k].name) != attr[0].s.length || memcmp(kernels[k].name, attr[0].s.s, attr[0].s.length) != 0)
		k++;
	DFG_TRY(pair(ctx, SCALE, scale));
	DFG_TRY(pair(ctx, TRANSLATION, translation));
	for (int i = 0; i < 2; i++) {
		if (!(scale[i] > 0))
			return DFG_ERR(DFG_DATA, "'scale' contains %g, expected positive numbers", (double)scale[i]);
		float inverse = (float)(1.0 / (double)scale[i]);
		rule[i].tap = kernel_tap;
		rule[i].scale = inverse;
		rule[i].offset = -inverse * translation[i];
		rule[i].kernel = kernels[k].kernel;
		rule[i].radius = kernels[k].radius;
		rule[i].widened = attr[1].b && inverse > 1 ? inverse : 1;
	}
	return NULL;
}

static struct dfg_err *run_rows(struct dfg_kernel *ctx, struct work *work, int64_t batch, dfg_range_fn *range)
{
	int64_t rows = batch * work->out_size[0], each = work->out_size[1] * work->channels * 4;
	work->block = dfg_kernel_block(each, 32 * 1024);
	size_t blocks = (size_t)((rows + work->block - 1) / work->block);
	struct dfg_shape buffer = {.rank = 3, .dim = {(int64_t)blocks, work->in_size[1], work->channels}};
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&buffer, DFG_F32, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&work->row));
	dfg_kernel_ranges(ctx, rows, work->block, range, work);
	return NULL;
}

static struct dfg_err *resize(struct dfg_kernel *ctx, rules_fn *rules)
{
	const struct dfg_tensor *images = dfg_kernel_input(ctx, DFG_RESIZE_IMAGES);
	struct work work = {.in = images->data};
	struct rule rule[2] = {0};
	struct dfg_shape shape = images->shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_resize_check(ctx->call, &images->shape));
	DFG_TRY(dfg_resize_read_size(ctx, &shape.dim[1]));
	for (int i = 0; i < 2; i++) {
		work.in_size[i] = rule[i].in = images->shape.dim[i + 1];
		work.out_size[i] = rule[i].out = shape.dim[i + 1];
		if (!rule[i].in)
			return DFG_ERR(DFG_DATA, "the image is empty: %s", dfg_shape_words(&images->shape).s);
	}
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	DFG_TRY(rules(ctx, rule));
	work.out = out->data;
	work.channels = shape.dim[3];
	if (!dfg_shape_count(&shape))
		return NULL;
	for (int i = 0; i < 2; i++)
		DFG_TRY(taps_of(ctx, &rule[i], &work.axis[i]));
	return run_rows(ctx, &work, shape.dim[0], rows_of[images->dtype]);
}

/* An f64 gradient is a widened sum of f32. */
static struct dfg_err *resize_grad(struct dfg_kernel *ctx, rules_fn *rules)
{
	const struct dfg_tensor *grads = dfg_kernel_input(ctx, 0), *image = dfg_kernel_input(ctx, 1);
	struct work work = {.in = grads->data, .channels = image->shape.dim[3]};
	struct rule rule[2] = {0};
	struct dfg_tensor *out;
	DFG_TRY(dfg_resize_check_gradient(&grads->shape, &image->shape));
	DFG_TRY(dfg_resize_check(ctx->call, &image->shape));
	for (int i = 0; i < 2; i++) {
		work.out_size[i] = rule[i].in = image->shape.dim[i + 1];
		work.in_size[i] = rule[i].out = grads->shape.dim[i + 1];
	}
	DFG_TRY(dfg_kernel_output(ctx, 0, &image->shape, &out));
	DFG_TRY(rules(ctx, rule));
	if (!dfg_shape_count(&image->shape))
		return NULL;
	for (int i = 0; i < 2; i++) {
		DFG_TRY(taps_of(ctx, &rule[i], &work.axis[i]));
		DFG_TRY(transpose(ctx, rule[i].in, &work.axis[i]));
	}
	size_t count = (size_t)dfg_shape_count(&image->shape);
	work.out = out->data;
	if (out->dtype != DFG_F32)
		DFG_TRY(dfg_kernel_scratch(ctx, count * sizeof(float), &work.out));
	DFG_TRY(run_rows(ctx, &work, image->shape.dim[0], rows_f32));
	if (out->dtype != DFG_F32)
		dfg_convert(out->dtype, out->data, DFG_F32, work.out, (int64_t)count);
	return NULL;
}

static struct dfg_err *resize_corners(struct dfg_kernel *ctx)
{
	return resize(ctx, corner_rules);
}

static struct dfg_err *resize_corners_grad(struct dfg_kernel *ctx)
{
	return resize_grad(ctx, corner_rules);
}

static struct dfg_err *resize_kernel(struct dfg_kernel *ctx)
{
	return resize(ctx, kernel_rules);
}

static struct dfg_err *resize_kernel_grad(struct dfg_kernel *ctx)
{
	return resize_grad(ctx, kernel_rules);
}

#define ATTRS                                                             \
	{                                                                     \
		"align_corners: bool = false", "half_pixel_centers: bool = false" \
	}
#define SAME "align_corners = align_corners, half_pixel_centers = half_pixel_centers)"
#define KERNEL_ATTRS                                                                \
	{                                                                               \
		"kernel_type: string = 'lanczos3' in "                                      \
		"lanczos1|lanczos3|lanczos5|gaussian|box|triangle|keyscubic|mitchellcubic", \
			"antialias: bool = true"                                                \
	}
#define SAME_KERNEL "scale, translation, kernel_type = kernel_type, antialias = antialias)"

const struct dfg_op dfg_op_ResizeBicubic = {
	.name = "ResizeBicubic",
	.doc = "images of another size, with cubic interpolation between pixels",
	.sig = "<T: number>(images: T, size: i32) -> (resized_images: f32)",
	.attr = ATTRS,
	.shape = dfg_resize_shape,
	.gradient = "dimages = ResizeBicubicGrad(dresized_images, images, " SAME,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, resize_corners)},
};

const struct dfg_op dfg_op_ResizeBicubicGrad = {
	.name = "ResizeBicubicGrad",
	.doc = "gradient of ResizeBicubic",
	.sig = "<T: float>(grads: f32, original_image: T) -> (output: T)",
	.attr = ATTRS,
	.shape = dfg_resize_gradient_shape,
	.gradient = "dgrads = ResizeBicubic(doutput, Slice(Shape(grads), [1], [2]), " SAME,
	.kernel = {[DFG_F32] = resize_corners_grad, [DFG_F64] = resize_corners_grad},
};

const struct dfg_op dfg_op_ResizeArea = {
	.name = "ResizeArea",
	.doc = "images of another size, each pixel the mean of the area that it covers",
	.sig = "<T: number>(images: T, size: i32) -> (resized_images: f32)",
	.attr = {"align_corners: bool = false"},
	.flags = DFG_NO_GRADIENT,
	.shape = dfg_resize_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, resize_corners)},
};

const struct dfg_op dfg_op_ScaleAndTranslate = {
	.name = "ScaleAndTranslate",
	.doc = "images of another size, scaled and moved, with a kernel that weighs pixels by their distance",
	.sig = "<T: number>(images: T, size: i32, scale: f32, translation: f32) -> (resized_images: f32)",
	.attr = KERNEL_ATTRS,
	.shape = dfg_resize_shape,
	.gradient = "dimages = ScaleAndTranslateGrad(dresized_images, images, " SAME_KERNEL,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, resize_kernel)},
};

const struct dfg_op dfg_op_ScaleAndTranslateGrad = {
	.name = "ScaleAndTranslateGrad",
	.doc = "gradient of ScaleAndTranslate",
	.sig = "<T: f32>(grads: T, original_image: T, scale: f32, translation: f32) -> (output: T)",
	.attr = KERNEL_ATTRS,
	.shape = dfg_resize_gradient_shape,
	.gradient = "dgrads = ScaleAndTranslate(doutput, Slice(Shape(grads), [1], [2]), " SAME_KERNEL,
	.kernel = {[DFG_F32] = resize_kernel_grad},
};
