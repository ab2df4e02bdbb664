#pragma once

#include "lib/graph/build.h"
#include "lib/graph/liveness.h"

/*
 * Waiting, outside all loops and branches, for nodes that may stand in them. A loop that such a node is in gets a variable
 * more, which comes back after the node and leaves with the loop; what may not run at all is waited for by a
 * ControlTrigger.
 */
struct dfg_control_out {
	struct dfg_builder *builder;
	struct dfg_arena arena;
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	uint32_t count;    /* nodes there were */
	const char *name;  /* of nodes being made */
	uint32_t *instead; /* by node: what to wait for in its stead, + 1; 0: not known yet */
};

/* Looks at the graph as it is. To be released also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_control_out_init(struct dfg_control_out *outside, struct dfg_builder *builder);
void dfg_control_out_release(struct dfg_control_out *outside);

/* A node of the root that is live always, and has run when the given one has, as often as that does. */
DFG_MUST_CHECK struct dfg_err *dfg_control_out_of(struct dfg_control_out *outside, uint32_t node, uint32_t *out_node);
