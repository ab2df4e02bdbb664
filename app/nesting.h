#pragma once

#include "lib/graph/liveness.h"

/*
 * Loops and branches of a graph as nested boxes, for pictures. Box 0 is the whole graph; the number of a box is larger
 * than that of its parent. A graph with a cycle that is not a loop has box 0 only.
 */
struct dfg_nesting_box {
	uint32_t parent;
	const char *label;          /* "loop while/frame", "p:0 is true" */
	uint32_t child, last, next; /* the first child, the last child and the next sibling; 0: none */
};

struct dfg_nesting {
	struct dfg_nesting_box *box;
	size_t count, capacity;
	uint32_t *of; /* innermost box, by node */
	struct dfg_arena arena;
};

/* The caller releases *out_nesting, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_nesting_find(const struct dfg_graph *graph, struct dfg_nesting *out_nesting);
void dfg_nesting_release(struct dfg_nesting *nesting);
