#pragma once

#include "formats/array.h"

/* The header of an npy file. */
struct dfg_npy_header {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	char kind;     /* numpy's letter: f i u b c S U V */
	size_t width;  /* bytes per element in the file */
	bool swapped;  /* whether elements are big-endian */
	bool fortran;  /* whether the first index varies fastest */
	size_t offset; /* of the elements */
	size_t bytes;  /* of the elements */
};

/*
 * Reads the header at the start of `size` bytes. *out_size is the number of bytes necessary to read it, or to learn
 * that number; if it is larger than size, out_header is not set: for streams.
 */
DFG_MUST_CHECK struct dfg_err *dfg_npy_header(
	const uint8_t *bytes, size_t size, size_t *out_size, struct dfg_npy_header *out_header);

/*
 * Returns the tensor of an npy that is exactly these bytes: a view, if the elements can be used in place and are in the
 * buffer `file` (NULL: none), else a copy.
 */
DFG_MUST_CHECK struct dfg_err *dfg_npy_tensor(
	const uint8_t *bytes, size_t size, struct dfg_buffer *file, struct dfg_tensor *out_tensor);

/* A destination of bytes: a file, a checksum, a count. */
struct dfg_sink {
	struct dfg_err *(*put)(void *arg, const void *bytes, size_t count);
	void *arg;
};
DFG_MUST_CHECK struct dfg_err *dfg_npy_put(const struct dfg_tensor *tensor, const struct dfg_sink *sink);
struct dfg_sink dfg_out_sink(struct dfg_out *out);

/*
 * Returns a view of `file` at data if that is sufficiently aligned for the dtype, else a copy. The caller has checked
 * that `bytes` bytes exist.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_view(enum dfg_dtype dtype, const struct dfg_shape *shape, const uint8_t *data,
	struct dfg_buffer *file, struct dfg_tensor *out_tensor);

/* DFG_DATA unless each bool is 0 or 1. */
DFG_MUST_CHECK struct dfg_err *dfg_array_check_bools(const struct dfg_tensor *tensor);

/* Writes several npy in a zip, as the npz codec's write: npz_write.c. */
DFG_MUST_CHECK struct dfg_err *dfg_npz_write(const struct dfg_arrays *arrays, struct dfg_out *out);
