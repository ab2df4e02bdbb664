#pragma once

#include "lib/pass/pass.h"

/*
 * Updates of variables that an optimizer spelled out become the one op that does the same, to the same bits, in place:
 * gradient descent, momentum (Nesterov's too), Adagrad, RMSProp, Adam and AdamW. Nodes keep their names; what is read no more is prune's.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fuse(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
