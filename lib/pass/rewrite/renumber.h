#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * The graph's nodes become those of `order`, in that order; they read no others. number[old] becomes new, for those that
 * stay; edges and keep, which may be NULL, follow.
 */
DFG_MUST_CHECK struct dfg_err *dfg_renumber(struct dfg_graph *graph, const uint32_t *order, uint32_t count,
	uint32_t *number, struct dfg_keep *keep, struct dfg_arena *scratch);
