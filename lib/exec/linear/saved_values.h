#pragma once

#include "lib/exec/plan/schedule.h"
#include "lib/exec/state/keyed_store.h"

/*
 * The values that a Save of an activation has kept, in the order of saving. In a linear program all Saves of a region
 * run before the Loads that read them, and the Loads mostly use the same keys in reverse order, so the entry that is
 * looked up is nearly always next to the last one.
 */
struct saved_values {
	int keys;
	/* bytes of each value if all are small and of one size, and then stored side by side; 0: references are kept */
	size_t bytes;
	struct dfg_tensor like; /* dtype and shape of each of these */
	int64_t *key;           /* by entry */
	char *data;
	struct dfg_tensor *value;
	uint64_t *readers; /* Loads that have read it, one bit each; by entry */
	size_t count, key_capacity, data_capacity, value_capacity, reader_capacity;
	size_t at;     /* the entry that was read last */
	size_t looked; /* the entries before it have been considered for spilling */
	/* order of the keys: 1 ascending, -1 descending, 0 if there are fewer than two, or INDEXED */
	int order;
	struct dfg_keyed_store index; /* maps key to entry + 1, if the keys are in no order */
};

/* Values of up to this many bytes are copied side by side. */
enum { SAVED_SMALL = 2048 };

/* in: the value, then the keys. */
DFG_MUST_CHECK struct dfg_err *dfg_saved_put(
	struct saved_values *saved, struct dfg_session *session, struct dfg_tensor *const *in);

/* in: the keys. The value goes to `out`, at its fixed address if it has one. */
DFG_MUST_CHECK struct dfg_err *dfg_saved_get(struct saved_values *saved, const struct dfg_plan *plan,
	const struct plan_node *load, struct dfg_tensor *const *in, struct dfg_tensor *out);

/* Drops all values and keeps the allocated memory. */
void dfg_saved_clear(struct saved_values *saved);
void dfg_saved_release(struct saved_values *saved);
