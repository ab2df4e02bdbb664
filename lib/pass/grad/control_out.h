#pragma once

#include "lib/graph/build.h"
#include "lib/graph/liveness.h"

/*
 * Makes a node at the root wait for nodes that may be in loops and branches. A loop that contains such a node gets an
 * additional loop variable, which is passed on after the node and leaves with the loop; a ControlTrigger waits for a
 * node that may be dead.
 */
struct dfg_control_out {
	struct dfg_builder *builder;
	struct dfg_arena arena;
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	uint32_t count;    /* number of nodes before */
	const char *name;  /* name of the nodes being made */
	uint32_t *instead; /* by node: 1 + the node to wait for instead; 0: not known yet */
};

/* Analyses the graph. Must be released even after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_control_out_init(struct dfg_control_out *outside, struct dfg_builder *builder);
void dfg_control_out_release(struct dfg_control_out *outside);

/* A node of the root that is always live and runs after the last run of the given node. */
DFG_MUST_CHECK struct dfg_err *dfg_control_out_of(struct dfg_control_out *outside, uint32_t node, uint32_t *out_node);
