#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Rewrites the graph to ops of TensorFlow only, with the same values: Save and Load become TensorArrays, and patterns
 * that TensorFlow's optimizer miscompiles are changed. DFG_DATA, naming the node, where an op of dfg has no
 * counterpart. Differentiate a graph before this pass; its result cannot be differentiated.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensorflow(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
