#pragma once

#include <stdint.h>

/*
 * The argument of a kernel of products: c[t] = a[t] b[t] for each t of a batch, of m by k and k by n. Steps are in elements;
 * the extents are those of the batch, in which a matrix may be repeated (step 0). Elements of c are adjacent.
 */
enum { DFG_PRODUCT_LAUNCH_RANK = 6, DFG_PRODUCT_LAUNCH_CHAIN = 4096 };

struct dfg_product_launch {
	int64_t count; /* elements of c */
	void *out;
	const void *a, *b;
	int64_t m, n, k, a_row, a_column, b_row, b_column;
	int32_t rank; /* of the batch */
	int64_t extent[DFG_PRODUCT_LAUNCH_RANK], a_step[DFG_PRODUCT_LAUNCH_RANK], b_step[DFG_PRODUCT_LAUNCH_RANK];
};
