#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/*
 * Rewrites of a graph, each a file in this folder. A pass keeps the values and the names of `keep`, the tensors and nodes
 * that will be fetched, fed or run; the graph stays valid; what it did is one line of `report`. scratch is the caller's.
 *
 * To add a pass: its file, and a row in pass.c; `dfg opt --passes` and its man page list the rows.
 */
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

struct dfg_pass {
	const char *name, *doc;
	bool standard; /* part of `dfg opt` without --passes */
	bool whole;    /* leaves all that the graph does: need not know what to keep */
	struct dfg_err *(*run)(
		struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
};
extern const struct dfg_pass dfg_passes[]; /* in the order in which they run; ends with a NULL name */
