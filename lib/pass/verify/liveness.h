#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"
#include "lib/pass/verify/fault.h"

/*
 * The rules of what is live: where each node runs is a function of the predicates (lib/pass/verify/bdd.h), by the Switches and
 * Merges on its way. A Merge gets at most one live input, what enters a loop is live together, a loop's variables are live
 * in every iteration that goes on and not in the last, a Save stands where the loop goes on, and what has effects or may
 * fail does not run in the iteration that only ends the loop because it reads nothing that changes. What is merely odd
 * (runs never, runs in every iteration though nothing changes) goes to warnings, which may be NULL.
 *
 * Of a part of a cut graph only that is checked which does not depend on another device: a _Recv may be live or dead.
 *
 * loops and facts are those of a graph that dfg_frames_check found without fault. Work is bounded: where a graph's
 * predicates are too much to follow, that is a warning, and the step will find what is wrong.
 */
DFG_MUST_CHECK struct dfg_err *dfg_liveness_check(const struct dfg_graph *graph, const uint32_t *order,
	const struct dfg_facts *facts, const struct dfg_loops *loops, struct dfg_arena *scratch, struct dfg_faults *faults,
	struct dfg_faults *warnings);
