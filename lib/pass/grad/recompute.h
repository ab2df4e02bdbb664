#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * Trips that are run again: where a loop is in segments (lib/pass/grad/loop_segments.h), its gradient loop does not load what a trip
 * of it has computed, but has a copy of the nodes that compute it, loops and branches and all, which begins with what the
 * trip began with. What the loops of the copy compute is saved there, in a store of that one trip. Copied is what somebody
 * asks for and what it is made from; what has effects, or gives another value each time, is not: what it gave is saved
 * where it was computed, and loaded in the copy.
 */

/* The innermost loop in segments, at the given one or around it, in the region; or DFG_NONE. */
uint32_t dfg_recompute_loop(const struct dfg_gradient_frames *m, uint32_t loop);

/* The innermost such loop that has a copy of the tensor in its gradient loop; or the region: it is saved for good. */
uint32_t dfg_recompute_base(const struct dfg_gradient_frames *m, struct dfg_edge edge);

/* The copy of a forward tensor, in the gradient loop of such a loop: at the mirror of its place, or in a loop copied. */
DFG_MUST_CHECK struct dfg_err *dfg_recompute_copy(
	struct dfg_gradient_frames *m, uint32_t base, struct dfg_edge edge, struct dfg_edge *out_edge);
