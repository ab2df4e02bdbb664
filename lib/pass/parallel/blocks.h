#pragma once

#include "lib/base/text.h"
#include "lib/pass/parallel/dependences.h"

/*
 * Cuts parallel loops into blocks, whose number alone decides the results: the iterations that may run together become one
 * iteration of a loop over slices (lib/exec/parallel/loop_schedule.h), with a new leading axis in the values of the body.
 * Each accumulator gets partial results by block, which are combined after the loop along a binary tree over the blocks.
 */
struct dfg_block_options {
	uint32_t blocks;
	bool by_range; /* --balance range */
	bool verify;   /* --verify-plan */
	bool singly;   /* iterations run one after the other, in the same order */
	bool workers;  /* the graph is run by several workers at once, each of which runs some of the blocks */
};

/* The outcome for a parallel loop. */
struct dfg_blocked_loop {
	const char *name;
	const char *schedule;        /* the name of the node that finds the slices; NULL: the loop runs as it was */
	enum dfg_loop_family family; /* of its plan */
	const char *why;             /* why iterations run one at a time; NULL: in slices */
	const char *whole;           /* why each of several workers runs all of the blocks; NULL: it does not */
	uint32_t number;             /* of the loop, in this order */
};
struct dfg_blocked {
	struct dfg_blocked_loop *loop;
	uint32_t count;
};

/*
 * Rewrites all parallel loops of a verified graph, which must be marked. Nodes are renumbered. The results are in the arena.
 * DFG_DATA: the marks do not hold; a loop buffers variables.
 */
DFG_MUST_CHECK struct dfg_err *dfg_blocks_cut(struct dfg_graph *graph, const struct dfg_block_options *options,
	struct dfg_arena *arena, struct dfg_blocked *out_blocked);
