#pragma once

#include "lib/base/text.h"
#include "lib/exec/state/state.h"
#include "lib/graph/kernel.h"

/* What ops on variables share: the same update stands behind a ref and behind a resource. */

/* "container/shared name" of something in the session; what has neither is known by its node. To be released, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_shared_name(
	struct dfg_kernel *ctx, struct dfg_string container, struct dfg_string name, struct dfg_text *out_name);

/* The row of an elementwise op for the dtype, f32's for halves; DFG_DATA where it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_row_of(const struct dfg_op *op, enum dfg_dtype dtype, dfg_row_fn **out_row);

/* Applies it to n elements of the dtype. Halves are widened and rounded a tile at a time. */
void dfg_combine(dfg_row_fn *row, enum dfg_dtype dtype, int64_t n, void *to, const void *with);

/* Output 0 is the ref that input 0 is; nothing where the op has no output. */
DFG_MUST_CHECK struct dfg_err *dfg_give_back(struct dfg_kernel *ctx, struct dfg_variable *variable);

/* The variable's shape as far as it is known before the step: of a ref its own, of a handle what it holds. */
struct dfg_shape dfg_variable_shape(const struct dfg_infer *node, int i);

/*
 * DFG_DATA if a resource among the inputs is known to hold another dtype than the op's first parameter, that of the
 * values that it reads or writes.
 */
DFG_MUST_CHECK struct dfg_err *dfg_check_held_dtype(const struct dfg_infer *node);

/* Output 0, if there is one, is what input 0, a ref, is. */
struct dfg_err *dfg_shape_of_ref(struct dfg_infer *node);
