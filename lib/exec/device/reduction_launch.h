#pragma once

#include <stdint.h>

/*
 * The argument of a kernel of reductions: struct dfg_reduce_order (lib/graph/reduction.h), whose order the kernel follows. Steps
 * are in elements.
 */
enum { DFG_REDUCTION_LAUNCH_RANK = 8 };

/* The constants of the order; lib/exec/device/reduction.c checks that they are those of lib/graph/reduction.h. */
enum { DFG_LAUNCH_LANES = 64, DFG_LAUNCH_LEAF = 1024, DFG_LAUNCH_BLOCK = 1 << 15, DFG_LAUNCH_STACK = 16 };

struct dfg_launch_axes {
	int64_t count;
	int64_t dim[DFG_REDUCTION_LAUNCH_RANK], step[DFG_REDUCTION_LAUNCH_RANK];
	int32_t rank;
};

struct dfg_reduction_launch {
	int64_t count; /* elements of the output */
	void *out;
	const void *in;
	struct dfg_launch_axes gone, kept;
	int64_t run, width, block;
};
