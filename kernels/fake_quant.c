/*
 * Fake quantisation (Jacob et al. 2018): x is rounded to one of 2^num_bits values between min and max, and stays a float.
 * The range is moved a little ("nudged") so that 0 is one of the values. The gradient passes where x is in the range.
 */
#include "lib/graph/kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Attributes: those of the Args ops begin with the range. */
enum { ARGS_MIN, ARGS_MAX, ARGS_BITS, ARGS_NARROW };
enum { VARS_BITS, VARS_NARROW };
enum { BITS_LEAST = 2, BITS_MOST = 16 };

struct range {
	float min, max, scale, inverse;
	float zero; /* the number of the value 0 */
	bool empty; /* min and max are 0: the result is 0 */
};

static struct range nudge(float min, float max, int64_t bits, bool narrow)
{
	const float first = narrow ? 1 : 0, last = (float)((1 << bits) - 1);
	struct range range = {.scale = (max - min) / (last - first), .inverse = (last - first) / (max - min)};
	if (min == 0 && max == 0)
		return (struct range){.empty = true};
	float zero = first - min / range.scale;
	zero = zero < first ? first : zero > last ? last : roundf(zero);
	range.min = (first - zero) * range.scale;
	range.max = (last - zero) * range.scale;
	range.zero = floorf(-range.min * range.inverse + 0.5F);
	return range;
}

static float quantise(const struct range *range, float x)
{
	if (range->empty)
		return 0;
	float clamped = x < range->max ? x : range->max;
	clamped = clamped > range->min ? clamped : range->min;
	return floorf((clamped - range->min) * range->inverse - range->zero + 0.5F) * range->scale;
}

static struct dfg_err *check_range(float min, float max)
{
	if (min <= max)
		return NULL;
	return DFG_ERR(DFG_DATA, "min is %g and max %g, expected min <= max", (double)min, (double)max);
}

static struct dfg_err *check_bits(int64_t bits)
{
	if (bits >= BITS_LEAST && bits <= BITS_MOST)
		return NULL;
	return DFG_ERR(DFG_DATA, "num_bits is %" PRId64 ", expected %d to %d", bits, BITS_LEAST, BITS_MOST);
}

/* Elements [first, last) of a part whose range is the same. */
struct work {
	const float *dy, *x;
	float *out;
	struct range range;
};

static void forward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t i = first; i < last; i++)
		work->out[i] = quantise(&work->range, work->x[i]);
}

static bool passes(const struct range *range, float x)
{
	return range->empty || (x >= range->min && x <= range->max);
}

static void backward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t i = first; i < last; i++)
		work->out[i] = passes(&work->range, work->x[i]) ? work->dy[i] : 0;
}

enum { GRAIN = 4096 }; /* elements */

/* A range that is given by attributes. */

static struct dfg_err *args_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	DFG_TRY(check_bits(attr[ARGS_BITS].i));
	if (!(attr[ARGS_MIN].f < attr[ARGS_MAX].f))
		return DFG_ERR(DFG_DATA, "min is %g and max %g, expected min < max", attr[ARGS_MIN].f, attr[ARGS_MAX].f);
	node->out[0] = *node->in[0];
	if (node->call->n_in == 2 && !dfg_shape_fits(node->in[0], node->in[1]))
		return DFG_ERR(DFG_DATA, "gradients have shape %s and inputs %s, expected equal shapes",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[1]).s);
	return NULL;
}

static struct range args_range(const struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	return nudge((float)attr[ARGS_MIN].f, (float)attr[ARGS_MAX].f, attr[ARGS_BITS].i, attr[ARGS_NARROW].b);
}

static struct dfg_err *args_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &x->shape, &out));
	struct work work = {.x = x->data, .out = out->data, .range = args_range(ctx)};
	dfg_kernel_ranges(ctx, dfg_shape_count(&x->shape), GRAIN, forward, &work);
	return NULL;
}

static struct dfg_err *check_gradients(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *dy = dfg_kernel_input(ctx, 0), *x = dfg_kernel_input(ctx, 1);
	if (dfg_shape_equal(&dy->shape, &x->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "gradients have shape %s and inputs %s, expected equal shapes",
		dfg_shape_words(&dy->shape).s, dfg_shape_words(&x->shape).s);
}

static struct dfg_err *args_gradient_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *dy = dfg_kernel_input(ctx, 0), *x = dfg_kernel_input(ctx, 1);
	struct dfg_tensor *out;
	DFG_TRY(check_gradients(ctx));
	DFG_TRY(dfg_kernel_output(ctx, 0, &x->shape, &out));
	struct work work = {.dy = dy->data, .x = x->data, .out = out->data, .range = args_range(ctx)};
	dfg_kernel_ranges(ctx, dfg_shape_count(&x->shape), GRAIN, backward, &work);
	return NULL;
}

#define ARGS_ATTR                                                                                         \
	[ARGS_MIN] = "min: float = -6.0", [ARGS_MAX] = "max: float = 6.0", [ARGS_BITS] = "num_bits: int = 8", \
	[ARGS_NARROW] = "narrow_range: bool = false"
#define ARGS "min = min, max = max, num_bits = num_bits, narrow_range = narrow_range"

const struct dfg_op dfg_op_FakeQuantWithMinMaxArgs = {
	.name = "FakeQuantWithMinMaxArgs",
	.doc = "inputs rounded to one of 2^num_bits values from min to max",
	.sig = "(inputs: f32) -> (outputs: f32)",
	.attr = {ARGS_ATTR},
	.flags = DFG_ANY_RANK,
	.shape = args_shape,
	.gradient = "dinputs = FakeQuantWithMinMaxArgsGradient(doutputs, inputs, " ARGS ")",
	.run = args_run,
};

const struct dfg_op dfg_op_FakeQuantWithMinMaxArgsGradient = {
	.name = "FakeQuantWithMinMaxArgsGradient",
	.doc = "gradients where inputs are between min and max, else 0",
	.sig = "(gradients: f32, inputs: f32) -> (backprops: f32)",
	.attr = {ARGS_ATTR},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = args_shape,
	.run = args_gradient_run,
};

/* A range that is given by inputs: one for all elements, or one for each index of the last axis. */

static struct dfg_err *check_bound(
	const char *name, const struct dfg_shape *bound, const struct dfg_shape *x, bool by_channel)
{
	struct dfg_shape expected = {.rank = by_channel};
	if (by_channel)
		expected.dim[0] = x->rank > 0 ? x->dim[x->rank - 1] : DFG_UNKNOWN;
	if (dfg_shape_fits(bound, &expected))
		return NULL;
	return DFG_ERR(
		DFG_DATA, "%s has shape %s, expected %s", name, dfg_shape_words(bound).s, dfg_shape_words(&expected).s);
}

static struct dfg_err *check_vars(struct dfg_infer *node, int x, bool by_channel)
{
	DFG_TRY(check_bits(node->call->attr[VARS_BITS].i));
	if (by_channel && !node->in[x]->rank)
		return DFG_ERR(DFG_DATA, "inputs are a scalar, expected channels along the last axis");
	DFG_TRY(check_bound("min", node->in[x + 1], node->in[x], by_channel));
	DFG_TRY(check_bound("max", node->in[x + 2], node->in[x], by_channel));
	node->out[0] = *node->in[x];
	return NULL;
}

static struct dfg_err *one_shape(struct dfg_infer *node)
{
	return check_vars(node, 0, false);
}

static struct dfg_err *channels_shape(struct dfg_infer *node)
{
	return check_vars(node, 0, true);
}

static struct dfg_err *check_vars_gradient(struct dfg_infer *node, bool by_channel)
{
	DFG_TRY(check_vars(node, 1, by_channel));
	if (!dfg_shape_fits(node->in[0], node->in[1]))
		return DFG_ERR(DFG_DATA, "gradients have shape %s and inputs %s, expected equal shapes",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[1]).s);
	node->out[1] = *node->in[2];
	node->out[2] = *node->in[3];
	return NULL;
}

static struct dfg_err *one_gradient_shape(struct dfg_infer *node)
{
	return check_vars_gradient(node, false);
}

static struct dfg_err *channels_gradient_shape(struct dfg_infer *node)
{
	return check_vars_gradient(node, true);
}

/* The ranges in inputs `min` and `min` + 1, which have been checked; *out_count of them, in scratch memory. */
static struct dfg_err *vars_ranges(struct dfg_kernel *ctx, int min, int64_t *out_count, struct range **out_range)
{
	const struct dfg_tensor *low = dfg_kernel_input(ctx, min), *high = dfg_kernel_input(ctx, min + 1);
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	*out_count = dfg_shape_count(&low->shape);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)*out_count + 1) * sizeof **out_range, (void **)out_range));
	for (int64_t c = 0; c < *out_count; c++) {
		const float least = ((const float *)low->data)[c], most = ((const float *)high->data)[c];
		DFG_TRY(check_range(least, most));
		(*out_range)[c] = nudge(least, most, attr[VARS_BITS].i, attr[VARS_NARROW].b);
	}
	return NULL;
}

/* Kernels check again: x, min and max have shapes that fit each other. */
static struct dfg_err *check_now(struct dfg_kernel *ctx, int x)
{
	const struct dfg_shape *shape = &dfg_kernel_input(ctx, x)->shape;
	bool by_channel = dfg_kernel_input(ctx, x + 1)->shape.rank;
	if (by_channel && !shape->rank)
		return DFG_ERR(DFG_DATA, "inputs are a scalar, expected channels along the last axis");
	DFG_TRY(check_bound("min", &dfg_kernel_input(ctx, x + 1)->shape, shape, by_channel));
	return check_bound("max", &dfg_kernel_input(ctx, x + 2)->shape, shape, by_channel);
}

struct vars_work {
	const float *dy, *x;
	float *out;
	const struct range *range;
	int64_t ranges;
};

static void vars_forward(void *arg, int64_t first, int64_t last)
{
	const struct vars_work *work = arg;
	for (int64_t i = first; i < last; i++)
		work->out[i] = quantise(&work->range[i % work->ranges], work->x[i]);
}

static struct dfg_err *vars_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0);
	struct range *range;
	struct dfg_tensor *out;
	int64_t ranges;
	DFG_TRY(check_now(ctx, 0));
	DFG_TRY(vars_ranges(ctx, 1, &ranges, &range));
	DFG_TRY(dfg_kernel_output(ctx, 0, &x->shape, &out));
	struct vars_work work = {.x = x->data, .out = out->data, .range = range, .ranges = ranges};
	dfg_kernel_ranges(ctx, dfg_shape_count(&x->shape), GRAIN, vars_forward, &work);
	return NULL;
}

/* The gradient of a bound is the sum over the elements beyond it, in ascending order. */
static void vars_backward(const struct vars_work *work, int64_t count, double *below, double *above)
{
	for (int64_t i = 0; i < count; i++) {
		const int64_t c = i % work->ranges;
		const struct range *range = &work->range[c];
		const float x = work->x[i];
		const bool in = passes(range, x);
		work->out[i] = in ? work->dy[i] : 0;
		below[c] += !in && x < range->min ? (double)work->dy[i] : 0;
		above[c] += !in && x > range->max ? (double)work->dy[i] : 0;
	}
}

static struct dfg_err *vars_gradient_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 1);
	struct dfg_tensor *out[3];
	struct range *range;
	double *sum;
	int64_t ranges;
	DFG_TRY(check_gradients(ctx));
	DFG_TRY(check_now(ctx, 1));
	DFG_TRY(vars_ranges(ctx, 2, &ranges, &range));
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &dfg_kernel_input(ctx, i + 1)->shape, &out[i]));
	DFG_TRY(dfg_kernel_scratch(ctx, (2 * (size_t)ranges + 1) * sizeof *sum, (void **)&sum));
	memset(sum, 0, 2 * (size_t)ranges * sizeof *sum);
	struct vars_work work = {dfg_kernel_input(ctx, 0)->data, x->data, out[0]->data, range, ranges};
	vars_backward(&work, dfg_shape_count(&x->shape), sum, sum + ranges);
	for (int64_t c = 0; c < ranges; c++) {
		((float *)out[1]->data)[c] = (float)sum[c];
		((float *)out[2]->data)[c] = (float)sum[ranges + c];
	}
	return NULL;
}

#define VARS_ATTR [VARS_BITS] = "num_bits: int = 8", [VARS_NARROW] = "narrow_range: bool = false"
#define VARS(Name, text, shape_, gradient_shape_)                                                             \
	const struct dfg_op dfg_op_##Name = {                                                                     \
		.name = #Name,                                                                                        \
		.doc = "inputs rounded to one of 2^num_bits values from min to max" text,                             \
		.sig = "(inputs: f32, min: f32, max: f32) -> (outputs: f32)",                                         \
		.attr = {VARS_ATTR},                                                                                  \
		.flags = DFG_ANY_RANK,                                                                                \
		.shape = shape_,                                                                                      \
		.gradient = "dinputs, dmin, dmax = " #Name                                                            \
					"Gradient(doutputs, inputs, min, max, "                                                   \
					"num_bits = num_bits, narrow_range = narrow_range)",                                      \
		.run = vars_run,                                                                                      \
	};                                                                                                        \
	const struct dfg_op dfg_op_##Name##Gradient = {                                                           \
		.name = #Name "Gradient",                                                                             \
		.doc = "gradients where inputs are between min and max, and their sums below min and above max" text, \
		.sig =                                                                                                \
			"(gradients: f32, inputs: f32, min: f32, max: f32) -> "                                           \
			"(backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)",                       \
		.attr = {VARS_ATTR},                                                                                  \
		.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,                                                              \
		.shape = gradient_shape_,                                                                             \
		.run = vars_gradient_run,                                                                             \
	};
VARS(FakeQuantWithMinMaxVars, "", one_shape, one_gradient_shape)
VARS(FakeQuantWithMinMaxVarsPerChannel, ", which are given for each channel", channels_shape, channels_gradient_shape)
