#pragma once

#include "lib/pass/parallel/dependences.h"

#include "lib/graph/build.h"
#include "lib/graph/liveness.h"

/*
 * The body of a parallel loop for several iterations at once: a value that depends on the iteration gets a new leading axis,
 * with an element for each iteration of a slice, and has the bits that it has in one iteration. Nodes whose values are the
 * same in all iterations stay; all others are built anew next to them.
 */
struct dfg_batched {
	struct dfg_edge edge;
	bool varies; /* has the new axis */
};

struct dfg_batch {
	struct dfg_builder *builder;
	const struct dfg_loops *loops;
	struct dfg_liveness *liveness; /* of the old nodes */
	const struct dfg_loop_dependences *loop;
	struct dfg_arena *arena;
	bool singly;    /* slices have one iteration: nodes stay, without a new axis, but for updates of accumulators */
	uint32_t n_old; /* nodes that the graph had at first */
	struct dfg_batched *of; /* by tensor of these (facts.first) */
	uint32_t *instead;      /* by node of these: the node that replaces it; itself if it stays */
	uint32_t *update_of;    /* by node of these: 1 + its number among the accesses, if it updates an accumulator */
	struct dfg_edge number; /* of the iterations, from 0 */
	struct dfg_edge block;  /* the space block of each, i32 */
	struct dfg_edge count;  /* i32[1]: the number of iterations; not if singly */
	struct dfg_edge
		*partial; /* by access: the handle, in the body, of its partial results by block; node DFG_NONE: none */
};

/* The new tensor of an old one. */
struct dfg_batched dfg_batch_of(const struct dfg_batch *b, struct dfg_edge edge);

static inline const struct dfg_inferred *dfg_batch_fact(const struct dfg_batch *b, struct dfg_edge edge)
{
	return dfg_facts_of(&b->builder->facts, edge);
}

/* The rank of an old tensor. DFG_DATA, naming the node, if it is not known. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_rank(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, int *out_rank);

/* The error that node n has no rule, and why. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_refuse(const struct dfg_batch *b, uint32_t n, const char *why);

/* The value of input e of the old node n, which must be known and the same in all iterations; all elements. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_known(
	const struct dfg_batch *b, uint32_t n, uint32_t e, const struct dfg_known_value **out_known);

/* A new node for node n, with its device; attributes as given. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_build(const struct dfg_batch *b, uint32_t n, const char *op,
	const struct dfg_edge *in, uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);

/* A copy of node n, with its attributes and control inputs, that reads `in`; it takes the node's place. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_copy(struct dfg_batch *b, uint32_t n, const struct dfg_edge *in, bool varies);

/* The same with another op or other attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_replace(struct dfg_batch *b, uint32_t n, const char *op,
	const struct dfg_edge *in, uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, bool varies);

/* Output 0 of node n is this tensor, and control edges from n come from its node. */
void dfg_batch_set(struct dfg_batch *b, uint32_t n, struct dfg_edge edge, bool varies);

/* A constant in the loop's body: a scalar, or a vector of count elements. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_int(const struct dfg_batch *b, int64_t value, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_batch_ints(
	const struct dfg_batch *b, const int64_t *value, int64_t count, struct dfg_edge *out_edge);

/* An invariant of the loop's body from a tensor outside. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_enter(
	const struct dfg_batch *b, struct dfg_edge outside, struct dfg_edge *out_edge);

/* `edge` with n dimensions of 1 after the leading axis; or with an axis in the given place. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_expand(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, int axes, struct dfg_edge *out_edge);

/* The new tensor of an old one, repeated for each iteration if it is the same in all of them. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_repeat(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, struct dfg_edge *out_edge);

/* Builds node n, some input of which varies, for a slice. DFG_DATA, naming it: there is no rule. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_apply(struct dfg_batch *b, uint32_t n);

/* StridedSlice. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_slice(struct dfg_batch *b, uint32_t n);

/* An update of rows, or of an accumulator, also if no input varies. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_update(struct dfg_batch *b, uint32_t n);

/* Builds all nodes of the body in the order, after `number`, `block` and `count` are set. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_body(struct dfg_batch *b, const uint32_t *order, const bool *is_inside);

/* Whether updates by this op can go to partial results of blocks. */
bool dfg_batch_has_partial(const struct dfg_node *update);

/* Refuses a node of an arm that some iterations do not take, and that has an effect or may fail. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_check_branch(const struct dfg_batch *b, uint32_t n);

/* Whether the node is a Merge that takes its side by a tensor that varies. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_is_selection(const struct dfg_batch *b, uint32_t n, bool *out_selects);

/* Switch and Merge of a branch. */
DFG_MUST_CHECK struct dfg_err *dfg_batch_switch(struct dfg_batch *b, uint32_t n);
DFG_MUST_CHECK struct dfg_err *dfg_batch_merge(struct dfg_batch *b, uint32_t n);
