#pragma once

#include "lib/base/text.h"
#include "lib/pass/rewrite/keep.h"

/*
 * Rewrites of a graph, each a file in lib/pass/rewrite or lib/pass/lower. A pass keeps the values and the names of `keep`, the tensors and nodes
 * that will be fetched, fed or run; the graph stays valid; what it did is one line of `report`. scratch is the caller's.
 *
 * To add a pass: its file, and a row in pass.c; `dfg opt --passes` and its man page list the rows.
 */
struct dfg_pass {
	const char *name, *doc;
	bool standard; /* part of `dfg opt` without --passes */
	bool whole;    /* leaves all that the graph does: need not know what to keep */
	struct dfg_err *(*run)(
		struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
};
extern const struct dfg_pass dfg_passes[]; /* in the order in which they run; ends with a NULL name */
