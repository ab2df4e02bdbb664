#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers names: the first name put in is 0, the next new one 1, and so on, so walking a map is walking numbers in the
 * order of insertion, the same on every machine. A zeroed struct is empty. Names are borrowed: they live in the caller's
 * arena or file at least as long as the map.
 */
struct dfg_map {
	struct dfg_name {
		const char *s;
		uint32_t length, hash;
	} * name; /* by number */
	size_t count;
	size_t room;
	uint64_t *slot; /* number + 1, and the hash above it, or 0 */
	size_t slots;   /* a power of two, or 0 */
};

enum { DFG_NONE = UINT32_MAX };

/* Number of the name, new or old; *out_new says which (may be NULL). False when memory is short. */
bool dfg_map_put(struct dfg_map *map, const char *s, size_t length, uint32_t *out_number, bool *out_new);

/* DFG_NONE where the name is not there. */
uint32_t dfg_map_find(const struct dfg_map *map, const char *s, size_t length);

/* Room for count names at once; false when memory is short. */
bool dfg_map_reserve(struct dfg_map *map, size_t count);

/*
 * The same in two steps, for many names: the hash, then a prefetch of its slot, other names meanwhile, then the find. The
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

/* Numbers of many names at once, whose hashes are given: their misses of the cache overlap. Best some 16 at a time. */
void dfg_map_find_many(const struct dfg_map *map, const struct dfg_name *names, size_t count, uint32_t *out_numbers);

void dfg_map_release(struct dfg_map *map);

/*
 * The nearest right spelling: offer every candidate, then best is the one within a third of the word's length (at least
 * one edit; a swap of neighbours is one), or NULL. Ties go to the first offered.
 */
struct dfg_nearest {
	const char *word;
	const char *best; /* borrowed from the candidates */
	int distance;
};
void dfg_nearest_offer(struct dfg_nearest *nearest, const char *candidate);
