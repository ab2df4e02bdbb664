#pragma once

#include "lib/graph/graph.h"

/* What is known of an output before the graph runs. */
struct dfg_inferred {
	enum dfg_dtype dtype;
	bool is_ref;
	struct dfg_shape shape;
	const struct dfg_known_value *known;  /* of rank 0 or 1, or NULL */
	const struct dfg_known_value *matrix; /* of rank 2, or NULL: apart, because most readers take known for a vector */
	const struct dfg_handle_type *holds;
};

static inline void dfg_fact_set_known(struct dfg_inferred *fact, const struct dfg_known_value *known)
{
	bool is_matrix = known && known->rank == 2;
	fact->known = is_matrix ? NULL : known;
	fact->matrix = is_matrix ? known : NULL;
}

/* Of an output that has not been inferred: no dtype, any shape. */
extern const struct dfg_inferred dfg_fact_nothing;

/*
 * Facts of all outputs of a graph, by node and port. A fact never changes, and facts that say the same are mostly the same
 * pointer, which stays good as long as the arena. Nodes that are alike are worked out once: lib/graph/call_cache.c.
 */
struct dfg_facts {
	struct dfg_arena *arena;
	const struct dfg_inferred **fact; /* by tensor */
	size_t count, room;
	uint32_t *first; /* by node, its first tensor; node n has first[n + 1] - first[n] outputs */
	size_t nodes, nodes_room;
	struct dfg_call_cache *alike;
};

void dfg_facts_release(struct dfg_facts *facts); /* what it holds; not the arena */
static inline const struct dfg_inferred *dfg_facts_of(const struct dfg_facts *facts, struct dfg_edge edge)
{
	return facts->fact[facts->first[edge.node] + (uint32_t)edge.port];
}
static inline uint32_t dfg_facts_outputs(const struct dfg_facts *facts, uint32_t node)
{
	return facts->first[node + 1] - facts->first[node];
}

/* The next node has n_out outputs, of which nothing is known yet. */
DFG_MUST_CHECK struct dfg_err *dfg_facts_add(struct dfg_facts *facts, uint32_t n_out);

/*
 * dfg_node_call, once for all nodes of one op, the same attributes and as many inputs: such calls have the same number in
 * `alike`, not 0, and differ in nothing but the node's name. What is not worth sharing takes its room from brief and has 0
 * there; else the call lives as long as the facts.
 */
DFG_MUST_CHECK struct dfg_err *dfg_facts_call(struct dfg_facts *facts, const struct dfg_graph *graph, uint32_t node,
	struct dfg_arena *brief, struct dfg_call *out_call);

/* dfg_infer_node, once for calls that are alike and see the same facts. out has room for call->n_out of them. */
DFG_MUST_CHECK struct dfg_err *dfg_facts_infer(struct dfg_facts *facts, const struct dfg_call *call,
	const struct dfg_inferred *const *in, const struct dfg_inferred **out);

/* Whether every element is known; false for NULL. */
bool dfg_known_whole(const struct dfg_known_value *known);

/* What a value says of itself, in the arena; NULL where it is neither small nor of indices. */
DFG_MUST_CHECK struct dfg_err *dfg_known_of(
	const struct dfg_tensor *tensor, struct dfg_arena *arena, const struct dfg_known_value **out_known);

/* The tensor that is known, the whole of it. */
DFG_MUST_CHECK struct dfg_err *dfg_known_tensor(
	const struct dfg_known_value *known, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);

/*
 * Infers one node from what is known of its inputs (in[i] NULL: nothing): types are checked against the declaration,
 * shapes and small values follow. out has room for call->n_out facts. Errors name the node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_infer_node(const struct dfg_call *call, const struct dfg_inferred *const *in,
	struct dfg_arena *arena, struct dfg_inferred *out);
