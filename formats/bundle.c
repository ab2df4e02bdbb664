#include "formats/bundle.h"

#include "formats/bundle.pb-c.h"
#include "formats/bundle_private.h"
#include "formats/bytes.h"
#include "formats/wire.h"
#include "lib/base/crc32c.h"
#include "lib/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct dfg_err *complete(char path[PATH_BYTES], const char *prefix, const char *suffix)
{
	int length = snprintf(path, PATH_BYTES, "%s%s", prefix, suffix);
	if (length < PATH_BYTES)
		return NULL;
	return DFG_ERR(DFG_DATA, "the prefix has %zu bytes: the limit is %d", strlen(prefix), PATH_BYTES - 32);
}

struct dfg_err *dfg_bundle_shard_path(char path[PATH_BYTES], const char *prefix, uint32_t shard, uint32_t shards)
{
	char suffix[64];
	snprintf(suffix, sizeof suffix, ".data-%05u-of-%05u", shard, shards);
	return complete(path, prefix, suffix);
}

struct dfg_err *dfg_bundle_index_path(char path[PATH_BYTES], const char *prefix)
{
	return complete(path, prefix, ".index");
}

/* Reading. */

static struct dfg_err *read_field(
	struct dfg_reader *r, struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_bundle_entry *entry)
{
	switch (field->field->id) {
	case ENTRY_DTYPE:
		entry->dtype = (enum dfg_dtype)(field->value < DFG_DTYPES ? field->value : 0);
		break;
	case ENTRY_SHAPE:
		return dfg_reader_shape(r, wire, field, &entry->shape);
	case ENTRY_SHARD:
		entry->shard = field->value;
		break;
	case ENTRY_OFFSET:
		entry->offset = field->value;
		break;
	case ENTRY_SIZE:
		entry->size = field->value;
		break;
	case ENTRY_SUM:
		entry->sum = (uint32_t)field->value;
		break;
	default:
		return DFG_ERR(DFG_DATA, "it is stored in slices, which is not supported");
	}
	return NULL;
}

struct dfg_err *dfg_bundle_entry_read(const struct dfg_table_entry *from, struct dfg_bundle_entry *out_entry)
{
	struct dfg_reader r = {.file.start = from->value};
	struct dfg_wire wire = dfg_wire_start(&r.file, &bundle__bundle_entry__descriptor, from->value, from->value_length);
	struct dfg_wire_field field;
	size_t bytes;
	*out_entry = (struct dfg_bundle_entry){.shape = DFG_SHAPE_SCALAR};
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		DFG_TRY(read_field(&r, &wire, &field, out_entry));
	}
	if (!out_entry->dtype || !dfg_dtype_size(out_entry->dtype) || out_entry->dtype == DFG_RESOURCE ||
		out_entry->dtype == DFG_VARIANT)
		return DFG_ERR(DFG_DATA, "its dtype is missing, or is not one that a file can hold");
	if (!dfg_shape_known(&out_entry->shape))
		return DFG_ERR(DFG_DATA, "its shape is %s, expected known dimensions", dfg_shape_words(&out_entry->shape).s);
	DFG_TRY(dfg_shape_bytes(&out_entry->shape, out_entry->dtype, &bytes));
	if (out_entry->dtype != DFG_STRING && bytes != out_entry->size)
		return DFG_ERR(DFG_DATA, "%s requires %zu bytes, but the checkpoint has %" PRIu64 " bytes for it",
			dfg_type_words(out_entry->dtype, &out_entry->shape).s, bytes, out_entry->size);
	return NULL;
}

static struct dfg_err *read_header(struct dfg_bundle *bundle)
{
	const struct dfg_table_entry *header = dfg_string_table_find(&bundle->table, "", 0);
	struct dfg_wire_field field;
	if (!header)
		return DFG_ERR(DFG_DATA, "the entry with the checkpoint's header is missing");
	struct dfg_wire_file file = {.start = header->value};
	struct dfg_wire wire =
		dfg_wire_start(&file, &bundle__bundle_header__descriptor, header->value, header->value_length);
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		if (field.field->id == HEADER_ENDIANNESS && field.value)
			return DFG_ERR(DFG_DATA, "its numbers are big-endian, which is not supported");
		if (field.field->id == HEADER_SHARDS)
			bundle->shards = field.value > SHARDS_MOST ? 0 : (uint32_t)field.value;
	}
	if (!bundle->shards)
		return DFG_ERR(DFG_DATA, "its number of shards must be from 1 to %d", SHARDS_MOST);
	bundle->data = dfg_arena_zeros(&bundle->arena, bundle->shards, sizeof *bundle->data);
	return bundle->data ? NULL : dfg_no_memory("a checkpoint");
}

void dfg_bundle_close(struct dfg_bundle *bundle)
{
	for (uint32_t s = 0; bundle->data && s < bundle->shards; s++)
		dfg_blob_close(&bundle->data[s]);
	dfg_string_table_release(&bundle->table);
	dfg_blob_close(&bundle->index);
	dfg_arena_release(&bundle->arena);
}

struct dfg_err *dfg_bundle_open(const char *prefix, struct dfg_bundle *out_bundle)
{
	char path[PATH_BYTES];
	*out_bundle = (struct dfg_bundle){.prefix = prefix};
	DFG_TRY(dfg_bundle_index_path(path, prefix));
	DFG_TRY(dfg_blob_open_plain(path, 0, &out_bundle->index));
	struct dfg_err *err =
		dfg_string_table_read(out_bundle->index.bytes, out_bundle->index.size, &out_bundle->arena, &out_bundle->table);
	if (!err)
		err = read_header(out_bundle);
	if (err)
		dfg_bundle_close(out_bundle);
	return dfg_err_note(err, "%s", path);
}

/* The bytes of the entry, within a mapped file, after a check of their place. */
static struct dfg_err *find_bytes(
	struct dfg_bundle *bundle, const struct dfg_bundle_entry *entry, const uint8_t **out_bytes)
{
	char path[PATH_BYTES];
	if (entry->shard >= bundle->shards)
		return DFG_ERR(DFG_DATA, "it is in shard number %" PRIu64 ", but the number of shards is %u", entry->shard,
			bundle->shards);
	struct dfg_blob *data = &bundle->data[entry->shard];
	DFG_TRY(dfg_bundle_shard_path(path, bundle->prefix, (uint32_t)entry->shard, bundle->shards));
	if (!data->bytes)
		DFG_TRY(dfg_blob_open_plain(path, 0, data));
	if (entry->offset > data->size || entry->size > data->size - entry->offset)
		return DFG_ERR(DFG_DATA, "%s has %zu bytes, but the tensor has %" PRIu64 " bytes from offset %" PRIu64, path,
			data->size, entry->size, entry->offset);
	*out_bytes = data->bytes + entry->offset;
	return NULL;
}

static struct dfg_err *check_sum(uint32_t sum, const struct dfg_bundle_entry *entry)
{
	if (dfg_crc32c_mask(sum) == entry->sum)
		return NULL;
	return DFG_ERR(
		DFG_DATA, "its elements are damaged: their checksum is %08x, expected %08x", dfg_crc32c_mask(sum), entry->sum);
}

uint32_t dfg_bundle_add_length(uint32_t sum, uint64_t length)
{
	uint8_t bytes[8];
	const int width = length <= UINT32_MAX ? 4 : 8;
	dfg_put_le(bytes, length, width);
	return dfg_crc32c(sum, bytes, (size_t)width);
}

/* Strings: the length of each, a sum of the lengths, the bytes of all. The elements of `to` hold the lengths meanwhile. */
static struct dfg_err *read_strings(const struct dfg_bundle_entry *entry, const uint8_t *at, struct dfg_tensor *to)
{
	const uint8_t *end = at + entry->size;
	struct dfg_string *string = to->data;
	const int64_t count = dfg_shape_count(&to->shape);
	uint32_t sum = 0;
	for (int64_t i = 0; i < count; i++) {
		uint64_t length;
		if (!dfg_wire_varint(&at, end, &length))
			return DFG_ERR(DFG_DATA, "the lengths of its strings are truncated");
		string[i].length = length;
		sum = dfg_bundle_add_length(sum, length);
	}
	if (end - at < 4 || dfg_le32(at) != dfg_crc32c_mask(sum))
		return DFG_ERR(DFG_DATA, "the lengths of its strings are damaged");
	sum = dfg_crc32c(sum, at, 4);
	at += 4;
	for (int64_t i = 0; i < count; i++) {
		const size_t length = string[i].length;
		if (length > (size_t)(end - at))
			return DFG_ERR(DFG_DATA, "its strings have more bytes than are stored");
		DFG_TRY(dfg_buffer_string(to->buffer, at, length, &string[i]));
		sum = dfg_crc32c(sum, at, length);
		at += length;
	}
	return at == end ? check_sum(sum, entry) : DFG_ERR(DFG_DATA, "its strings have fewer bytes than are stored");
}

static struct dfg_err *read_elements(const struct dfg_bundle_entry *entry, const uint8_t *bytes, struct dfg_tensor *to)
{
	if (to->dtype != DFG_STRING) {
		DFG_TRY(check_sum(dfg_crc32c(0, bytes, entry->size), entry));
		if (entry->size)
			memcpy(to->data, bytes, entry->size);
		return NULL;
	}
	struct dfg_err *err = read_strings(entry, bytes, to);
	if (err)
		memset(to->data, 0, dfg_tensor_bytes(to));
	return err;
}

static struct dfg_err *read_tensor(struct dfg_bundle *bundle, struct dfg_string name, struct dfg_tensor *out_tensor)
{
	const struct dfg_table_entry *from =
		name.length ? dfg_string_table_find(&bundle->table, name.s, name.length) : NULL;
	struct dfg_bundle_entry entry;
	const uint8_t *bytes = NULL;
	if (!from)
		return DFG_ERR(DFG_DATA, "the checkpoint has no such tensor");
	DFG_TRY(dfg_bundle_entry_read(from, &entry));
	DFG_TRY(find_bytes(bundle, &entry, &bytes));
	if (entry.dtype == DFG_STRING && (uint64_t)dfg_shape_count(&entry.shape) > entry.size)
		return DFG_ERR(DFG_DATA, "it has more strings than bytes are stored");
	DFG_TRY(dfg_tensor_new(entry.dtype, &entry.shape, out_tensor));
	struct dfg_err *err = read_elements(&entry, bytes, out_tensor);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

static struct dfg_err *restore(
	const char *prefix, size_t count, const struct dfg_string *name, struct dfg_tensor *out_tensor)
{
	struct dfg_bundle bundle;
	struct dfg_err *err = NULL;
	size_t read = 0;
	DFG_TRY(dfg_bundle_open(prefix, &bundle));
	for (; read < count && !err; read++)
		err = dfg_err_note(read_tensor(&bundle, name[read], &out_tensor[read]), "%s: '%.*s'", prefix,
			(int)(name[read].length < 200 ? name[read].length : 200), name[read].s);
	for (size_t i = 0; err && i + 1 < read; i++)
		dfg_tensor_release(&out_tensor[i]);
	dfg_bundle_close(&bundle);
	return err;
}

bool dfg_bundle_is(const char *prefix)
{
	char path[PATH_BYTES];
	struct dfg_err *err = dfg_bundle_index_path(path, prefix);
	bool is = !err && !access(path, F_OK);
	dfg_err_free(err);
	return is;
}

static struct dfg_err *add_entry(
	struct dfg_bundle *bundle, const struct dfg_table_entry *entry, struct dfg_arrays *arrays)
{
	struct dfg_tensor tensor;
	if (memchr(entry->key, '\0', entry->key_length))
		return DFG_ERR(DFG_DATA, "the name of a tensor has a zero character");
	const char *name = dfg_arena_copy(&bundle->arena, entry->key, entry->key_length);
	if (!name)
		return dfg_no_memory("a checkpoint");
	DFG_TRY(dfg_err_note(
		read_tensor(bundle, (struct dfg_string){entry->key, entry->key_length}, &tensor), "'%.200s'", name));
	return dfg_arrays_add(arrays, name, &tensor);
}

struct dfg_err *dfg_bundle_read(const char *prefix, struct dfg_arrays *out_arrays)
{
	struct dfg_bundle bundle;
	struct dfg_err *err = NULL;
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(dfg_bundle_open(prefix, &bundle));
	for (size_t i = 0; i < bundle.table.count && !err; i++)
		if (bundle.table.entry[i].key_length) /* the header has the empty name */
			err = add_entry(&bundle, &bundle.table.entry[i], out_arrays);
	dfg_bundle_close(&bundle);
	return dfg_err_note(err, "%s", prefix);
}

const struct dfg_tensor_files dfg_bundle_files = {
	.save = dfg_bundle_save,
	.restore = restore,
	.merge_prefixes = dfg_bundle_merge,
};
