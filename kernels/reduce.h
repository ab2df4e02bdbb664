#pragma once

#include "kernels/shape_rules.h"

/*
 * The functions of a reduction. An accumulator may be wider than the elements. Elements are combined in a tree that
 * depends on the shape alone: the bits are the same for any number of threads.
 */
struct dfg_reducer {
	size_t in_size, acc_size, out_size;                    /* bytes of an element */
	void (*row)(int64_t n, const void *in, void *acc);     /* sets one accumulator from n elements */
	void (*start)(int64_t n, void *acc);                   /* sets n accumulators to that of no elements */
	void (*add)(int64_t n, const void *in, void *acc);     /* adds element i to accumulator i */
	void (*merge)(int64_t n, const void *from, void *acc); /* adds accumulator i to accumulator i */
	void (*finish)(int64_t n, int64_t count, const void *acc, void *out); /* n results, each of count elements */
};

/* Reduces input 0 over the axes that input 1 names, to output 0. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* Reduces all of input 0 to a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* The shape of a reduction: input 1 lists the axes, attribute 0 is keep_dims. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_shape(struct dfg_infer *node);
