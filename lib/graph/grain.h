#pragma once

#include <stdint.h>

/*
 * Items of a block of [0, n), for work whose results do not depend on its blocks (dfg_kernel_ranges). Sixteen equal blocks,
 * so that a few threads end together, but none of fewer than `least` items, which should take some microseconds: several
 * times as long as it takes to hand a block over. Eight times as many are the most, so that a block's memory is in a cache.
 */
static inline int64_t dfg_grain(int64_t n, int64_t least)
{
	enum { BLOCKS = 16, MOST = 8 };
	least = least > 1 ? least : 1;
	int64_t block = (n + BLOCKS - 1) / BLOCKS;
	block = block < least ? least : block > MOST * least ? MOST * least : block;
	int64_t blocks = (n + block - 1) / block;
	return blocks > 1 ? (n + blocks - 1) / blocks : block;
}

/* Multiplications of a task, of `all` in products or convolutions: `most`, or some 5 us of work where that is few tasks. */
static inline int64_t dfg_grain_of_products(double all, int64_t most)
{
	enum { TASKS = 16, LEAST = 1 << 18 };
	return all < (double)LEAST * TASKS ? LEAST : all > (double)most * TASKS ? most : (int64_t)(all / TASKS);
}
