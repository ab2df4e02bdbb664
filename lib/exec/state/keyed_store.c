#include "lib/exec/state/keyed_store.h"

#include <string.h>

/*
 * A hash table with open addressing and linear probing. Blocks of sixteen consecutive last keys have consecutive
 * positions. An entry holds the value of a key, or its waiters; entries are reused.
 */
/* Terminates because the table is never full. */
static size_t find_slot(const struct dfg_keyed_store *store, const int64_t *key)
{
	uint64_t hash = 0;
	for (int i = 0; i < store->keys; i++)
		hash = hash * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)key[i];
	hash = (hash >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 28 << 4 | (hash & 15);
	size_t at = hash & (store->capacity - 1);
	while (store->slot[at].stamp == store->stamp &&
		   memcmp(&store->key[at * (size_t)store->keys], key, (size_t)store->keys * sizeof *key))
		at = (at + 1) & (store->capacity - 1);
	return at;
}

static struct dfg_err *grow(struct dfg_keyed_store *store)
{
	struct dfg_keyed_store old = *store;
	size_t keys = (size_t)store->keys;
	store->capacity = old.capacity ? 2 * old.capacity : 16;
	store->slot = dfg_zeros(store->capacity, sizeof *store->slot);
	store->key = dfg_zeros(store->capacity, keys ? keys * sizeof *store->key : 1);
	if (!store->slot || !store->key || store->capacity > UINT32_MAX) {
		dfg_free(store->slot);
		dfg_free(store->key);
		*store = old;
		return dfg_no_memory("the stored values");
	}
	store->stamp = 1;
	for (size_t i = 0; i < old.capacity; i++) {
		if (old.slot[i].stamp != old.stamp)
			continue;
		const int64_t *key = &old.key[i * keys];
		size_t at = find_slot(store, key);
		store->slot[at] = (struct dfg_key_slot){store->stamp, old.slot[i].entry};
		memcpy(&store->key[at * keys], key, keys * sizeof *key);
		if (old.slot[i].entry)
			store->entry[old.slot[i].entry - 1].slot = (uint32_t)at;
	}
	dfg_free(old.slot);
	dfg_free(old.key);
	return NULL;
}

/* Grows the entries and the free list together, so that dropping a value needs no memory. */
static struct dfg_err *take_entry(struct dfg_keyed_store *store, uint32_t *out_number)
{
	if (store->n_free) {
		*out_number = store->free_entry[--store->n_free];
		return NULL;
	}
	if (!dfg_reserve(&store->entry, &store->entry_capacity, store->entries + 1, sizeof *store->entry) ||
		!dfg_reserve(&store->free_entry, &store->free_capacity, store->entries + 1, sizeof *store->free_entry))
		return dfg_no_memory("the stored values");
	*out_number = (uint32_t)store->entries++;
	return NULL;
}

enum dfg_entry_state dfg_keyed_store_find(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_keyed_entry **out_entry)
{
	*out_entry = NULL;
	if (!store->used)
		return DFG_ENTRY_EMPTY;
	const struct dfg_key_slot *slot = &store->slot[find_slot(store, key)];
	if (slot->stamp != store->stamp)
		return DFG_ENTRY_EMPTY;
	if (!slot->entry)
		return DFG_ENTRY_SPENT;
	*out_entry = &store->entry[slot->entry - 1];
	return (*out_entry)->state;
}

struct dfg_err *dfg_keyed_store_reach(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_keyed_entry **out_entry)
{
	uint32_t number;
	if (dfg_keyed_store_find(store, key, out_entry) == DFG_ENTRY_SPENT)
		return DFG_ERR(DFG_BUG, "internal error: a saved value is requested after it was dropped");
	if (*out_entry)
		return NULL;
	if (store->used >= store->capacity - store->capacity / 4)
		DFG_TRY(grow(store));
	DFG_TRY(take_entry(store, &number));
	size_t at = find_slot(store, key);
	store->slot[at] = (struct dfg_key_slot){store->stamp, number + 1};
	memcpy(&store->key[at * (size_t)store->keys], key, (size_t)store->keys * sizeof *key);
	store->used++;
	*out_entry = &store->entry[number];
	**out_entry = (struct dfg_keyed_entry){.slot = (uint32_t)at};
	return NULL;
}

void dfg_keyed_store_fill(struct dfg_keyed_store *store, struct dfg_keyed_entry *entry, struct dfg_tensor *tensor)
{
	entry->tensor = *tensor;
	entry->state = DFG_ENTRY_FULL;
	store->live++;
	size_t number = (size_t)(entry - store->entry);
	if (number < store->looked)
		store->looked = number;
	*tensor = (struct dfg_tensor){0};
}

void dfg_keyed_store_drop(struct dfg_keyed_store *store, struct dfg_keyed_entry *entry)
{
	dfg_tensor_release(&entry->tensor);
	entry->state = DFG_ENTRY_SPENT;
	store->live--;
	store->slot[entry->slot].entry = 0;
	store->free_entry[store->n_free++] = (uint32_t)(entry - store->entry);
}

void dfg_keyed_store_clear(struct dfg_keyed_store *store)
{
	for (size_t i = 0; i < store->entries && store->live; i++)
		if (store->entry[i].state == DFG_ENTRY_FULL) {
			dfg_tensor_release(&store->entry[i].tensor);
			store->live--;
		}
	if (!store->used)
		return;
	store->entries = store->n_free = store->used = store->looked = 0;
	if (!++store->stamp) { /* when the stamp overflows */
		memset(store->slot, 0, store->capacity * sizeof *store->slot);
		store->stamp = 1;
	}
}

void dfg_keyed_store_release(struct dfg_keyed_store *store)
{
	dfg_keyed_store_clear(store);
	dfg_free(store->key);
	dfg_free(store->slot);
	dfg_free(store->entry);
	dfg_free(store->free_entry);
	dfg_keyed_store_init(store, store->keys);
}
