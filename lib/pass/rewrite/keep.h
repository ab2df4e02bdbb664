#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/* What a rewrite must keep, under its names: the tensors and nodes that will be fetched, fed or run. */
struct dfg_keep {
	struct dfg_edge *feed; /* edges and targets are renumbered where nodes move */
	uint32_t n_feed;
	struct dfg_edge *fetch;
	uint32_t n_fetch;
	uint32_t *target;
	uint32_t n_target;
};

/* Nodes have moved: number[n] is where node n stands now. */
void dfg_keep_renumber(struct dfg_keep *keep, const uint32_t *number);
