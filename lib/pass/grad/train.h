#pragma once

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

/*
 * Adds the node `train`: one step of an optimizer on the loss. Each variable gets its gradient (named PREFIX/VAR and
 * marked `_dfg_gradient_of`), the optimizer's new value, and an update that waits for every read there was, so that what is
 * fetched with `train` is the state before the step. `train` also runs the graph's own effects (`_dfg_update`).
 */
struct dfg_train_options {
	const char *optimizer; /* "adam(lr = 0.001)" */
	const struct dfg_lang_options *lang;
	const uint32_t *variable; /* NULL: all that are trainable */
	uint32_t n_variable;
	const char *prefix; /* of gradients; NULL: "grad" */
	struct dfg_remat remat;
	double clip_norm;       /* of all gradients together; 0: none */
	struct dfg_text *notes; /* lines for the user */
};
DFG_MUST_CHECK struct dfg_err *dfg_train(
	struct dfg_builder *builder, struct dfg_edge loss, const struct dfg_train_options *options);
