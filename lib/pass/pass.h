#pragma once

#include "lib/base/text.h"
#include "lib/pass/rewrite/keep.h"

/*
 * Rewrites of a graph, each in a file of lib/pass/rewrite or lib/pass/lower. A pass keeps the values and names of the
 * tensors and nodes in `keep`; the graph remains valid; `report` gets one line about the changes. scratch is the
 * caller's.
 *
 * To add a pass: its file and a row in pass.c; `dfg opt --passes` and its man page list the rows.
 */
struct dfg_pass {
	const char *name, *doc;
	bool standard; /* runs in `dfg opt` without --passes */
	bool whole;    /* preserves every output, so keep may be empty */
	struct dfg_err *(*run)(
		struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
};
extern const struct dfg_pass dfg_passes[]; /* in the order in which they run; the last entry has a NULL name */
