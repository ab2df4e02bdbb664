#pragma once

#include "lib/graph/kernel.h"

/*
 * Blocks of memory that kernels have prepared of inputs that are the same in each step, such as packed weights: one for each
 * node and form. The inputs are constants of the graph, or values of variables, which a block holds: a variable that is
 * written meanwhile gets another buffer, so that the next step finds that the block is out of date.
 */
struct prepared_blocks;

struct prepared_block { /* all but memory is private to prepared.c */
	struct prepared_block *next;
	uint32_t node; /* of the graph */
	struct dfg_preparation preparation;
	struct dfg_buffer *source; /* holds the input's elements; NULL for a constant */
	const void *elements;
	void *memory;
	atomic_uint refs;
};

DFG_MUST_CHECK struct dfg_err *dfg_prepared_blocks_new(struct prepared_blocks **out_blocks);
void dfg_prepared_blocks_free(struct prepared_blocks *blocks); /* NULL is fine */

/*
 * The block for this input, with a reference, or NULL: then one is made, filled outside of the lock, and added. Where two
 * threads do so at once, both blocks serve, and one is kept. Any thread.
 */
struct prepared_block *dfg_prepared_find(struct prepared_blocks *blocks, uint32_t node,
	const struct dfg_preparation *preparation, const struct dfg_buffer *source, const void *elements);
struct prepared_block *dfg_prepared_new(uint32_t node, const struct dfg_preparation *preparation,
	struct dfg_buffer *source, const void *elements); /* NULL: there is no memory for it */
void dfg_prepared_add(struct prepared_blocks *blocks, struct prepared_block *block);
void dfg_prepared_unref(struct prepared_block *block); /* NULL is fine */

/* Bytes of all blocks that are kept. */
size_t dfg_prepared_bytes(struct prepared_blocks *blocks);
