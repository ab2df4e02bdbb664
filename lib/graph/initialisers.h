#pragma once

#include "lib/graph/graph.h"

/*
 * What sets variables at first and is no part of a step: an Assign marked `_dfg_init`, what only serves such, and a group that
 * only waits for them. By node: the Assign that it is or serves, DFG_INITIAL_MANY of several, DFG_NONE: it is part of a step.
 * order may be NULL: the graph's own, inputs first. O(nodes + edges).
 */
enum { DFG_INITIAL_MANY = UINT32_MAX - 1 };
DFG_MUST_CHECK struct dfg_err *dfg_initialiser_nodes(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, uint32_t **out_initial);

/*
 * The Assign that sets each variable at first, by the variable's node; DFG_NONE where there is none. A mark `_dfg_init` says
 * so. TensorFlow has no such mark: of a variable without one it is the only Assign whose value depends on no variable, feed,
 * checkpoint or loop, else the one named VARIABLE/Assign if its value depends on no feed, checkpoint or loop and not on the
 * variable itself. dfg_initialiser_guessed() tells these apart. O(nodes + edges) for a graph whose order is inputs first.
 */
DFG_MUST_CHECK struct dfg_err *dfg_initialisers_find(
	const struct dfg_graph *graph, struct dfg_arena *arena, uint32_t **out_assign);
bool dfg_initialiser_guessed(const struct dfg_graph *graph, uint32_t assign);
