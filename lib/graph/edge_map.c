#include "lib/graph/edge_map.h"

#include "lib/base/hash.h"
#include "lib/base/mem.h"

static bool same_key(const struct dfg_edge_key *a, const struct dfg_edge_key *b)
{
	return dfg_edge_same(a->edge, b->edge) && a->kind == b->kind && a->detail == b->detail;
}

/* The entry of a key, or the free entry for it. */
static struct dfg_edge_entry *find(const struct dfg_edge_map *map, const struct dfg_edge_key *key)
{
	uint64_t edge = (uint64_t)key->edge.node << 32 | (uint32_t)key->edge.port;
	uint64_t hash = dfg_hash_word(dfg_hash_key, dfg_hash_key.seed, edge);
	hash = dfg_hash_word(dfg_hash_key, hash, (uint64_t)key->kind << 32 | key->detail);
	for (size_t i = (size_t)hash & (map->slots - 1);; i = (i + 1) & (map->slots - 1))
		if (!map->entry[i].used || same_key(&map->entry[i].key, key))
			return &map->entry[i];
}

const struct dfg_edge *dfg_edge_map_find(const struct dfg_edge_map *map, struct dfg_edge_key key)
{
	const struct dfg_edge_entry *entry = map->slots ? find(map, &key) : NULL;
	return entry && entry->used ? &entry->value : NULL;
}

static struct dfg_err *grow(struct dfg_edge_map *map)
{
	struct dfg_edge_map larger = {.slots = map->slots ? 2 * map->slots : 64};
	if (!(larger.entry = dfg_zeros(larger.slots, sizeof *larger.entry)))
		return dfg_no_memory("a map of edges");
	for (size_t i = 0; i < map->slots; i++)
		if (map->entry[i].used)
			*find(&larger, &map->entry[i].key) = map->entry[i];
	larger.count = map->count;
	dfg_free(map->entry);
	*map = larger;
	return NULL;
}

struct dfg_err *dfg_edge_map_put(struct dfg_edge_map *map, struct dfg_edge_key key, struct dfg_edge value)
{
	if (2 * (map->count + 1) > map->slots)
		DFG_TRY(grow(map));
	struct dfg_edge_entry *entry = find(map, &key);
	map->count += !entry->used;
	*entry = (struct dfg_edge_entry){key, value, true};
	return NULL;
}

void dfg_edge_map_release(struct dfg_edge_map *map)
{
	dfg_free(map->entry);
	*map = (struct dfg_edge_map){0};
}
