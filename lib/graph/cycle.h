#pragma once

#include "lib/base/text.h"
#include "lib/graph/loops.h"

/*
 * A topological order of the nodes; NULL if the file's order is one. *out_count is less than the number of nodes if
 * there is a cycle. The order is in scratch.
 */
DFG_MUST_CHECK struct dfg_err *dfg_pass_order(
	const struct dfg_graph *graph, struct dfg_arena *scratch, uint32_t **out_order, uint32_t *out_count);

/* Names one cycle among the nodes missing from the order: "a -> b -> a". */
DFG_MUST_CHECK struct dfg_err *dfg_cycle_words(const struct dfg_graph *graph, const uint32_t *order, uint32_t count,
	struct dfg_arena *scratch, struct dfg_text *out_text);
