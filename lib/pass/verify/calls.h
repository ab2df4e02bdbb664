#pragma once

#include "lib/graph/graph.h"
#include "lib/pass/verify/fault.h"

/*
 * Faults of what the nodes say of themselves, for a graph that dfg_verify cannot take because its edges are wrong: an op that
 * is neither known nor a function of the library; and, unless `ops_only`, attributes and the number of inputs against the
 * op's declaration. Edges are not followed.
 */
void dfg_calls_check(const struct dfg_graph *graph, bool ops_only, struct dfg_faults *faults);
