#pragma once

#include "kernels/gemm/gemm.h"

/* The product's functions for one type and one kind of instructions. */
struct dfg_product_functions {
	int64_t strip; /* columns of a packed strip */
	void (*product)(const struct dfg_product *p, const void *a, const void *b, void *c);
	void (*pack)(const struct dfg_product *p, const void *b, int64_t first, int64_t last, void *out);
	void (*packed)(const struct dfg_product *p, const void *a, const void *packed, void *c);
	void (*gathered)(const struct dfg_gathered *g, const void *a, const void *packed, void *c);
};

struct dfg_product_variant {
	const char *name, *option, *fingerprint;
	const struct dfg_product_functions *f32, *f64;
};

/* Each in its own file; the first two are for x86-64 alone. */
extern const struct dfg_product_variant dfg_product_avx512, dfg_product_avx2, dfg_product_generic, dfg_product_mul;

/* The functions for integers, which wrap around. */
extern const struct dfg_product_functions *const dfg_product_i32;

/* The one in use. */
const struct dfg_product_variant *dfg_product_variant(void);

/* dfg_product_check() for one of them. */
DFG_MUST_CHECK struct dfg_err *dfg_product_check_variant(const struct dfg_product_variant *variant);

/* Limits of micro.inc: steps of k in a block, rows from which a panel is copied, bytes of a. */
enum { RUN = 256, COPY = 24, BLOCK_BYTES = 192 * 1024 };

/* The most rows that count as few, and the bytes of c that are then computed together. */
enum { FEW = 8, FEW_BYTES = 16 * 1024 };

/*
 * A few elements with sums of several chains: they are computed one by one, several chains at a time. Neighbours of a and b
 * are adjacent, or each of those chains would read lines of its own for every element.
 */
enum { DOTS = 16 };
static inline bool is_dots(const struct dfg_product *p)
{
	return p->k > DFG_PRODUCT_CHAIN && p->m * p->n <= DOTS && p->a_column == 1 && p->b_row == 1;
}

/* A few rows by b in place: rows of b are read from end to end, where panels would read a vector of each. */
static inline bool is_few(const struct dfg_product *p)
{
	return p->m > 1 && p->m <= FEW && p->b_column == 1;
}

/* The most rows by b turned whose sums stay in registers while b is transposed there. */
enum { TURNED_ROWS = 4 };

/* A few columns of many rows are computed as a few rows by a turned, where this many columns of it are taken together. */
enum { COLUMNS_TOGETHER = 256 };
static inline bool is_few_columns(const struct dfg_product *p)
{
	return p->n <= TURNED_ROWS && p->m >= 2 * FEW && p->a_column == 1 && p->k >= 16;
}

/* A few rows by b turned: its panels are wide and short, so that they stay in the first cache. */
static inline bool is_turned_for_few(const struct dfg_product *p)
{
	return p->m <= TURNED_ROWS && p->b_column != 1;
}

#define INLINE __attribute__((always_inline))
