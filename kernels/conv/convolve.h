#pragma once

#include "kernels/window.h"

/*
 * Convolutions of images, channels last, of f32, f64 or i32. The filter is [taps, group_in, groups * group_out]: the
 * input channels are divided into groups of group_in, and each group has group_out of the output channels.
 */
struct dfg_convolution {
	struct dfg_window window; /* batch and channels of the input */
	int64_t groups, group_in, group_out;
	enum dfg_dtype dtype;
};

/* Operations on floats, with the taps outside of images: the same for a convolution and its gradients. */
static inline double dfg_convolution_operations(const struct dfg_convolution *c)
{
	return 2.0 * (double)(c->window.batch * dfg_window_positions(&c->window)) *
		   (double)(dfg_window_size(&c->window) * c->group_in) * (double)(c->groups * c->group_out);
}

/* The input of all ops of the family but the gradient by the filter that is the filter, whose packed form is kept. */
enum { DFG_FILTER_INPUT = 1 };

/* out = in * filter, and the gradients by in and by filter, given d out. The caller has allocated all results. */
DFG_MUST_CHECK struct dfg_err *dfg_convolve(
	struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in, const void *filter, void *out);
DFG_MUST_CHECK struct dfg_err *dfg_convolve_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in);
DFG_MUST_CHECK struct dfg_err *dfg_convolve_filter(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *in, const void *d_out, void *d_filter);

/* A matrix of `rows` by `columns` elements, whose rows are in_row elements apart; those of its transpose are out_row apart. */
struct dfg_matrix {
	int64_t rows, columns, in_row, out_row;
};

/* Writes the transpose of a matrix of elements of 1, 2, 4 or 8 bytes, on the calling thread. */
void dfg_transpose_matrix(const struct dfg_matrix *m, int64_t size, const void *in, void *out);

/* Transposes each matrix: images from [batch, pixels, channels] to [batch, channels, pixels], or back. */
void dfg_transpose_images(struct dfg_kernel *ctx, enum dfg_dtype dtype, int64_t batch, int64_t rows, int64_t columns,
	const void *in, void *out);
