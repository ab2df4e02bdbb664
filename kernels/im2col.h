#pragma once

#include "kernels/convolve.h"

/*
 * The elements of an image that one group's filter sees from places [first, last), counted over all images of the batch:
 * a row a place, as the taps and the channels of a tap follow each other in the filter; zeros where the image ends.
 */
void dfg_patches(const struct dfg_convolution *convolution, int64_t group, const void *in, int64_t first, int64_t last,
	void *out_rows);

/* The way back: adds each element of the rows to the element of the image that it was taken from. */
void dfg_patches_add(
	const struct dfg_convolution *convolution, int64_t group, const void *rows, int64_t first, int64_t last, void *in);

/* Elements of a row. */
static inline int64_t dfg_patch_size(const struct dfg_convolution *convolution)
{
	return dfg_window_size(&convolution->window) * convolution->group_in;
}
