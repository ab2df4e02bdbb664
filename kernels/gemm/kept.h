#pragma once

#include "kernels/gemm/gemm.h"

/*
 * Forms of a b that is constant, which the session keeps for all steps. The products are one, and b is the elements of the
 * kernel's input 1. Where b is not constant, strips are NULL, and the products stay as they are.
 */
DFG_MUST_CHECK struct dfg_err *dfg_product_kept_strips(
	struct dfg_kernel *ctx, const struct dfg_products *products, const void **out_strips);

/* Makes the products read b with its columns adjacent. */
DFG_MUST_CHECK struct dfg_err *dfg_product_turn_kept(struct dfg_kernel *ctx, struct dfg_products *products);
