#pragma once

#include "formats/array.h"

/* What the header of an npy says. */
struct dfg_npy_header {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	char kind;     /* numpy's letter: f i u b c S U V */
	size_t width;  /* bytes of an element in the file */
	bool swapped;  /* big-endian */
	bool fortran;  /* first index fastest */
	size_t offset; /* of the elements */
	size_t bytes;  /* of the elements */
};

/*
 * Reads the header at the begin of bytes, of which there are size. *out_size is how many must be there to read it, or
 * to know that; it is larger than size only where bytes are missing, and then out_header is not set: for streams.
 */
DFG_MUST_CHECK struct dfg_err *dfg_npy_header(
	const uint8_t *bytes, size_t size, size_t *out_size, struct dfg_npy_header *out_header);

/*
 * The tensor of an npy that is exactly these bytes. It is a view where the bytes can be used as they are and lie in the
 * buffer `file` (NULL: nowhere), else a copy.
 */
DFG_MUST_CHECK struct dfg_err *dfg_npy_tensor(
	const uint8_t *bytes, size_t size, struct dfg_buffer *file, struct dfg_tensor *out_tensor);

/* Where bytes go: a file, a checksum, a count. */
struct dfg_sink {
	struct dfg_err *(*put)(void *arg, const void *bytes, size_t count);
	void *arg;
};
DFG_MUST_CHECK struct dfg_err *dfg_npy_put(const struct dfg_tensor *tensor, const struct dfg_sink *sink);
struct dfg_sink dfg_out_sink(struct dfg_out *out);

/* A view of `file` at data where a tensor of that type may lie there, else a copy. `bytes` have been checked to be there. */
DFG_MUST_CHECK struct dfg_err *dfg_array_view(enum dfg_dtype dtype, const struct dfg_shape *shape, const uint8_t *data,
	struct dfg_buffer *file, struct dfg_tensor *out_tensor);

/* "32 bytes behind the end" and the like are DFG_DATA: every bool is 0 or 1. */
DFG_MUST_CHECK struct dfg_err *dfg_array_check_bools(const struct dfg_tensor *tensor);

/* Many npy in a zip, as the npz codec's write: npz_write.c. */
DFG_MUST_CHECK struct dfg_err *dfg_npz_write(const struct dfg_arrays *arrays, struct dfg_out *out);
