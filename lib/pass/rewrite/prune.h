#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Leaves what `keep` needs, in its old order: over data and control edges, and with each variable the node that
 * initialises it (`_dfg_init`). Node numbers in keep follow.
 */
DFG_MUST_CHECK struct dfg_err *dfg_prune(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
