#include "lib/base/map.h"

#include "lib/base/hash.h"
#include "lib/base/mem.h"

#include <string.h>

enum { FIRST_SLOTS = 64, WORD_MOST = 128 };

/* The bytes at s as a number; there are n <= 8 of them. */
static inline uint64_t few_bytes(const char *s, size_t n)
{
	uint64_t word = 0;
	if (n == 8) {
		memcpy(&word, s, 8);
	} else if (n >= 4) {
		uint32_t first, last;
		memcpy(&first, s, 4);
		memcpy(&last, s + n - 4, 4);
		word = (uint64_t)first << 32 | last;
	} else if (n) {
		word = (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1];
	}
	return word;
}

uint32_t dfg_map_hash(const char *s, size_t length)
{
	return (uint32_t)dfg_hash_bytes(dfg_hash_key, s, length);
}

/* memcmp by hand: a call for twenty bytes costs more than they do. */
static inline bool same_bytes(const char *a, const char *b, size_t length)
{
	for (; length > 8; a += 8, b += 8, length -= 8)
		if (few_bytes(a, 8) != few_bytes(b, 8))
			return false;
	return few_bytes(a, length) == few_bytes(b, length);
}

/* A slot has the number + 1 below and the hash above, so that a wrong name is passed over without a look at it. */
static inline uint64_t slot_of(uint32_t hash, size_t number)
{
	return (uint64_t)hash << 32 | (uint64_t)(number + 1);
}
static inline uint32_t number_in(uint64_t slot)
{
	return (uint32_t)slot - 1; /* DFG_NONE of an empty one */
}

/* From slot i on, the first that may be the name's: of its hash, or empty. */
static inline size_t next_likely(const struct dfg_map *map, size_t i, uint32_t hash)
{
	while (map->slot[i] && (uint32_t)(map->slot[i] >> 32) != hash)
		i = (i + 1) & (map->slots - 1);
	return i;
}

/* The slot of the name, or the empty one where it would go. */
static size_t probe(const struct dfg_map *map, const char *s, size_t length, uint32_t hash)
{
	size_t i = next_likely(map, hash & (map->slots - 1), hash);
	for (; map->slot[i]; i = next_likely(map, (i + 1) & (map->slots - 1), hash)) {
		const struct dfg_name *name = &map->name[number_in(map->slot[i])];
		if (name->length == length && same_bytes(name->s, s, length))
			break;
	}
	return i;
}

static bool rehash(struct dfg_map *map, size_t slots)
{
	uint64_t *slot = dfg_zeros(slots, sizeof *slot);
	if (!slot)
		return false;
	dfg_free(map->slot);
	map->slot = slot;
	map->slots = slots;
	for (size_t n = 0; n < map->count; n++) { /* no two names are equal: the first empty slot is the one */
		size_t i = map->name[n].hash & (slots - 1);
		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = slot_of(map->name[n].hash, n);
	}
	return true;
}

bool dfg_map_reserve(struct dfg_map *map, size_t count)
{
	size_t slots = map->slots ? map->slots : FIRST_SLOTS;
	while (slots / 2 < count)
		slots *= 2;
	return dfg_reserve(&map->name, &map->capacity, count, sizeof *map->name) &&
		   (slots == map->slots || rehash(map, slots));
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
		map->slot[i] = slot_of(hash, map->count++);
	}
	*out_number = number_in(map->slot[i]);
	if (out_new)
		*out_new = is_new;
	return true;
}

bool dfg_map_put(struct dfg_map *map, const char *s, size_t length, uint32_t *out_number, bool *out_new)
{
	return dfg_map_put_hash(map, s, length, dfg_map_hash(s, length), out_number, out_new);
}

/* Each loop touches what the one before has fetched. */
void dfg_map_find_many(const struct dfg_map *map, const struct dfg_name *names, size_t count, uint32_t *out_numbers)
{
	for (size_t i = 0; i < count; i++)
		dfg_map_prefetch(map, names[i].hash);
	for (size_t i = 0; i < count; i++) {
		size_t slot = map->slots ? next_likely(map, names[i].hash & (map->slots - 1), names[i].hash) : 0;
		out_numbers[i] = map->slots ? number_in(map->slot[slot]) : DFG_NONE;
		if (out_numbers[i] != DFG_NONE)
			__builtin_prefetch(&map->name[out_numbers[i]]);
	}
	for (size_t i = 0; i < count; i++)
		if (out_numbers[i] != DFG_NONE)
			__builtin_prefetch(map->name[out_numbers[i]].s);
	for (size_t i = 0; i < count; i++) {
		const struct dfg_name *likely = out_numbers[i] != DFG_NONE ? &map->name[out_numbers[i]] : NULL;
		if (likely && (likely->length != names[i].length || !same_bytes(likely->s, names[i].s, likely->length)))
			out_numbers[i] = dfg_map_find_hash(map, names[i].s, names[i].length, names[i].hash);
	}
}

uint32_t dfg_map_find_hash(const struct dfg_map *map, const char *s, size_t length, uint32_t hash)
{
	return map->slots ? number_in(map->slot[probe(map, s, length, hash)]) : DFG_NONE;
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
