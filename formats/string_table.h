#pragma once

#include "lib/base/arena.h"
#include "lib/base/io.h"
#include "lib/base/text.h"

/*
 * A sorted table of strings in LevelDB's file format (doc/table_format.md there): blocks of entries whose keys share
 * prefixes, an index of the blocks, a footer. Each block has a checksum.
 */
struct dfg_string_table {
	struct dfg_table_entry {
		const char *key; /* allocated from the arena */
		size_t key_length;
		const uint8_t *value; /* points into the file */
		size_t value_length;
	} * entry;
	size_t count, capacity; /* entries are in ascending order of their bytes */
};

/*
 * Reads all entries of the table in the bytes, which must live as long. DFG_DATA if the bytes are not such a table, are damaged,
 * compressed, or not in order. The caller frees the array, also on error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_string_table_read(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_string_table *out_table);
void dfg_string_table_release(struct dfg_string_table *table);

/* The value of the key, or NULL. */
const struct dfg_table_entry *dfg_string_table_find(
	const struct dfg_string_table *table, const void *key, size_t length);

/* The order of two entries by the bytes of their keys, for qsort(). */
int dfg_table_entry_compare(const void *a, const void *b);

/* Appends the file of the entries, which are in order, to the text. Values are borrowed. */
void dfg_string_table_write(const struct dfg_table_entry *entry, size_t count, struct dfg_text *file);
