/* Lookup tables: their entries, in columns, and an index of open addressing over them. */
#include "kernels/table.h"

#include "lib/base/hash.h"
#include "lib/exec/state/state.h"

#include <inttypes.h>
#include <string.h>

const char dfg_table_kind[] = "lookup table";

/* Columns. */

static void *column_at(const struct dfg_table_column *column, int64_t position)
{
	return column->data + (size_t)position * column->bytes;
}

static void release_strings(struct dfg_table_column *column, int64_t position)
{
	struct dfg_string *string = column->dtype == DFG_STRING ? column_at(column, position) : NULL;
	for (size_t e = 0; string && e < column->elements; e++) {
		dfg_free((char *)string[e].s);
		string[e] = (struct dfg_string){0};
	}
}

static struct dfg_err *copy_string(struct dfg_string from, struct dfg_string *to)
{
	char *bytes = dfg_zeros(1, from.length + 1);
	if (!bytes)
		return dfg_no_memory("a string of a lookup table");
	if (from.length)
		memcpy(bytes, from.s, from.length);
	dfg_free((char *)to->s);
	*to = (struct dfg_string){bytes, from.length};
	return NULL;
}

/* Sets the entry at the position to entry k of the tensor. */
static struct dfg_err *column_set(
	struct dfg_table_column *column, int64_t position, const struct dfg_tensor *from, int64_t k)
{
	const char *entry = (const char *)from->data + (size_t)k * column->bytes;
	if (column->dtype != DFG_STRING) {
		memcpy(column_at(column, position), entry, column->bytes);
		return NULL;
	}
	struct dfg_string *to = column_at(column, position);
	for (size_t e = 0; e < column->elements; e++)
		DFG_TRY(copy_string(((const struct dfg_string *)entry)[e], &to[e]));
	return NULL;
}

static bool strings_equal(const struct dfg_string *a, const struct dfg_string *b, size_t n)
{
	for (size_t e = 0; e < n; e++)
		if (a[e].length != b[e].length || (a[e].length && memcmp(a[e].s, b[e].s, a[e].length)))
			return false;
	return true;
}

static bool equals(const struct dfg_table_column *column, const void *a, const void *b)
{
	return column->dtype == DFG_STRING ? strings_equal(a, b, column->elements) : !memcmp(a, b, column->bytes);
}

struct dfg_err *dfg_table_give(
	struct dfg_kernel *ctx, int i, int64_t first, const struct dfg_table_column *column, int64_t position)
{
	if (column->dtype != DFG_STRING) {
		memcpy(dfg_tensor_at(ctx->out[i], first), column_at(column, position), column->bytes);
		return NULL;
	}
	const struct dfg_string *string = column_at(column, position);
	for (size_t e = 0; e < column->elements; e++)
		DFG_TRY(dfg_kernel_string(ctx, i, first + (int64_t)e, string[e].s, string[e].length));
	return NULL;
}

/* The index: a slot has the position of an entry, below bits of its hash. */

static uint64_t hash_of(const struct dfg_table_column *column, const void *key)
{
	if (column->dtype != DFG_STRING)
		return dfg_hash_bytes(dfg_hash_key, key, column->bytes);
	const struct dfg_string *string = key;
	uint64_t hash = dfg_hash_key.seed;
	for (size_t e = 0; e < column->elements; e++)
		hash = dfg_hash_word(dfg_hash_key, hash, dfg_hash_bytes(dfg_hash_key, string[e].s, string[e].length));
	return hash;
}

enum { POSITION_BITS = 32 };
#define POSITION_MASK ((UINT64_C(1) << POSITION_BITS) - 1)

static uint64_t slot_of(uint64_t hash, int64_t position)
{
	return (hash & ~POSITION_MASK) | (uint64_t)(position + 1);
}

/* The position of the key, whose hash is given, or DFG_TABLE_ABSENT. A removed entry is skipped, whatever its hash. */
static int64_t search(const struct dfg_table *table, const void *key, uint64_t hash)
{
	if (!table->slots)
		return DFG_TABLE_ABSENT;
	for (size_t s = hash & (table->slots - 1); table->slot[s]; s = (s + 1) & (table->slots - 1)) {
		int64_t position = (int64_t)(table->slot[s] & POSITION_MASK) - 1;
		if ((table->slot[s] ^ hash) >> POSITION_BITS || table->removed[position])
			continue;
		if (equals(&table->key, column_at(&table->key, position), key))
			return position;
	}
	return DFG_TABLE_ABSENT;
}

int64_t dfg_table_position(const struct dfg_table *table, const struct dfg_tensor *keys, int64_t k)
{
	const void *key = (const char *)keys->data + (size_t)k * table->key.bytes;
	return search(table, key, hash_of(&table->key, key));
}

static void add_slot(uint64_t *slot, size_t slots, uint64_t hash, int64_t position)
{
	size_t s = hash & (slots - 1);
	while (slot[s])
		s = (s + 1) & (slots - 1);
	slot[s] = slot_of(hash, position);
}

static void move_entry(struct dfg_table_column *column, int64_t from, int64_t to)
{
	if (to == from)
		return;
	memcpy(column_at(column, to), column_at(column, from), column->bytes);
	memset(column_at(column, from), 0, column->bytes);
}

/* Moves the entries together where some were removed: their order stays. */
static void compact(struct dfg_table *table)
{
	int64_t to = 0;
	for (int64_t from = 0; from < (int64_t)table->used; from++) {
		if (table->removed[from])
			continue;
		move_entry(&table->key, from, to);
		move_entry(&table->value, from, to);
		table->removed[to] = false;
		to++;
	}
	for (int64_t left = to; left < (int64_t)table->used; left++)
		table->removed[left] = false;
	table->used = (size_t)to;
}

/* Another index of at least twice as many slots as entries, without the removed ones. */
static struct dfg_err *rebuild(struct dfg_table *table)
{
	size_t slots = 16;
	while (slots < 4 * (table->count + 1))
		slots *= 2;
	uint64_t *slot = dfg_zeros(slots, sizeof *slot);
	if (!slot)
		return DFG_ERR(DFG_MEMORY, "no memory for lookup table '%s'", table->resource.name);
	compact(table);
	for (int64_t position = 0; position < (int64_t)table->used; position++)
		add_slot(slot, slots, hash_of(&table->key, column_at(&table->key, position)), position);
	dfg_free(table->slot);
	table->slot = slot;
	table->slots = slots;
	return NULL;
}

/* A column of entries without elements has memory too, so that its data is never NULL. */
static bool reserve_column(struct dfg_table_column *column, size_t count)
{
	return dfg_reserve(&column->data, &column->capacity, count, column->bytes ? column->bytes : 1);
}

/* Memory for one more entry: positions and slots, of which at least half stay empty. */
static struct dfg_err *reserve_entry(struct dfg_table *table)
{
	if (2 * (table->used + 1) > table->slots)
		DFG_TRY(rebuild(table));
	size_t count = table->used + 1;
	if (count > INT32_MAX || !reserve_column(&table->key, count) || !reserve_column(&table->value, count) ||
		!dfg_reserve(&table->removed, &table->removed_capacity, count, sizeof *table->removed))
		return DFG_ERR(DFG_MEMORY, "no memory for lookup table '%s'", table->resource.name);
	return NULL;
}

static struct dfg_err *add_entry(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t k, uint64_t hash)
{
	DFG_TRY(reserve_entry(table));
	int64_t position = (int64_t)table->used;
	struct dfg_err *err = column_set(&table->key, position, keys, k);
	if (!err)
		err = column_set(&table->value, position, values, k);
	if (err) {
		release_strings(&table->key, position);
		release_strings(&table->value, position);
		return err;
	}
	add_slot(table->slot, table->slots, hash, position);
	table->used++;
	table->count++;
	return NULL;
}

static const void *key_at(const struct dfg_table *table, const struct dfg_tensor *keys, int64_t k)
{
	return (const char *)keys->data + (size_t)k * table->key.bytes;
}

static struct dfg_err *check_reserved(const struct dfg_table *table, const struct dfg_tensor *keys, int64_t n)
{
	static const char *const word[] = {"empty_key", "deleted_key"};
	if (table->form != DFG_TABLE_DENSE)
		return NULL;
	for (int64_t k = 0; k < n; k++)
		for (int r = 0; r < 2; r++)
			if (equals(&table->key, table->reserved[r].data, key_at(table, keys, k)))
				return DFG_ERR(DFG_DATA, "key %" PRId64 " is the %s of lookup table '%s', which no entry may have", k,
					word[r], table->resource.name);
	return NULL;
}

struct dfg_err *dfg_table_put(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n)
{
	DFG_TRY(check_reserved(table, keys, n));
	for (int64_t k = 0; k < n; k++) {
		const void *key = key_at(table, keys, k);
		uint64_t hash = hash_of(&table->key, key);
		int64_t position = search(table, key, hash);
		if (position >= 0)
			DFG_TRY(column_set(&table->value, position, values, k));
		else
			DFG_TRY(add_entry(table, keys, values, k, hash));
	}
	return NULL;
}

/* Puts entry k unless the same is there. */
static struct dfg_err *put_same(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t k)
{
	const void *key = key_at(table, keys, k);
	uint64_t hash = hash_of(&table->key, key);
	int64_t position = search(table, key, hash);
	const void *value = (const char *)values->data + (size_t)k * table->value.bytes;
	if (position >= 0 && !equals(&table->value, column_at(&table->value, position), value))
		return DFG_ERR(DFG_DATA, "entry %" PRId64 " gives lookup table '%s' another value for a key that it has", k,
			table->resource.name);
	return position >= 0 ? NULL : add_entry(table, keys, values, k, hash);
}

/* Whether the n entries are those of the table: has[position] is set for each. */
static struct dfg_err *compare_entries(
	const struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n, bool *has)
{
	size_t found = 0;
	for (int64_t k = 0; k < n; k++) {
		int64_t position = dfg_table_position(table, keys, k);
		const void *value = (const char *)values->data + (size_t)k * table->value.bytes;
		if (position < 0 || !equals(&table->value, column_at(&table->value, position), value))
			return DFG_ERR(DFG_DATA, "lookup table '%s' is initialised already, and entry %" PRId64 " is not in it",
				table->resource.name, k);
		found += !has[position];
		has[position] = true;
	}
	if (found == table->count)
		return NULL;
	return DFG_ERR(DFG_DATA, "lookup table '%s' is initialised already, with %zu entries, not %zu",
		table->resource.name, table->count, found);
}

static struct dfg_err *check_again(
	const struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n)
{
	bool *has = dfg_zeros(table->used + 1, sizeof *has);
	if (!has)
		return DFG_ERR(DFG_MEMORY, "no memory for lookup table '%s'", table->resource.name);
	struct dfg_err *err = compare_entries(table, keys, values, n, has);
	dfg_free(has);
	return err;
}

struct dfg_err *dfg_table_initialise(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n)
{
	struct dfg_err *err = NULL;
	if (table->initialised)
		return check_again(table, keys, values, n);
	for (int64_t k = 0; k < n && !err; k++)
		err = put_same(table, keys, values, k);
	if (err)
		dfg_table_clear(table);
	table->initialised = !err;
	return err;
}

struct dfg_err *dfg_table_remove(struct dfg_table *table, const struct dfg_tensor *keys, int64_t n)
{
	DFG_TRY(check_reserved(table, keys, n));
	for (int64_t k = 0; k < n; k++) {
		int64_t position = dfg_table_position(table, keys, k);
		if (position < 0)
			continue;
		release_strings(&table->key, position);
		release_strings(&table->value, position);
		table->removed[position] = true;
		table->count--;
	}
	return NULL;
}

void dfg_table_clear(struct dfg_table *table)
{
	for (int64_t position = 0; position < (int64_t)table->used; position++) {
		release_strings(&table->key, position);
		release_strings(&table->value, position);
	}
	if (table->used)
		memset(table->removed, 0, table->used);
	if (table->slots)
		memset(table->slot, 0, table->slots * sizeof *table->slot);
	table->used = table->count = 0;
}

/* The table itself. */

static void free_table(struct dfg_resource *resource)
{
	struct dfg_table *table = (struct dfg_table *)resource;
	dfg_table_clear(table);
	for (int r = 0; r < 2; r++)
		dfg_tensor_release(&table->reserved[r]);
	dfg_free(table->key.data);
	dfg_free(table->value.data);
	dfg_free(table->removed);
	dfg_free(table->slot);
	pthread_rwlock_destroy(&table->lock);
	dfg_free(table);
}

static struct dfg_table_column column_of(const struct dfg_tensor_type *type)
{
	size_t elements = (size_t)dfg_shape_count(&type->shape);
	return (struct dfg_table_column){
		.dtype = type->dtype,
		.shape = type->shape,
		.elements = elements,
		.bytes = elements * dfg_dtype_size(type->dtype),
	};
}

/* The name follows the table in one allocation. */
static struct dfg_err *make_table(void *arg, const char *name, struct dfg_resource **out_resource)
{
	const struct dfg_table_kind *kind = arg;
	size_t length = strlen(name);
	struct dfg_table *table = dfg_zeros(1, sizeof *table + length + 1);
	if (!table || pthread_rwlock_init(&table->lock, NULL)) {
		dfg_free(table);
		return dfg_no_memory("a lookup table");
	}
	char *copy = memcpy(table + 1, name, length + 1);
	table->resource = (struct dfg_resource){.kind = dfg_table_kind, .name = copy, .free = free_table};
	atomic_init(&table->resource.refs, 1);
	table->form = kind->form;
	table->initialised = kind->form != DFG_TABLE_CONSTANT;
	table->key = column_of(&kind->key);
	table->value = column_of(&kind->value);
	struct dfg_err *err = NULL;
	for (int r = 0; r < 2 && kind->reserved[r] && !err; r++)
		err = dfg_tensor_copy(kind->reserved[r], &table->reserved[r]);
	if (err) {
		free_table(&table->resource);
		return err;
	}
	*out_resource = &table->resource;
	return NULL;
}

static struct dfg_err *check_kind(const struct dfg_table_kind *kind)
{
	const uint64_t keys = UINT64_C(1) << DFG_I32 | UINT64_C(1) << DFG_I64 | UINT64_C(1) << DFG_STRING;
	if (!(keys >> kind->key.dtype & 1))
		return DFG_ERR(DFG_DATA, "keys are %s, expected i32, i64 or string", dfg_dtype_name(kind->key.dtype));
	if (!dfg_shape_count(&kind->key.shape))
		return DFG_ERR(DFG_DATA, "keys have shape %s: they have no elements", dfg_shape_words(&kind->key.shape).s);
	if (dfg_dtype_is_handle(kind->value.dtype))
		return DFG_ERR(
			DFG_DATA, "values are %s, which a lookup table cannot contain", dfg_dtype_name(kind->value.dtype));
	if (!dfg_shape_known(&kind->value.shape))
		return DFG_ERR(DFG_DATA, "value_shape is %s, but must be known", dfg_shape_words(&kind->value.shape).s);
	return NULL;
}

static bool same_type(const struct dfg_table_column *column, const struct dfg_tensor_type *type)
{
	return column->dtype == type->dtype && dfg_shape_equal(&column->shape, &type->shape);
}

static struct dfg_err *check_same(const struct dfg_table *table, const struct dfg_table_kind *kind)
{
	const char *name = table->resource.name;
	if (table->form != kind->form)
		return DFG_ERR(DFG_DATA, "lookup table '%s' already exists, made by another kind of op", name);
	if (!same_type(&table->key, &kind->key))
		return DFG_ERR(DFG_DATA, "lookup table '%s' already exists with keys of %s, not %s", name,
			dfg_type_words(table->key.dtype, &table->key.shape).s, dfg_type_words(kind->key.dtype, &kind->key.shape).s);
	if (!same_type(&table->value, &kind->value))
		return DFG_ERR(DFG_DATA, "lookup table '%s' already exists with values of %s, not %s", name,
			dfg_type_words(table->value.dtype, &table->value.shape).s,
			dfg_type_words(kind->value.dtype, &kind->value.shape).s);
	return NULL;
}

struct dfg_err *dfg_table_find(
	struct dfg_state *state, const char *name, const struct dfg_table_kind *kind, struct dfg_table **out_table)
{
	struct dfg_resource *resource;
	struct dfg_table_kind copy = *kind;
	DFG_TRY(check_kind(kind));
	DFG_TRY(dfg_state_resource(state, name, dfg_table_kind, make_table, &copy, &resource));
	*out_table = (struct dfg_table *)resource;
	return check_same(*out_table, kind);
}
