#pragma once

#include "lib/lang/loop_carried_private.h"

/* The reads and writes of each state, by region. The region NULL is the root. */

struct dfg_region;
struct dfg_cell;

/* The accesses to a state in one region, up to the present position in the text. */
struct dfg_history {
	struct dfg_edge
		value;     /* the state's value: the read, or the value set last; .node DFG_NONE: that of the outer region */
	bool is_stale; /* an op changed the state, so no tensor holds its value; .value.node is DFG_NONE */
	uint32_t last_write; /* the node of the last write, or DFG_NONE */
	uint32_t *read;      /* nodes that read the state after the last write; in the arena */
	uint32_t n_read, capacity;
};

/* A state as a region sees it: the accesses there, and the handle that its next write takes. */
struct dfg_view {
	struct dfg_view *older;
	struct dfg_cell *cell;
	struct dfg_history now;
	struct dfg_edge handle; /* in a loop's frame: its constant Enter; .node DFG_NONE: the region has none of its own */
	bool is_set;
	bool carries;               /* in a loop's body: the value is carried */
	uint32_t merge;             /* in a loop's body: the Merge of the handle, or DFG_NONE if it is not carried */
	struct dfg_carried carried; /* in a loop's body: the value; valid if it is carried */
};

/* The region's view of the state, or NULL if it has none. */
struct dfg_view *dfg_view_find(const struct dfg_region *region, const struct dfg_cell *cell);

/* The region's view of the state, which is made if it does not exist. */
DFG_MUST_CHECK struct dfg_err *dfg_view_of(
	struct dfg_eval *eval, struct dfg_region *region, struct dfg_cell *cell, struct dfg_view **out_view);

/* The history of the state in the region, or NULL if the region does not access it; the root always has one. */
const struct dfg_history *dfg_history_at(const struct dfg_cell *cell, const struct dfg_region *region);

/* The history of the state in the region, to be changed; it is made if it does not exist. */
DFG_MUST_CHECK struct dfg_err *dfg_history_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_history **out_history);

/* Adds a read by the node. */
DFG_MUST_CHECK struct dfg_err *dfg_history_read(struct dfg_eval *eval, struct dfg_history *now, uint32_t node);
