#pragma once

#include "lib/base/io.h"

#include <stddef.h>

/* The cells of a csv file, one after another, as RFC 4180 has them: commas, quotes, lines. Nothing is copied. */

/* Borrows from the file. */
struct dfg_csv_cell {
	const char *s; /* without its quotes; a quote inside is doubled */
	size_t length;
	bool quoted;
};

struct dfg_csv_scan {
	const char *at, *end;
	size_t line; /* of `at`, from 1 */
};

/* At the first line that is not empty, after a byte order mark. */
struct dfg_csv_scan dfg_csv_begin(const struct dfg_blob *blob);

/*
 * The cell at scan->at, which moves to the next; *out_last: it ends its row. To be called only before the end. DFG_DATA
 * where quotes are wrong.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_next(struct dfg_csv_scan *scan, struct dfg_csv_cell *out_cell, bool *out_last);

/* Moves to the next line that is not empty. */
void dfg_csv_skip_line(struct dfg_csv_scan *scan);

/* A cell as a number: i64 where it is written as an integer of 64 bits, else f64. */
enum dfg_csv_kind { DFG_CSV_TEXT, DFG_CSV_MISSING, DFG_CSV_REAL, DFG_CSV_INTEGER };
struct dfg_csv_number {
	enum dfg_csv_kind kind; /* DFG_CSV_MISSING: nothing, or a word such as NA that says so; real is nan */
	double real;            /* of any kind but text */
	int64_t integer;        /* of DFG_CSV_INTEGER */
};
struct dfg_csv_number dfg_csv_number(const struct dfg_csv_cell *cell);

/* Copies the cell's bytes, single quotes for doubled ones, to a place with room for cell->length; returns how many. */
size_t dfg_csv_unquote(const struct dfg_csv_cell *cell, char *to);
