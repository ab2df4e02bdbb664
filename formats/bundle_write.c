#include "formats/bundle_private.h"

#include "formats/bytes.h"
#include "formats/encode.h"
#include "formats/wire.h"
#include "lib/base/crc32c.h"
#include "lib/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The folder of a path is made when files are saved, one level, and may be removed after they are merged. */
static struct dfg_err *folder_of(char folder[PATH_BYTES], const char *prefix, bool *out_has)
{
	const char *slash = strrchr(prefix, '/');
	*out_has = slash && slash != prefix;
	if (!*out_has)
		return NULL;
	if ((size_t)(slash - prefix) >= PATH_BYTES)
		return DFG_ERR(DFG_DATA, "the prefix has %zu bytes: the limit is %d", strlen(prefix), PATH_BYTES - 32);
	memcpy(folder, prefix, (size_t)(slash - prefix));
	folder[slash - prefix] = '\0';
	return NULL;
}

static struct dfg_err *make_folder(const char *prefix)
{
	char folder[PATH_BYTES];
	bool has;
	DFG_TRY(folder_of(folder, prefix, &has));
	if (has && dfg_fs->mkdir(folder, 0777) && errno != EEXIST)
		return DFG_ERR(DFG_NO_OUTPUT, "cannot make the folder %s: %m", folder);
	return NULL;
}

static struct dfg_err *write_strings(
	const struct dfg_tensor *tensor, struct dfg_out *out, uint32_t *out_sum, uint64_t *out_size)
{
	const struct dfg_string *string = tensor->data;
	const int64_t count = dfg_shape_count(&tensor->shape);
	struct dfg_text lengths = {0};
	uint8_t sum[4];
	*out_sum = 0;
	for (int64_t i = 0; i < count; i++) {
		dfg_wire_put_varint(&lengths, string[i].length);
		*out_sum = dfg_bundle_add_length(*out_sum, string[i].length);
	}
	dfg_put_le(sum, dfg_crc32c_mask(*out_sum), 4);
	dfg_text_put(&lengths, sum, sizeof sum);
	*out_sum = dfg_crc32c(*out_sum, sum, sizeof sum);
	*out_size = lengths.length;
	struct dfg_err *err = dfg_text_check(&lengths);
	if (!err)
		err = dfg_out_write(out, lengths.s, lengths.length);
	dfg_text_release(&lengths);
	for (int64_t i = 0; i < count && !err; i++) {
		err = dfg_out_write(out, string[i].s, string[i].length);
		*out_sum = dfg_crc32c(*out_sum, string[i].s, string[i].length);
		*out_size += string[i].length;
	}
	return err;
}

static struct dfg_err *write_elements(
	const struct dfg_tensor *tensor, struct dfg_out *out, struct dfg_bundle_entry *entry)
{
	if (tensor->dtype == DFG_STRING)
		return write_strings(tensor, out, &entry->sum, &entry->size);
	entry->size = dfg_tensor_bytes(tensor);
	entry->sum = dfg_crc32c(0, tensor->data, entry->size);
	return dfg_out_write(out, tensor->data, entry->size);
}

/* Fields in descending order, as the encoder runs backwards; those that are 0 are left out. */
static void encode_entry(struct dfg_encoder *encoder, const struct dfg_bundle_entry *entry)
{
	dfg_encode_fixed(encoder, dfg_crc32c_mask(entry->sum), 4);
	dfg_encode_varint(encoder, ENTRY_SUM << 3 | 5);
	if (entry->size)
		dfg_encode_number(encoder, ENTRY_SIZE, entry->size);
	if (entry->offset)
		dfg_encode_number(encoder, ENTRY_OFFSET, entry->offset);
	if (entry->shard)
		dfg_encode_number(encoder, ENTRY_SHARD, entry->shard);
	const size_t shape = dfg_encode_mark(encoder);
	for (int d = entry->shape.rank; d-- > 0;) {
		const size_t dim = dfg_encode_mark(encoder);
		if (entry->shape.dim[d])
			dfg_encode_number(encoder, DIM_SIZE, (uint64_t)entry->shape.dim[d]);
		dfg_encode_head(encoder, SHAPE_DIM, dim);
	}
	dfg_encode_head(encoder, ENTRY_SHAPE, shape);
	dfg_encode_number(encoder, ENTRY_DTYPE, entry->dtype);
}

static void encode_header(struct dfg_encoder *encoder, uint32_t shards)
{
	const size_t version = dfg_encode_mark(encoder);
	dfg_encode_number(encoder, VERSIONS_PRODUCER, 1);
	dfg_encode_head(encoder, HEADER_VERSION, version);
	dfg_encode_number(encoder, HEADER_SHARDS, shards);
}

/* Moves what was encoded to the arena, as the value of an entry of the table. */
static struct dfg_err *take_value(
	struct dfg_encoder *encoder, struct dfg_arena *arena, const char *key, size_t length, struct dfg_table_entry *out)
{
	uint8_t *value = dfg_arena_zeros(arena, encoder->length + 1, 1);
	struct dfg_err *err = value ? dfg_encoder_check(encoder) : dfg_no_memory("a checkpoint");
	if (!err)
		dfg_encoder_copy(encoder, value);
	*out = (struct dfg_table_entry){key, length, value, encoder->length};
	dfg_encoder_release(encoder);
	*encoder = (struct dfg_encoder){0};
	return err;
}

static struct dfg_err *write_index(const char *prefix, struct dfg_table_entry *entry, size_t count)
{
	char path[PATH_BYTES];
	struct dfg_text file = {0};
	DFG_TRY(dfg_bundle_index_path(path, prefix));
	qsort(entry, count, sizeof *entry, dfg_table_entry_compare);
	for (size_t i = 1; i < count; i++)
		if (!dfg_table_entry_compare(&entry[i - 1], &entry[i]))
			return DFG_ERR(DFG_DATA, "%s: two tensors have the name '%.*s'", prefix,
				(int)(entry[i].key_length < 200 ? entry[i].key_length : 200), entry[i].key);
	dfg_string_table_write(entry, count, &file);
	struct dfg_err *err = dfg_out_text(path, false, &file);
	dfg_text_release(&file);
	return err;
}

/* Writes the elements of all tensors one after another, and makes their entries. */
static struct dfg_err *write_data(const char *path, size_t count, const struct dfg_string *name,
	const struct dfg_tensor *const *tensor, struct dfg_arena *arena, struct dfg_table_entry *out_entry)
{
	struct dfg_out out = {0};
	struct dfg_encoder encoder = {0};
	uint64_t offset = 0;
	struct dfg_err *err = dfg_out_open(path, false, &out);
	for (size_t i = 0; i < count && !err; i++) {
		struct dfg_bundle_entry entry = {.dtype = tensor[i]->dtype, .shape = tensor[i]->shape, .offset = offset};
		err = write_elements(tensor[i], &out, &entry);
		offset += entry.size;
		encode_entry(&encoder, &entry);
		if (!err)
			err = take_value(&encoder, arena, name[i].s, name[i].length, &out_entry[i]);
	}
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	dfg_encoder_release(&encoder);
	return err;
}

struct dfg_err *dfg_bundle_save(
	const char *prefix, size_t count, const struct dfg_string *name, const struct dfg_tensor *const *tensor)
{
	char path[PATH_BYTES];
	struct dfg_arena arena = {0};
	struct dfg_encoder encoder = {0};
	struct dfg_table_entry *entry = dfg_arena_zeros(&arena, count + 1, sizeof *entry);
	struct dfg_err *err = entry ? dfg_bundle_shard_path(path, prefix, 0, 1) : dfg_no_memory("a checkpoint");
	if (!err)
		err = make_folder(prefix);
	if (!err)
		err = write_data(path, count, name, tensor, &arena, entry);
	if (!err) {
		encode_header(&encoder, 1);
		err = take_value(&encoder, &arena, "", 0, &entry[count]);
	}
	if (!err)
		err = write_index(prefix, entry, count + 1);
	dfg_arena_release(&arena);
	return err;
}

/* Merging: the shards of all are renamed, and one index lists them. */

static struct dfg_err *add_entries(
	struct dfg_bundle *bundle, uint32_t first_shard, struct dfg_arena *arena, struct dfg_table_entry *out_entry)
{
	struct dfg_encoder encoder = {0};
	size_t n = 0;
	for (size_t i = 0; i < bundle->table.count; i++) {
		const struct dfg_table_entry *from = &bundle->table.entry[i];
		struct dfg_bundle_entry entry;
		if (!from->key_length)
			continue;
		DFG_TRY(dfg_err_note(dfg_bundle_entry_read(from, &entry), "%s: '%.*s'", bundle->prefix,
			(int)(from->key_length < 200 ? from->key_length : 200), from->key));
		entry.shard += first_shard;
		entry.sum = dfg_crc32c_unmask(entry.sum); /* the encoder masks it again */
		encode_entry(&encoder, &entry);
		DFG_TRY(take_value(&encoder, arena, from->key, from->key_length, &out_entry[n++]));
	}
	return NULL;
}

static struct dfg_err *rename_shards(const struct dfg_bundle *bundle, const char *to, uint32_t first, uint32_t shards)
{
	char from[PATH_BYTES], path[PATH_BYTES];
	for (uint32_t s = 0; s < bundle->shards; s++) {
		DFG_TRY(dfg_bundle_shard_path(from, bundle->prefix, s, bundle->shards));
		DFG_TRY(dfg_bundle_shard_path(path, to, first + s, shards));
		if (dfg_fs->rename(from, path))
			return DFG_ERR(DFG_IO, "cannot rename %s to %s: %m", from, path);
	}
	return NULL;
}

static struct dfg_err *merge_open(struct dfg_bundle *bundle, size_t count, const char *destination)
{
	struct dfg_arena arena = {0};
	struct dfg_encoder encoder = {0};
	uint32_t shards = 0, first = 0;
	size_t entries = 1;
	for (size_t b = 0; b < count; b++) {
		entries += bundle[b].table.count;
		shards += bundle[b].shards;
	}
	struct dfg_table_entry *entry = dfg_arena_zeros(&arena, entries, sizeof *entry);
	struct dfg_err *err = entry ? NULL : dfg_no_memory("a checkpoint");
	size_t n = 0;
	for (size_t b = 0; b < count && !err; b++) {
		err = add_entries(&bundle[b], first, &arena, entry + n);
		n += bundle[b].table.count - 1; /* without the header */
		first += bundle[b].shards;
	}
	first = 0;
	for (size_t b = 0; b < count && !err; b++) {
		err = rename_shards(&bundle[b], destination, first, shards);
		first += bundle[b].shards;
	}
	if (!err) {
		encode_header(&encoder, shards);
		err = take_value(&encoder, &arena, "", 0, &entry[n]);
	}
	if (!err)
		err = write_index(destination, entry, n + 1);
	dfg_arena_release(&arena);
	return err;
}

static struct dfg_err *remove_indexes(
	const struct dfg_bundle *bundle, size_t count, const char *destination, bool remove_folders)
{
	char path[PATH_BYTES];
	bool has;
	for (size_t b = 0; b < count; b++) {
		DFG_TRY(dfg_bundle_index_path(path, bundle[b].prefix));
		if (strcmp(bundle[b].prefix, destination) && dfg_fs->unlink(path))
			return DFG_ERR(DFG_IO, "cannot remove %s: %m", path);
		DFG_TRY(folder_of(path, bundle[b].prefix, &has));
		if (has && remove_folders)
			(void)dfg_fs->rmdir(path); /* it stays where it has other files */
	}
	return NULL;
}

struct dfg_err *dfg_bundle_merge(size_t count, const char *const *prefix, const char *destination, bool remove_folders)
{
	struct dfg_bundle *bundle = dfg_zeros(count + 1, sizeof *bundle);
	struct dfg_err *err = bundle ? NULL : dfg_no_memory("a checkpoint");
	size_t open = 0;
	for (; open < count && !err; open++)
		err = dfg_bundle_open(prefix[open], &bundle[open]);
	open -= err && open;
	if (!err)
		err = merge_open(bundle, count, destination);
	if (!err)
		err = remove_indexes(bundle, count, destination, remove_folders);
	for (size_t b = 0; b < open; b++)
		dfg_bundle_close(&bundle[b]);
	dfg_free(bundle);
	return err;
}
