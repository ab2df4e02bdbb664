#pragma once

#include "lib/graph/graph.h"
#include "lib/pass/fault.h"

/*
 * The rules of loops: one frame a node, one parent a frame, loops closed by NextIteration only, left by the false side of
 * a Switch. order may be NULL: the file's own; it must hold every node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_frames_check(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *scratch, struct dfg_faults *faults);
