#pragma once

#include "lib/graph/kernel.h"

#include <math.h>

/*
 * Elements of quantised types and the reals that they stand for, by the reals of the type's least and largest element. These
 * are TensorFlow's formulas: 0 need not be exactly one of the values.
 */
struct dfg_quantised {
	float min, max;
};

/* The least and the largest integer of a quantised type. */
static inline int64_t dfg_quantised_least(enum dfg_dtype dtype)
{
	return dtype == DFG_QU8 || dtype == DFG_QU16 ? 0 : -(INT64_C(1) << (8 * dfg_dtype_size(dtype) - 1));
}
static inline int64_t dfg_quantised_most(enum dfg_dtype dtype)
{
	return dfg_quantised_least(dtype) + (INT64_C(1) << 8 * dfg_dtype_size(dtype)) - 1;
}

/* The element nearest to x, which may be outside the type. */
static inline int64_t dfg_quantise_unclamped(enum dfg_dtype dtype, struct dfg_quantised range, float x)
{
	const double steps = (double)(INT64_C(1) << 8 * dfg_dtype_size(dtype));
	if (range.min == range.max)
		return dfg_quantised_least(dtype);
	const double scale = steps / ((double)(range.max - range.min) * (steps / (steps - 1)));
	const double at = round((double)x * scale) - round((double)range.min * scale) + (double)dfg_quantised_least(dtype);
	return at > -0x1p62 ? at < 0x1p62 ? (int64_t)at : INT64_C(1) << 62 : -(INT64_C(1) << 62);
}

static inline int64_t dfg_quantise(enum dfg_dtype dtype, struct dfg_quantised range, float x)
{
	const int64_t at = dfg_quantise_unclamped(dtype, range, x), least = dfg_quantised_least(dtype),
				  most = dfg_quantised_most(dtype);
	return at < least ? least : at > most ? most : at;
}

static inline float dfg_dequantise(enum dfg_dtype dtype, struct dfg_quantised range, int64_t element)
{
	const double steps = (double)(INT64_C(1) << 8 * dfg_dtype_size(dtype));
	if (range.min == range.max)
		return range.min;
	const double scale = (double)(range.max - range.min) * (steps / (steps - 1)) / steps;
	const float narrow = (float)scale;
	const double origin = (double)roundf(range.min / narrow) * (double)narrow;
	return (float)(origin + (double)(element - dfg_quantised_least(dtype)) * scale);
}

/* Element i of a tensor of a quantised type. */
int64_t dfg_quantised_read(const struct dfg_tensor *tensor, int64_t i);
void dfg_quantised_write(struct dfg_tensor *tensor, int64_t i, int64_t value);

/* The range in inputs i and i + 1; DFG_DATA if it is not one of finite numbers, the smaller one first. */
DFG_MUST_CHECK struct dfg_err *dfg_quantised_input(struct dfg_kernel *ctx, int i, struct dfg_quantised *out_range);

/* Makes output 0 of an op with three by its shape function. */
DFG_MUST_CHECK struct dfg_err *dfg_quantised_elements(struct dfg_kernel *ctx, struct dfg_tensor **out_tensor);

/* Makes the scalar outputs i and i + 1. */
DFG_MUST_CHECK struct dfg_err *dfg_quantised_output(struct dfg_kernel *ctx, int i, struct dfg_quantised range);

/* Inputs [first, last) must be scalars. Outputs 1 and 2 are scalars. */
DFG_MUST_CHECK struct dfg_err *dfg_quantised_scalars(struct dfg_infer *node, int first, int last);

/* Elements [0, n) of a tensor of one range as elements of another range, of out's type. */
void dfg_requantise(struct dfg_kernel *ctx, const struct dfg_tensor *in, struct dfg_quantised from,
	struct dfg_tensor *out, int64_t out_at, struct dfg_quantised to);
