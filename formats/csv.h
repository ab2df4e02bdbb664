#pragma once

#include "formats/array.h"

/*
 * CSV as in RFC 4180: commas, quotes, lines; csv_table.h describes its first lines. A column contains integers (i64),
 * numbers (f64) or text. An empty cell, or a word such as NA, is nan in a column of numbers. A table whose cells are
 * all quoted is text.
 */

/*
 * Reads the columns named by key, or all if it is NULL. A single column, by name or by number from 0, is a vector; a
 * list ("age,3,5:9") is a matrix, as are all columns if there are several. DFG_DATA if numbers and text are mixed.
 * Modifies key.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_read(const struct dfg_blob *blob, char *key, struct dfg_tensor *out_tensor);

/*
 * Converts a tensor read from csv, whose numbers have no declared type, to this dtype, and a single column to this
 * rank. DFG_DATA, naming the first element that dtype cannot represent exactly. In that case, and if a dtype is not one
 * of plain numbers, the tensor keeps its dtype.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_fit(
	struct dfg_tensor *tensor, enum dfg_dtype dtype, const struct dfg_shape *shape);

/*
 * The codec's write: the arrays, scalars, vectors or matrices with equal numbers of rows, become adjacent columns.
 * Names, if any, are the first line: "y", and "w_0,w_1" for a matrix.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_write(const struct dfg_arrays *arrays, struct dfg_out *out);
