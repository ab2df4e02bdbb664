#pragma once

#include "lib/pass/rewrite/keep.h"
#include "lib/pass/place/place.h"

/*
 * Replaces an optimizer's update of a variable, spelled out in single ops, by the one op that computes the same bits in
 * place: gradient descent, momentum (also Nesterov's), Adagrad, RMSProp, Adam and AdamW. Nodes keep their names; prune
 * removes nodes that have no readers left. DFG_MEMORY is the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fuse_updates(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);

/*
 * The same for a graph whose nodes are placed: fuses only updates whose nodes are all on one device, which then runs the
 * fused op. Scalars, such as a decaying learning rate, may come from other devices. placed remains valid.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fuse_placed_updates(struct dfg_graph *graph, const struct dfg_placed *placed,
	const struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
