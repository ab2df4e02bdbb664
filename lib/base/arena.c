#include "lib/base/arena.h"

#include "lib/base/deferred.h"
#include "lib/base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 64 * 1024, CHUNK_MOST = 8 * 1024 * 1024 };

struct dfg_chunk {
	struct dfg_chunk *older;
	size_t size;
	void (*release)(void *owner); /* NULL: the chunk is memory alone */
	void *owner;
	alignas(max_align_t) char bytes[];
};

/* Chunks grow with the arena, so that a large one is made of few; a zeroed page costs nothing before it is used. */
static size_t next_size(const struct dfg_arena *arena, size_t bytes)
{
	size_t size = arena->total / 4;
	size = size < CHUNK ? CHUNK : size > CHUNK_MOST ? CHUNK_MOST : size;
	return bytes > size ? bytes : size;
}

static struct dfg_chunk *chunk_add(struct dfg_arena *arena, size_t bytes)
{
	size_t size = next_size(arena, bytes), left = arena->total < arena->limit ? arena->limit - arena->total : 0;
	if (arena->limit && bytes > left)
		return NULL;
	if (arena->limit && size > left / 2) /* the other half is for what shares the limit and is not from here */
		size = bytes > left / 2 ? bytes : left / 2;
	struct dfg_chunk *chunk = dfg_mem->take(dfg_mem, sizeof *chunk + size, alignof(max_align_t));
	if (!chunk)
		return NULL;
	*chunk = (struct dfg_chunk){.older = arena->chunk, .size = size};
	arena->chunk = chunk;
	arena->used = 0;
	arena->total += size;
	return chunk;
}

void *dfg_arena_zeros(struct dfg_arena *arena, size_t count, size_t size)
{
	if (size && count > (SIZE_MAX / 4) / size)
		return NULL;
	size_t bytes = (count * size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	if (!arena->chunk || bytes > arena->chunk->size - arena->used)
		if (!chunk_add(arena, bytes))
			return NULL;
	void *memory = arena->chunk->bytes + arena->used;
	arena->used += bytes;
	return memset(memory, 0, bytes);
}

char *dfg_arena_copy(struct dfg_arena *arena, const void *bytes, size_t count)
{
	char *copy = dfg_arena_zeros(arena, count + 1, 1);
	if (copy && count)
		memcpy(copy, bytes, count);
	return copy;
}

char *dfg_arena_path(struct dfg_arena *arena, const char *scope, const char *name)
{
	size_t head = strlen(scope), tail = strlen(name);
	char *path = dfg_arena_zeros(arena, head + tail + 2, 1);
	if (!path)
		return NULL;
	memcpy(path, scope, head);
	path[head] = '/';
	memcpy(path + head + 1, name, tail);
	return path;
}

char *dfg_arena_number(struct dfg_arena *arena, const char *head, char separator, uint64_t number)
{
	enum { DIGITS = 20 };
	size_t length = strlen(head), first = DIGITS;
	char digits[DIGITS];
	do
		digits[--first] = (char)('0' + number % 10);
	while (number /= 10);
	char *text = dfg_arena_zeros(arena, length + 1 + DIGITS - first + 1, 1);
	if (!text)
		return NULL;
	memcpy(text, head, length);
	text[length] = separator;
	memcpy(text + length + 1, digits + first, DIGITS - first);
	return text;
}

char *dfg_arena_print(struct dfg_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, fmt, args);
	char *text = length < 0 ? NULL : dfg_arena_zeros(arena, (size_t)length + 1, 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

bool dfg_arena_defer(struct dfg_arena *arena, void (*release)(void *owner), void *owner)
{
	if (!arena->chunk && !chunk_add(arena, 1)) /* reset() keeps the newest chunk, so that must be one of memory */
		return false;
	struct dfg_chunk *chunk = dfg_mem->take(dfg_mem, sizeof *chunk, alignof(max_align_t));
	if (!chunk)
		return false;
	*chunk = (struct dfg_chunk){.older = arena->chunk->older, .release = release, .owner = owner};
	arena->chunk->older = chunk;
	return true;
}

static void release_older(struct dfg_arena *arena, struct dfg_chunk **chunk)
{
	while (*chunk) {
		struct dfg_chunk *older = (*chunk)->older;
		arena->total -= (*chunk)->size;
		if ((*chunk)->release)
			(*chunk)->release((*chunk)->owner);
		dfg_free(*chunk);
		*chunk = older;
	}
}

void dfg_arena_reset(struct dfg_arena *arena)
{
	if (arena->chunk)
		release_older(arena, &arena->chunk->older);
	arena->used = 0;
}

void dfg_arena_release(struct dfg_arena *arena)
{
	release_older(arena, &arena->chunk);
	arena->used = 0;
}
