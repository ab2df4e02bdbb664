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

/*
 * The order of a sum of n adjacent elements, on every machine: runs of at most DFG_REDUCE_LEAF have DFG_REDUCE_LANES
 * partial sums, element i in number i mod DFG_REDUCE_LANES, which are joined in halves; longer ones are the sum of
 * their first dfg_reduce_half(n) elements and of the others.
 */
enum { DFG_REDUCE_LEAF = 1024, DFG_REDUCE_LANES = 64 };
int64_t dfg_reduce_half(int64_t n);

/* Combines n adjacent elements in one accumulator. */
void dfg_reduce_row(const struct dfg_reducer *reducer, int64_t n, const void *in, void *acc);

/* The reducers of Sum and Max for f32 or f64. */
const struct dfg_reducer *dfg_sum_reducer(enum dfg_dtype dtype);
const struct dfg_reducer *dfg_max_reducer(enum dfg_dtype dtype);

/* Reduces input 0 over the axes that input 1 names, to output 0. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* Reduces all of input 0 to a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* The shape of a reduction: input 1 lists the axes, attribute 0 is keep_dims. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_shape(struct dfg_infer *node);
