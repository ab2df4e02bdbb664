#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/*
 * The tensors and nodes that will be fetched, fed or run; a rewrite must keep them under their names. The arrays are
 * owned by the caller; passes update them in place.
 */
struct dfg_keep {
	struct dfg_edge *feed; /* edges and targets are renumbered when nodes move */
	uint32_t n_feed;
	struct dfg_edge *fetch;
	uint32_t n_fetch;
	uint32_t *target;
	uint32_t n_target;
};

/* Updates keep after a renumbering: number[n] is the new number of node n. */
void dfg_keep_renumber(struct dfg_keep *keep, const uint32_t *number);
