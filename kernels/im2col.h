#pragma once

#include "kernels/convolve.h"

/*
 * im2col: the elements of an image under one group's filter at positions [first, last), which are numbered over all
 * images of the batch. Each position is a row, in the filter's order of taps and channels; elements outside the image
 * are zeros.
 */
void dfg_patches(const struct dfg_convolution *convolution, int64_t group, const void *in, int64_t first, int64_t last,
	void *out_rows);

/* col2im: adds each element of the rows to the element of the image from which dfg_patches() takes it. */
void dfg_patches_add(
	const struct dfg_convolution *convolution, int64_t group, const void *rows, int64_t first, int64_t last, void *in);

/* The number of elements of a row. */
static inline int64_t dfg_patch_size(const struct dfg_convolution *convolution)
{
	return dfg_window_size(&convolution->window) * convolution->group_in;
}
