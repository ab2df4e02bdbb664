#pragma once

#include "lib/pass/grad/backpropagation.h"

/*
 * Segmented loops, for rematerialisation: a loop becomes a loop of loops that computes the same values in the same
 * order. The outer loop carries the loop variables from segment to segment; each of its iterations, a segment, runs a
 * limited number of iterations of the original loop. The gradient saves what the outer loop carries and recomputes one
 * segment at a time (lib/pass/grad/recompute.h).
 *
 * go, s = true, start                      s = start
 * while go {                               while p(s) { s = body(s) }
 * k = 0
 * while k < limit and p(s) { s = body(s); k += 1 }
 * go = k == limit
 * }
 *
 * The outer LoopCond has the mark DFG_SEGMENTS, by which the next derivative recognises it.
 */
#define DFG_SEGMENTS "_dfg_segments"

/* Whether the policy requires segmented loops. */
static inline bool dfg_remat_in_segments(const struct dfg_remat *remat)
{
	return remat->policy == DFG_REMAT_EVERY || remat->policy == DFG_REMAT_SQRT;
}

/*
 * Segments the outermost loops that cotangents will pass through, unless they are segmented already. A loop whose
 * condition must not be evaluated twice is left unchanged, with a line in notes. Releases the control-flow state of s;
 * afterwards all nodes have facts.
 */
DFG_MUST_CHECK struct dfg_err *dfg_segments_make(
	struct dfg_backprop *s, const struct dfg_remat *remat, struct dfg_text *notes);
