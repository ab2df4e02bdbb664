#pragma once

#include "formats/array.h"

/*
 * CSV as RFC 4180 has it: commas, quotes, lines. A first line without any number in it names the columns. The whole file is
 * a matrix of numbers (a vector where there is one column), i64 where all are integers, else f64; programs cast. One
 * column, by its name or its number from 0, may hold text too.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_column(
	const struct dfg_blob *blob, const char *key, struct dfg_tensor *out_tensor);

/* As its codec's write: csv_write.c. */
DFG_MUST_CHECK struct dfg_err *dfg_csv_write(const struct dfg_arrays *arrays, struct dfg_out *out);
