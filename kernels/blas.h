#pragma once

#include "lib/graph/kernel.h"

/*
 * Products of matrices: c[m,n] = a[m,k] b[k,n], or that added to what c holds. Steps are in elements. Either the columns
 * or the rows of a are adjacent, and so for b; the columns of c always are.
 *
 * Which code computes a product (our own loops, or OpenBLAS, loaded when a product first needs it) is a function of the
 * sizes alone, so equal products have equal bits on one machine, whatever the threads.
 */
struct dfg_product {
	int64_t m, n, k;
	int64_t a_row, a_column; /* steps to the next row, to the next column */
	int64_t b_row, b_column;
	int64_t c_row;
	bool add;
};

/* On this thread. */
void dfg_product_f32(const struct dfg_product *p, const float *a, const float *b, float *c);
void dfg_product_f64(const struct dfg_product *p, const double *a, const double *b, double *c);

/* Products of equal sizes, and of f32 or f64: the i-th begins a_at[i], b_at[i] and i * c_step elements behind a, b, c. */
struct dfg_products {
	struct dfg_product each;
	enum dfg_dtype dtype;
	int64_t count;
	const void *a, *b;
	void *c;
	const int64_t *a_at, *b_at; /* NULL: all 0 */
	int64_t c_step;
};

/* All of them, cut into blocks, on all threads. */
void dfg_kernel_products(struct dfg_kernel *ctx, const struct dfg_products *products);

/* What large products run on: "OpenBLAS 0.3.21, SkylakeX", or our own loops where it is not there. Loads it. */
const char *dfg_blas_name(void);
