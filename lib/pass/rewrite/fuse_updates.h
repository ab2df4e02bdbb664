#pragma once

#include "lib/pass/rewrite/keep.h"
#include "lib/pass/place/place.h"

/*
 * Updates of variables that an optimizer spelled out become the one op that does the same, to the same bits, in place:
 * gradient descent, momentum (Nesterov's too), Adagrad, RMSProp, Adam and AdamW. Nodes keep their names; what is read no more is prune's.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fuse_updates(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);

/*
 * The same where each node has its place already: only updates of which all stands on one device, which then does the one
 * op. Scalars, such as a rate that falls, may come from elsewhere. What places say stays true of the graph.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fuse_placed_updates(struct dfg_graph *graph, const struct dfg_placed *placed,
	const struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
