#pragma once

#include "formats/array.h"

/* Opens a file, unpacks it if it is compressed by gzip, and finds its format. The caller unrefs *out_file. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_open(
	const char *path, struct dfg_buffer **out_file, const struct dfg_array_codec **out_codec);

/* Maps a file, and unpacks it if `unpack` is set and it is compressed by gzip. The caller unrefs *out_file. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_map(const char *path, bool unpack, struct dfg_buffer **out_file);

/* Reads all arrays of a file; errors do not name it. */
DFG_MUST_CHECK struct dfg_err *dfg_array_file_read(
	struct dfg_buffer *file, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays);

/* records.c: the array, or the columns `key` of it, of a file of records. Borrows the file. */
struct dfg_array_spec;
DFG_MUST_CHECK struct dfg_err *dfg_records_open(
	struct dfg_buffer *file, const struct dfg_array_spec *spec, struct dfg_array_rows *out_rows);
