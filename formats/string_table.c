#include "formats/string_table.h"

#include "formats/bytes.h"
#include "formats/wire.h"
#include "lib/base/crc32c.h"
#include "lib/base/mem.h"

#include <string.h>

enum { FOOTER = 48, TRAILER = 5, RESTART = 16, BLOCK = 256 << 10 };
enum { EXPANSION = 64 }; /* the most bytes of keys for each byte of a block; LevelDB writes one key in 16 whole */
#define MAGIC UINT64_C(0xdb4775248b80fb57)

struct handle {
	uint64_t offset, size;
};

static struct dfg_err *damaged(const char *what)
{
	return DFG_ERR(DFG_DATA, "the table is damaged: %s", what);
}

/* Reading. */

static bool read_handle(const uint8_t **at, const uint8_t *end, struct handle *out)
{
	return dfg_wire_varint(at, end, &out->offset) && dfg_wire_varint(at, end, &out->size);
}

/* The block's content without its restarts: [*at, *end). */
static struct dfg_err *open_block(
	const uint8_t *bytes, size_t size, struct handle handle, const uint8_t **at, const uint8_t **end)
{
	if (handle.offset > size || handle.size > size - handle.offset || size - handle.offset - handle.size < TRAILER ||
		handle.size < 4)
		return damaged("a block lies outside of the file");
	const uint8_t *block = bytes + handle.offset, *trailer = block + handle.size;
	if (dfg_crc32c_mask(dfg_crc32c(0, block, handle.size + 1)) != dfg_le32(trailer + 1))
		return damaged("the checksum of a block does not match");
	if (*trailer)
		return DFG_ERR(DFG_DATA, "the table is compressed, by method %d, which is not supported", *trailer);
	uint64_t restarts = dfg_le32(trailer - 4);
	if (restarts > (handle.size - 4) / 4)
		return damaged("a block has more restarts than bytes");
	*at = block;
	*end = trailer - 4 - restarts * 4;
	return NULL;
}

/* The key and value at *at; `last` is the key before it, and becomes this one. */
static struct dfg_err *read_entry(
	const uint8_t **at, const uint8_t *end, struct dfg_text *last, struct dfg_table_entry *out_entry)
{
	uint64_t shared, own, value;
	if (!dfg_wire_varint(at, end, &shared) || !dfg_wire_varint(at, end, &own) || !dfg_wire_varint(at, end, &value) ||
		shared > last->length || own > (size_t)(end - *at) || value > (size_t)(end - *at) - own)
		return damaged("an entry lies outside of its block");
	last->length = shared;
	dfg_text_put(last, *at, own);
	*at += own;
	*out_entry = (struct dfg_table_entry){.key_length = last->length, .value = *at, .value_length = value};
	*at += value;
	return dfg_text_check(last);
}

static int compare(const void *a, size_t a_length, const void *b, size_t b_length)
{
	size_t least = a_length < b_length ? a_length : b_length;
	int order = least ? memcmp(a, b, least) : 0;
	return order ? order : (a_length > b_length) - (a_length < b_length);
}

int dfg_table_entry_compare(const void *a, const void *b)
{
	const struct dfg_table_entry *x = a, *y = b;
	return compare(x->key, x->key_length, y->key, y->key_length);
}

static struct dfg_err *add_entry(
	struct dfg_string_table *table, struct dfg_arena *arena, const struct dfg_text *key, struct dfg_table_entry entry)
{
	const struct dfg_table_entry *before = table->count ? &table->entry[table->count - 1] : NULL;
	if (before && compare(before->key, before->key_length, key->s, key->length) >= 0)
		return damaged("its keys are not in order");
	entry.key = dfg_arena_copy(arena, key->s ? key->s : "", key->length);
	if (!entry.key || !dfg_reserve(&table->entry, &table->capacity, table->count + 1, sizeof *table->entry))
		return dfg_no_memory("a table of strings");
	table->entry[table->count++] = entry;
	return NULL;
}

static struct dfg_err *read_block(const uint8_t *bytes, size_t size, struct handle handle, struct dfg_arena *arena,
	struct dfg_text *key, struct dfg_string_table *table)
{
	const uint8_t *at, *end;
	struct dfg_table_entry entry;
	DFG_TRY(open_block(bytes, size, handle, &at, &end));
	size_t key_bytes = 0;
	key->length = 0;
	while (at < end) {
		DFG_TRY(read_entry(&at, end, key, &entry));
		if ((key_bytes += key->length) / EXPANSION > handle.size)
			return damaged("its keys are far longer than their block");
		DFG_TRY(add_entry(table, arena, key, entry));
	}
	return NULL;
}

/* The blocks in the order of the index. `keys` has the key of the index and of the block. */
static struct dfg_err *read_blocks(const uint8_t *bytes, size_t size, struct handle index, struct dfg_arena *arena,
	struct dfg_text keys[2], struct dfg_string_table *table)
{
	const uint8_t *at, *end;
	struct dfg_table_entry entry;
	DFG_TRY(open_block(bytes, size, index, &at, &end));
	for (uint64_t free = 0; at < end;) {
		struct handle block;
		DFG_TRY(read_entry(&at, end, &keys[0], &entry));
		const uint8_t *value = entry.value;
		if (!read_handle(&value, entry.value + entry.value_length, &block))
			return damaged("the index has no handle");
		if (block.offset < free)
			return damaged("its blocks overlap");
		DFG_TRY(read_block(bytes, size, block, arena, &keys[1], table));
		free = block.offset + block.size;
	}
	return NULL;
}

struct dfg_err *dfg_string_table_read(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_string_table *out_table)
{
	struct handle meta, index;
	struct dfg_text keys[2] = {{0}, {0}};
	*out_table = (struct dfg_string_table){0};
	if (size < FOOTER || dfg_le64(bytes + size - 8) != MAGIC)
		return DFG_ERR(DFG_DATA, "it is not the index of a checkpoint of TensorFlow: its last bytes differ");
	const uint8_t *at = bytes + size - FOOTER;
	if (!read_handle(&at, bytes + size - 8, &meta) || !read_handle(&at, bytes + size - 8, &index))
		return damaged("its footer has no handles");
	struct dfg_err *err = read_blocks(bytes, size - FOOTER, index, arena, keys, out_table);
	dfg_text_release(&keys[0]);
	dfg_text_release(&keys[1]);
	return err;
}

void dfg_string_table_release(struct dfg_string_table *table)
{
	dfg_free(table->entry);
	*table = (struct dfg_string_table){0};
}

const struct dfg_table_entry *dfg_string_table_find(
	const struct dfg_string_table *table, const void *key, size_t length)
{
	size_t low = 0;
	for (size_t high = table->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (compare(table->entry[middle].key, table->entry[middle].key_length, key, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct dfg_table_entry *entry = low < table->count ? &table->entry[low] : NULL;
	return entry && !compare(entry->key, entry->key_length, key, length) ? entry : NULL;
}

/* Writing. */

static void put_u32(struct dfg_text *file, uint32_t value)
{
	uint8_t bytes[4];
	dfg_put_le(bytes, value, 4);
	dfg_text_put(file, bytes, sizeof bytes);
}

static size_t shared_prefix(const struct dfg_table_entry *a, const struct dfg_table_entry *b)
{
	size_t n = 0;
	while (n < a->key_length && n < b->key_length && a->key[n] == b->key[n])
		n++;
	return n;
}

static void put_entry(struct dfg_text *file, const struct dfg_table_entry *entry, size_t shared)
{
	dfg_wire_put_varint(file, shared);
	dfg_wire_put_varint(file, entry->key_length - shared);
	dfg_wire_put_varint(file, entry->value_length);
	dfg_text_put(file, entry->key + shared, entry->key_length - shared);
	dfg_text_put(file, entry->value, entry->value_length);
}

/* Ends the block that begins at `first`: its restarts, one in `interval` entries of those written, and its trailer. */
static struct handle end_block(struct dfg_text *file, size_t first, const struct dfg_text *restarts)
{
	dfg_text_put(file, restarts->s ? restarts->s : "", restarts->length);
	put_u32(file, (uint32_t)(restarts->length / 4));
	struct handle handle = {first, file->length - first};
	dfg_text_put(file, &(uint8_t){0}, 1);
	if (!file->short_of_memory)
		put_u32(file, dfg_crc32c_mask(dfg_crc32c(0, file->s + first, handle.size + 1)));
	return handle;
}

/* A block of at least one entry, and of as many as fit; *out_next: the first that does not. */
static struct handle put_block(struct dfg_text *file, const struct dfg_table_entry *entry, size_t count, size_t most,
	size_t interval, size_t *out_next)
{
	const size_t first = file->length;
	struct dfg_text restarts = {0};
	size_t i = 0;
	for (; i < count && (!i || file->length - first + restarts.length + 4 < most) && !file->short_of_memory; i++) {
		bool restart = i % interval == 0;
		if (restart)
			put_u32(&restarts, (uint32_t)(file->length - first));
		put_entry(file, &entry[i], restart ? 0 : shared_prefix(&entry[i - 1], &entry[i]));
	}
	if (!count)
		put_u32(&restarts, 0);
	file->short_of_memory |= restarts.short_of_memory;
	struct handle handle = end_block(file, first, &restarts);
	dfg_text_release(&restarts);
	*out_next = i;
	return handle;
}

static void put_handle(struct dfg_text *file, struct handle handle)
{
	dfg_wire_put_varint(file, handle.offset);
	dfg_wire_put_varint(file, handle.size);
}

/*
 * The key of a block in the index: not less than the block's last key, less than `next`, the first of the block that
 * follows (NULL: there is none), and short. LevelDB's rule, so that equal tables are equal files.
 */
static void put_separator(struct dfg_text *key, const struct dfg_table_entry *last, const struct dfg_table_entry *next)
{
	size_t at = next ? shared_prefix(last, next) : 0;
	key->length = 0;
	while (!next && at < last->key_length && (uint8_t)last->key[at] == 0xff)
		at++;
	bool shorter = at < last->key_length && (uint8_t)last->key[at] < 0xff &&
				   (!next || (at < next->key_length && (uint8_t)last->key[at] + 1 < (uint8_t)next->key[at]));
	dfg_text_put(key, last->key, shorter ? at : last->key_length);
	if (shorter)
		dfg_text_put(key, &(uint8_t){(uint8_t)(last->key[at] + 1)}, 1);
}

/* The index: a key for each block, with its handle. end[b] is one past the last entry of block b. */
static struct handle put_index(struct dfg_text *file, const struct dfg_table_entry *entry, const struct handle *block,
	const size_t *end, size_t blocks)
{
	const size_t first = file->length;
	struct dfg_text restarts = {0}, value = {0}, key = {0};
	for (size_t b = 0; b < blocks; b++) {
		value.length = 0;
		put_handle(&value, block[b]);
		put_separator(&key, &entry[end[b] - 1], b + 1 < blocks ? &entry[end[b]] : NULL);
		put_u32(&restarts, (uint32_t)(file->length - first));
		if (!value.short_of_memory && !key.short_of_memory)
			put_entry(file, &(struct dfg_table_entry){key.s, key.length, (const uint8_t *)value.s, value.length}, 0);
	}
	file->short_of_memory |= restarts.short_of_memory || value.short_of_memory || key.short_of_memory;
	struct handle handle = end_block(file, first, &restarts);
	dfg_text_release(&restarts);
	dfg_text_release(&value);
	dfg_text_release(&key);
	return handle;
}

void dfg_string_table_write(const struct dfg_table_entry *entry, size_t count, struct dfg_text *file)
{
	struct handle *block = dfg_zeros(count + 1, sizeof *block), meta, index;
	size_t *end = dfg_zeros(count + 1, sizeof *end), blocks = 0, none;
	file->short_of_memory |= !block || !end;
	for (size_t at = 0; at < count && !file->short_of_memory; blocks++) {
		size_t taken;
		block[blocks] = put_block(file, entry + at, count - at, BLOCK, RESTART, &taken);
		at += taken;
		end[blocks] = at;
	}
	if (!file->short_of_memory) {
		meta = put_block(file, NULL, 0, BLOCK, RESTART, &none);
		index = put_index(file, entry, block, end, blocks);
		const size_t footer = file->length;
		put_handle(file, meta);
		put_handle(file, index);
		while (file->length < footer + FOOTER - 8 && !file->short_of_memory)
			dfg_text_put(file, &(uint8_t){0}, 1);
		put_u32(file, (uint32_t)MAGIC);
		put_u32(file, (uint32_t)(MAGIC >> 32));
	}
	dfg_free(block);
	dfg_free(end);
}
