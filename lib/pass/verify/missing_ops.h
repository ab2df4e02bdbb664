#pragma once

#include "lib/graph/graph.h"

/* An op that a graph requires and dfg does not have. */
struct dfg_missing_op {
	const char *name; /* borrowed from the graph, or in the arena */
	uint64_t nodes;   /* nodes of it, those of functions counted once however often they are called */
};

/*
 * The ops that the graph's nodes, and the functions that these reach by a call or an attribute, have and dfg does not;
 * most nodes first, equal counts by name. The list is in the arena. DFG_DATA: a function cannot be read.
 */
DFG_MUST_CHECK struct dfg_err *dfg_missing_ops(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_missing_op **out_missing, size_t *out_count);
