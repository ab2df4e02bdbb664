#pragma once

#include "lib/graph/graph.h"

/*
 * What sets variables at first and is no part of a step: an Assign marked `_dfg_init`, what only serves such, and a group that
 * only waits for them. By node: the Assign that it is or serves, DFG_INITIAL_MANY of several, DFG_NONE: it is part of a step.
 * order may be NULL: the graph's own, inputs first. O(nodes + edges).
 */
enum { DFG_INITIAL_MANY = UINT32_MAX - 1 };
DFG_MUST_CHECK struct dfg_err *dfg_initial_find(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, uint32_t **out_initial);
