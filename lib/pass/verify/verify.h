#pragma once

#include "lib/graph/build.h"
#include "lib/pass/verify/fault.h"

/*
 * Every fault of the graph, joined, but no more than `most`: structure, ops and attributes against their declarations,
 * types and shapes of every edge, cycles, frames, what is live. Each names node and slot. What is inferred on the way is given out where
 * out_facts is not NULL (nodes of unknown ops have no outputs there, and only count as faults where `unknown_ops`).
 */
struct dfg_verify_options {
	long most; /* 0: 20 */
	bool
		unknown_ops; /* an op that is not in the table is a fault; with warnings, only a warning where no output needs it */
	bool joined;     /* parts of a plan that are right each: loops, and what is live, are not looked at */
	struct dfg_faults *warnings; /* NULL, or room for what is odd in loops and branches, though no fault */
};
DFG_MUST_CHECK struct dfg_err *dfg_verify(
	const struct dfg_graph *graph, const struct dfg_verify_options *options, struct dfg_facts *out_facts);
