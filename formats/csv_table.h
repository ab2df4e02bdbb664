#pragma once

#include "formats/csv_cell.h"
#include "lib/base/arena.h"

/*
 * The structure of a csv file, found in one pass. Its first lines may be comments ("# made by X"), the counts of
 * scikit-learn's files ("150,4,setosa,versicolor": rows, columns except the last, class names), recognised if the
 * counts are right, and a line of names, which contains no number.
 */
struct dfg_csv_table {
	size_t rows, columns;      /* rows of values only, all with `columns` values */
	struct dfg_csv_scan begin; /* position of the first row of values; borrows from the file */
	bool quoted;               /* whether all values are quoted */
	const char **name;         /* names by column, without surrounding spaces; NULL: no line has names */
	struct dfg_arena arena;    /* storage of the names */
};

/* DFG_DATA if the file is empty or rows differ in length. The caller closes the table, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_csv_open(const struct dfg_blob *blob, struct dfg_csv_table *table);
void dfg_csv_close(struct dfg_csv_table *table);
