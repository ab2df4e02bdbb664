#include "lib/exec/linear/saved_values.h"

#include "lib/exec/kernel/services.h"
#include "lib/exec/plan/save_load.h"

#include <string.h>

enum { INDEXED = 2 };

static int compare(const int64_t *a, const int64_t *b, int keys)
{
	for (int i = 0; i < keys; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static struct dfg_err *put_index(struct saved_values *saved, const int64_t *key, size_t entry)
{
	struct dfg_keyed_entry *slot;
	DFG_TRY(dfg_keyed_store_reach(&saved->index, key, &slot));
	slot->mark = (uint32_t)entry + 1;
	return NULL;
}

static bool find_index(struct saved_values *saved, const int64_t *key, size_t *out_entry)
{
	struct dfg_keyed_entry *slot = NULL;
	dfg_keyed_store_find(&saved->index, key, &slot);
	if (!slot || !slot->mark)
		return false;
	*out_entry = slot->mark - 1;
	return true;
}

/* Keys that are neither ascending nor descending are looked up in a hash table from now on. */
static struct dfg_err *make_index(struct saved_values *saved)
{
	dfg_keyed_store_clear(&saved->index);
	saved->index.keys = saved->keys;
	saved->order = INDEXED;
	for (size_t e = 0; e < saved->count; e++)
		DFG_TRY(put_index(saved, saved->key + e * (size_t)saved->keys, e));
	return NULL;
}

/* Adds a key, which must be new. */
static struct dfg_err *add_key(struct saved_values *saved, const int64_t *key)
{
	size_t entry = saved->count, keys = (size_t)saved->keys, other;
	int order = entry ? compare(key, saved->key + (entry - 1) * keys, saved->keys) : 0;
	if (entry && !order)
		return dfg_saved_twice(key, saved->keys);
	if (entry == 1)
		saved->order = order;
	else if (entry && order != saved->order && saved->order != INDEXED)
		DFG_TRY(make_index(saved));
	if (saved->order == INDEXED && entry) {
		if (find_index(saved, key, &other))
			return dfg_saved_twice(key, saved->keys);
		DFG_TRY(put_index(saved, key, entry));
	}
	if (!dfg_reserve(&saved->key, &saved->key_capacity, (entry + 1) * keys, sizeof *saved->key) ||
		!dfg_reserve(&saved->readers, &saved->reader_capacity, entry + 1, sizeof *saved->readers))
		return dfg_no_memory("a saved value");
	for (size_t i = 0; i < keys; i++)
		saved->key[entry * keys + i] = key[i];
	saved->readers[entry] = 0;
	return NULL;
}

static struct dfg_err *take_like(struct dfg_session *session, const struct dfg_tensor *from, struct dfg_tensor *to)
{
	struct dfg_buffer *buffer;
	DFG_TRY(dfg_buffer_pool_take(session->buffers, from->dtype, dfg_tensor_bytes(from), &buffer));
	*to = (struct dfg_tensor){from->dtype, from->shape, buffer->data, buffer->capacity, buffer};
	return NULL;
}

/* A new reference, or a copy if the value has no buffer of its own. */
static struct dfg_err *keep_value(struct dfg_session *session, const struct dfg_tensor *from, struct dfg_tensor *to)
{
	if (from->buffer || dfg_is_ref(from))
		return dfg_forward_value(from, false, to);
	DFG_TRY(take_like(session, from, to));
	if (to->capacity)
		memcpy(to->data, from->data, to->capacity);
	return NULL;
}

/* Spills values, oldest first, while memory is short. */
static struct dfg_err *spill_values(struct saved_values *saved, struct dfg_spill *spill)
{
	for (size_t e = saved->looked; e < saved->count && dfg_spill_wants(spill); e++) {
		struct dfg_tensor *value = &saved->value[e], spilled;
		if (dfg_spill_fits(value)) {
			DFG_TRY(dfg_spill_write(spill, value, &spilled));
			dfg_tensor_release(value);
			*value = spilled;
		}
		dfg_spill_looked(e, saved->count, value, &saved->looked);
	}
	return NULL;
}

struct dfg_err *dfg_saved_put(struct saved_values *saved, struct dfg_session *session, struct dfg_tensor *const *in)
{
	int64_t key[KEYS_MOST];
	DFG_TRY(dfg_read_keys(in + 1, saved->keys, key));
	DFG_TRY(add_key(saved, key));
	size_t entry = saved->count;
	if (saved->bytes) {
		if (dfg_tensor_bytes(in[0]) != saved->bytes)
			return DFG_ERR(DFG_BUG, "saves %s, but %zu bytes were inferred",
				dfg_type_words(in[0]->dtype, &in[0]->shape).s, saved->bytes);
		if (!dfg_reserve(&saved->data, &saved->data_capacity, (entry + 1) * saved->bytes, 1))
			return dfg_no_memory("a saved value");
		memcpy(saved->data + entry * saved->bytes, in[0]->data, saved->bytes);
		saved->like = *in[0];
	} else {
		if (!dfg_reserve(&saved->value, &saved->value_capacity, entry + 1, sizeof *saved->value))
			return dfg_no_memory("a saved value");
		DFG_TRY(keep_value(session, in[0], &saved->value[entry]));
	}
	saved->count++;
	return session->spill && !saved->bytes ? spill_values(saved, session->spill) : NULL;
}

static bool is_at(const struct saved_values *saved, size_t entry, const int64_t *key)
{
	return entry < saved->count && !compare(key, saved->key + entry * (size_t)saved->keys, saved->keys);
}

/* Tries the entries next to the last one and at both ends, then searches. */
static bool find_entry(struct saved_values *saved, const int64_t *key, size_t *out_entry)
{
	size_t at = saved->at, last = saved->count - 1;
	const size_t guess[] = {at - 1, at + 1, at, last, 0};
	for (int i = 0; i < 5; i++)
		if (is_at(saved, guess[i], key)) {
			*out_entry = guess[i];
			return true;
		}
	if (saved->order == INDEXED)
		return find_index(saved, key, out_entry);
	size_t low = 0, high = saved->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(key, saved->key + middle * (size_t)saved->keys, saved->keys);
		*out_entry = middle;
		if (!order)
			return true;
		if ((order > 0) == (saved->order >= 0))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* The last reader takes over the reference that was kept. */
static struct dfg_err *give_value(struct saved_values *saved, size_t entry, bool last, struct dfg_tensor *out)
{
	struct dfg_tensor *value = &saved->value[entry];
	dfg_tensor_release(out);
	if (!last)
		return dfg_forward_value(value, false, out);
	*out = *value;
	*value = (struct dfg_tensor){0};
	return NULL;
}

struct dfg_err *dfg_saved_get(struct saved_values *saved, const struct dfg_plan *plan, const struct plan_node *load,
	struct dfg_tensor *const *in, struct dfg_tensor *out)
{
	int64_t key[KEYS_MOST];
	size_t entry;
	bool last;
	DFG_TRY(dfg_read_keys(in, saved->keys, key));
	if (!find_entry(saved, key, &entry))
		return dfg_never_saved(plan, load, key, saved->keys);
	saved->at = entry;
	DFG_TRY(dfg_count_reader(plan, load, key, saved->keys, &saved->readers[entry], &last));
	if (!saved->bytes) {
		DFG_TRY(give_value(saved, entry, last, out));
		return dfg_spill_has(out) ? dfg_spill_read(plan->session->spill, out) : NULL;
	}
	if (!out->data)
		DFG_TRY(take_like(plan->session, &saved->like, out));
	memcpy(out->data, saved->data + entry * saved->bytes, saved->bytes);
	return NULL;
}

void dfg_saved_clear(struct saved_values *saved)
{
	for (size_t e = 0; e < saved->count && !saved->bytes; e++)
		dfg_tensor_release(&saved->value[e]);
	saved->count = saved->at = saved->looked = 0;
	saved->order = 0;
}

void dfg_saved_release(struct saved_values *saved)
{
	dfg_saved_clear(saved);
	dfg_keyed_store_release(&saved->index);
	dfg_free(saved->key);
	dfg_free(saved->data);
	dfg_free(saved->value);
	dfg_free(saved->readers);
}
