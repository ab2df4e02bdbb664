#pragma once

#include "lib/base/text.h"
#include "lib/exec/state/state.h"
#include "lib/graph/kernel.h"

/* Helpers of the ops on variables. The same update serves a ref and a resource. */

/*
 * "container/shared_name" of an object in the session, or the node's name without them. The caller frees it, also on
 * error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shared_name(
	struct dfg_kernel *ctx, struct dfg_string container, struct dfg_string name, struct dfg_text *out_name);

/* The row of an elementwise op for the dtype, that of f32 for halves; DFG_DATA if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_row_of(const struct dfg_op *op, enum dfg_dtype dtype, dfg_row_fn **out_row);

/* Applies the row to n elements of the dtype: to = row(to, with). Halves are widened and rounded a tile at a time. */
void dfg_combine(dfg_row_fn *row, enum dfg_dtype dtype, int64_t n, void *to, const void *with);

/* Sets output 0 to the ref in input 0, if the op has an output. */
DFG_MUST_CHECK struct dfg_err *dfg_give_back(struct dfg_kernel *ctx, struct dfg_variable *variable);

/* The shape of the variable in input i, a ref or a handle, as far as it is known before the step. */
struct dfg_shape dfg_variable_shape(const struct dfg_infer *node, int i);

/*
 * DFG_DATA if a resource among the inputs is known to hold another dtype than the op's first parameter, that of the
 * values that it reads or writes.
 */
DFG_MUST_CHECK struct dfg_err *dfg_check_variable_dtype(const struct dfg_infer *node);

/* The facts of output 0, if there is one, are those of input 0, a ref. */
struct dfg_err *dfg_shape_of_ref(struct dfg_infer *node);
