#pragma once

#include "formats/array.h"

/* Opens a file and finds its format. Errors name the file. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_open(const char *path, struct dfg_array_file *out_file);
void dfg_array_file_close(struct dfg_array_file *file);

/* Maps a file, and unpacks it if `unpacks` is set and it is compressed by gzip; its format remains NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_map(const char *path, bool unpacks, struct dfg_array_file *out_file);

/* Reads all arrays of a file; errors do not name it. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_read(const struct dfg_array_file *file, struct dfg_arrays *out_arrays);

/* Replaces a reader by all that it reads. */
DFG_MUST_CHECK struct dfg_err *dfg_array_rows_read(struct dfg_array_rows *rows);

/* The path, for a message. */
const char *dfg_array_file_shown(const char *path);

/* records.c: the array, or the columns `key` of it, of a file of records. */
struct dfg_array_spec;
DFG_MUST_CHECK struct dfg_err *dfg_records_open(
	const struct dfg_array_file *file, const struct dfg_array_spec *spec, struct dfg_array_rows *out_rows);
