#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"

/* Whether an integer scalar is known to have the value before the graph runs. */
bool dfg_scalar_is(const struct dfg_facts *facts, struct dfg_edge edge, int64_t value);

/* Whether the tensor has the value of output 0 of the Merge, before or in the body of its loop. */
bool dfg_comes_from_merge(const struct dfg_graph *graph, struct dfg_edge edge, uint32_t merge);

/*
 * The difference between the values of a loop variable, which has an Enter, in two consecutive iterations: 1, -1, or 0 if
 * it is unknown or another number.
 */
int dfg_loop_step(
	const struct dfg_graph *graph, const struct dfg_facts *facts, const struct dfg_loop_variable *variable);
