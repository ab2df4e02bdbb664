#pragma once

#include "lib/graph/build.h"

/*
 * Which nodes give scalars only, for certain. Facts know nothing of what comes back to a loop's Merge; this assumes that
 * it is a scalar if what enters is, and keeps what holds under that assumption. out_scalar has room for every node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_find_scalars(
	const struct dfg_graph *graph, const struct dfg_facts *facts, struct dfg_arena *scratch, bool *out_scalar);
