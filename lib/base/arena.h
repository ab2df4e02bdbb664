#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * An arena gives memory that lives until the whole arena is released. A zeroed struct is an empty arena.
 * Memory from an arena belongs to the arena: it is never freed alone, and no pointer to it may outlive the arena.
 */
struct dfg_arena {
	struct dfg_chunk *chunk;
	size_t used;  /* bytes of the newest chunk */
	size_t total; /* bytes of all chunks */
	size_t limit; /* most that total may become; 0: no limit */
};

/* count zeroed elements of size bytes, aligned for any type; NULL when memory is short or the product overflows. */
void *dfg_arena_zeros(struct dfg_arena *arena, size_t count, size_t size);

/* A copy of the bytes with a 0 after them; NULL when memory is short. */
char *dfg_arena_copy(struct dfg_arena *arena, const void *bytes, size_t count);

/* "SCOPE/NAME"; NULL when memory is short. */
char *dfg_arena_path(struct dfg_arena *arena, const char *scope, const char *name);

/* "fc1:17" from "fc1", ':' and 17, ten times as fast as print(). NULL when memory is short. */
char *dfg_arena_number(struct dfg_arena *arena, const char *head, char separator, uint64_t number);

/* A string made by printf's rules; NULL when memory is short. */
char *dfg_arena_print(struct dfg_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Invalidates all memory that the arena has given, and keeps its newest chunk for later requests. */
void dfg_arena_reset(struct dfg_arena *arena);

void dfg_arena_release(struct dfg_arena *arena);
