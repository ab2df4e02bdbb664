#pragma once

#include "lib/graph/tensor.h"

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
 * their first dfg_reduce_half(n) elements and of the others. A large reduction is cut into blocks for threads, whose
 * borders are borders of the tree.
 */
enum { DFG_REDUCE_LEAF = 1024, DFG_REDUCE_LANES = 64, DFG_REDUCE_BLOCK = 1 << 15, DFG_ACCUMULATOR_MAX = 16 };
int64_t dfg_reduce_half(int64_t n);

/* The left half of n items that are combined in a tree whose leaves are `unit` items. */
static inline int64_t dfg_reduce_left(int64_t n, int64_t unit)
{
	return ((n + unit - 1) / unit + 1) / 2 * unit;
}

/* Combines n adjacent elements in one accumulator. */
void dfg_reduce_row(const struct dfg_reducer *reducer, int64_t n, const void *in, void *acc);

/* Axes that are all reduced, or all retained. Adjacent ones are merged. */
struct dfg_axes {
	int rank;
	int64_t dim[DFG_RANK_MAX], step[DFG_RANK_MAX], count; /* steps in elements; count: of positions along all of them */
};

/* The offset, in elements, of position i of all positions along the axes. */
static inline int64_t dfg_axes_at(const struct dfg_axes *axes, int64_t i)
{
	int64_t at = 0;
	if (axes->rank == 1)
		return i * axes->step[0];
	for (int d = axes->rank - 1; d >= 0; d--) {
		at += i % axes->dim[d] * axes->step[d];
		i /= axes->dim[d];
	}
	return at;
}

/*
 * A reduction in one of two forms: a run of adjacent elements is combined in one accumulator (run > 1, width 1), or
 * `width` adjacent elements are combined in as many accumulators (run 1). `gone` are the other axes that are reduced,
 * `kept` those that are retained. Positions of `gone` are combined one after another if there are at most
 * DFG_REDUCE_STACK of rows, else in a tree, whose leaves are blocks of `block` positions, and within these in halves.
 */
enum { DFG_REDUCE_STACK = 16, DFG_REDUCE_TILE = 64 };
struct dfg_reduce_order {
	struct dfg_axes gone, kept;
	int64_t run, width, block;
};

/* That of the elements of the shape, which are adjacent, over the axes d where gone[d]. */
struct dfg_reduce_order dfg_reduce_order_of(const struct dfg_shape *in, const bool *gone);
