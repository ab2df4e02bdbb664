#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers names: the first name put in is 0, the next new one 1, and so on, so the order of a walk is the order of
 * insertion, the same on every machine. A zeroed struct is empty. Names are borrowed: they live in the caller's
 * arena or file at least as long as the map.
 */
struct dfg_map {
	struct dfg_name {
		const char *s;
		uint32_t length, hash;
	} * name; /* by number */
	size_t count;
	size_t capacity;
	uint64_t *slot; /* number + 1, and the hash above it, or 0 */
	size_t slots;   /* a power of two, or 0 */
};

enum { DFG_NONE = UINT32_MAX };

/* Number of the name, new or old; *out_new says which (may be NULL). False when memory is short. */
bool dfg_map_put(struct dfg_map *map, const char *s, size_t length, uint32_t *out_number, bool *out_new);

/* The name's number; DFG_NONE if the map does not have it. */
uint32_t dfg_map_find(const struct dfg_map *map, const char *s, size_t length);

/* Room for count names at once; false when memory is short. */
bool dfg_map_reserve(struct dfg_map *map, size_t count);

/*
 * The same in two steps, for many names: compute the hash and prefetch its slot, treat other names meanwhile, then find. The
 * hash has this process's key (lib/base/hash.h), so that no file can hold names that collide; it differs from run to run.
 */
uint32_t dfg_map_hash(const char *s, size_t length);
static inline void dfg_map_prefetch(const struct dfg_map *map, uint32_t hash)
{
	if (map->slots)
		__builtin_prefetch(&map->slot[hash & (map->slots - 1)]);
}
uint32_t dfg_map_find_hash(const struct dfg_map *map, const char *s, size_t length, uint32_t hash);
bool dfg_map_put_hash(
	struct dfg_map *map, const char *s, size_t length, uint32_t hash, uint32_t *out_number, bool *out_new);

/* Numbers of many names at once, whose hashes are given, so that their cache misses overlap; some 16 at a time is best. */
void dfg_map_find_many(const struct dfg_map *map, const struct dfg_name *names, size_t count, uint32_t *out_numbers);

void dfg_map_release(struct dfg_map *map);

/*
 * The nearest right spelling: after every candidate was offered, best is the nearest one within a third of the word's
 * length in edits (at least one; a swap of neighbours is one), or NULL. Ties go to the first offered.
 */
struct dfg_nearest {
	const char *word;
	const char *best; /* borrowed from the candidates */
	int distance;
};
void dfg_nearest_offer(struct dfg_nearest *nearest, const char *candidate);
