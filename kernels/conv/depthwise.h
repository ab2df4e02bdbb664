#pragma once

#include "kernels/conv/walk.h"

/*
 * Convolutions of each channel by itself, and their gradients: a convolution with as many groups as channels, whose
 * filter is [taps, channels]. The sum over a window's taps is one chain in ascending order, that over positions is the one
 * of kernels/conv/filter.c; taps outside of the image are left out.
 */
DFG_MUST_CHECK struct dfg_err *dfg_depthwise(
	struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in, const void *filter, void *out);
DFG_MUST_CHECK struct dfg_err *dfg_depthwise_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in);
DFG_MUST_CHECK struct dfg_err *dfg_depthwise_filter(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *in, const void *d_out, void *d_filter);

/*
 * The arguments of functions for one row of positions. positions() computes all of them, at `to`, from `rows` rows of
 * taps, with pixels x[i] and weights w[i]. sums() adds the products of positions [begin, end) to the filter's gradient,
 * [taps, channels], at `to`, for one row of taps, x[0].
 */
struct dfg_depthwise_row {
	const struct dfg_conv_walk_axis *axis;
	int64_t channels, rows;
	const void *const *x; /* the image's row */
	const void *const *w; /* weights of the row of taps */
	void *to;
	int64_t to_step; /* elements to the next position */
	const void *d;   /* gradient of position 0 */
	int64_t begin, end;
};
struct dfg_depthwise_functions {
	void (*positions)(const struct dfg_depthwise_row *row);
	void (*sums)(const struct dfg_depthwise_row *row);
};

/* The functions for the instructions that products use. */
const struct dfg_depthwise_functions *dfg_depthwise_functions(enum dfg_dtype dtype);
