#pragma once

#include "lib/graph/loops.h"
#include "lib/pass/verify/fault.h"

/*
 * The rules of loops that need no look at what is live: one frame a node, one parent and one LoopCond a frame, loops
 * closed by NextIteration and left by the false side of a Switch on the LoopCond, a Save and its Loads in one region.
 */
DFG_MUST_CHECK struct dfg_err *dfg_frames_check(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, struct dfg_faults *faults);

/* "frame 'while/loop'" or "the root", in the arena. */
const char *dfg_frame_words(const struct dfg_loops *loops, uint32_t loop, struct dfg_arena *arena);

/* Loops that TensorFlow's gradients count with share the frame of the loop they mirror; it tells them by a word. */
bool dfg_counts_for_gradient(const struct dfg_node *node);
