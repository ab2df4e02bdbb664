#include "lib/base/vector.h"
#include "kernels/gradient_helpers.h"
#include "lib/graph/kernel.h"
#include "kernels/row_rules.h"

#include <math.h>
#include <string.h>

/*
 * Batch normalisation, in f32 (Ioffe and Szegedy 2015). Each channel is summed in blocks of rows; the sums of the
 * blocks are added in order, in f64. The gradient's reserve spaces are the mean and the variance that the forward op
 * used.
 */
enum { EPSILON, FORMAT, TRAINING, FACTOR }; /* attributes; FACTOR of the forward ops only */
enum { X, SCALE, OFFSET, MEAN, VARIANCE };  /* inputs */
enum { Y, BATCH_MEAN, BATCH_VARIANCE, SAVED_MEAN, SAVED_VARIANCE, THIRD }; /* outputs */

/* An image as `outer` rows of all channels, each of which has `inner` adjacent elements. */
struct layout {
	int64_t outer, channels, inner, each; /* each: elements of a channel in the whole image */
};

static int channel_dim(const struct dfg_resolved_node *call, int rank)
{
	const struct dfg_string format = call->attr[FORMAT].s;
	return format.s[1] == 'C' ? 1 : rank - 1;
}

static struct dfg_err *find_channels(
	const struct dfg_resolved_node *call, const struct dfg_shape *x, int64_t *out_channels)
{
	int rank = (int)call->attr[FORMAT].s.length;
	if (x->rank != rank)
		return DFG_ERR(DFG_DATA, "the image has shape %s, expected %d dimensions", dfg_shape_words(x).s, rank);
	*out_channels = x->dim[channel_dim(call, rank)];
	return NULL;
}

/* Input `name` must have one element a channel; if `or_empty`, it may also be empty. */
static struct dfg_err *check_vector(const struct dfg_shape *vector, int64_t channels, bool or_empty, const char *name)
{
	const struct dfg_shape all = DFG_SHAPE_VECTOR(channels), empty = DFG_SHAPE_VECTOR(0);
	if (!dfg_shape_fits(vector, &all) && !(or_empty && dfg_shape_fits(vector, &empty)))
		return DFG_ERR(
			DFG_DATA, "'%s' has shape %s, expected %s", name, dfg_shape_words(vector).s, dfg_shape_words(&all).s);
	return NULL;
}

static struct dfg_err *check_forward(
	const struct dfg_resolved_node *call, const struct dfg_shape *const *in, int64_t *out_channels)
{
	DFG_TRY(find_channels(call, in[X], out_channels));
	bool or_empty = call->attr[TRAINING].b && call->attr[FACTOR].f == 1;
	for (int i = SCALE; i <= VARIANCE; i++)
		DFG_TRY(check_vector(in[i], *out_channels, i >= MEAN && or_empty, call->signature->in[i].name));
	return NULL;
}

static struct dfg_err *forward_shape(struct dfg_infer *node)
{
	int64_t channels;
	DFG_TRY(check_forward(node->call, node->in, &channels));
	node->out[Y] = *node->in[X];
	for (int i = BATCH_MEAN; i <= SAVED_VARIANCE; i++)
		node->out[i] = DFG_SHAPE_VECTOR(channels);
	if (node->call->n_out > THIRD)
		node->out[THIRD] = DFG_SHAPE_VECTOR(0);
	return NULL;
}

static struct layout layout_of(const struct dfg_resolved_node *call, const struct dfg_shape *x)
{
	int dim = channel_dim(call, x->rank);
	struct layout layout = {.outer = 1, .channels = x->dim[dim], .inner = 1};
	for (int i = 0; i < dim; i++)
		layout.outer *= x->dim[i];
	for (int i = dim + 1; i < x->rank; i++)
		layout.inner *= x->dim[i];
	layout.each = layout.outer * layout.inner;
	return layout;
}

/* Arguments of the loops. An output is (x - less) * by + plus with the values of its channel, or dy in place of x. */
struct work {
	struct layout layout;
	const float *x, *dy;
	float *out;
	double *sums;                  /* two for each channel of each block */
	const float *less, *by, *plus; /* one for each channel */
	int64_t rows;                  /* rows in a block */
};

enum { BLOCK = 16 * 1024 };

/* A function that sums two expressions of x and dy over a block of rows. */
#define SUMS(name, first_term, second_term)                                                                 \
	DFG_CLONED(void, name, (void *arg, int64_t first, int64_t last), (arg, first, last))                    \
	{                                                                                                       \
		const struct work *work = arg;                                                                      \
		const struct layout *l = &work->layout;                                                             \
		double *a = work->sums + first / work->rows * 2 * l->channels, *b = a + l->channels;                \
		memset(a, 0, 2 * (size_t)l->channels * sizeof *a);                                                  \
		for (int64_t row = first; row < last; row++)                                                        \
			for (int64_t c = 0; c < (l->inner == 1 ? 1 : l->channels); c++) {                               \
				const int64_t at = (row * l->channels + c) * l->inner;                                      \
				const int64_t step = l->inner == 1, n = step ? l->channels : l->inner;                      \
				for (int64_t i = 0; i < n; i++) {                                                           \
					const double x = (double)work->x[at + i], dy = work->dy ? (double)work->dy[at + i] : 0; \
					const double m = (double)work->less[c + i * step];                                      \
					a[c + i * step] += first_term;                                                          \
					b[c + i * step] += second_term;                                                         \
					(void)x, (void)dy, (void)m;                                                             \
				}                                                                                           \
			}                                                                                               \
	}
SUMS(sum_moments, x - m, (x - m) * (x - m))
SUMS(sum_gradients, dy, dy *(x - m))

/* Adds the sums of all blocks to those of the first. */
static struct dfg_err *sum(
	struct dfg_kernel *ctx, struct work *work, void (*range)(void *arg, int64_t first, int64_t last))
{
	const struct layout *l = &work->layout;
	int64_t row = l->channels * l->inner, two = 2 * l->channels;
	work->rows = row < BLOCK ? BLOCK / (row > 0 ? row : 1) : 1;
	int64_t blocks = (l->outer + work->rows - 1) / work->rows;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)((blocks + 1) * two) * sizeof *work->sums, (void **)&work->sums));
	memset(work->sums, 0, (size_t)two * sizeof *work->sums);
	dfg_kernel_ranges(ctx, l->outer, work->rows, range, work);
	for (int64_t block = 1; block < blocks; block++)
		for (int64_t i = 0; i < two; i++)
			work->sums[i] += work->sums[block * two + i];
	return NULL;
}

/* A function that computes each element from x, dy and the channel's less (m), by (k) and plus (p). */
#define APPLY(name, value)                                                                                       \
	DFG_CLONED(void, name, (void *arg, int64_t first, int64_t last), (arg, first, last))                         \
	{                                                                                                            \
		const struct work *work = arg;                                                                           \
		const struct layout *l = &work->layout;                                                                  \
		const int64_t step = l->inner == 1, n = step ? l->channels : l->inner, two = l->channels;                \
		for (int64_t row = first; row < last; row++) {                                                           \
			const int64_t c = step ? 0 : row % l->channels;                                                      \
			const float *less = work->less + c, *by = work->by + c, *plus = work->plus + c;                      \
			const float *from = work->x + row * n, *grad = work->dy ? work->dy + row * n : from;                 \
			float *to = work->out + row * n;                                                                     \
			DFG_INDEPENDENT for (int64_t i = 0; i < n; i++)                                                      \
			{                                                                                                    \
				const float x = from[i], dy = grad[i], m = less[i * step], k = by[i * step], p = plus[i * step]; \
				const float also = plus[two + i * step];                                                         \
				to[i] = value;                                                                                   \
				(void)x, (void)dy, (void)m, (void)k, (void)p, (void)also;                                        \
			}                                                                                                    \
		}                                                                                                        \
	}
APPLY(normalise, (x - m) * k + p)
APPLY(gradient, k *(dy - p - (x - m) * also))

static void apply(struct dfg_kernel *ctx, struct work *work, void (*range)(void *arg, int64_t first, int64_t last))
{
	const struct layout *l = &work->layout;
	int64_t n = l->inner == 1 ? l->channels : l->inner, rows = l->inner == 1 ? l->outer : l->outer * l->channels;
	if (n)
		dfg_kernel_ranges(ctx, rows, n < BLOCK ? BLOCK / n : 1, range, work);
}

/*
 * Mean and variance of each channel. The first element is subtracted from all before they are summed: large means would
 * cost digits.
 */
static struct dfg_err *moments(struct dfg_kernel *ctx, struct work *work, float *mean, float *variance)
{
	const struct layout *l = &work->layout;
	float *shift;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(l->channels + 1) * sizeof *shift, (void **)&shift));
	for (int64_t c = 0; c < l->channels; c++)
		shift[c] = l->each ? work->x[c * l->inner] : 0;
	work->less = shift;
	DFG_TRY(sum(ctx, work, sum_moments));
	for (int64_t c = 0; c < l->channels; c++) {
		double n = (double)l->each, off = l->each ? work->sums[c] / n : NAN;
		double spread = l->each ? work->sums[l->channels + c] / n - off * off : NAN;
		mean[c] = (float)((double)shift[c] + off);
		variance[c] = (float)(spread < 0 ? 0 : spread);
	}
	return NULL;
}

static struct dfg_err *outputs(struct dfg_kernel *ctx, const struct dfg_shape *x, int64_t channels, float **data)
{
	struct dfg_tensor *out;
	for (int i = 0; i < ctx->call->n_out; i++) {
		const struct dfg_shape vector = DFG_SHAPE_VECTOR(i < THIRD ? channels : 0);
		DFG_TRY(dfg_kernel_output(ctx, i, i == Y ? x : &vector, &out));
		data[i] = out->data;
	}
	return NULL;
}

static struct dfg_err *forward(struct dfg_kernel *ctx)
{
	const struct dfg_shape *in[VARIANCE + 1];
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	int64_t channels;
	float *out[THIRD + 1], *factor;
	for (int i = X; i <= VARIANCE; i++)
		in[i] = &ctx->in[i]->shape;
	DFG_TRY(check_forward(ctx->call, in, &channels));
	DFG_TRY(outputs(ctx, in[X], channels, out));
	DFG_TRY(dfg_kernel_scratch(ctx, 3 * (size_t)(channels + 1) * sizeof *factor, (void **)&factor));
	struct work work = {.layout = layout_of(ctx->call, in[X]), .x = ctx->in[X]->data, .out = out[Y]};
	const float *scale = ctx->in[SCALE]->data, *offset = ctx->in[OFFSET]->data;
	const float *mean = ctx->in[MEAN]->data, *variance = ctx->in[VARIANCE]->data;
	double n = (double)work.layout.each, decay = 1 - attr[FACTOR].f;
	if (attr[TRAINING].b)
		DFG_TRY(moments(ctx, &work, out[SAVED_MEAN], out[SAVED_VARIANCE]));
	for (int64_t c = 0; c < channels; c++) {
		if (!attr[TRAINING].b) {
			out[BATCH_MEAN][c] = out[SAVED_MEAN][c] = mean[c];
			out[BATCH_VARIANCE][c] = out[SAVED_VARIANCE][c] = variance[c];
		} else {
			double unbiased = (double)out[SAVED_VARIANCE][c] * (n / (n > 1 ? n - 1 : 1));
			out[BATCH_MEAN][c] = out[SAVED_MEAN][c];
			out[BATCH_VARIANCE][c] = (float)unbiased;
			if (decay != 0) {
				out[BATCH_MEAN][c] = (float)(decay * (double)mean[c] + attr[FACTOR].f * (double)out[SAVED_MEAN][c]);
				out[BATCH_VARIANCE][c] = (float)(decay * (double)variance[c] + attr[FACTOR].f * unbiased);
			}
		}
		factor[c] = (float)((double)scale[c] / sqrt((double)out[SAVED_VARIANCE][c] + attr[EPSILON].f));
		factor[channels + c] = factor[2 * channels + c] = offset[c];
	}
	work.less = out[SAVED_MEAN], work.by = factor, work.plus = factor + channels;
	apply(ctx, &work, normalise);
	return NULL;
}

enum { DY, OF_X, OF_SCALE, USED_MEAN, USED_VARIANCE }; /* inputs of the gradients */
enum { DX, DSCALE, DOFFSET };                          /* and their outputs */

static struct dfg_err *check_gradient(
	const struct dfg_resolved_node *call, const struct dfg_shape *const *in, int64_t *out_channels)
{
	DFG_TRY(find_channels(call, in[OF_X], out_channels));
	if (!dfg_shape_fits(in[DY], in[OF_X]))
		return DFG_ERR(DFG_DATA, "'%s' has shape %s, expected %s", call->signature->in[DY].name,
			dfg_shape_words(in[DY]).s, dfg_shape_words(in[OF_X]).s);
	for (int i = OF_SCALE; i <= USED_VARIANCE; i++)
		DFG_TRY(check_vector(in[i], *out_channels, false, call->signature->in[i].name));
	return NULL;
}

static struct dfg_err *gradient_shape(struct dfg_infer *node)
{
	int64_t channels;
	DFG_TRY(check_gradient(node->call, node->in, &channels));
	node->out[DX] = *node->in[OF_X];
	node->out[DSCALE] = node->out[DOFFSET] = DFG_SHAPE_VECTOR(channels);
	for (int i = DOFFSET + 1; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_VECTOR(0);
	return NULL;
}

/* In training, the mean and the variance are functions of x, and their cotangents are part of dx. */
static struct dfg_err *backward(struct dfg_kernel *ctx)
{
	const struct dfg_shape *in[USED_VARIANCE + 1];
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	int64_t channels;
	struct dfg_tensor *dx, *dscale, *doffset, *unused;
	float *factor;
	for (int i = DY; i <= USED_VARIANCE; i++)
		in[i] = &ctx->in[i]->shape;
	DFG_TRY(check_gradient(ctx->call, in, &channels));
	DFG_TRY(dfg_kernel_output(ctx, DX, in[OF_X], &dx));
	DFG_TRY(dfg_kernel_output(ctx, DSCALE, in[OF_SCALE], &dscale));
	DFG_TRY(dfg_kernel_output(ctx, DOFFSET, in[OF_SCALE], &doffset));
	for (int i = DOFFSET + 1; i < ctx->call->n_out; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(0), &unused));
	DFG_TRY(dfg_kernel_scratch(ctx, 3 * (size_t)(channels + 1) * sizeof *factor, (void **)&factor));
	struct work work = {
		.layout = layout_of(ctx->call, in[OF_X]),
		.x = ctx->in[OF_X]->data,
		.dy = ctx->in[DY]->data,
		.out = dx->data,
		.less = ctx->in[USED_MEAN]->data,
		.by = factor,
		.plus = factor + channels,
	};
	DFG_TRY(sum(ctx, &work, sum_gradients));
	double n = (double)work.layout.each;
	for (int64_t c = 0; c < channels; c++) {
		double variance = (double)((const float *)ctx->in[USED_VARIANCE]->data)[c] + attr[EPSILON].f;
		double sum_dy = work.sums[c], sum_product = work.sums[channels + c];
		((float *)doffset->data)[c] = (float)sum_dy;
		((float *)dscale->data)[c] = (float)(sum_product / sqrt(variance));
		factor[c] = (float)((double)((const float *)ctx->in[OF_SCALE]->data)[c] / sqrt(variance));
		factor[channels + c] = attr[TRAINING].b ? (float)(sum_dy / n) : 0;
		factor[2 * channels + c] = attr[TRAINING].b ? (float)(sum_product / n / variance) : 0;
	}
	apply(ctx, &work, gradient);
	return NULL;
}

#define ATTRS(formats)                                                                            \
	[EPSILON] = "epsilon: float = 0.0001", [FORMAT] = "data_format: string = 'NHWC' in " formats, \
	[TRAINING] = "is_training: bool = true"
#define FACTOR_ATTR [FACTOR] = "exponential_avg_factor: float = 1"
#define SAME "epsilon = epsilon, data_format = data_format, is_training = is_training)"
/* The mean and the variance matter to y only where they are given. */
#define GRADIENT(op, third)                                                                                           \
	"static if is_training { dx, dscale, doffset, _, _ = " op "(dy, x, scale, reserve_space_1, reserve_space_2" third \
	", " SAME                                                                                                         \
	" }\n"                                                                                                            \
	"else { dx, dscale, doffset, _, _ = " op "(dy, x, scale, mean, variance" third ", " SAME                          \
	"\ndmean = doffset * scale * -Rsqrt(variance + epsilon)"                                                          \
	"\ndvariance = dscale * scale * -0.5 / (variance + epsilon) }"

/*
 * Second derivatives, written in means over the axes of a channel. g is the first gradient's input dy; a, b and c are
 * the cotangents of its three outputs. The normalisation passes on the part of a vector that is left when its mean and
 * its component along the normalised x are subtracted.
 */
#define SECOND(axes)                                                                                       \
	"axes = " axes                                                                                         \
	"\n"                                                                                                   \
	"g, v, a = f32(y_backprop), f32(x), f32(dx_backprop)\n"                                                \
	"m = Mean(v, axes, keep_dims = true)\n"                                                                \
	"flat = Shape(m)\n"                                                                                    \
	"s, b, c = Reshape(scale, flat), Reshape(dscale_backprop, flat), Reshape(doffset_backprop, flat)\n"    \
	"static if is_training {\n"                                                                            \
	"r = Rsqrt(Mean(Square(v - m), axes, keep_dims = true) + epsilon)\n"                                   \
	"u = (v - m) * r\n"                                                                                    \
	"along_g, along_a = Mean(g * u, axes, keep_dims = true), Mean(a * u, axes, keep_dims = true)\n"        \
	"part_g = g - Mean(g, axes, keep_dims = true) - u * along_g\n"                                         \
	"part_a = a - Mean(a, axes, keep_dims = true) - u * along_a\n"                                         \
	"both = Mean(a * part_g, axes, keep_dims = true)\n"                                                    \
	"dy_backprop = Cast(s * r * part_a + b * u + c, DstT = T)\n"                                           \
	"dscale = Reshape(r * Sum(a * part_g, axes, keep_dims = true), Shape(scale))\n"                        \
	"dx = Cast(b * r * part_g - s * r * r * (u * both + along_g * part_a + along_a * part_g), DstT = T)\n" \
	"} else {\n"                                                                                           \
	"r = Rsqrt(Reshape(reserve_space_2, flat) + epsilon)\n"                                                \
	"u = (v - Reshape(reserve_space_1, flat)) * r\n"                                                       \
	"dy_backprop = Cast(s * r * a + b * u + c, DstT = T)\n"                                                \
	"dscale = Reshape(r * Sum(a * g, axes, keep_dims = true), Shape(scale))\n"                             \
	"dx = Cast(b * r * g, DstT = T)\n"                                                                     \
	"}"

static struct dfg_err *second(struct dfg_gradient *node)
{
	static const char image[] = SECOND("[0, 1, 2]"), volume[] = SECOND("[0, 1, 2, 3]");
	static const char image_first[] = SECOND("[0, 2, 3]"), volume_first[] = SECOND("[0, 2, 3, 4]");
	const struct dfg_string format = node->call->attr[FORMAT].s;
	bool first = format.s[1] == 'C';
	if (format.length == 4)
		return dfg_gradient_formula(node, first ? image_first : image);
	return dfg_gradient_formula(node, first ? volume_first : volume);
}

static const char *forward_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return node->call->attr[TRAINING].b ? "it normalises by the statistics of the batch" : dfg_rows_first(node, by_row);
}

const struct dfg_op dfg_op_FusedBatchNorm = {
	.name = "FusedBatchNorm",
	.doc = "each channel normalised to mean 0 and variance 1, then scaled and shifted",
	.sig =
		"<T: f32>(x: T, scale: T, offset: T, mean: T, variance: T) -> (y: T, batch_mean: T, batch_variance: T, "
		"reserve_space_1: T, reserve_space_2: T)",
	.attr = {ATTRS("NHWC|NCHW"), FACTOR_ATTR},
	.shape = forward_shape,
	.rows = forward_rows,
	.gradient = GRADIENT("FusedBatchNormGrad", ""),
	.kernel = {[DFG_F32] = forward},
};

const struct dfg_op dfg_op_FusedBatchNormV2 = {
	.name = "FusedBatchNormV2",
	.doc = "FusedBatchNorm of images, which may be f16 or bf16",
	.sig =
		"<T: half|f32, U: f32>(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
		"batch_variance: U, reserve_space_1: U, reserve_space_2: U)",
	.attr = {ATTRS("NHWC|NCHW"), FACTOR_ATTR},
	.shape = forward_shape,
	.rows = forward_rows,
	.gradient = GRADIENT("FusedBatchNormGradV2", ""),
	.kernel = {[DFG_F32] = forward},
};

const struct dfg_op dfg_op_FusedBatchNormV3 = {
	.name = "FusedBatchNormV3",
	.doc = "FusedBatchNorm, also of volumes",
	.sig =
		"<T: half|f32, U: bf16|f32>(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
		"batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
	.attr = {ATTRS("NHWC|NCHW|NDHWC|NCDHW"), FACTOR_ATTR},
	.shape = forward_shape,
	.rows = forward_rows,
	.gradient = GRADIENT("FusedBatchNormGradV3", ", reserve_space_3"),
	.kernel = {[DFG_F32] = forward},
};

const struct dfg_op dfg_op_FusedBatchNormGrad = {
	.name = "FusedBatchNormGrad",
	.doc = "gradient of FusedBatchNorm",
	.sig =
		"<T: f32>(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> (x_backprop: T, "
		"scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
	.attr = {ATTRS("NHWC|NCHW")},
	.shape = gradient_shape,
	.gradient_fn = second,
	.kernel = {[DFG_F32] = backward},
};

const struct dfg_op dfg_op_FusedBatchNormGradV2 = {
	.name = "FusedBatchNormGradV2",
	.doc = "gradient of FusedBatchNormV2",
	.sig =
		"<T: half|f32, U: f32>(y_backprop: T, x: T, scale: f32, reserve_space_1: U, reserve_space_2: U) -> "
		"(x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)",
	.attr = {ATTRS("NHWC|NCHW")},
	.shape = gradient_shape,
	.gradient_fn = second,
	.kernel = {[DFG_F32] = backward},
};

const struct dfg_op dfg_op_FusedBatchNormGradV3 = {
	.name = "FusedBatchNormGradV3",
	.doc = "gradient of FusedBatchNormV3",
	.sig =
		"<T: half|f32, U: f32>(y_backprop: T, x: T, scale: f32, reserve_space_1: U, reserve_space_2: U, "
		"reserve_space_3: U) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, "
		"reserve_space_5: U)",
	.attr = {ATTRS("NHWC|NCHW|NDHWC|NCDHW")},
	.shape = gradient_shape,
	.gradient_fn = second,
	.kernel = {[DFG_F32] = backward},
};
