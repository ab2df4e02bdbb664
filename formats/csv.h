#pragma once

#include "formats/array.h"

/*
 * CSV as RFC 4180 has it: commas, quotes, lines; csv_table.h says what its first lines may be. A column is of integers
 * (i64), numbers (f64), or text. A cell that is empty, or a word such as NA, is nan in a column of numbers. A table of which
 * all cells have quotes is text.
 */

/*
 * The columns of key, or all where it is NULL: one is a vector, by its name or its number from 0; a list of them
 * ("age,3,5:9") is a matrix, and so are all where there are several. DFG_DATA where numbers and text are mixed. Writes to
 * key.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_read(const struct dfg_blob *blob, char *key, struct dfg_tensor *out_tensor);

/*
 * Makes of a tensor that was read from csv, whose numbers have no type of their own, one of that dtype and, of one column,
 * that rank. DFG_DATA, naming the first element, where dtype does not hold it exactly; the tensor keeps its dtype then, as it
 * does where either dtype is not of plain numbers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_fit(
	struct dfg_tensor *tensor, enum dfg_dtype dtype, const struct dfg_shape *shape);

/*
 * As its codec's write: the arrays are columns beside each other, scalars, vectors or matrices of as many rows. Where they
 * have names, these are the first line: "y", and "w_0,w_1" of a matrix.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_write(const struct dfg_arrays *arrays, struct dfg_out *out);
