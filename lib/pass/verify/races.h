#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"
#include "lib/pass/verify/fault.h"
#include "lib/pass/verify/predicate.h"

/*
 * Warns of two accesses to one variable, at least one of them a write, that one run can execute in either order: no path
 * leads from one to the other, both are needed for one node (or for the declared outputs), and no predicate excludes one of
 * them where the other is live. Iterations of one loop are not compared with each other, nor parts of a plan, whose order
 * depends on other devices.
 *
 * order: the nodes, inputs first, or NULL for the graph's own. loops, predicates and runs (by node: the function under
 * which it runs) may be NULL for a graph without branches and loops. O(nodes + edges) per 64 accesses in doubt.
 */
DFG_MUST_CHECK struct dfg_err *dfg_races_check(const struct dfg_graph *graph, const uint32_t *order,
	const struct dfg_facts *facts, const struct dfg_loops *loops, struct dfg_predicates *predicates,
	const uint32_t *runs, struct dfg_arena *scratch, struct dfg_faults *warnings);
