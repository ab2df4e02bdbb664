#pragma once

#include "lib/base/io.h"
#include "lib/graph/tensor.h"

/* Named arrays from a file or for one: npy (one, unnamed: ""), npz, safetensors, idx, csv. Order is the file's. */
struct dfg_arrays {
	struct dfg_array {
		char *name;
		struct dfg_tensor tensor; /* may be a view of the mapped file; holds what it needs of it */
	} * array;
	size_t count, room;
};
void dfg_arrays_release(struct dfg_arrays *arrays);

/* Adds a copy of the name and takes the tensor (on failure too). */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_add(struct dfg_arrays *arrays, const char *name, struct dfg_tensor *tensor);
const struct dfg_array *dfg_arrays_find(const struct dfg_arrays *arrays, const char *name); /* NULL: none */

/*
 * A codec tells itself by content (magic) and by the suffix of an output. read's errors do not name the file; the
 * caller does. The blob is borrowed by read only if the result says so (views of a mapped file are refs on `file`).
 */
struct dfg_array_codec {
	const char *name, *suffix; /* "npz", ".npz" */
	bool many;                 /* holds named arrays */
	bool (*is)(const uint8_t *bytes, size_t size);
	struct dfg_err *(*read)(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays);
	struct dfg_err *(*write)(const struct dfg_arrays *arrays, struct dfg_out *out);
};
extern const struct dfg_array_codec dfg_npy, dfg_npz, dfg_safetensors, dfg_idx, dfg_csv;

/* Reads any of them, told by content (csv, which has no magic, by its suffix or as what is text); "-" is npy or npz on stdin. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read(const char *path, struct dfg_arrays *out_arrays);

/* The same of bytes at hand, in a known format. Takes the blob, on failure too. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_read_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays);

/* Whether safetensors has a dtype for it. */
bool dfg_safetensors_holds(enum dfg_dtype dtype);

/* By the path's suffix, or by `format` ("npz") where that is not NULL. A single array format refuses several. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_write(
	const char *path, const char *format, bool if_changed, const struct dfg_arrays *arrays);

/* By its name (format "npz"), or where that is NULL by the path's suffix; NULL: there is none. */
const struct dfg_array_codec *dfg_array_codec_of(const char *path, const char *format);

/* The suffixes of all formats, for a message: ".npy .npz ...". */
struct dfg_words dfg_array_suffixes(void);

/* Whether that is a file of arrays, told from content; any text may be csv, and is not. What gzip has packed is taken for arrays. */
bool dfg_is_arrays(const uint8_t *bytes, size_t size);

/* DFG_USAGE where that path and format name no array format: to be asked before the work is done. */
DFG_MUST_CHECK struct dfg_err *dfg_arrays_check_path(const char *path, const char *format);

/* "FILE" or "FILE[key]": the one array meant; DFG_DATA with the nearest key where it is not there or not the only one. */
DFG_MUST_CHECK struct dfg_err *dfg_array_read_one(const char *spec, struct dfg_tensor *out_tensor);

/*
 * The same for an input of that dtype and shape: the numbers of csv take its dtype, as dfg_csv_fit() says; where they cannot,
 * *out_unfit (if not NULL) says why. With `regular`, of a regular file only: nothing that would be waited for.
 */
struct dfg_array_input {
	enum dfg_dtype dtype; /* DFG_NO_DTYPE: not known */
	struct dfg_shape shape;
};
DFG_MUST_CHECK struct dfg_err *dfg_array_read_for(const char *spec, const struct dfg_array_input *input, bool regular,
	struct dfg_tensor *out_tensor, struct dfg_err **out_unfit);
