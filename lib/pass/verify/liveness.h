#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"
#include "lib/pass/verify/fault.h"

/*
 * Checks the rules of liveness. The condition under which a node runs is a function of the predicates
 * (lib/pass/verify/bdd.h), derived from the Switches and Merges before it. lib/graph/liveness.h has conjunctions only,
 * which suffice for a graph that keeps the rules; this check must also represent one that breaks them: a Merge of inputs
 * that overlap or leave cases out is live under a disjunction, and predicates are functions of each other. At most one input of a Merge is live; all
 * values entering a loop are live together; a loop variable is live in every iteration that continues and not in the
 * last; a Save runs only where the loop continues; a node that has effects or may fail does not run in the final
 * iteration, which only evaluates the loop's condition; a declared output is live in some case.
 * Violations are added to faults. Suspicious but valid nodes (one that never runs, or one that repeats the same
 * computation in every iteration) are added to warnings, which may be NULL.
 *
 * A Merge may have a fallback (lib/pass/verify/fallback.h): then both inputs may be live. Its number is written to
 * `marked`, which is the same graph, or NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_liveness_check(const struct dfg_graph *graph, struct dfg_graph *marked,
	const uint32_t *order, const struct dfg_facts *facts, const struct dfg_loops *loops, struct dfg_arena *scratch,
	struct dfg_faults *faults, struct dfg_faults *warnings);
