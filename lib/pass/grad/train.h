#pragma once

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

/*
 * Adds the node `train`: one step of an optimizer on the loss (a scalar). Each variable gets its gradient (named
 * PREFIX/VAR, with the mark `_dfg_gradient_of`), its new value, and an update that waits for all reads already in the
 * graph, so that tensors fetched with `train` have the values before the step. `train` also runs the graph's own
 * effects (`_dfg_update`). The loss gets the mark `_dfg_loss`, an int: its output.
 *
 * A gradient that is rows, such as that of an embedding, stays rows where that leaves the optimizer's result the same
 * (rows.h): PREFIX/VAR/values, with the mark `_dfg_gradient_rows`, and PREFIX/VAR/indices, with the mark
 * `_dfg_gradient_indices`, without duplicates; both marks are the name of the dense gradient PREFIX/VAR, which is computed
 * only if it is fetched. Of the variable and its slots only those rows are read and written.
 */
struct dfg_train_options {
	const char *optimizer; /* "adam(lr = 0.001)" */
	const struct dfg_lang_options *lang;
	const uint32_t *variable; /* NULL: all trainable variables */
	uint32_t n_variable;
	const char *prefix; /* prefix of the gradients' names; NULL: "grad" */
	struct dfg_remat remat;
	bool dense;             /* no gradient stays rows */
	double clip_norm;       /* upper limit of the global norm of the gradients; 0: none */
	struct dfg_text *notes; /* receives lines for the user */
};
DFG_MUST_CHECK struct dfg_err *dfg_train(
	struct dfg_builder *builder, struct dfg_edge loss, const struct dfg_train_options *options);
