#pragma once

#include <stddef.h>
#include <stdint.h>

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
