#pragma once

#include "lib/graph/graph.h"

/*
 * By node: whether no declared output (`_dfg_output`) depends on it through data or control edges. In a graph without
 * declared outputs: whether only ops that save, restore or summarise depend on it, or it is such an op. O(nodes +
 * edges). The result is in the arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_unneeded_find(
	const struct dfg_graph *graph, struct dfg_arena *arena, const bool **out_unneeded);
