#pragma once

#include "lib/base/io.h"

#include <stddef.h>

/* The cells of a csv file in order, as in RFC 4180: commas, quotes, lines. Nothing is copied. */

/* A cell; borrows from the file. */
struct dfg_csv_cell {
	const char *s; /* text without the enclosing quotes; a quote inside is doubled */
	size_t length;
	bool quoted;
};

struct dfg_csv_scan {
	const char *at, *end;
	size_t line; /* line number of `at`, from 1 */
};

/* Starts at the first non-empty line, after a byte order mark. */
struct dfg_csv_scan dfg_csv_begin(const struct dfg_blob *blob);

/*
 * Reads the cell at scan->at and moves to the next; *out_last: it is the last of its row. Must not be called at the
 * end. DFG_DATA if quotes are malformed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_csv_next(struct dfg_csv_scan *scan, struct dfg_csv_cell *out_cell, bool *out_last);

/* Moves to the next non-empty line. */
void dfg_csv_skip_line(struct dfg_csv_scan *scan);

/* Parses a cell as a number: i64 if it is written as a 64-bit integer, else f64. */
enum dfg_csv_kind { DFG_CSV_TEXT, DFG_CSV_MISSING, DFG_CSV_REAL, DFG_CSV_INTEGER };
struct dfg_csv_number {
	enum dfg_csv_kind kind; /* DFG_CSV_MISSING: empty, or a word such as NA; real is nan */
	double real;            /* valid for all kinds except text */
	int64_t integer;        /* valid for DFG_CSV_INTEGER */
};
struct dfg_csv_number dfg_csv_number(const struct dfg_csv_cell *cell);

/*
 * Copies the cell's bytes, with doubled quotes reduced to one, to a buffer of at least cell->length bytes; returns the
 * number copied.
 */
size_t dfg_csv_unquote(const struct dfg_csv_cell *cell, char *to);
