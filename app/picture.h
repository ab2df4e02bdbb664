#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/graph.h"
#include "lib/base/text.h"

/*
 * A graph as a picture for dot(1) that stays readable: loops, branches and scopes of names are boxes, of which those that
 * would make it too large are folded, the innermost first. Nodes have the colour of their device.
 */
struct dfg_picture_options {
	size_t most;        /* nodes and folded boxes that are drawn, about */
	const char *opened; /* numbers of boxes, "3,17", that are drawn unfolded; NULL: none */
	const char *folded; /* numbers of boxes that are drawn folded; NULL: none */
	bool links;         /* boxes link to "#NUMBER" */
};

/* Appends the text. Types are those of `facts`; NULL: unknown. A box has the same number in all pictures of the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_picture_dot(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_picture_options *options, struct dfg_text *out);
