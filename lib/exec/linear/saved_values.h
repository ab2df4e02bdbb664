#pragma once

#include "lib/exec/plan/schedule.h"
#include "lib/exec/state/keyed_store.h"

/*
 * What a Save of an activation has kept, one value after the other. In an activation all Saves of a region run before the Loads that read
 * them, mostly by the same keys in the opposite order, so the entry that is wanted is nearly always beside the last one.
 */
struct saved_values {
	int keys;
	size_t bytes; /* of each value, where they are small and alike: they lie side by side. 0: references are kept */
	struct dfg_tensor like; /* what each of these is */
	int64_t *key;           /* by entry */
	char *data;
	struct dfg_tensor *value;
	uint64_t *readers; /* by entry: Loads that have read it */
	size_t count, key_room, data_room, value_room, reader_room;
	size_t at;                    /* the entry that was read last */
	size_t looked;                /* entries before it have been looked at, whether they can wait in a file */
	int order;                    /* of keys: 1 up, -1 down; 0: fewer than two; INDEXED */
	struct dfg_keyed_store index; /* key to entry + 1, where keys are in no order */
};

/* Values up to that size are copied side by side. */
enum { SAVED_SMALL = 2048 };

/* in: the value, then the keys. */
DFG_MUST_CHECK struct dfg_err *dfg_saved_put(
	struct saved_values *saved, struct dfg_session *session, struct dfg_tensor *const *in);

/* in: the keys. The value goes to `out`, into its place where it has one. */
DFG_MUST_CHECK struct dfg_err *dfg_saved_get(struct saved_values *saved, const struct dfg_plan *plan,
	const struct plan_node *load, struct dfg_tensor *const *in, struct dfg_tensor *out);

/* Forgets everything, but keeps the room. */
void dfg_saved_clear(struct saved_values *saved);
void dfg_saved_release(struct saved_values *saved);
