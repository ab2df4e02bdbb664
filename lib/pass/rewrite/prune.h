#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Dead code elimination: removes all nodes that no node in `keep` depends on through data or control edges. The
 * initialiser of a variable (`_dfg_init`) is kept with the variable. The order of nodes is unchanged; keep is
 * renumbered. O(nodes + edges). DFG_MEMORY is the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_prune(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
