#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Puts a constant in the place of what is the same in every run, on every machine: ops that are marked so, of constants,
 * and shapes that are known. Results stay small. Nodes keep their names; what nobody reads any more is prune's.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fold(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
