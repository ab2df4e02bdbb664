#pragma once

#include "lib/graph/tensor.h"

/*
 * The indexed store: tensors under keys of a few int64, for all that a step keeps by index: Save and Load, arrays, lists,
 * stacks. A key is defined once; that it was is remembered after its value has been dropped.
 *
 * Keys that count, up or down and from wherever, mostly stand side by side, as in an array. Clearing a store keeps its
 * room, so that the next step allocates nothing, and costs nothing where all values were dropped. There is no lock.
 */
enum dfg_entry_state {
	DFG_ENTRY_EMPTY, /* nobody has put a value there */
	DFG_ENTRY_FULL,
	DFG_ENTRY_SPENT, /* the value was dropped */
};

struct dfg_entry {
	struct dfg_tensor tensor;
	enum dfg_entry_state state;
	uint32_t mark;  /* the owner's, 0 at first */
	uint64_t marks; /* likewise */
	uint32_t place;
};

struct dfg_keyed_store {
	int keys;          /* int64 a key */
	uint32_t live;     /* entries with a value */
	uint32_t stamp;    /* places with another one are free */
	size_t used, room; /* of places; room is a power of two */
	int64_t *key;      /* by place */
	struct dfg_place {
		uint32_t stamp, entry; /* number + 1; 0: spent */
	} * place;
	struct dfg_entry *entry;
	size_t entries, entry_room;
	uint32_t *free_entry;
	size_t n_free, free_room;
	size_t looked; /* the owner's: the entries before it have been looked at, but for those that were filled since */
};

/* A store that is all zeros is one without keys: for one value. */
static inline void dfg_keyed_store_init(struct dfg_keyed_store *store, int keys)
{
	*store = (struct dfg_keyed_store){.keys = keys};
}

/* Gives all values back, and forgets the keys. */
void dfg_keyed_store_clear(struct dfg_keyed_store *store);
void dfg_keyed_store_release(struct dfg_keyed_store *store);

/* What is known of the key. The entry, NULL where there is none or none any more, lives to the next dfg_keyed_store_reach. */
enum dfg_entry_state dfg_keyed_store_find(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_entry **out_entry);

/* The key's entry, made if there is none; not for a key whose value was dropped. */
DFG_MUST_CHECK struct dfg_err *dfg_keyed_store_reach(
	struct dfg_keyed_store *store, const int64_t *key, struct dfg_entry **out_entry);

/* Takes the tensor's reference. The entry must be empty. */
void dfg_keyed_store_fill(struct dfg_keyed_store *store, struct dfg_entry *entry, struct dfg_tensor *tensor);

/* Gives the value back; the key is spent from now on. */
void dfg_keyed_store_drop(struct dfg_keyed_store *store, struct dfg_entry *entry);
