#pragma once

#include "lib/graph/graph.h"
#include "lib/graph/tensor.h"

/* Tensors and the values that they are fed, which the struct owns. Zero-initialised: empty. */
struct dfg_feeds {
	struct dfg_edge *edge;
	struct dfg_tensor *value;
	uint32_t count, capacity;
};

/* Adds a feed, in place of an earlier one of the same edge. Takes the value, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_feeds_add(struct dfg_feeds *feeds, struct dfg_edge edge, struct dfg_tensor *value);

/* Whether the tensor is among the feeds. */
bool dfg_feeds_has(const struct dfg_feeds *feeds, struct dfg_edge edge);

/* References to all feeds except those of the n edges, which the caller feeds. */
DFG_MUST_CHECK struct dfg_err *dfg_feeds_share(
	const struct dfg_feeds *feeds, const struct dfg_edge *but, uint32_t n, struct dfg_feeds *out_feeds);
void dfg_feeds_release(struct dfg_feeds *feeds);
