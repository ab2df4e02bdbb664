#include "kernels/math.h"
#include "lib/graph/kernel.h"
#include "kernels/row_rules.h"

/*
 * Local response normalisation (Krizhevsky et al. 2012): x / (bias + alpha * s) ^ beta, where s is the sum of squares
 * of the neighbours of x among the channels. Sums and powers are computed in f64.
 */
enum { RADIUS, BIAS, ALPHA, BETA }; /* attributes */

struct work {
	const union dfg_value *attr;
	const float *x, *dy, *y;
	float *out;
	double *norm; /* bias + alpha * s of each element */
	int64_t channels;
};

static int64_t low(const struct work *work, int64_t c)
{
	return c > work->attr[RADIUS].i ? c - work->attr[RADIUS].i : 0;
}

static int64_t high(const struct work *work, int64_t c)
{
	return work->channels - c > work->attr[RADIUS].i + 1 ? c + work->attr[RADIUS].i + 1 : work->channels;
}

static void norms(const struct work *work, int64_t row)
{
	const float *x = work->x + row * work->channels;
	for (int64_t c = 0; c < work->channels; c++) {
		double squares = 0;
		for (int64_t i = low(work, c); i < high(work, c); i++)
			squares += (double)x[i] * (double)x[i];
		work->norm[row * work->channels + c] = work->attr[BIAS].f + work->attr[ALPHA].f * squares;
	}
}

static double shrink(const struct work *work, double norm)
{
	return exp_f64(-work->attr[BETA].f * log_f64(norm));
}

static void forward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t row = first; row < last; row++) {
		norms(work, row);
		for (int64_t i = row * work->channels; i < (row + 1) * work->channels; i++)
			work->out[i] = (float)((double)work->x[i] * shrink(work, work->norm[i]));
	}
}

static void backward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t row = first; row < last; row++) {
		const int64_t at = row * work->channels;
		norms(work, row);
		for (int64_t c = 0; c < work->channels; c++) {
			double others = 0;
			for (int64_t i = at + low(work, c); i < at + high(work, c); i++)
				others += (double)work->dy[i] * (double)work->y[i] / work->norm[i];
			double own = (double)work->dy[at + c] * shrink(work, work->norm[at + c]);
			work->out[at + c] =
				(float)(own - 2 * work->attr[ALPHA].f * work->attr[BETA].f * (double)work->x[at + c] * others);
		}
	}
}

static struct dfg_err *check(const struct dfg_resolved_node *call, const struct dfg_shape *image)
{
	if (image->rank != 4)
		return DFG_ERR(DFG_DATA, "the image has shape %s, expected 4 dimensions", dfg_shape_words(image).s);
	if (call->attr[RADIUS].i < 0 || call->attr[RADIUS].i > INT32_MAX)
		return DFG_ERR(
			DFG_DATA, "attribute 'depth_radius' is %lld, expected 0 to %d", (long long)call->attr[RADIUS].i, INT32_MAX);
	return NULL;
}

static struct dfg_err *lrn_shape(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_in; i++) {
		DFG_TRY(check(node->call, node->in[i]));
		if (!dfg_shape_fits(node->in[i], node->in[0]))
			return DFG_ERR(DFG_DATA, "inputs 0 and %d have shape %s and %s, expected equal shapes", i,
				dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[i]).s);
	}
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *run_normalization(
	struct dfg_kernel *ctx, struct work *work, void (*range)(void *, int64_t, int64_t))
{
	const struct dfg_shape *shape = &ctx->in[0]->shape;
	struct dfg_tensor *out;
	for (int i = 0; i < ctx->call->n_in; i++)
		if (!dfg_shape_equal(&ctx->in[i]->shape, shape))
			return DFG_ERR(DFG_DATA, "inputs 0 and %d have shape %s and %s, expected equal shapes", i,
				dfg_shape_words(shape).s, dfg_shape_words(&ctx->in[i]->shape).s);
	DFG_TRY(check(ctx->call, shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, shape, &out));
	int64_t count = dfg_shape_count(shape);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(count + 1) * sizeof *work->norm, (void **)&work->norm));
	work->attr = dfg_kernel_attr(ctx);
	work->out = out->data;
	work->channels = shape->dim[3];
	if (count)
		dfg_kernel_ranges(ctx, count / work->channels, 1 + 512 / work->channels, range, work);
	return NULL;
}

static struct dfg_err *lrn(struct dfg_kernel *ctx)
{
	return run_normalization(ctx, &(struct work){.x = ctx->in[0]->data}, forward);
}

static struct dfg_err *lrn_grad(struct dfg_kernel *ctx)
{
	return run_normalization(
		ctx, &(struct work){.dy = ctx->in[0]->data, .x = ctx->in[1]->data, .y = ctx->in[2]->data}, backward);
}

#define ATTRS                                                                                         \
	{                                                                                                 \
		[RADIUS] = "depth_radius: int = 5", [BIAS] = "bias: float = 1", [ALPHA] = "alpha: float = 1", \
		[BETA] = "beta: float = 0.5"                                                                  \
	}

const struct dfg_op dfg_op_LRN = {
	.name = "LRN",
	.doc = "each element divided by a power of bias + alpha * the sum of the squares of nearby channels",
	.sig = "<T: half|f32 = f32>(input: T) -> (output: T)",
	.attr = ATTRS,
	.shape = lrn_shape,
	.rows = dfg_rows_first,
	.gradient =
		"dinput = LRNGrad(doutput, input, output, depth_radius = depth_radius, bias = bias, alpha = alpha, "
		"beta = beta)",
	.kernel = {[DFG_F32] = lrn},
};

const struct dfg_op dfg_op_LRNGrad = {
	.name = "LRNGrad",
	.doc = "gradient of LRN",
	.sig = "<T: half|f32 = f32>(input_grads: T, input_image: T, output_image: T) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_NO_GRADIENT,
	.shape = lrn_shape,
	.kernel = {[DFG_F32] = lrn_grad},
};
