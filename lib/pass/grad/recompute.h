#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * Recomputation of segments: where a loop is segmented (lib/pass/grad/loop_segments.h), its gradient loop does not load
 * the values of an iteration but contains a copy of the nodes that compute them, including loops and branches, starting
 * from the loop variables. Values computed by loops of the copy are saved in a store of that iteration. Only nodes that
 * some gradient depends on are copied. A node with effects, or with a different result in each run, is not copied: its
 * value is saved where it is computed and loaded in the copy.
 */

/* The innermost segmented loop that is `loop` or encloses it, within the region; DFG_NONE if there is none. */
uint32_t dfg_recompute_loop(const struct dfg_gradient_frames *m, uint32_t loop);

/*
 * The innermost such loop whose gradient loop has a copy of the tensor; or the region, if the tensor is saved
 * permanently.
 */
uint32_t dfg_recompute_base(const struct dfg_gradient_frames *m, struct dfg_edge edge);

/* The copy of a forward tensor in the gradient loop of `base`: at its gradient location, or in a copied loop. */
DFG_MUST_CHECK struct dfg_err *dfg_recompute_copy(
	struct dfg_gradient_frames *m, uint32_t base, struct dfg_edge edge, struct dfg_edge *out_edge);
