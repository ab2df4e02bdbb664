#pragma once

#include "lib/graph/kernel.h"

/*
 * Products of matrices: c[m,n] = a[m,k] b[k,n], or c += a b. Steps are in elements. Either the columns or the rows of a
 * are adjacent, and the same holds for b; the columns of c are always adjacent.
 *
 * An element of c is a chain of fused multiply-adds over ascending k that begins with +0, or with the element of c that
 * it is added to. Every DFG_PRODUCT_CHAIN steps begin a new chain, and the chains are added as a binary tree whose left
 * half has the largest power of two of them. So the bits of an element depend on its row of a, its column of b and k
 * alone: not on m, n, the element's position, the layout of a and b, their alignment, the blocks that a product is cut
 * into, or threads. They are the same on every processor with fused multiply-adds; where there are none, each step
 * rounds twice (dfg_product_fingerprint).
 */
enum { DFG_PRODUCT_CHAIN = 4096 };

struct dfg_product {
	int64_t m, n, k;
	int64_t a_row, a_column; /* steps to the next row, to the next column */
	int64_t b_row, b_column;
	int64_t c_row;
	bool add;
};

/* Computes one product on the calling thread. */
void dfg_product_f32(const struct dfg_product *p, const float *a, const float *b, float *c);
void dfg_product_f64(const struct dfg_product *p, const double *a, const double *b, double *c);

/*
 * A matrix b that many products read can be packed first: the columns are cut into strips of dfg_product_strip(), the
 * last one filled up with zeros, and a strip's rows are adjacent. Strips [first, last) can be packed on any thread;
 * `out` has memory for all of them. A product of a packed b reads no b_row and b_column.
 */
int64_t dfg_product_strip(enum dfg_dtype dtype);
void dfg_product_pack(
	const struct dfg_product *p, enum dfg_dtype dtype, const void *b, int64_t first, int64_t last, void *out);
void dfg_product_packed(const struct dfg_product *p, enum dfg_dtype dtype, const void *a, const void *packed, void *c);

/*
 * A product whose rows of a are read in place wherever they are, as convolutions do: row i begins a_at[i] elements after
 * a, and is the steps of the taps. Step s of a tap multiplies the element `a` + s * a_column after the row's beginning by
 * row `b` + s of the packed b, which has k rows. Taps are in the order of their rows of b; rows of b that no tap has
 * are left out of the sum. Chains begin at every row of b that is a multiple of DFG_PRODUCT_CHAIN. Row i of c begins
 * c_at[i] elements after c.
 */
struct dfg_tap {
	int64_t a, b, steps;
};
struct dfg_gathered {
	int64_t m, n, k;
	const int64_t *a_at, *c_at;
	const struct dfg_tap *tap;
	int64_t taps, a_column;
	bool add;
};

/* Computes one gathered product on the calling thread. dtype is f32, f64 or i32; dfg_product_pack() packs i32 too. */
void dfg_product_gathered(
	const struct dfg_gathered *g, enum dfg_dtype dtype, const void *a, const void *packed, void *c);

/*
 * Products of equal sizes, and of f32 or f64: the i-th begins a_at[i], b_at[i] and i * c_step elements after a, b, c.
 */
struct dfg_products {
	struct dfg_product each;
	enum dfg_dtype dtype;
	int64_t count;
	const void *a, *b;
	void *c;
	const int64_t *a_at, *b_at; /* NULL: all 0 */
	int64_t c_step;
	bool b_is_input_1; /* of the kernel that computes them: where it is constant, b is packed once */
};

/* Computes all of the products, cut into blocks, on all threads. Fails if there is no memory to pack b. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_products(struct dfg_kernel *ctx, const struct dfg_products *products);

/*
 * The instructions that products use: "AVX-512", "AVX2", "generic"; the widest that the processor has, or what the
 * environment's DFG_CPU names (avx512, avx2, generic). dfg_product_cpu() fails if it names none, or one that is not
 * there.
 */
const char *dfg_product_name(void);
DFG_MUST_CHECK struct dfg_err *dfg_product_cpu(void);

/* Machines with equal fingerprints compute equal bits: "fma", or "mul" where each step rounds twice. */
const char *dfg_product_fingerprint(void);

/*
 * Compares the bits of f32 products of each way of computing them, of which there are *out_ways, with those of plain C.
 * Without fused multiply-adds there is nothing to compare with: *out_ways is 0.
 */
DFG_MUST_CHECK struct dfg_err *dfg_product_check(int *out_ways);
