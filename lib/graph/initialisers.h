#pragma once

#include "lib/graph/graph.h"

/*
 * The nodes that only initialise variables and are not part of a step: each Assign that dfg_initialisers_find finds
 * (a guessed one only if no node of a step reads it), nodes that serve only such Assigns, and groups that only wait for
 * them. By node: the Assign that it is or serves; DFG_INITIAL_MANY if it serves several; DFG_NONE if it is part of a
 * step. order may be NULL if the graph's order is topological. O(nodes + edges).
 */
enum { DFG_INITIAL_MANY = UINT32_MAX - 1 };
DFG_MUST_CHECK struct dfg_err *dfg_initialiser_nodes(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, uint32_t **out_initial);

/*
 * By variable's node: the Assign that initialises it, or DFG_NONE. dfg's graphs mark it `_dfg_init`. For a variable of
 * TensorFlow, without the mark, it is the only Assign whose value depends on no variable, feed, checkpoint or loop;
 * otherwise the one named VARIABLE/Assign if its value depends on no feed, checkpoint or loop and not on the variable
 * itself. dfg_initialiser_guessed() tells marked from guessed ones. O(nodes + edges) for a topological order.
 */
DFG_MUST_CHECK struct dfg_err *dfg_initialisers_find(
	const struct dfg_graph *graph, struct dfg_arena *arena, uint32_t **out_assign);
bool dfg_initialiser_guessed(const struct dfg_graph *graph, uint32_t assign);
