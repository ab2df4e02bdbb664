#pragma once

#include "kernels/shape_rules.h"

/*
 * How elements are combined into one. An accumulator may be wider than the elements. All is done in a fixed tree, which
 * depends on the shape alone: the bits are the same on any number of threads.
 */
struct dfg_reducer {
	size_t in_size, acc_size, out_size;
	void (*row)(int64_t n, const void *in, void *acc);                    /* one accumulator from n elements */
	void (*start)(int64_t n, void *acc);                                  /* n accumulators of nothing */
	void (*add)(int64_t n, const void *in, void *acc);                    /* element i into accumulator i */
	void (*merge)(int64_t n, const void *from, void *acc);                /* accumulator i into accumulator i */
	void (*finish)(int64_t n, int64_t count, const void *acc, void *out); /* count elements went into each */
};

/* Reduces input 0 over the axes that input 1 names, to output 0. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* Reduces all of input 0 to a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* Shape of a reduction: input 1 names axes, attribute 0 is keep_dims. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_shape(struct dfg_infer *node);
