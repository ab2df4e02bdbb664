#pragma once

#include "lib/graph/graph.h"

/* The properties of an output that are known before the graph runs. */
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

/* The fact of an output that has not been inferred: no dtype, any shape. */
extern const struct dfg_inferred dfg_fact_nothing;

/*
 * Facts of all outputs of a graph, by node and port. A fact never changes; equal facts usually are the same pointer,
 * valid as long as the arena. Equal nodes are inferred once: lib/graph/resolve_cache.c.
 */
struct dfg_facts {
	struct dfg_arena *arena;
	const struct dfg_inferred **fact; /* by tensor */
	size_t count, capacity;
	uint32_t *first; /* by node, its first tensor; node n has first[n + 1] - first[n] outputs */
	size_t nodes, nodes_capacity;
	struct dfg_resolve_cache *alike;
};

void dfg_facts_release(struct dfg_facts *facts); /* frees the tables, not the arena */
static inline const struct dfg_inferred *dfg_facts_of(const struct dfg_facts *facts, struct dfg_edge edge)
{
	return facts->fact[facts->first[edge.node] + (uint32_t)edge.port];
}
static inline uint32_t dfg_facts_outputs(const struct dfg_facts *facts, uint32_t node)
{
	return facts->first[node + 1] - facts->first[node];
}

/* Appends a node with n_out outputs without known facts. */
DFG_MUST_CHECK struct dfg_err *dfg_facts_add(struct dfg_facts *facts, uint32_t n_out);

/*
 * dfg_node_resolve, computed once for nodes with the same op, attributes and number of inputs: such calls have the same
 * nonzero number in `alike` and differ only in the node's name. A call that is not worth sharing is in brief and has 0;
 * others live as long as the facts.
 */
DFG_MUST_CHECK struct dfg_err *dfg_facts_resolve(struct dfg_facts *facts, const struct dfg_graph *graph, uint32_t node,
	struct dfg_arena *brief, struct dfg_resolved_node *out_call);

/* dfg_infer_node, computed once for equal calls with the same facts. out has space for call->n_out facts. */
DFG_MUST_CHECK struct dfg_err *dfg_facts_infer(struct dfg_facts *facts, const struct dfg_resolved_node *call,
	const struct dfg_inferred *const *in, const struct dfg_inferred **out);

/* Whether every element is known; false for NULL. */
bool dfg_known_whole(const struct dfg_known_value *known);

/* The known value of a tensor, in the arena; NULL if it is not a small tensor of integers. */
DFG_MUST_CHECK struct dfg_err *dfg_known_of(
	const struct dfg_tensor *tensor, struct dfg_arena *arena, const struct dfg_known_value **out_known);

/* A tensor of a value whose elements are all known. */
DFG_MUST_CHECK struct dfg_err *dfg_known_tensor(
	const struct dfg_known_value *known, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);

/*
 * Infers one node from what is known of its inputs (in[i] NULL: nothing): types are checked against the declaration,
 * shapes and small values follow. out has space for call->n_out facts. Errors name the node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_infer_node(const struct dfg_resolved_node *call,
	const struct dfg_inferred *const *in, struct dfg_arena *arena, struct dfg_inferred *out);
