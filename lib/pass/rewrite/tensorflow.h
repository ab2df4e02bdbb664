#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Writes the graph without ops of ours, so that TensorFlow runs it: what goes through Save and Load goes through tensor
 * arrays, to the same values; what TensorFlow's optimizer would break is put otherwise. DFG_DATA, naming the node, where
 * an op of ours says what TensorFlow cannot say. Such a graph is differentiated before, not afterwards.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensorflow(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
