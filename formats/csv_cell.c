#include "formats/csv_cell.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void skip_empty_lines(struct dfg_csv_scan *scan)
{
	while (scan->at < scan->end && (*scan->at == '\n' || *scan->at == '\r')) {
		scan->line += *scan->at == '\n';
		scan->at++;
	}
}

struct dfg_csv_scan dfg_csv_begin(const struct dfg_blob *blob)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *s = (const char *)blob->bytes;
	struct dfg_csv_scan scan = {s, s + blob->size, 1};
	if (blob->size >= 3 && !memcmp(s, mark, 3))
		scan.at += 3;
	skip_empty_lines(&scan);
	return scan;
}

void dfg_csv_skip_line(struct dfg_csv_scan *scan)
{
	while (scan->at < scan->end && *scan->at != '\n' && *scan->at != '\r')
		scan->at++;
	skip_empty_lines(scan);
}

static struct dfg_err *quoted_cell(struct dfg_csv_scan *scan, struct dfg_csv_cell *cell)
{
	size_t line = scan->line;
	cell->s = ++scan->at;
	cell->quoted = true;
	for (; scan->at < scan->end; scan->at++) {
		line += *scan->at == '\n';
		if (*scan->at != '"')
			continue;
		if (scan->at + 1 < scan->end && scan->at[1] == '"') {
			scan->at++;
			continue;
		}
		cell->length = (size_t)(scan->at++ - cell->s);
		scan->line = line;
		if (scan->at < scan->end && !strchr(",\r\n", *scan->at))
			return DFG_ERR(DFG_DATA, "line %zu: text after a closing quote", scan->line);
		return NULL;
	}
	return DFG_ERR(DFG_DATA, "line %zu: the quote is not closed", scan->line);
}

struct dfg_err *dfg_csv_next(struct dfg_csv_scan *scan, struct dfg_csv_cell *out_cell, bool *out_last)
{
	*out_cell = (struct dfg_csv_cell){scan->at, 0, false};
	if (scan->at < scan->end && *scan->at == '"') {
		DFG_TRY(quoted_cell(scan, out_cell));
	} else {
		while (scan->at < scan->end && *scan->at != ',' && *scan->at != '\n' && *scan->at != '\r')
			scan->at++;
		out_cell->length = (size_t)(scan->at - out_cell->s);
	}
	*out_last = scan->at == scan->end || *scan->at != ',';
	if (*out_last)
		skip_empty_lines(scan);
	else
		scan->at++;
	return NULL;
}

/* Copies the cell without surrounding spaces, terminated by 0; false if it does not fit. */
static bool word_of(const struct dfg_csv_cell *cell, char *word, size_t capacity)
{
	size_t length = cell->length, first = 0;
	while (first < length && cell->s[first] == ' ')
		first++;
	while (length > first && cell->s[length - 1] == ' ')
		length--;
	length -= first;
	if (length >= capacity || memchr(cell->s + first, '\0', length))
		return false;
	memcpy(word, cell->s + first, length);
	word[length] = '\0';
	return true;
}

static bool is_missing(const char *word)
{
	static const char *const missing[] = {
		"", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "null", "NULL", "Null", "None", "?"};
	if (*word && !strchr("Nn<#?", *word))
		return false;
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (!strcmp(word, missing[i]))
			return true;
	return false;
}

struct dfg_csv_number dfg_csv_number(const struct dfg_csv_cell *cell)
{
	struct dfg_csv_number number = {.kind = DFG_CSV_TEXT};
	char word[64], *end;
	if (!word_of(cell, word, sizeof word))
		return number;
	if (is_missing(word))
		return (struct dfg_csv_number){DFG_CSV_MISSING, NAN, 0};
	number.real = strtod(word, &end);
	if (*end || strpbrk(word, "xX("))
		return number;
	errno = 0;
	number.integer = strtoll(word, &end, 10);
	number.kind = !*end && !errno ? DFG_CSV_INTEGER : DFG_CSV_REAL;
	return number;
}

size_t dfg_csv_unquote(const struct dfg_csv_cell *cell, char *to)
{
	size_t length = 0;
	for (size_t i = 0; i < cell->length; i++) {
		to[length++] = cell->s[i];
		i += cell->quoted && cell->s[i] == '"';
	}
	return length;
}
