#pragma once

#include "kernels/gemm/gemm.h"

/* Whether dfg_kernel_product_of_halves() is faster than the product of operands that are widened as a whole. */
bool dfg_product_widens_blocks(const struct dfg_product *p);

/*
 * The product of matrices of halves, rounded, with the bits of the product of f32 that dfg_kernel_products() computes of the
 * widened operands. The elements of a are adjacent: rows after each other, or columns.
 */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_product_of_halves(struct dfg_kernel *ctx, const struct dfg_product *p,
	enum dfg_dtype half, const uint16_t *a, const uint16_t *b, uint16_t *c);
