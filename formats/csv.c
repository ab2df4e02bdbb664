#include "formats/csv.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cell {
	const char *s; /* without its quotes; a quote inside stands twice */
	size_t length;
	bool quoted;
};

struct scan {
	const char *at, *end;
	size_t line;
};

static void skip_empty_lines(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == '\n' || *scan->at == '\r')) {
		scan->line += *scan->at == '\n';
		scan->at++;
	}
}

static struct dfg_err *quoted_cell(struct scan *scan, struct cell *cell)
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
			return DFG_ERR(DFG_DATA, "line %zu: text behind a closing quote", scan->line);
		return NULL;
	}
	return DFG_ERR(DFG_DATA, "line %zu: the quote does not end", scan->line);
}

/* *out_last: it ends its row. To be called only before the end. */
static struct dfg_err *next_cell(struct scan *scan, struct cell *cell, bool *out_last)
{
	*cell = (struct cell){scan->at, 0, false};
	if (scan->at < scan->end && *scan->at == '"') {
		DFG_TRY(quoted_cell(scan, cell));
	} else {
		while (scan->at < scan->end && *scan->at != ',' && *scan->at != '\n' && *scan->at != '\r')
			scan->at++;
		cell->length = (size_t)(scan->at - cell->s);
	}
	*out_last = scan->at == scan->end || *scan->at != ',';
	if (*out_last)
		skip_empty_lines(scan);
	else
		scan->at++;
	return NULL;
}

/* A decimal number and nothing else but spaces around it; *out_whole where it is an integer of 64 bits. */
static bool read_number(const struct cell *cell, double *out_number, int64_t *out_integer, bool *out_whole)
{
	char word[64], *end;
	size_t length = cell->length, first = 0;
	while (first < length && cell->s[first] == ' ')
		first++;
	while (length > first && cell->s[length - 1] == ' ')
		length--;
	length -= first;
	if (!length || length >= sizeof word)
		return false;
	memcpy(word, cell->s + first, length);
	word[length] = '\0';
	if (strpbrk(word, "xX(") || strlen(word) != length)
		return false;
	*out_number = strtod(word, &end);
	if (*end)
		return false;
	errno = 0;
	*out_integer = strtoll(word, &end, 10);
	*out_whole = !*end && !errno;
	return true;
}

/* What one walk over the file finds out. */
struct table {
	const struct dfg_blob *blob;
	size_t rows, columns; /* rows without the names */
	bool named, quoted;   /* the first row are names; all cells have quotes */
	const char *begin;    /* of the first row of values */
	size_t line;          /* of that */
};

static struct scan scan_of(const struct dfg_blob *blob)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *s = (const char *)blob->bytes;
	struct scan scan = {s, s + blob->size, 1};
	if (blob->size >= 3 && !memcmp(s, mark, 3))
		scan.at += 3;
	skip_empty_lines(&scan);
	return scan;
}

static struct dfg_err *measure(const struct dfg_blob *blob, struct table *out_table)
{
	struct scan scan = scan_of(blob);
	struct table table = {.blob = blob, .named = true, .quoted = true, .begin = scan.at, .line = scan.line};
	for (size_t column = 0, line = scan.line; scan.at < scan.end || column;) {
		struct cell cell;
		bool last, whole;
		double number;
		int64_t integer;
		line = column ? line : scan.line;
		DFG_TRY(next_cell(&scan, &cell, &last));
		column++;
		table.quoted &= cell.quoted;
		if (!table.rows && read_number(&cell, &number, &integer, &whole))
			table.named = false;
		if (!last)
			continue;
		if (table.rows && column != table.columns)
			return DFG_ERR(DFG_DATA, "line %zu: %zu values, but %zu in the first line", line, column, table.columns);
		if (!table.rows++ && table.named) {
			table.begin = scan.at;
			table.line = scan.line;
		}
		table.columns = column;
		column = 0;
	}
	if (!table.rows)
		return DFG_ERR(DFG_DATA, "is empty");
	table.rows -= table.named;
	*out_table = table;
	return NULL;
}

/* Each cell of the rows of values, in order: of all columns, or of one. */
static struct dfg_err *each_cell(const struct table *table, size_t only,
	struct dfg_err *(*visit)(void *arg, const struct cell *cell, size_t i), void *arg)
{
	struct scan scan = {table->begin, (const char *)table->blob->bytes + table->blob->size, table->line};
	size_t i = 0;
	for (size_t row = 0; row < table->rows; row++) {
		size_t line = scan.line;
		for (size_t column = 0; column < table->columns; column++) {
			struct cell cell;
			bool last;
			DFG_TRY(next_cell(&scan, &cell, &last));
			if (only == SIZE_MAX || only == column)
				DFG_TRY(dfg_err_note(visit(arg, &cell, i++), "line %zu", line));
		}
	}
	return NULL;
}

struct fill {
	struct dfg_tensor tensor;
	bool whole, numbers; /* all are integers; all are numbers */
};

static struct dfg_err *look(void *arg, const struct cell *cell, size_t i)
{
	struct fill *fill = arg;
	double number;
	int64_t integer;
	bool whole = false;
	(void)i;
	if (!read_number(cell, &number, &integer, &whole))
		fill->numbers = false;
	fill->whole &= whole;
	return NULL;
}

static struct dfg_err *put_number(void *arg, const struct cell *cell, size_t i)
{
	struct fill *fill = arg;
	double number;
	int64_t integer;
	bool whole;
	if (!read_number(cell, &number, &integer, &whole)) {
		struct dfg_text text = {0};
		dfg_text_escape(&text, cell->s, cell->length, 40);
		struct dfg_err *err =
			DFG_ERR(DFG_DATA, "'%s' is no number (FILE[COLUMN] takes one column)", text.s ? text.s : "");
		dfg_text_release(&text);
		return err;
	}
	if (fill->whole)
		((int64_t *)fill->tensor.data)[i] = integer;
	else
		((double *)fill->tensor.data)[i] = number;
	return NULL;
}

static size_t unquote(const struct cell *cell, char *to)
{
	size_t length = 0;
	for (size_t i = 0; i < cell->length; i++) {
		to[length++] = cell->s[i];
		i += cell->quoted && cell->s[i] == '"';
	}
	return length;
}

static struct dfg_err *put_text(void *arg, const struct cell *cell, size_t i)
{
	struct fill *fill = arg;
	struct dfg_string *element = (struct dfg_string *)fill->tensor.data + i;
	DFG_TRY(dfg_buffer_string(fill->tensor.buffer, cell->s, cell->length, element));
	element->length = unquote(cell, (char *)element->s);
	return NULL;
}

static struct dfg_err *read_columns(const struct table *table, size_t only, struct dfg_tensor *out_tensor)
{
	struct fill fill = {.whole = true, .numbers = true};
	struct dfg_shape shape = DFG_SHAPE_VECTOR((int64_t)table->rows);
	if (only == SIZE_MAX && table->columns > 1)
		shape = (struct dfg_shape){2, {(int64_t)table->rows, (int64_t)table->columns}};
	DFG_TRY(each_cell(table, only, look, &fill));
	bool text = only == SIZE_MAX ? table->quoted : !fill.numbers;
	DFG_TRY(dfg_tensor_new(text ? DFG_STRING : fill.whole ? DFG_I64 : DFG_F64, &shape, &fill.tensor));
	struct dfg_err *err = each_cell(table, only, text ? put_text : put_number, &fill);
	if (err)
		dfg_tensor_release(&fill.tensor);
	*out_tensor = fill.tensor;
	return err;
}

static struct dfg_err *find_column(const struct table *table, const char *key, size_t *out_column)
{
	struct scan scan = scan_of(table->blob);
	char *end;
	for (size_t column = 0; table->named && column < table->columns; column++) {
		struct cell cell;
		bool last;
		DFG_TRY(next_cell(&scan, &cell, &last));
		if (cell.length == strlen(key) && !memcmp(cell.s, key, cell.length)) {
			*out_column = column;
			return NULL;
		}
	}
	unsigned long long number = strtoull(key, &end, 10);
	if (*end || *key < '0' || *key > '9' || number >= table->columns)
		return DFG_ERR(DFG_DATA, "no column '%s' among %zu", key, table->columns);
	*out_column = (size_t)number;
	return NULL;
}

struct dfg_err *dfg_csv_column(const struct dfg_blob *blob, const char *key, struct dfg_tensor *out_tensor)
{
	struct table table;
	size_t column;
	DFG_TRY(measure(blob, &table));
	DFG_TRY(find_column(&table, key, &column));
	return read_columns(&table, column, out_tensor);
}

/* Text: no control signs but those of lines and tabs. Asked last. */
static bool is_csv(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 4096; i++)
		if ((bytes[i] < 0x20 && !strchr("\t\r\n", bytes[i])) || !bytes[i] || bytes[i] == 0x7f)
			return false;
	return size > 0;
}

/* The same table with its first row a row of values. */
static struct table unnamed(const struct table *table)
{
	struct scan scan = scan_of(table->blob);
	struct table all = *table;
	all.begin = scan.at;
	all.line = scan.line;
	all.rows += all.named;
	all.named = false;
	return all;
}

static struct dfg_err *read_csv(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	struct table table;
	struct dfg_tensor tensor;
	(void)file;
	DFG_TRY(measure(blob, &table));
	if (table.quoted)
		table = unnamed(&table);
	DFG_TRY(read_columns(&table, SIZE_MAX, &tensor));
	return dfg_arrays_add(out_arrays, "", &tensor);
}

const struct dfg_array_codec dfg_csv = {"csv", ".csv", false, is_csv, read_csv, dfg_csv_write};
