#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * All memory of the library comes from dfg_mem, which is the heap unless the program puts a limit or a failing allocator
 * in front of it. Every request may fail: the caller of one that gives NULL returns DFG_MEMORY, exit status 71.
 */
struct dfg_allocator {
	/* bytes of memory, not zeroed, aligned to align (a power of two); NULL when memory is short. */
	void *(*take)(struct dfg_allocator *self, size_t bytes, size_t align);
	void (*drop)(struct dfg_allocator *self, void *memory); /* NULL is fine */
	/* Zeroed memory, where that is cheaper than to take and clear it: a fresh page is zero. The pointer is NULL if it is not. */
	void *(*zeros)(struct dfg_allocator *self, size_t bytes);
	/* Makes the block larger, which may move it; NULL when memory is short, and the block stays. The pointer is NULL if the
	 * caller must take and copy. */
	void *(*grow)(struct dfg_allocator *self, void *memory, size_t bytes);
};

/* Set once, before the first thread is made. Never NULL. */
extern struct dfg_allocator *dfg_mem;

/* count zeroed elements of size bytes; NULL when memory is short or the product overflows. */
void *dfg_zeros(size_t count, size_t size);

/*
 * Grows the array *array, which has space for *capacity elements of size bytes, to at least `count`: by half at a time,
 * keeping the elements and zeroing the new ones. False, with nothing changed, when memory is short.
 */
bool dfg_reserve(void *array, size_t *capacity, size_t count, size_t size);

void dfg_free(void *memory);

/* An allocator that refuses a request if all live blocks together would exceed limit bytes. */
struct dfg_mem_limit {
	struct dfg_allocator base;
	struct dfg_allocator *inner;
	size_t limit;
	atomic_size_t used;
};
void dfg_mem_limit_init(struct dfg_mem_limit *limit, struct dfg_allocator *inner, size_t bytes);

/* An allocator whose first `left` requests succeed and the next, or all later ones, fail. For tests. */
struct dfg_mem_failing {
	struct dfg_allocator base;
	struct dfg_allocator *inner;
	atomic_long left;
	bool forever;
};
void dfg_mem_failing_init(struct dfg_mem_failing *failing, struct dfg_allocator *inner, long left, bool forever);
