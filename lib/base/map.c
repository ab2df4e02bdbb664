#include "lib/base/map.h"

#include "lib/base/mem.h"

#include <string.h>

enum { FIRST_SLOTS = 64, WORD_MOST = 128 };

uint32_t dfg_map_hash(const char *s, size_t length)
{
	uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
	for (; length >= 8; s += 8, length -= 8) {
		uint64_t word;
		memcpy(&word, s, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	uint64_t word = 0;
	memcpy(&word, s, length);
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of the name, or the empty one where it would go. */
static size_t probe(const struct dfg_map *map, const char *s, size_t length, uint32_t hash)
{
	size_t i = hash & (map->slots - 1);
	for (; map->slot[i]; i = (i + 1) & (map->slots - 1)) {
		const struct dfg_name *name = &map->name[map->slot[i] - 1];
		if (name->hash == hash && name->length == length && !memcmp(name->s, s, length))
			break;
	}
	return i;
}

static bool rehash(struct dfg_map *map, size_t slots)
{
	uint32_t *slot = dfg_zeros(slots, sizeof *slot);
	if (!slot)
		return false;
	dfg_free(map->slot);
	map->slot = slot;
	map->slots = slots;
	for (size_t n = 0; n < map->count; n++) { /* no two names are equal: the first empty slot is the one */
		size_t i = map->name[n].hash & (slots - 1);
		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = (uint32_t)n + 1;
	}
	return true;
}

bool dfg_map_reserve(struct dfg_map *map, size_t count)
{
	size_t slots = map->slots ? map->slots : FIRST_SLOTS;
	while (slots / 2 < count)
		slots *= 2;
	return dfg_reserve(&map->name, &map->room, count, sizeof *map->name) && (slots == map->slots || rehash(map, slots));
}

bool dfg_map_put_hash(
	struct dfg_map *map, const char *s, size_t length, uint32_t hash, uint32_t *out_number, bool *out_new)
{
	if (!dfg_map_reserve(map, map->count + 1))
		return false;
	size_t i = probe(map, s, length, hash);
	bool is_new = !map->slot[i];
	if (is_new) {
		map->name[map->count] = (struct dfg_name){s, (uint32_t)length, hash};
		map->slot[i] = (uint32_t)++map->count;
	}
	*out_number = map->slot[i] - 1;
	if (out_new)
		*out_new = is_new;
	return true;
}

bool dfg_map_put(struct dfg_map *map, const char *s, size_t length, uint32_t *out_number, bool *out_new)
{
	return dfg_map_put_hash(map, s, length, dfg_map_hash(s, length), out_number, out_new);
}

void dfg_map_find_many(const struct dfg_map *map, const struct dfg_name *names, size_t count, uint32_t *out_numbers)
{
	for (size_t i = 0; i < count; i++)
		dfg_map_prefetch(map, names[i].hash);
	for (size_t i = 0; map->slots && i < count; i++) {
		uint32_t guess = map->slot[names[i].hash & (map->slots - 1)];
		__builtin_prefetch(&map->name[guess - (guess > 0)]);
	}
	for (size_t i = 0; map->slots && i < count; i++) {
		uint32_t guess = map->slot[names[i].hash & (map->slots - 1)];
		__builtin_prefetch(map->name[guess - (guess > 0)].s);
	}
	for (size_t i = 0; i < count; i++)
		out_numbers[i] = dfg_map_find_hash(map, names[i].s, names[i].length, names[i].hash);
}

uint32_t dfg_map_find_hash(const struct dfg_map *map, const char *s, size_t length, uint32_t hash)
{
	return map->slots ? map->slot[probe(map, s, length, hash)] - 1 : DFG_NONE;
}

uint32_t dfg_map_find(const struct dfg_map *map, const char *s, size_t length)
{
	return dfg_map_find_hash(map, s, length, dfg_map_hash(s, length));
}

void dfg_map_release(struct dfg_map *map)
{
	dfg_free(map->name);
	dfg_free(map->slot);
	*map = (struct dfg_map){0};
}

/* Optimal string alignment distance, given up where it is sure to pass most. */
static int distance(const char *a, const char *b, int most)
{
	int m = (int)strlen(a), n = (int)strlen(b), rows[3][WORD_MOST + 1];
	if (m > WORD_MOST || n > WORD_MOST || m - n > most || n - m > most)
		return most + 1;
	int *before = rows[0], *last = rows[1], *row = rows[2];
	for (int j = 0; j <= n; j++)
		last[j] = j;
	for (int i = 1; i <= m; i++) {
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int best = last[j - 1] + (a[i - 1] != b[j - 1]);
			best = last[j] + 1 < best ? last[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		int *oldest = before;
		before = last, last = row, row = oldest;
	}
	return last[n];
}

void dfg_nearest_offer(struct dfg_nearest *nearest, const char *candidate)
{
	int most = (int)strlen(nearest->word) / 3;
	most = nearest->best ? nearest->distance - 1 : most < 1 ? 1 : most;
	int edits = distance(nearest->word, candidate, most);
	if (edits > most)
		return;
	nearest->best = candidate;
	nearest->distance = edits;
}
