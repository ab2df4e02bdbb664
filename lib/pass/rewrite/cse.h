#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Nodes that compute the same from the same become one: readers of the later read the first. Nodes of `keep` stay, others
 * that nobody reads any more are prune's.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cse(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
