#pragma once

#include "lib/graph/graph.h"

/*
 * By node: no declared output needs it (`_dfg_output`), through data or control edges. In a graph that declares none: only
 * ops that save, restore or summarise need it, or it is one. O(nodes + edges).
 */
DFG_MUST_CHECK struct dfg_err *dfg_unneeded_find(
	const struct dfg_graph *graph, struct dfg_arena *arena, const bool **out_unneeded);
