#include "lib/exec/state/prepared.h"

#include "lib/base/mem.h"

#include <pthread.h>
#include <string.h>

enum { LISTS = 64 }; /* by the node's number */

struct prepared_blocks {
	pthread_mutex_t lock;
	struct prepared_block *list[LISTS];
	size_t bytes;
};

struct dfg_err *dfg_prepared_blocks_new(struct prepared_blocks **out_blocks)
{
	struct prepared_blocks *blocks = dfg_zeros(1, sizeof *blocks);
	if (!blocks)
		return dfg_no_memory("the session");
	if (pthread_mutex_init(&blocks->lock, NULL)) {
		dfg_free(blocks);
		return dfg_no_memory("the session");
	}
	*out_blocks = blocks;
	return NULL;
}

void dfg_prepared_unref(struct prepared_block *block)
{
	if (!block || atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) > 1)
		return;
	dfg_buffer_unref(block->source);
	dfg_free(block->memory);
	dfg_free(block);
}

void dfg_prepared_blocks_free(struct prepared_blocks *blocks)
{
	if (!blocks)
		return;
	for (int i = 0; i < LISTS; i++)
		while (blocks->list[i]) {
			struct prepared_block *block = blocks->list[i];
			blocks->list[i] = block->next;
			dfg_prepared_unref(block);
		}
	pthread_mutex_destroy(&blocks->lock);
	dfg_free(blocks);
}

/* The place of the block of this node and form in its list, or the list's end. */
static struct prepared_block **place_of(
	struct prepared_blocks *blocks, uint32_t node, const struct dfg_preparation *preparation)
{
	struct prepared_block **at = &blocks->list[node % LISTS];
	for (; *at; at = &(*at)->next)
		if ((*at)->node == node && (*at)->preparation.make == preparation->make &&
			(*at)->preparation.bytes == preparation->bytes &&
			!memcmp((*at)->preparation.form, preparation->form, sizeof preparation->form))
			break;
	return at;
}

struct prepared_block *dfg_prepared_find(struct prepared_blocks *blocks, uint32_t node,
	const struct dfg_preparation *preparation, const struct dfg_buffer *source, const void *elements)
{
	pthread_mutex_lock(&blocks->lock);
	struct prepared_block *block = *place_of(blocks, node, preparation);
	if (block && (block->source != source || (source && block->elements != elements)))
		block = NULL;
	if (block)
		atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
	pthread_mutex_unlock(&blocks->lock);
	return block;
}

struct prepared_block *dfg_prepared_new(
	uint32_t node, const struct dfg_preparation *preparation, struct dfg_buffer *source, const void *elements)
{
	struct prepared_block *block = dfg_zeros(1, sizeof *block);
	void *memory = block ? dfg_mem->take(dfg_mem, preparation->bytes, DFG_ALIGN) : NULL;
	if (!memory) {
		dfg_free(block);
		return NULL;
	}
	*block = (struct prepared_block){.node = node,
		.preparation = *preparation,
		.source = dfg_buffer_ref(source),
		.elements = elements,
		.memory = memory,
		.refs = 1};
	return block;
}

void dfg_prepared_add(struct prepared_blocks *blocks, struct prepared_block *block)
{
	pthread_mutex_lock(&blocks->lock);
	struct prepared_block **at = place_of(blocks, block->node, &block->preparation), *old = *at;
	block->next = old ? old->next : NULL;
	*at = block;
	atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
	if (!old)
		blocks->bytes += block->preparation.bytes;
	pthread_mutex_unlock(&blocks->lock);
	dfg_prepared_unref(old);
}

size_t dfg_prepared_bytes(struct prepared_blocks *blocks)
{
	pthread_mutex_lock(&blocks->lock);
	size_t bytes = blocks->bytes;
	pthread_mutex_unlock(&blocks->lock);
	return bytes;
}
