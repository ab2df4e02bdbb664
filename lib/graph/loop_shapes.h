#pragma once

#include "lib/graph/build.h"
#include "lib/graph/loops.h"

/*
 * What a loop variable is in all iterations has, mostly, the shape that it enters with: that is assumed, and given up, one
 * dimension after the other, where the body says otherwise. The facts of the graph then say more; what they said before
 * stays. order: of dfg_loops_order.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loop_shapes(
	struct dfg_builder *builder, const struct dfg_loops *loops, const uint32_t *order, struct dfg_arena *scratch);
