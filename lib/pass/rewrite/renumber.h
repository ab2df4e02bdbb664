#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Replaces the graph's nodes by those of `order`, in that order; they must not read any other node. number[old] is set
 * to the new number of each remaining node; edges are renumbered, and keep too unless it is NULL. DFG_MEMORY is the
 * only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_renumber(struct dfg_graph *graph, const uint32_t *order, uint32_t count,
	uint32_t *number, struct dfg_keep *keep, struct dfg_arena *scratch);
