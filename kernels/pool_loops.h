#pragma once

#include "kernels/window.h"

/*
 * The loops of poolings over images and volumes of any number type. The first of equal largest elements of a window
 * counts; NaN is larger than any number; of means, only pixels of the image count, not the padding.
 */
enum dfg_pooling {
	DFG_POOL_MAX,          /* the largest element of each window */
	DFG_POOL_MAX_GRADIENT, /* d_out, added to the pixels of the largest elements */
	DFG_POOL_MAX_ELEMENTS, /* the elements of d_out, which has the image's shape, at those pixels; 0 for an empty window */
	DFG_POOL_MEAN,         /* the mean of each window; f32 or f64 */
	DFG_POOL_MEAN_GRADIENT /* d_out, divided equally among each window's pixels; f32 or f64 */
};

/*
 * Writes `out`, which has elements. `image` is not read for DFG_POOL_MEAN_GRADIENT, d_out by gradients alone. Fails if
 * there is no memory to turn images with channels first.
 */
DFG_MUST_CHECK struct dfg_err *dfg_pool(struct dfg_kernel *ctx, enum dfg_pooling pooling,
	const struct dfg_window *window, enum dfg_dtype dtype, const void *image, const void *d_out, void *out);
