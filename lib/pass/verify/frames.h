#pragma once

#include "lib/graph/loops.h"
#include "lib/pass/verify/fault.h"

/*
 * Checks the rules of loops that do not depend on liveness: each node is in one frame; each frame has one parent and
 * one LoopCond; a loop is closed by NextIteration and left through the false side of a Switch on its LoopCond; a Save
 * and its Loads are in the same region. Violations are added to faults; DFG_MEMORY is the only error returned.
 */
DFG_MUST_CHECK struct dfg_err *dfg_frames_check(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, struct dfg_faults *faults);

/* "frame 'while/loop'" or "the root" for a message, in the arena. */
const char *dfg_frame_words(const struct dfg_loops *loops, uint32_t loop, struct dfg_arena *arena);

/*
 * Whether the node is the LoopCond of a counting loop made by TensorFlow's gradients. Such a loop shares the frame of
 * the forward loop and is recognised by "LoopCounter" in its name.
 */
bool dfg_counts_for_gradient(const struct dfg_node *node);
