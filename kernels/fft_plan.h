#pragma once

#include "lib/graph/kernel.h"

/*
 * Discrete Fourier transforms of one length, in f64 for any type of elements: X[k] = sum of x[j] e^(-2 pi i j k / n).
 * Lengths with factors up to 13 alone are transformed by Stockham's algorithm in mixed radix; others as a convolution with a
 * chirp (Bluestein 1970) by transforms whose length is a power of two. The error is some 2^-52 log2(n) of the result's norm.
 */
struct dfg_fft_number {
	double real, imaginary;
};

struct dfg_fft_radix {
	int64_t n;
	int factors, factor[64];
	struct dfg_fft_number *root; /* e^(-2 pi i k / n) for k < n */
};

struct dfg_fft_plan {
	int64_t n;
	bool inverse;                               /* the conjugate roots, and results divided by n */
	struct dfg_fft_radix radix;                 /* of n, or of the convolution */
	struct dfg_fft_number *chirp, *chirp_image; /* NULL if n has small factors; of lengths n and radix.n */
};

/* A plan in scratch memory of the kernel. n >= 1. */
DFG_MUST_CHECK struct dfg_err *dfg_fft_plan(
	struct dfg_kernel *ctx, int64_t n, bool inverse, struct dfg_fft_plan *out_plan);

/* Numbers of memory that dfg_fft_run() requires. */
static inline int64_t dfg_fft_memory(const struct dfg_fft_plan *plan)
{
	return 2 * plan->radix.n;
}

/* Transforms the first plan->n numbers of `memory`; the result is returned, within it. Any number of threads at a time. */
struct dfg_fft_number *dfg_fft_run(const struct dfg_fft_plan *plan, struct dfg_fft_number *memory);
