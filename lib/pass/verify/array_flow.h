#pragma once

#include "lib/pass/verify/fault.h"
#include "lib/pass/verify/predicate.h"

/*
 * Checks that the writes to each TensorArray are totally ordered by their flow inputs: among writes that can run in the
 * same step, each flow value is consumed by at most one. Arrays of gradients are exempt: they add up what is written,
 * in any order. Each violation is added to faults.
 * runs: by node, the condition (a function of predicates->logic) under which it runs. DFG_MEMORY is the only error
 * returned.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_flow_check(const struct dfg_graph *graph, struct dfg_predicates *predicates,
	const uint32_t *runs, struct dfg_arena *scratch, struct dfg_faults *faults);

/* Whether the node's op is a TensorArray op, which consumes or produces a flow. */
bool dfg_has_flow(const struct dfg_node *node);
