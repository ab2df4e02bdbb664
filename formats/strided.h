#pragma once

#include "formats/array.h"

/*
 * Elements of a mapped file as an array whose rows are equally far apart, and contiguous each. Big-endian elements are
 * swapped as they are read.
 */
struct dfg_strided {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const uint8_t *data; /* row 0 */
	size_t stride;       /* bytes from a row to the next */
	bool swapped;        /* whether elements are big-endian */
};

/*
 * A view of `file` where the elements can be used in place, else a reader, which keeps a reference to it. The caller has
 * checked that all rows are in the file.
 */
DFG_MUST_CHECK struct dfg_err *dfg_strided_open(
	const struct dfg_strided *strided, struct dfg_buffer *file, struct dfg_array_rows *out_rows);
