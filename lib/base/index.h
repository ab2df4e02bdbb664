#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>

/*
 * Finds items of the caller's own array by hash. A zeroed struct is an empty index; its memory is the arena's.
 * Equal items may be added: the first of them is found.
 */
struct dfg_index {
	struct dfg_index_slot {
		uint32_t hash, item; /* item: its number + 1, or 0 */
	} * slot;
	uint32_t slots; /* a power of two, or 0 */
	uint32_t count;
};

typedef bool dfg_index_same_fn(const void *arg, uint32_t item);

/* The number of the item with this hash that same() accepts, or UINT32_MAX. */
uint32_t dfg_index_find(const struct dfg_index *index, uint32_t hash, dfg_index_same_fn *same, const void *arg);

DFG_MUST_CHECK struct dfg_err *dfg_index_add(
	struct dfg_arena *arena, struct dfg_index *index, uint32_t hash, uint32_t item);
