#include "kernels/cuda/standin/standin.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 }; /* of every block, as CUDA's */

static bool insert_block(struct standin_heap *heap, size_t at, const struct standin_block *block)
{
	if (heap->blocks == heap->capacity) {
		size_t capacity = heap->capacity ? heap->capacity * 2 : 16;
		struct standin_block *more = realloc(heap->block, capacity * sizeof *more);
		if (!more)
			return false;
		heap->block = more;
		heap->capacity = capacity;
	}
	memmove(&heap->block[at + 1], &heap->block[at], (heap->blocks++ - at) * sizeof *block);
	heap->block[at] = *block;
	return true;
}

static void remove_block(struct standin_heap *heap, size_t at)
{
	memmove(&heap->block[at], &heap->block[at + 1], (--heap->blocks - at) * sizeof *heap->block);
}

bool standin_heap_init(struct standin_heap *heap, uint64_t address, uint64_t bytes)
{
	return insert_block(heap, 0, &(struct standin_block){.address = address, .bytes = bytes});
}

/* Joins the usable free blocks that follow this one to it. */
static void join_blocks(struct standin_heap *heap, size_t at, standin_usable *usable, void *arg)
{
	while (at + 1 < heap->blocks && !heap->block[at + 1].used && usable(arg, &heap->block[at + 1])) {
		heap->block[at].bytes += heap->block[at + 1].bytes;
		remove_block(heap, at + 1);
	}
}

uint64_t standin_heap_allocate(struct standin_heap *heap, uint64_t bytes, standin_usable *usable, void *arg)
{
	bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	for (size_t i = 0; i < heap->blocks; i++) {
		if (heap->block[i].used || !usable(arg, &heap->block[i]))
			continue;
		join_blocks(heap, i, usable, arg);
		struct standin_block rest = heap->block[i];
		if (rest.bytes < bytes)
			continue;
		rest.address += bytes;
		rest.bytes -= bytes;
		if (rest.bytes && !insert_block(heap, i + 1, &rest))
			return 0;
		heap->block[i].bytes = bytes;
		heap->block[i].used = true;
		heap->in_use += bytes;
		heap->most = heap->in_use > heap->most ? heap->in_use : heap->most;
		return heap->block[i].address;
	}
	return 0;
}

struct standin_block *standin_heap_containing(struct standin_heap *heap, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < heap->blocks; i++) {
		struct standin_block *block = &heap->block[i];
		uint64_t offset = address - block->address;
		if (address >= block->address && offset < block->bytes)
			return block->used && bytes <= block->bytes - offset ? block : NULL;
	}
	return NULL;
}

struct standin_block *standin_heap_find(struct standin_heap *heap, uint64_t address)
{
	struct standin_block *block = standin_heap_containing(heap, address, 1);
	return block && block->address == address ? block : NULL;
}

void standin_heap_free(struct standin_heap *heap, struct standin_block *block, uint32_t stream, uint32_t ticket)
{
	heap->in_use -= block->bytes;
	block->used = false;
	block->stream = stream;
	block->ticket = ticket;
}
