/*
 * Values rounded to those that a quantised type has between two ends, which stay floats: the ops by which networks are
 * trained for quantised inference. 0 is one of the values, and the end that is nearer in steps is moved.
 */
#include "kernels/shape_rules.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { INPUT, MIN, MAX, BITS };
enum { GRAD_AXIS };
enum { GRAIN = 4096 }; /* elements */

/* The quantised values. */
struct levels {
	int64_t least, most;
};

/* Elements of channel c are runs of `inner` elements, the number i of which has i modulo count = c. */
struct channels {
	int64_t count, inner;
};

struct settings {
	struct levels levels;
	int64_t axis; /* -1: all elements have one range */
	bool range_given, half_up;
};

static struct channels channels_of(const struct dfg_shape *x, int64_t axis)
{
	const int64_t all = dfg_shape_count(x);
	if (axis < 0)
		return (struct channels){1, all > 0 ? all : 1};
	const int64_t inner = dfg_count_between(x, (int)axis + 1, x->rank);
	return (struct channels){x->dim[axis], inner > 0 ? inner : 1};
}

/* The end of the run that element i is in, at most `last`. */
static int64_t run_end(const struct channels *channels, int64_t i, int64_t last)
{
	const int64_t end = (i / channels->inner + 1) * channels->inner;
	return end < last ? end : last;
}

static struct dfg_err *check_ends(double min, double max)
{
	if (min <= max)
		return NULL;
	return DFG_ERR(DFG_DATA, "input_min is %g and input_max %g, expected input_min <= input_max", min, max);
}

/* With a sign there are at most 62 bits, without one 63: the numbers of values must fit an i64. */
static struct dfg_err *find_levels(int64_t bits, bool is_signed, bool narrow, struct levels *out_levels)
{
	const int64_t most = is_signed ? 62 : 63;
	if (bits < 1 || bits > most)
		return DFG_ERR(DFG_DATA, "num_bits is %" PRId64 ", expected 1 to %" PRId64, bits, most);
	const int64_t half = INT64_C(1) << (bits - 1);
	*out_levels = is_signed ? (struct levels){narrow - half, half - 1} : (struct levels){0, half - 1 + half};
	return NULL;
}

static struct dfg_err *read_settings(struct dfg_kernel *ctx, struct settings *out);

#define FLOOR_OF(name, type, suffix)    \
	static type floor_of_##name(type x) \
	{                                   \
		return floor##suffix(x);        \
	}                                   \
	static type nearest_##name(type x)  \
	{                                   \
		return rint##suffix(x);         \
	}
FLOOR_OF(f32, float, f)
FLOOR_OF(f64, double, )
static const float largest_f32 = FLT_MAX;
static const double largest_f64 = DBL_MAX;

#define TEMPLATE "kernels/quantise.inc"
#include "kernels/each_float.inc"

/* Attributes, in the order of each op. */
enum { V2_SIGNED, V2_BITS, V2_GIVEN, V2_ROUND, V2_NARROW, V2_AXIS };
enum { V3_SIGNED, V3_GIVEN, V3_NARROW, V3_AXIS };

static struct dfg_err *read_settings(struct dfg_kernel *ctx, struct settings *out)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	if (ctx->call->n_in > BITS) {
		const int64_t bits = dfg_tensor_int(dfg_kernel_input(ctx, BITS), 0);
		*out = (struct settings){.axis = attr[V3_AXIS].i, .range_given = attr[V3_GIVEN].b};
		return find_levels(bits, attr[V3_SIGNED].b, attr[V3_NARROW].b, &out->levels);
	}
	*out = (struct settings){.axis = attr[V2_AXIS].i,
		.range_given = attr[V2_GIVEN].b,
		.half_up = attr[V2_ROUND].s.length == strlen("HALF_UP")};
	return find_levels(attr[V2_BITS].i, attr[V2_SIGNED].b, attr[V2_NARROW].b, &out->levels);
}

static struct dfg_err *check_axis(int64_t axis, const struct dfg_shape *x)
{
	if (axis < -1 || (x->rank >= 0 && axis >= x->rank))
		return DFG_ERR(DFG_DATA, "axis is %" PRId64 ", expected -1 or an axis of %s", axis, dfg_shape_words(x).s);
	return NULL;
}

/* The ends at inputs i and i + 1 are scalars, or by an axis vectors with an element for each of its indices. */
static struct dfg_err *check_end_shapes(const struct dfg_infer *node, int i, const struct dfg_shape *x, int64_t axis)
{
	struct dfg_shape expected = {.rank = axis >= 0};
	if (axis >= 0)
		expected.dim[0] = x->rank > 0 ? x->dim[axis] : DFG_UNKNOWN;
	for (int end = i; end < i + 2; end++)
		if (!dfg_shape_fits(node->in[end], &expected))
			return DFG_ERR(DFG_DATA, "%s is %s, expected %s", end == i ? "input_min" : "input_max",
				dfg_shape_words(node->in[end]).s, dfg_shape_words(&expected).s);
	return NULL;
}

static struct dfg_err *v2_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	struct levels levels;
	DFG_TRY(find_levels(attr[V2_BITS].i, attr[V2_SIGNED].b, attr[V2_NARROW].b, &levels));
	DFG_TRY(check_axis(attr[V2_AXIS].i, node->in[INPUT]));
	DFG_TRY(check_end_shapes(node, MIN, node->in[INPUT], attr[V2_AXIS].i));
	node->out[0] = *node->in[INPUT];
	return NULL;
}

static struct dfg_err *v3_shape(struct dfg_infer *node)
{
	const int64_t axis = node->call->attr[V3_AXIS].i;
	DFG_TRY(check_axis(axis, node->in[INPUT]));
	DFG_TRY(check_end_shapes(node, MIN, node->in[INPUT], axis));
	DFG_TRY(dfg_need_rank(node, BITS, 0));
	node->out[0] = *node->in[INPUT];
	return NULL;
}

static struct dfg_err *gradient_shape(struct dfg_infer *node)
{
	const int64_t axis = node->call->attr[GRAD_AXIS].i;
	if (!dfg_shape_fits(node->in[0], node->in[1]))
		return DFG_ERR(DFG_DATA, "gradients are %s and input is %s, expected equal shapes",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[1]).s);
	DFG_TRY(check_axis(axis, node->in[1]));
	DFG_TRY(check_end_shapes(node, 2, node->in[1], axis));
	node->out[0] = *node->in[1];
	node->out[1] = *node->in[2];
	node->out[2] = *node->in[3];
	return NULL;
}

#define V2_ATTR                                                                 \
	[V2_SIGNED] = "signed_input: bool = true", [V2_BITS] = "num_bits: int = 8", \
	[V2_GIVEN] = "range_given: bool = false",                                   \
	[V2_ROUND] =                                                                \
		"round_mode: string = 'HALF_TO_EVEN' in "                               \
		"HALF_TO_EVEN|HALF_UP",                                                 \
	[V2_NARROW] = "narrow_range: bool = false", [V2_AXIS] = "axis: int = -1"
const struct dfg_op dfg_op_QuantizeAndDequantizeV2 = {
	.name = "QuantizeAndDequantizeV2",
	.doc =
		"input rounded to 2^num_bits values from input_min to input_max, or between its extremes; with axis, in a "
		"range for each index",
	.sig = "<T: float>(input: T, input_min: T, input_max: T) -> (output: T)",
	.attr = {V2_ATTR},
	.flags = DFG_ANY_RANK,
	.shape = v2_shape,
	.gradient = "dinput = doutput",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, quantise_all)},
};

const struct dfg_op dfg_op_QuantizeAndDequantizeV3 = {
	.name = "QuantizeAndDequantizeV3",
	.doc = "as QuantizeAndDequantizeV2, with num_bits as an input",
	.sig = "<T: float>(input: T, input_min: T, input_max: T, num_bits: i32) -> (output: T)",
	.attr = {[V3_SIGNED] = "signed_input: bool = true",
		[V3_GIVEN] = "range_given: bool = true",
		[V3_NARROW] = "narrow_range: bool = false",
		[V3_AXIS] = "axis: int = -1"},
	.flags = DFG_ANY_RANK,
	.shape = v3_shape,
	.gradient = "dinput = doutput",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, quantise_all)},
};

const struct dfg_op dfg_op_QuantizeAndDequantizeV4 = {
	.name = "QuantizeAndDequantizeV4",
	.doc = "as QuantizeAndDequantizeV2; its gradient is 0 outside of the given range",
	.sig = "<T: float>(input: T, input_min: T, input_max: T) -> (output: T)",
	.attr = {V2_ATTR},
	.flags = DFG_ANY_RANK,
	.shape = v2_shape,
	.gradient =
		"dinput, dinput_min, dinput_max = QuantizeAndDequantizeV4Grad(doutput, input, input_min, input_max, axis = "
		"axis)",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, quantise_all)},
};

const struct dfg_op dfg_op_QuantizeAndDequantizeV4Grad = {
	.name = "QuantizeAndDequantizeV4Grad",
	.doc = "gradients where input is between input_min and input_max, else 0; those of input_min and input_max are 0",
	.sig =
		"<T: float>(gradients: T, input: T, input_min: T, input_max: T) -> "
		"(input_backprop: T, input_min_backprop: T, input_max_backprop: T)",
	.attr = {[GRAD_AXIS] = "axis: int = -1"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = gradient_shape,
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, quantise_gradient)},
};
