#include "lib/base/index.h"

enum { SLOTS_LEAST = 16 };

uint32_t dfg_index_find(const struct dfg_index *index, uint32_t hash, dfg_index_same_fn *same, const void *arg)
{
	if (!index->slots)
		return UINT32_MAX;
	for (uint32_t at = hash;; at++) {
		const struct dfg_index_slot *slot = &index->slot[at & (index->slots - 1)];
		if (!slot->item)
			return UINT32_MAX;
		if (slot->hash == hash && same(arg, slot->item - 1))
			return slot->item - 1;
	}
}

static void put_slot(struct dfg_index *index, struct dfg_index_slot item)
{
	uint32_t at = item.hash;
	while (index->slot[at & (index->slots - 1)].item)
		at++;
	index->slot[at & (index->slots - 1)] = item;
}

/* From the first slot after an empty one on, so that equal items stay in their order. */
static struct dfg_err *grow(struct dfg_arena *arena, struct dfg_index *index)
{
	struct dfg_index larger = {.slots = index->slots ? index->slots * 2 : SLOTS_LEAST, .count = index->count};
	uint32_t first = 0;
	larger.slot = dfg_arena_zeros(arena, larger.slots, sizeof *larger.slot);
	if (!larger.slot)
		return dfg_no_memory("an index of names");
	while (index->slots && index->slot[first].item)
		first++;
	for (uint32_t i = 0; i < index->slots; i++)
		if (index->slot[(first + i) & (index->slots - 1)].item)
			put_slot(&larger, index->slot[(first + i) & (index->slots - 1)]);
	*index = larger;
	return NULL;
}

struct dfg_err *dfg_index_add(struct dfg_arena *arena, struct dfg_index *index, uint32_t hash, uint32_t item)
{
	if (index->count >= index->slots / 2)
		DFG_TRY(grow(arena, index));
	put_slot(index, (struct dfg_index_slot){hash, item + 1});
	index->count++;
	return NULL;
}
