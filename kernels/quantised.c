/*
 * Floats as elements of a quantised type and back (QuantizeV2, Dequantize), by the float values of two ends. The three
 * modes differ in the elements that the ends stand for, and in whether 0 is exactly one of the values.
 */
#include "kernels/quantised_range.h"
#include "kernels/shape_rules.h"
#include "lib/graph/half.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { X, MIN, MAX };
enum { Q_MODE, Q_ROUND, Q_NARROW, Q_AXIS, Q_LEAST_RANGE };
enum { D_MODE, D_NARROW, D_AXIS };
enum { GRAIN = 4096 }; /* elements */

enum mode { MIN_COMBINED, MIN_FIRST, SCALED };

static enum mode mode_of(struct dfg_string name)
{
	return name.length == strlen("SCALED") ? SCALED : name.length == strlen("MIN_FIRST") ? MIN_FIRST : MIN_COMBINED;
}

/* The integers of a quantised type. */
struct type {
	int64_t least, most;
};

static struct type type_of(enum dfg_dtype dtype)
{
	return (struct type){dfg_quantised_least(dtype), dfg_quantised_most(dtype)};
}

/* Half of the number of values if there are negative ones, by which MIN_COMBINED moves them. */
static float half_range(const struct type *type)
{
	return type->least ? ((float)type->most - (float)type->least + 1) / 2 : 0;
}

/* Elements are runs of `inner` elements; run r has the ends number r modulo count. */
struct channels {
	int64_t count, inner;
};

static struct channels channels_of(const struct dfg_shape *x, int64_t axis)
{
	const int64_t inner = axis < 0 ? dfg_shape_count(x) : dfg_count_between(x, (int)axis + 1, x->rank);
	return (struct channels){axis < 0 ? 1 : x->dim[axis], inner > 0 ? inner : 1};
}

/* There is one pair of ends, or one for each index of the axis. */
static struct dfg_err *check_ends(
	const struct dfg_shape *x, const struct dfg_shape *min, const struct dfg_shape *max, int64_t axis)
{
	if (axis < -1 || (x->rank >= 0 && axis >= x->rank))
		return DFG_ERR(DFG_DATA, "axis is %" PRId64 ", expected -1 or an axis of %s", axis, dfg_shape_words(x).s);
	const int64_t expected = axis < 0 ? 1 : x->rank < 0 ? DFG_UNKNOWN : x->dim[axis];
	const struct dfg_shape *const end[] = {min, max};
	for (int i = 0; i < 2; i++)
		if (end[i]->rank > 1 || (axis >= 0 && end[i]->rank == 0) ||
			(dfg_shape_known(end[i]) && expected >= 0 && dfg_shape_count(end[i]) != expected))
			return DFG_ERR(DFG_DATA, "%s is %s, expected %s of %" PRId64, i ? "max_range" : "min_range",
				dfg_shape_words(end[i]).s, axis < 0 ? "a scalar or a vector" : "a vector", expected);
	return NULL;
}

static struct dfg_err *check_mode(enum mode mode, int64_t axis, const struct dfg_shape *x)
{
	if (mode != MIN_FIRST || axis < 0 || x->rank < 0 || x->dim[axis] == 1 || x->dim[axis] < 0)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"mode MIN_FIRST cannot be used with axis %" PRId64 " of %s: it requires one range for all elements", axis,
		dfg_shape_words(x).s);
}

/* To a quantised type. */

/* element = round((clamp(x) - origin) * scale) + offset, with x clamped to [min, max]. */
struct encoding {
	float min, max; /* also the ends that the elements have in fact */
	float origin, scale, offset;
};

static struct encoding encode_combined(const struct type *type, float min, float max)
{
	const double values = (double)((float)type->most - (float)type->least);
	return (struct encoding){min, max, min, (float)(values / (double)(max - min)), -half_range(type)};
}

static struct encoding encode_first(const struct type *type, float min, float max)
{
	const double steps = (double)(type->most - type->least + 1);
	const double range = (double)(max - min) * (steps / (steps - 1));
	const float scale = max == min ? 0 : (float)(steps / range);
	return (struct encoding){min, max, 0, scale, (float)type->least - roundf(min * scale)};
}

static struct encoding encode_scaled(const struct type *type, bool narrow, float min, float max)
{
	const float least = (float)(type->least + narrow), most = (float)type->most;
	const float by_min = least * min > 0 ? least / min : FLT_MAX, by_max = most * max > 0 ? most / max : FLT_MAX;
	const float scale = by_min < by_max ? by_min : by_max;
	return (struct encoding){least / scale, most / scale, 0, scale, 0};
}

/* 0 is in the range, which is at least so wide that its values can be told apart. */
static void widen_range(float least_range, float *min, float *max)
{
	const float low = *min, high = *max, size = fmaxf(1, fmaxf(fabsf(low), fabsf(high)));
	*min = fminf(0, low);
	*max = fmaxf(0, fmaxf(high, *min + size * least_range));
}

struct encoder {
	const float *x;
	struct dfg_tensor *out;
	const struct encoding *encoding; /* by channel */
	struct channels channels;
	struct type type;
	enum mode mode;
	bool to_even;
};

static int64_t encode(const struct encoder *work, const struct encoding *by, float x)
{
	const float clamped = x < by->max ? (x > by->min ? x : by->min) : by->max;
	float value;
	if (work->mode == MIN_COMBINED)
		value = roundf((clamped - by->origin) * by->scale + by->offset);
	else if (work->mode == MIN_FIRST)
		value = roundf(x * by->scale) + by->offset;
	else
		value = work->to_even ? rintf(clamped * by->scale) : roundf(clamped * by->scale);
	if (!(value > (float)work->type.least))
		return work->type.least;
	return value < (float)work->type.most ? (int64_t)value : work->type.most;
}

static void encode_range(void *arg, int64_t first, int64_t last)
{
	const struct encoder *work = arg;
	for (int64_t i = first; i < last; i++) {
		const struct encoding *by = &work->encoding[i / work->channels.inner % work->channels.count];
		dfg_quantised_write(work->out, i, encode(work, by, work->x[i]));
	}
}

/* The shape of the ends that are found: one pair is scalars, also of an axis with one index. */
static struct dfg_shape ends_of(const struct dfg_shape *x, int64_t axis)
{
	if (axis < 0)
		return DFG_SHAPE_SCALAR;
	const int64_t count = x->rank < 0 ? DFG_UNKNOWN : x->dim[axis];
	return count < 0 ? DFG_SHAPE_UNKNOWN : count == 1 ? DFG_SHAPE_SCALAR : DFG_SHAPE_VECTOR(count);
}

static struct dfg_err *quantize_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const int64_t axis = attr[Q_AXIS].i;
	const enum mode mode = mode_of(attr[Q_MODE].s);
	if (mode != SCALED && attr[Q_ROUND].s.length == strlen("HALF_TO_EVEN"))
		return DFG_ERR(DFG_DATA, "round_mode is HALF_TO_EVEN, which requires the mode SCALED");
	DFG_TRY(check_ends(node->in[X], node->in[MIN], node->in[MAX], axis));
	DFG_TRY(check_mode(mode, axis, node->in[X]));
	node->out[0] = *node->in[X];
	node->out[1] = node->out[2] = ends_of(node->in[X], axis);
	return NULL;
}

/* Sets the encoding of channel c, and its ends in outputs 1 and 2. */
static struct dfg_err *find_encoding(struct dfg_kernel *ctx, const struct type *type, int64_t c, struct encoding *out)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	float min = ((const float *)dfg_kernel_input(ctx, MIN)->data)[c];
	float max = ((const float *)dfg_kernel_input(ctx, MAX)->data)[c];
	if (!(min <= max))
		return DFG_ERR(
			DFG_DATA, "min_range is %g and max_range %g, expected min_range <= max_range", (double)min, (double)max);
	widen_range((float)attr[Q_LEAST_RANGE].f, &min, &max);
	switch (mode_of(attr[Q_MODE].s)) {
	case MIN_COMBINED:
		*out = encode_combined(type, min, max);
		break;
	case MIN_FIRST:
		*out = encode_first(type, min, max);
		break;
	case SCALED:
		*out = encode_scaled(type, attr[Q_NARROW].b, min, max);
	}
	((float *)ctx->out[1]->data)[c] = out->min;
	((float *)ctx->out[2]->data)[c] = out->max;
	return NULL;
}

static struct dfg_err *quantize_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_shape shape[3];
	struct dfg_tensor *out[3];
	struct encoding *encoding;
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &out[i]));
	struct encoder work = {.x = dfg_kernel_input(ctx, X)->data,
		.out = out[0],
		.type = type_of(out[0]->dtype),
		.channels = channels_of(&shape[0], attr[Q_AXIS].i),
		.mode = mode_of(attr[Q_MODE].s),
		.to_even = attr[Q_ROUND].s.length == strlen("HALF_TO_EVEN")};
	const int64_t count = work.channels.count;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)count + 1) * sizeof *encoding, (void **)&encoding));
	for (int64_t c = 0; c < count; c++)
		DFG_TRY(find_encoding(ctx, &work.type, c, &encoding[c]));
	work.encoding = encoding;
	dfg_kernel_ranges(ctx, dfg_shape_count(&shape[0]), GRAIN, encode_range, &work);
	return NULL;
}

#define MODE "mode: string = 'MIN_COMBINED' in MIN_COMBINED|MIN_FIRST|SCALED"
#define QUANTISED "qi8|qu8|qi32|qi16|qu16"

const struct dfg_op dfg_op_QuantizeV2 = {
	.name = "QuantizeV2",
	.doc = "input quantised to the range from min_range to max_range, and the range that results",
	.sig = "<T: " QUANTISED
		   ">(input: f32, min_range: f32, max_range: f32) -> "
		   "(output: T, output_min: f32, output_max: f32)",
	.attr = {[Q_MODE] = MODE,
		[Q_ROUND] = "round_mode: string = 'HALF_AWAY_FROM_ZERO' in HALF_AWAY_FROM_ZERO|HALF_TO_EVEN",
		[Q_NARROW] = "narrow_range: bool = false",
		[Q_AXIS] = "axis: int = -1",
		[Q_LEAST_RANGE] = "ensure_minimum_range: float = 0.01"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = quantize_shape,
	.run = quantize_run,
};

/* From a quantised type. */

/* x = (element + before) * scale + after */
struct decoding {
	float before, scale, after;
};

static struct decoding decode_first(const struct type *type, float min, float max)
{
	const double steps = (double)(type->most - type->least + 1);
	const float range = (float)((double)(max - min) * (steps / (steps - 1)));
	const float scale = (float)((double)range / steps);
	return (struct decoding){(float)-type->least, scale, max == min ? min : roundf(min / scale) * scale};
}

static struct decoding decoding_of(const struct type *type, enum mode mode, bool narrow, float min, float max)
{
	if (mode == MIN_FIRST)
		return decode_first(type, min, max);
	if (mode == MIN_COMBINED)
		return (struct decoding){half_range(type), (max - min) / ((float)type->most - (float)type->least), min};
	const float by_max = max / (float)type->most;
	return (struct decoding){0, type->least ? fmaxf(min / (float)(type->least + narrow), by_max) : by_max, 0};
}

struct decoder {
	const struct dfg_tensor *x;
	struct dfg_tensor *out;
	const struct decoding *decoding; /* by channel */
	struct channels channels;
};

static void decode_range(void *arg, int64_t first, int64_t last)
{
	const struct decoder *work = arg;
	for (int64_t i = first; i < last; i++) {
		const struct decoding *by = &work->decoding[i / work->channels.inner % work->channels.count];
		const float value = ((float)dfg_quantised_read(work->x, i) + by->before) * by->scale + by->after;
		if (work->out->dtype == DFG_F32)
			((float *)work->out->data)[i] = value;
		else
			((uint16_t *)work->out->data)[i] = dfg_bf16_round(value);
	}
}

static struct dfg_err *dequantize_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const enum mode mode = mode_of(attr[D_MODE].s);
	if (mode != MIN_COMBINED && node->call->out_dtype[0] == DFG_BF16)
		return DFG_ERR(DFG_DATA, "the output is bf16, which requires the mode MIN_COMBINED");
	DFG_TRY(check_ends(node->in[X], node->in[MIN], node->in[MAX], attr[D_AXIS].i));
	DFG_TRY(check_mode(mode, attr[D_AXIS].i, node->in[X]));
	node->out[0] = *node->in[X];
	return NULL;
}

static struct dfg_err *dequantize_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_tensor *x = dfg_kernel_input(ctx, X);
	const float *min = dfg_kernel_input(ctx, MIN)->data, *max = dfg_kernel_input(ctx, MAX)->data;
	const struct type type = type_of(x->dtype);
	struct decoder work = {.x = x, .channels = channels_of(&x->shape, attr[D_AXIS].i)};
	struct decoding *decoding;
	DFG_TRY(dfg_output_now(ctx, &work.out));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)work.channels.count + 1) * sizeof *decoding, (void **)&decoding));
	for (int64_t c = 0; c < work.channels.count; c++)
		decoding[c] = decoding_of(&type, mode_of(attr[D_MODE].s), attr[D_NARROW].b, min[c], max[c]);
	work.decoding = decoding;
	dfg_kernel_ranges(ctx, dfg_shape_count(&x->shape), GRAIN, decode_range, &work);
	return NULL;
}

const struct dfg_op dfg_op_Dequantize = {
	.name = "Dequantize",
	.doc = "the values of quantised elements in the range from min_range to max_range",
	.sig = "<T: " QUANTISED ", dtype: f32|bf16 = f32>(input: T, min_range: f32, max_range: f32) -> (output: dtype)",
	.attr = {[D_MODE] = MODE, [D_NARROW] = "narrow_range: bool = false", [D_AXIS] = "axis: int = -1"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = dequantize_shape,
	.run = dequantize_run,
};
