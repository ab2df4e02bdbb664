#pragma once

#include "lib/base/io.h"
#include "lib/graph/tensor.h"

/*
 * Named arrays read from a file or to be written to one: npy (one array with the name ""), npz, safetensors, idx, netcdf,
 * hdf5, csv. The order is that of the file.
 */
struct dfg_arrays {
	struct dfg_array {
		char *name;
		struct dfg_tensor tensor; /* may be a view of the mapped file, and then holds a reference to it */
	} * array;
	size_t count, capacity;
};
void dfg_arrays_release(struct dfg_arrays *arrays);

/* Adds a copy of the name and takes the tensor, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_add(struct dfg_arrays *arrays, const char *name, struct dfg_tensor *tensor);
const struct dfg_array *dfg_arrays_find(const struct dfg_arrays *arrays, const char *name); /* NULL: none */

/*
 * An array that stays in its file: rows, the entries along its leading axis, are read when they are needed. A scalar is
 * one row.
 */
struct dfg_row_reader {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	/* Reads n rows from `first` on to the rows of `to` from `row` on. `to` has a buffer of its own. Any thread, one at a time. */
	struct dfg_err *(*read)(
		struct dfg_row_reader *reader, int64_t first, int64_t n, struct dfg_tensor *to, int64_t row);
	void (*release)(struct dfg_row_reader *reader); /* frees it, too */
};

/* An array that a file has: its elements, which may be a view of the mapped file, or a reader of its rows. */
struct dfg_array_rows {
	struct dfg_tensor all;         /* elements; zeroed if there is a reader */
	struct dfg_row_reader *reader; /* NULL: all is set */
};
static inline enum dfg_dtype dfg_array_rows_dtype(const struct dfg_array_rows *rows)
{
	return rows->reader ? rows->reader->dtype : rows->all.dtype;
}
static inline const struct dfg_shape *dfg_array_rows_shape(const struct dfg_array_rows *rows)
{
	return rows->reader ? &rows->reader->shape : &rows->all.shape;
}
void dfg_array_rows_release(struct dfg_array_rows *rows);

/* An open file of arrays: its bytes, unpacked if it is compressed by gzip, and its format. */
struct dfg_array_codec;
struct dfg_array_file {
	const char *path; /* borrowed; "-" for stdin */
	struct dfg_buffer *bytes;
	const struct dfg_array_codec *codec;
	bool packed; /* whether the bytes are not those of the file at path */
};

/*
 * A codec is recognised by content (magic), and by the suffix of an output. Errors of read do not name the file; the
 * caller adds it. read borrows the blob only if the result refers to it (views of a mapped file are references to
 * `file`).
 */
struct dfg_array_codec {
	const char *name, *suffix; /* such as "npz" and ".npz" */
	bool many;                 /* whether it holds several named arrays */
	bool (*is)(const uint8_t *bytes, size_t size);
	struct dfg_err *(*read)(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays);
	struct dfg_err *(*write)(const struct dfg_arrays *arrays, struct dfg_out *out); /* NULL: it is only read */
	/*
	 * In place of read, for files that may be larger than the memory. list gives the names and types of all arrays, whose
	 * tensors have no elements; a dtype of 0 is one that dfg does not have. open gives one of them; *out_found tells
	 * whether the file has it.
	 */
	struct dfg_err *(*list)(const struct dfg_array_file *file, struct dfg_arrays *out_arrays);
	struct dfg_err *(*open)(
		const struct dfg_array_file *file, const char *name, struct dfg_array_rows *out_rows, bool *out_found);
};
extern const struct dfg_array_codec dfg_npy, dfg_npz, dfg_safetensors, dfg_idx, dfg_netcdf, dfg_hdf5, dfg_csv;

/*
 * Reads a file of any format, recognised by content; csv, which has no magic, by its suffix or as any other text. "-"
 * is npy or npz on stdin.
 */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read(const char *path, struct dfg_arrays *out_arrays);

/* The same, where only names and types are necessary: formats that can be listed have no elements (data is NULL). */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_list(const char *path, struct dfg_arrays *out_arrays);

/* Reads the elements of an array that dfg_arrays_list gave without them. Does nothing in formats that are not listed. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read_listed(const char *path, struct dfg_array *array);

/*
 * Reads the first n rows of each array that dfg_arrays_list gave for this path, or of the one with that name (NULL: all),
 * and opens the file once. The tensors are replaced by the rows.
 */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read_first(
	const char *path, const char *name, int64_t n, struct dfg_arrays *arrays);

/* As dfg_arrays_read for bytes in memory, in a known format. Takes the blob, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays);

/* Whether safetensors has this dtype. */
bool dfg_safetensors_holds(enum dfg_dtype dtype);

/*
 * Writes arrays in the format named by `format` ("npz"), or if that is NULL by the path's suffix. DFG_DATA for several
 * arrays in a format that holds one.
 */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_write(
	const char *path, const char *format, bool if_changed, const struct dfg_arrays *arrays);

/* Finds a codec by its name (format "npz"), or if that is NULL by the path's suffix; NULL if there is none. */
const struct dfg_array_codec *dfg_array_codec_of(const char *path, const char *format);

/* The suffixes of all formats that are written, for a message: ".npy .npz ...". */
struct dfg_words dfg_array_suffixes(void);

/* Whether the bytes are a file of arrays, by content. Text does not count, although it may be csv; a gzip file does. */
bool dfg_is_arrays(const uint8_t *bytes, size_t size);

/* DFG_USAGE if path and format do not name an array format: a check before the work. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_check_path(const char *path, const char *format);

/*
 * Opens the array that the words name (formats/array_spec.h) for an input of this dtype and shape: numbers of csv are
 * converted to the dtype (dfg_csv_fit()); if they do not fit, *out_unfit (if not NULL) is the error. With `regular`,
 * reads regular files only, so that it never blocks. DFG_DATA, with the nearest key, if the array does not exist or the
 * words name none of several.
 */
struct dfg_array_input {
	enum dfg_dtype dtype; /* DFG_NO_DTYPE: unknown */
	struct dfg_shape shape;
};
DFG_MUST_CHECK struct dfg_err *dfg_array_open_for(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_array_rows *out_rows, struct dfg_err **out_unfit);

/* The same, with all elements in memory. */
DFG_MUST_CHECK struct dfg_err *dfg_array_read_for(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_tensor *out_tensor, struct dfg_err **out_unfit);

/* The same, for no input in particular. */
DFG_MUST_CHECK struct dfg_err *dfg_array_read_one(const char *words, struct dfg_tensor *out_tensor);

/* Whether the words are "FILE[KEY]", one array of FILE, and not the name of a file. */
bool dfg_is_array_of_file(const char *words);

/* All arrays of FILE, or the one that "FILE[KEY]" names, which gets no name. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read_words(const char *words, struct dfg_arrays *out_arrays);
