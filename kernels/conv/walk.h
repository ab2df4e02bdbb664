#pragma once

#include "kernels/conv/convolve.h"

/*
 * The walk of a window over images, which reads each pixel in place: forward convolutions, and their gradients by the
 * input. Images have their channels last. The sum of a position goes over the window's taps in ascending order, within a
 * tap over the channels, and is one element of kernels/gemm/gemm.h's products. Rows of taps that are outside of the image
 * are left out, columns of taps count as zeros. So an image of a batch has the bits that it has alone.
 */
struct dfg_conv_walk_axis {
	int64_t in;                     /* pixels of the image that is read */
	int64_t positions, first, step; /* of the window: how many, the pixel of the first tap at the first, its step */
	int64_t taps, dilation;
	int64_t to, to_step, to_size; /* pixels of the image that is written: the first, its step, how many there are */
};

struct dfg_conv_walk {
	struct dfg_conv_walk_axis axis[DFG_AXES];
	int64_t images, groups, group_in, group_out; /* channels that a group reads, and writes */
	enum dfg_dtype dtype;
};

/* The walk of a convolution itself. */
struct dfg_conv_walk dfg_conv_walk_forward(const struct dfg_convolution *convolution);

/* The pixel under a tap at a position, which may be outside of the image; and the pixel that the position writes. */
static inline int64_t dfg_conv_walk_pixel(const struct dfg_conv_walk_axis *axis, int64_t position, int64_t tap)
{
	return axis->first + position * axis->step + tap * axis->dilation;
}
static inline int64_t dfg_conv_walk_target(const struct dfg_conv_walk_axis *axis, int64_t position)
{
	return axis->to + position * axis->to_step;
}

/* a / b, rounded up; a >= 0 and b > 0. */
static inline int64_t dfg_ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

/* Scratch memory for several walks, one after another. */
struct dfg_conv_walk_memory {
	void *memory;
	size_t bytes;
};

/* Rows of a group's filter, as a matrix: taps * group_in. */
int64_t dfg_conv_walk_rows(const struct dfg_conv_walk *walk);

/* Strips of columns of a group's packed filter. */
int64_t dfg_conv_walk_strips(const struct dfg_conv_walk *walk);

/* Bytes of the groups' packed filters, one after another: see dfg_product_pack(). DFG_MEMORY if they overflow. */
DFG_MUST_CHECK struct dfg_err *dfg_conv_walk_packed_bytes(const struct dfg_conv_walk *walk, size_t *out_bytes);

/* Writes all positions of all images; `filter` is packed. */
DFG_MUST_CHECK struct dfg_err *dfg_conv_walk_run(struct dfg_kernel *ctx, const struct dfg_conv_walk *walk,
	struct dfg_conv_walk_memory *memory, const void *in, const void *filter, void *out);
