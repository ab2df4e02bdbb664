#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Common subexpression elimination: of nodes with the same op, attributes and inputs, the first replaces the others as
 * input of their readers. Nodes in `keep` stay; prune removes other nodes that have no readers left. O(nodes + edges)
 * expected. DFG_MEMORY is the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cse(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
