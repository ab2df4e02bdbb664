#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Removes what inference does not require: assertions, checks of numbers, prints, and nodes that only hand their input on. Values
 * stay; inputs that an assertion would have refused are computed with. Nodes in `keep` stay. O(nodes + edges).
 */
DFG_MUST_CHECK struct dfg_err *dfg_strip(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
