#pragma once

#include "lib/graph/build.h"
#include "lib/graph/loops.h"

/*
 * Infers the shapes of loop variables over all iterations: the shape of the entering value is assumed, and dimensions
 * that the body contradicts become unknown. The facts of the graph only become more precise. order: from
 * dfg_loops_order.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loop_shapes(
	struct dfg_builder *builder, const struct dfg_loops *loops, const uint32_t *order, struct dfg_arena *scratch);
