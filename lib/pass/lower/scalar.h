#pragma once

#include "lib/graph/build.h"

/*
 * Finds the nodes whose outputs are certainly scalars. Facts do not cover the value that NextIteration brings to a
 * loop's Merge; this analysis assumes that it is a scalar if the Enter is, and keeps the results that are consistent
 * with that assumption. out_scalar has an entry for each node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_find_scalars(
	const struct dfg_graph *graph, const struct dfg_facts *facts, struct dfg_arena *scratch, bool *out_scalar);
