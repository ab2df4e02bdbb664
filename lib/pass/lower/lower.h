#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Writes calls of functions out as nodes: If, Case, While, calls, and ops that are a function's name. What was a call
 * stays a node of that name, an Identity or IdentityN of its outputs (NoOp where it has none), so that NAME:i can be
 * fetched and fed as before; what it stands for is named NAME/... A graph without calls stays as it is, and afterwards
 * there is none. The graph must have passed verify, and does so again. keep may be NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lower(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);

/* Whether there is a call in the graph. */
bool dfg_has_calls(const struct dfg_graph *graph);

/* Verifies a graph that has calls, and writes them out; it must be verified afterwards like one without. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_whole(struct dfg_graph *graph);
