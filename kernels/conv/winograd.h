#pragma once

#include "kernels/conv/convolve.h"

/*
 * Winograd's convolutions F(t,3): a tile of t x t pixels of the output, of a window of 3 x 3, from (t + 2)^2 points instead
 * of 9 t^2 products. The input's tile and the filter are transformed, the points are products of matrices over the
 * channels, and t x t sums of the points are the output. All sums of transforms are plain (no fused multiply-adds) and in
 * one order, so the bits depend on the tile's own pixels alone: not on the batch, blocks, threads or vectors.
 *
 * An output differs from the exact sum by at most 4e-7 (t = 2) or 4e-6 (t = 4) of the sum of |x w|, where the pixels of its
 * tile are of like magnitude; much larger pixels that its own window does not contain add their share. An infinity or a NaN in the input may make each output of its tiles a NaN;
 * pixels of more than 2^126 (t = 2) or 2^121 (t = 4) may overflow in the transforms.
 */

/* t for a convolution and an option, by its shape without the batch; 0: it is computed directly. */
int dfg_winograd_tile(const struct dfg_convolution *convolution, enum dfg_winograd option);

/* dfg_convolve() by tiles of t = 2 or 4. */
DFG_MUST_CHECK struct dfg_err *dfg_convolve_winograd(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	int t, const float *in, const float *filter, float *out);

/*
 * The transforms for one t and one kind of instructions. `step` is in elements from one point to the next. The output has
 * pixels at pixel[i], row by row; NULL: it is outside of the image.
 */
struct dfg_winograd_transforms {
	void (*to_points)(int64_t channels, const float *const *pixel, float *points, int64_t step);
	void (*to_pixels)(int64_t channels, const float *points, int64_t step, float *const *pixel);
};
const struct dfg_winograd_transforms *dfg_winograd_transforms(int t);

/*
 * Compares the bits of the transforms in use, *out_kinds of them, with those of plain C; 0: those in use are plain C.
 */
DFG_MUST_CHECK struct dfg_err *dfg_winograd_check(int *out_kinds);
