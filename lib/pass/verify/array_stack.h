#pragma once

#include "lib/graph/loops.h"

/* A tensor that stacks the elements of a TensorArray, as the language makes it for a loop's `yield`. */
struct dfg_array_stack {
	struct dfg_edge flow; /* the flow that follows the last of the writes */
	const char **writer;  /* names of the nodes that store the elements, in the arena */
	uint32_t n_writer;
	uint32_t loop; /* the outermost loop that contains one of them; 0: none does */
};

/*
 * Finds the stack that an edge is, directly or through Identities. An edge that is not such a stack has no writers then.
 * Writers in the two arms of a branch are found both.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_stack_find(const struct dfg_graph *graph, const struct dfg_loops *loops,
	struct dfg_edge edge, struct dfg_arena *arena, struct dfg_array_stack *out_stack);
