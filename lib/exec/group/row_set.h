#pragma once

#include "lib/base/err.h"
#include "lib/graph/tensor.h"

/*
 * Rows of a table as a sum over shards has them: their numbers, ascending, each once, and their values. A gradient of a
 * gather has only the rows that the shard has gathered. Added to another set, it becomes the union: a row that only one
 * has is added to zeros, so that values have the bits of dense sums.
 */
struct dfg_row_type {
	enum dfg_dtype dtype; /* of the elements: f32 or f64 */
	size_t width;         /* elements of a row; a complex number is two */
	int64_t rows;         /* of the table */
};

/* The parts of a set's buffer. */
struct dfg_row_set {
	size_t count;    /* rows */
	int64_t *number; /* by row */
	void *value;     /* count * width elements */
};
struct dfg_row_set dfg_row_set_of(const struct dfg_buffer *buffer);

/* A set of that many rows, contents undefined. */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_new(
	const struct dfg_row_type *type, size_t count, struct dfg_buffer **out_buffer);

/*
 * The set of a gradient: row i of `values` (any dtype that is converted to the type's, or complex) belongs to the table's
 * row indices[i], i32 or i64. Rows that repeat are added in their order. DFG_DATA for a number that the table does not
 * have.
 */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_gather(const struct dfg_row_type *type, const struct dfg_tensor *indices,
	const struct dfg_tensor *values, struct dfg_buffer **out_buffer);

/* left + right; takes both, also on error. */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_add(
	const struct dfg_row_type *type, struct dfg_buffer *left, struct dfg_buffer *right, struct dfg_buffer **out_buffer);

/* The rows of sets whose numbers ascend from one set to the next. */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_join(
	const struct dfg_row_type *type, struct dfg_buffer *const *part, size_t parts, struct dfg_buffer **out_buffer);

/*
 * The message with the rows [first, first + length) of the table, a vector of u8: rows with numbers of four bytes, rows that
 * are marked in one bit for each row of the table, or dense where all occur, whichever is the smallest.
 */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_encode(const struct dfg_row_type *type, const struct dfg_buffer *set,
	int64_t first, int64_t length, struct dfg_tensor *out_message);

/* The number of rows, of `length`, from which on marks are smaller than numbers. */
int64_t dfg_row_set_marked_from(int64_t length);

/* Reads such a message. DFG_PROTOCOL if it is not one. */
DFG_MUST_CHECK struct dfg_err *dfg_row_set_decode(const struct dfg_row_type *type, const struct dfg_tensor *message,
	int64_t first, int64_t length, struct dfg_buffer **out_buffer);
