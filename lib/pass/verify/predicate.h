#pragma once

#include "lib/graph/loops.h"
#include "lib/pass/verify/bdd.h"

/* What a variable of the logic says of a tensor: that it is true, that it is live, that it is 0, 1, ... */
enum { DFG_IS_TRUE, DFG_IS_LIVE, DFG_IS_NUMBER };

/* Functions of the predicates of a graph. Nodes are told to it in an order in which inputs come first. */
struct dfg_predicates {
	const struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_bdd logic;
	struct dfg_map claims;   /* number of a claim + 1 = its variable */
	uint32_t *value;         /* by node, if made of other predicates: where its output is true, + 1 */
	struct dfg_edge *origin; /* by node that only passes a value on: whose */
	bool no_memory;
};

/* False when memory is short; to be released also then. */
bool dfg_predicates_init(
	struct dfg_predicates *predicates, const struct dfg_graph *graph, struct dfg_arena *scratch, size_t budget);
void dfg_predicates_release(struct dfg_predicates *predicates);
void dfg_predicates_visit(struct dfg_predicates *predicates, uint32_t node);

/* Whose value it is that comes along the edge: behind Identity, Switch, LoopCond and constant Enter. */
struct dfg_edge dfg_predicate_origin(const struct dfg_predicates *predicates, struct dfg_edge edge);

/* Where the tensor is true, if it is live. */
uint32_t dfg_predicate_value(struct dfg_predicates *predicates, struct dfg_edge edge);

/* The function that says one thing of a tensor, and nothing of how it is made. */
uint32_t dfg_predicate_claim(struct dfg_predicates *predicates, struct dfg_edge edge, uint32_t what);

/* " where 'p' is true and 'q' is false", in the arena: one case of a function, beside what is given. */
const char *dfg_predicate_words(struct dfg_predicates *predicates, uint32_t where, uint32_t given);
