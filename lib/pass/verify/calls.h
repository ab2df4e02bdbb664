#pragma once

#include "lib/graph/graph.h"
#include "lib/pass/verify/fault.h"

/*
 * Checks each node by itself, for a graph whose edges are too broken for dfg_verify: its op must be known or be a
 * function of the library and, unless `ops_only`, its attributes and number of inputs must match the op's declaration.
 * Edges are not followed.
 */
void dfg_calls_check(const struct dfg_graph *graph, bool ops_only, struct dfg_faults *faults);
