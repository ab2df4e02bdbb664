#pragma once

#include "lib/graph/graph.h"

/*
 * Weights are constant if they depend on constants alone, and on variables that no node writes but their initialisers. The
 * nodes of a graph that read constant weights (DFG_WEIGHTS) get the mark "_dfg_constant", because a part of a partitioned
 * graph does not show where its inputs come from: whether a convolution by constant weights takes Winograd's sums must not
 * depend on its place. What a step feeds does not matter. order is topological; O(nodes + edges).
 */
DFG_MUST_CHECK struct dfg_err *dfg_weights_mark(
	struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *scratch);
