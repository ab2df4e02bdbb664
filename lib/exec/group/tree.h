#pragma once

#include "lib/exec/group/row_set.h"

/*
 * Sums over shards in one fixed order, that of a binary tree over shards 0..shards-1: the left half of a node holds the
 * largest power of two below the node's number of shards. The order in which contributions arrive, and which process
 * adds them, do not change a bit of the sum.
 */

/* A node of the tree: the shards [first, first + count). */
struct dfg_tree_node {
	uint32_t first, count;
};

/* Adds `count` elements of type f32 or f64 to others. */
void dfg_tree_add(enum dfg_dtype dtype, size_t count, void *to, const void *from);

/* The other child of a node's parent, and the parent. The node must be in the tree and must not be its root. */
struct dfg_tree_node dfg_tree_sibling(uint32_t shards, struct dfg_tree_node node, struct dfg_tree_node *out_parent);

/*
 * The number of complete subtrees that make up the shards [first, first + count); out_node, unless NULL, receives them in
 * their order, at most `count`.
 */
uint32_t dfg_tree_cover(uint32_t shards, uint32_t first, uint32_t count, struct dfg_tree_node *out_node);

/* The children of a node of more than one shard. */
void dfg_tree_children(struct dfg_tree_node node, struct dfg_tree_node out_child[2]);

/*
 * A sum in progress: the partial sums of nodes whose siblings have not arrived. Zero-initialised: no shards. It is of dense
 * values, or of sets of rows (dfg_tree_sum_by_rows).
 */
struct dfg_tree_sum {
	uint32_t shards;
	bool by_rows;         /* each value is a set of rows */
	size_t width;         /* of a set: elements of a row */
	enum dfg_dtype dtype; /* of the elements: f32 or f64 */
	size_t count;         /* elements of each contribution; rows of the table, if it is by rows */
	const size_t *tensor; /* of an Adasum: the first element of each tensor, and the end; borrowed. NULL: a plain sum */
	uint32_t tensors;
	struct dfg_partial {
		struct dfg_tree_node node;
		struct dfg_buffer *value; /* NULL: none of the node's shards has rows */
	} * partial;
	size_t partials, capacity;
	struct dfg_buffer **spare; /* buffers for contributions to come, of count elements */
	size_t spares, spare_capacity;
};

/* Begins a sum of `count` elements of each shard; spare buffers of an earlier sum of that size are kept. */
void dfg_tree_sum_begin(struct dfg_tree_sum *sum, uint32_t shards, enum dfg_dtype dtype, size_t count);
void dfg_tree_sum_release(struct dfg_tree_sum *sum);

/* The sum that has begun is of sets of rows of that many elements. */
void dfg_tree_sum_by_rows(struct dfg_tree_sum *sum, size_t width);

/* Values of the sum that has begun, dense ones, are combined by Adasum, each tensor by itself. */
void dfg_tree_sum_by_adasum(struct dfg_tree_sum *sum, const size_t *tensor, uint32_t tensors);

/* A buffer for a dense contribution, contents undefined. */
DFG_MUST_CHECK struct dfg_err *dfg_tree_sum_buffer(struct dfg_tree_sum *sum, struct dfg_buffer **out_buffer);

/*
 * Adds the partial sum of a node; `value` may be NULL, and is taken, also on error. DFG_BUG if a shard of the node has
 * contributed before.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tree_sum_add(
	struct dfg_tree_sum *sum, struct dfg_tree_node node, struct dfg_buffer *value);

/* Whether all shards have contributed. */
bool dfg_tree_sum_complete(const struct dfg_tree_sum *sum);

/* The sum of a complete sum, which the caller owns; NULL if no shard has rows. Once. */
struct dfg_buffer *dfg_tree_sum_take(struct dfg_tree_sum *sum);

/* Takes a buffer, to be used again if it is large enough for a contribution. NULL is fine. */
void dfg_tree_sum_give(struct dfg_tree_sum *sum, struct dfg_buffer *buffer);

/* The first shard that has not contributed; `shards` if the sum is complete. */
uint32_t dfg_tree_sum_missing(const struct dfg_tree_sum *sum);
