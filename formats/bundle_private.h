#pragma once

#include "formats/bundle.h"
#include "formats/reader.h"
#include "formats/string_table.h"

/* Shared by the reader of checkpoints, bundle.c, and the writer, bundle_write.c. */

/* Field numbers of bundle.proto; those of the header's version and of shapes are in formats/reader.h. */
enum {
	HEADER_SHARDS = 1,
	HEADER_ENDIANNESS = 2,
	HEADER_VERSION = 3,
	ENTRY_DTYPE = 1,
	ENTRY_SHAPE = 2,
	ENTRY_SHARD = 3,
	ENTRY_OFFSET = 4,
	ENTRY_SIZE = 5,
	ENTRY_SUM = 6,
	ENTRY_SLICES = 7,
};

enum { SHARDS_MOST = 4096, PATH_BYTES = 4096 };

/* An open checkpoint. */
struct dfg_bundle {
	const char *prefix;
	struct dfg_arena arena;
	struct dfg_blob index;
	struct dfg_string_table table;
	uint32_t shards;
	struct dfg_blob *data; /* by shard; opened when first used */
};

/* An entry of the index. */
struct dfg_bundle_entry {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	uint64_t shard, offset, size;
	uint32_t sum; /* masked */
};

/* The path of the index, and that of a shard. */
DFG_MUST_CHECK struct dfg_err *dfg_bundle_index_path(char path[PATH_BYTES], const char *prefix);
DFG_MUST_CHECK struct dfg_err *dfg_bundle_shard_path(
	char path[PATH_BYTES], const char *prefix, uint32_t shard, uint32_t shards);

DFG_MUST_CHECK struct dfg_err *dfg_bundle_open(const char *prefix, struct dfg_bundle *out_bundle);
void dfg_bundle_close(struct dfg_bundle *bundle);
DFG_MUST_CHECK struct dfg_err *dfg_bundle_entry_read(
	const struct dfg_table_entry *from, struct dfg_bundle_entry *out_entry);

/* Adds the length of a string to the sum of lengths. */
uint32_t dfg_bundle_add_length(uint32_t sum, uint64_t length);

/* The functions of dfg_bundle_files. */
DFG_MUST_CHECK struct dfg_err *dfg_bundle_save(
	const char *prefix, size_t count, const struct dfg_string *name, const struct dfg_tensor *const *tensor);
DFG_MUST_CHECK struct dfg_err *dfg_bundle_merge(
	size_t count, const char *const *prefix, const char *destination, bool remove_folders);
