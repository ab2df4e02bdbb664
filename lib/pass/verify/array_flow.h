#pragma once

#include "lib/pass/verify/fault.h"
#include "lib/pass/verify/predicate.h"

/*
 * Writes to an array are ordered by the flow that each takes and gives, so one flow is taken by one write of those that
 * run. runs: by node, where it does. Arrays of gradients add up what is written, in any order, and are left out.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_flow_check(const struct dfg_graph *graph, struct dfg_predicates *predicates,
	const uint32_t *runs, struct dfg_arena *scratch, struct dfg_faults *faults);

/* Whether the node's op is one of those that take or give flows. */
bool dfg_has_flow(const struct dfg_node *node);
