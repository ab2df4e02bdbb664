#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Expands calls of functions into nodes: If, Case, While, PartitionedCall, and ops named after a function. The call's
 * node remains under its name as an Identity or IdentityN of its outputs (NoOp if it has none), so that NAME:i can be
 * fetched and fed as before; the expanded nodes are named NAME/... A graph without calls is unchanged. The result has
 * no calls.
 * The graph must have passed dfg_verify, and the result passes it too. keep may be NULL; its edges are renumbered. One
 * line is added to report. Errors: DFG_DATA for recursion, for an expansion beyond the limits (limit.c) and for
 * functions that do not match their call; DFG_MEMORY.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lower(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);

/* Whether the graph contains a call of a function. */
bool dfg_has_calls(const struct dfg_graph *graph);

/* Verifies a graph and, if it has calls, expands them; the caller must verify the result. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_whole(struct dfg_graph *graph);
