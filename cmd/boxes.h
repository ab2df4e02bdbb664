#pragma once

#include "lib/graph/liveness.h"

/*
 * Loops and branches of a graph as boxes, one in another, for pictures. Box 0 is the whole graph; a box's number is larger
 * than that of the one it is in. In a graph with a cycle that is no loop there are no others.
 */
struct dfg_box {
	uint32_t parent;
	const char *label;          /* "loop while/frame", "p:0 is true" */
	uint32_t child, last, next; /* the first box in it, the last, the next beside it; 0 for none */
};

struct dfg_boxes {
	struct dfg_box *box;
	size_t count, room;
	uint32_t *of; /* by node */
	struct dfg_arena arena;
};

/* To be released also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_boxes_find(const struct dfg_graph *graph, struct dfg_boxes *out_boxes);
void dfg_boxes_release(struct dfg_boxes *boxes);
