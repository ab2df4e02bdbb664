#pragma once

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/make_ops.h"

/*
 * Whether an optimizer has the same result on rows of a variable as on the whole variable: it leaves a row whose
 * gradient is zero as it is, and the row's slots, and no row depends on another. This is proven on the nodes that the
 * optimizer makes for rows of a variable of that type and shape, so it holds for optimizers of a program too. Numbers are
 * taken to be finite, and quotients of a zero gradient to be zero: where the dense update divides zero by zero, rows of a
 * zero gradient keep their values. Gradient descent and Adagrad without decay pass; moments that decay in every step do not.
 * An optimizer without a proof, or that cannot be applied to rows, gives false. `shape` has at least one axis.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rows_suffice(const char *optimizer, const struct dfg_lang_options *lang,
	enum dfg_dtype dtype, const struct dfg_shape *shape, bool *out_suffice);

/* Rows, of which none repeats: repeated ones are summed in their order, to the bits of the dense gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_rows_merge(
	const struct dfg_make *make, const struct dfg_cotangent *rows, struct dfg_cotangent *out_rows);

/*
 * Replaces the rows that dfg_train() marked by all rows of the dense gradient, with the same result: for passes that know
 * dense gradients alone. Facts that were inferred before no longer hold.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rows_make_dense(struct dfg_graph *graph);
