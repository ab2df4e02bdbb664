#pragma once

#include "lib/graph/tensor.h"

/*
 * The keyed store: tensors by keys of a few int64, for everything that a step stores by index: Save and Load, arrays,
 * lists, stacks. A key is defined once; the store remembers a key after its value has been dropped.
 *
 * Keys that count up or down, from any start, are mostly adjacent, as in an array. Clearing a store keeps its memory,
 * so that the next step allocates nothing, and costs nothing if all values were dropped. The caller does the locking.
 */
enum dfg_entry_state {
	DFG_ENTRY_EMPTY, /* no value was put there */
	DFG_ENTRY_FULL,
	DFG_ENTRY_SPENT, /* the value was dropped */
};

struct dfg_keyed_entry {
	struct dfg_tensor tensor;
	enum dfg_entry_state state;
	uint32_t mark;  /* for the owner's use, initially 0 */
	uint64_t marks; /* as `mark` */
	uint32_t slot;
};

struct dfg_keyed_store {
	int keys;              /* number of int64 in a key */
	uint32_t live;         /* entries that have a value */
	uint32_t stamp;        /* positions with another stamp are free */
	size_t used, capacity; /* positions; the capacity is a power of two */
	int64_t *key;          /* by position */
	struct dfg_key_slot {
		uint32_t stamp, entry; /* entry: its number + 1; 0: spent */
	} * slot;
	struct dfg_keyed_entry *entry;
	size_t entries, entry_capacity;
	uint32_t *free_entry;
	size_t n_free, free_capacity;
	/* for the owner's use: entries before it have been considered for spilling, except those filled since */
	size_t looked;
};

/* A zeroed store is valid, has keys of length 0 and holds one value. */
static inline void dfg_keyed_store_init(struct dfg_keyed_store *store, int keys)
{
	*store = (struct dfg_keyed_store){.keys = keys};
}

/* Releases all values and forgets the keys. */
void dfg_keyed_store_clear(struct dfg_keyed_store *store);
void dfg_keyed_store_release(struct dfg_keyed_store *store);

/*
 * The state of the key. *out_entry is NULL if the key has no value; it is valid until the next dfg_keyed_store_reach.
 */
enum dfg_entry_state dfg_keyed_store_find(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_keyed_entry **out_entry);

/* The key's entry, created if there is none; not for a key whose value was dropped. */
DFG_MUST_CHECK struct dfg_err *dfg_keyed_store_reach(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_keyed_entry **out_entry);

/* Takes the tensor's reference. The entry must be empty. */
void dfg_keyed_store_fill(struct dfg_keyed_store *store, struct dfg_keyed_entry *entry, struct dfg_tensor *tensor);

/* Releases the value; the key is spent from now on. */
void dfg_keyed_store_drop(struct dfg_keyed_store *store, struct dfg_keyed_entry *entry);
