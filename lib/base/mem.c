#include "lib/base/mem.h"

#include "lib/base/mem_charge.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_LEAST = 4 << 20 };

/*
 * Asks for huge pages for an array that the caller will fill: nodes, names and facts of a graph of a million nodes are
 * otherwise 40 thousand page faults. Whatever the system answers is right.
 */
static void *in_huge_pages(void *memory, size_t bytes)
{
	uintptr_t start = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
	if (memory && bytes >= HUGE_LEAST)
		madvise((void *)start, bytes - (start - (uintptr_t)memory), MADV_HUGEPAGE);
	return memory;
}

static void *heap_take(struct dfg_allocator *self, size_t bytes, size_t align)
{
	(void)self;
	if (align <= _Alignof(max_align_t))
		return malloc(bytes ? bytes : 1);
	return bytes > SIZE_MAX - align ? NULL : aligned_alloc(align, (bytes + align) / align * align);
}

static void heap_drop(struct dfg_allocator *self, void *memory)
{
	(void)self;
	free(memory);
}

static void *heap_zeros(struct dfg_allocator *self, size_t bytes)
{
	(void)self;
	return in_huge_pages(calloc(1, bytes ? bytes : 1), bytes);
}

/* Pages of a large array are moved, not copied. */
static void *heap_grow(struct dfg_allocator *self, void *memory, size_t bytes)
{
	(void)self;
	return in_huge_pages(realloc(memory, bytes), bytes);
}

static struct dfg_allocator heap = {heap_take, heap_drop, heap_zeros, heap_grow};
struct dfg_allocator *dfg_mem = &heap;

void *dfg_zeros(size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	if (dfg_mem->zeros)
		return dfg_mem->zeros(dfg_mem, bytes);
	void *memory = dfg_mem->take(dfg_mem, bytes, _Alignof(max_align_t));
	return memory ? memset(memory, 0, bytes) : NULL;
}

/* The array with more than its capacity of elements; the added ones are zero. */
static void *enlarge(void *old, size_t capacity, size_t more, size_t size)
{
	void *new;
	size_t bytes;
	if (!old || !dfg_mem->grow) {
		if ((new = dfg_zeros(more, size)) && old)
			memcpy(new, old, capacity * size);
		if (new)
			dfg_free(old);
		return new;
	}
	if (__builtin_mul_overflow(more, size, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	if ((new = dfg_mem->grow(dfg_mem, old, bytes)))
		memset((char *)new + capacity *size, 0, bytes - capacity * size);
	return new;
}

bool dfg_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
	if (count <= *capacity)
		return true;
	void *old, *new;
	size_t more = *capacity + *capacity / 2 < count ? count : *capacity + *capacity / 2;
	if (more < 8)
		more = 8;
	memcpy(&old, array, sizeof old); /* array is the address of a pointer to any type */
	if (!(new = enlarge(old, *capacity, more, size)))
		return false;
	memcpy(array, &new, sizeof new);
	*capacity = more;
	return true;
}

void dfg_free(void *memory)
{
	dfg_mem->drop(dfg_mem, memory);
}

static void *limit_take(struct dfg_allocator *self, size_t bytes, size_t align)
{
	struct dfg_mem_limit *limit = (struct dfg_mem_limit *)self;
	if (bytes > limit->limit || atomic_load(&limit->used) > limit->limit - bytes)
		return NULL;
	void *memory = limit->inner->take(limit->inner, bytes, align);
	if (memory)
		atomic_fetch_add(&limit->used, malloc_usable_size(memory));
	return memory;
}

static void limit_drop(struct dfg_allocator *self, void *memory)
{
	struct dfg_mem_limit *limit = (struct dfg_mem_limit *)self;
	if (memory)
		atomic_fetch_sub(&limit->used, malloc_usable_size(memory));
	limit->inner->drop(limit->inner, memory);
}

/* NULL: the process has none. */
static struct dfg_mem_limit *limit_of_process(void)
{
	return dfg_mem->take == limit_take ? (struct dfg_mem_limit *)dfg_mem : NULL;
}

/* Two threads that charge at the same time may not both pass. */
bool dfg_mem_charge(size_t bytes)
{
	struct dfg_mem_limit *limit = limit_of_process();
	if (!limit)
		return true;
	size_t used = atomic_load(&limit->used);
	do
		if (bytes > limit->limit || used > limit->limit - bytes)
			return false;
	while (!atomic_compare_exchange_weak(&limit->used, &used, used + bytes));
	return true;
}

void dfg_mem_discharge(size_t bytes)
{
	struct dfg_mem_limit *limit = limit_of_process();
	if (limit)
		atomic_fetch_sub(&limit->used, bytes);
}

void dfg_mem_limit_init(struct dfg_mem_limit *limit, struct dfg_allocator *inner, size_t bytes)
{
	limit->base = (struct dfg_allocator){.take = limit_take, .drop = limit_drop};
	limit->inner = inner;
	limit->limit = bytes;
	atomic_init(&limit->used, 0);
}

static void *failing_take(struct dfg_allocator *self, size_t bytes, size_t align)
{
	struct dfg_mem_failing *failing = (struct dfg_mem_failing *)self;
	long left = atomic_fetch_sub(&failing->left, 1);
	if (left == 0 || (left < 0 && failing->forever))
		return NULL;
	return failing->inner->take(failing->inner, bytes, align);
}

static void failing_drop(struct dfg_allocator *self, void *memory)
{
	struct dfg_mem_failing *failing = (struct dfg_mem_failing *)self;
	failing->inner->drop(failing->inner, memory);
}

void dfg_mem_failing_init(struct dfg_mem_failing *failing, struct dfg_allocator *inner, long left, bool forever)
{
	failing->base = (struct dfg_allocator){.take = failing_take, .drop = failing_drop};
	failing->inner = inner;
	atomic_init(&failing->left, left);
	failing->forever = forever;
}
