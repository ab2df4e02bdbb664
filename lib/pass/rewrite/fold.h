#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Constant folding: replaces a node by a constant if its result is the same in every run and on every machine, that is,
 * ops marked as foldable whose inputs are constants, and shapes that are known. A result that differs between runs that
 * flush denormals and runs that keep them is not folded, nor are large results. Nodes
 * keep their names; prune removes nodes that have no readers left. DFG_MEMORY is the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fold(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
