#pragma once

#include "lib/graph/build.h"
#include "lib/pass/verify/fault.h"

/*
 * Reports every fault of the graph, joined, up to `most`: structure; ops and attributes against their declarations;
 * types and shapes of every edge; cycles; frames; liveness. Each message names node and slot. The inferred types and
 * shapes are returned in *out_facts unless it is NULL. A node of an unknown op has no outputs there and is a fault only
 * with `unknown_ops`. The caller frees the error and releases the facts.
 */
struct dfg_verify_options {
	long most;        /* upper limit of the number of faults; 0: 20 */
	bool unknown_ops; /* an unknown op is a fault; with warnings, only a warning if no output needs the node */
	bool keep_facts;  /* the facts that are known are returned with faults, too, unless memory is short */
	bool joined;      /* the graph joins partitions that were verified one by one: loops and liveness are not checked */
	struct dfg_faults *warnings; /* receives what is suspicious in loops and branches but not a fault; may be NULL */
	struct dfg_graph *marked; /* the same graph, which will run: its nodes get marks (fallback.h, weights.h); or NULL */
};
DFG_MUST_CHECK struct dfg_err *dfg_verify(
	const struct dfg_graph *graph, const struct dfg_verify_options *options, struct dfg_facts *out_facts);
