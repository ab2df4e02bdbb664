#pragma once

#include "lib/graph/loops.h"
#include "lib/pass/verify/bdd.h"

/* The claim that a BDD variable makes about a tensor: it is true; it is live; it is the number what - DFG_IS_NUMBER. */
enum { DFG_IS_TRUE, DFG_IS_LIVE, DFG_IS_NUMBER };

/* The predicates of a graph as Boolean functions. Nodes are visited in topological order. */
struct dfg_predicates {
	const struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_bdd logic;
	struct dfg_map claims; /* by claim (node, port, kind): its variable - 1 */
	uint32_t *
		value; /* by node: 1 + the function under which its output is true, where that is made of other predicates; else 0 */
	struct dfg_edge *origin; /* by node that only forwards a value: the tensor it forwards */
	bool no_memory;
};

/* budget: steps of the BDD. False when out of memory; dfg_predicates_release must be called in either case. */
bool dfg_predicates_init(
	struct dfg_predicates *predicates, const struct dfg_graph *graph, struct dfg_arena *scratch, size_t budget);
void dfg_predicates_release(struct dfg_predicates *predicates);
/* Records the node's output as a function of its inputs; its inputs must have been visited. */
void dfg_predicates_visit(struct dfg_predicates *predicates, uint32_t node);

/*
 * The tensor whose value the edge carries: Identity, Switch, LoopCond and constant Enter are followed to their source.
 */
struct dfg_edge dfg_predicate_origin(const struct dfg_predicates *predicates, struct dfg_edge edge);

/* The condition under which the tensor is true, provided it is live. */
uint32_t dfg_predicate_value(struct dfg_predicates *predicates, struct dfg_edge edge);

/* The variable for one claim (DFG_IS_...) about a tensor, however the tensor is computed. */
uint32_t dfg_predicate_claim(struct dfg_predicates *predicates, struct dfg_edge edge, uint32_t what);

/*
 * " where 'p' is true and 'q' is false" for a message, in the arena: one case of `where` without the predicates that
 * `given` already fixes.
 */
const char *dfg_predicate_words(struct dfg_predicates *predicates, uint32_t where, uint32_t given);
