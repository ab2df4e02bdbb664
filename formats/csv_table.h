#pragma once

#include "formats/csv_cell.h"
#include "lib/base/arena.h"

/*
 * What one walk over a csv file finds out. Its first lines may be comments ("# made by X"), the line of counts of
 * scikit-learn's files ("150,4,setosa,versicolor": rows, columns but the last, names of classes), which is taken for that
 * where the counts are right, and a line of names, which has no number in it.
 */
struct dfg_csv_table {
	size_t rows, columns;      /* rows of values alone; each has as many columns */
	struct dfg_csv_scan begin; /* of the first row of values; borrows from the file */
	bool quoted;               /* all values have quotes */
	const char **name;         /* by column, without spaces around it; NULL: no line has names */
	struct dfg_arena arena;    /* of the names */
};

/* DFG_DATA where it is empty or rows differ in length. The caller closes it, after an error too. */
DFG_MUST_CHECK struct dfg_err *dfg_csv_open(const struct dfg_blob *blob, struct dfg_csv_table *table);
void dfg_csv_close(struct dfg_csv_table *table);
