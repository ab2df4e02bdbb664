#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * All memory of the library comes from dfg_mem, which is the heap unless the program puts a limit or a failing allocator
 * in front of it. Every request may fail: what gives NULL here ends as DFG_MEMORY, exit status 71.
 */
struct dfg_allocator {
	/* bytes of room, not zeroed, aligned to align (a power of two); NULL where memory is short. */
	void *(*take)(struct dfg_allocator *self, size_t bytes, size_t align);
	void (*drop)(struct dfg_allocator *self, void *memory); /* NULL is fine */
	/* Zeroed room, where that is cheaper than to take and clear it: a fresh page is zero. NULL: it is not. */
	void *(*zeros)(struct dfg_allocator *self, size_t bytes);
	/* More room for what is in memory, which may move; NULL, and it stays, where memory is short. NULL: take and copy. */
	void *(*grow)(struct dfg_allocator *self, void *memory, size_t bytes);
};

/* Set once, before the first thread is made. Never NULL. */
extern struct dfg_allocator *dfg_mem;

/* count zeroed elements of size bytes; NULL when memory is short or the product overflows. */
void *dfg_zeros(size_t count, size_t size);

/*
 * Room for `count` elements of size bytes in the array *array that has room for *room of them: grows by half, keeps what
 * was there, zeroes the rest. False, and nothing changed, when memory is short.
 */
bool dfg_reserve(void *array, size_t *room, size_t count, size_t size);

void dfg_free(void *memory);

/* Refuses what would make the sum of all that is held larger than limit bytes. */
struct dfg_mem_limit {
	struct dfg_allocator base;
	struct dfg_allocator *inner;
	size_t limit;
	atomic_size_t held;
};
void dfg_mem_limit_init(struct dfg_mem_limit *limit, struct dfg_allocator *inner, size_t bytes);

/* Takes `left` times, then fails: once, or for ever. For tests. */
struct dfg_mem_failing {
	struct dfg_allocator base;
	struct dfg_allocator *inner;
	atomic_long left;
	bool forever;
};
void dfg_mem_failing_init(struct dfg_mem_failing *failing, struct dfg_allocator *inner, long left, bool forever);
