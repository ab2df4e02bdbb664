#pragma once

#include "lib/pass/grad/backpropagation.h"

/*
 * Loops in segments: of a loop becomes a loop of loops, with the same values in the same order. The outer one carries what
 * the loop carried, from segment to segment; each of its trips, a segment, goes on with the loop for so many trips at most.
 * The gradient then keeps what the outer one carries, and runs a segment again when it comes to it: lib/pass/grad/recompute.h.
 *
 *     go, s = true, start                      s = start
 *     while go {                               while p(s) { s = body(s) }
 *         k = 0
 *         while k < limit and p(s) { s = body(s); k += 1 }
 *         go = k == limit
 *     }
 *
 * The outer one's LoopCond bears the mark DFG_SEGMENTS, so that the next derivative knows it.
 */
#define DFG_SEGMENTS "_dfg_segments"

/* Whether the policy is one that this file is for. */
static inline bool dfg_remat_in_segments(const struct dfg_remat *remat)
{
	return remat->policy == DFG_REMAT_EVERY || remat->policy == DFG_REMAT_SQRT;
}

/*
 * Of a sweep that is prepared: the outermost loops that cotangents will go through, but for those that are in segments
 * already. A loop whose condition must not be asked twice stays as it is, which is said in notes. Gives up the sweep's
 * paths; facts of all nodes are there afterwards.
 */
DFG_MUST_CHECK struct dfg_err *dfg_segments_make(
	struct dfg_backprop *s, const struct dfg_remat *remat, struct dfg_text *notes);
