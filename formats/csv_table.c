#include "formats/csv_table.h"

#include <ctype.h>
#include <string.h>

/* A line: names, the counts of scikit-learn, or values. */
struct line {
	size_t cells, missing, text, quoted;
	size_t numbers;   /* cells that are numbers without quotes: a quoted number may be a name */
	int64_t count[2]; /* the first two cells, if they are integers */
	bool counts;      /* whether it may be a line of counts, "150,4,setosa,versicolor": rows, columns - 1, then words */
};

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("the csv table");
}

/* Analyses the line at *scan, and moves to the next. */
static struct dfg_err *look_at_line(struct dfg_csv_scan *scan, struct line *out_line)
{
	struct line line = {.counts = true};
	for (bool last = false; !last; line.cells++) {
		struct dfg_csv_cell cell;
		DFG_TRY(dfg_csv_next(scan, &cell, &last));
		struct dfg_csv_number number = dfg_csv_number(&cell);
		bool integer = number.kind == DFG_CSV_INTEGER && !cell.quoted;
		line.numbers += number.kind > DFG_CSV_MISSING && !cell.quoted;
		line.missing += number.kind == DFG_CSV_MISSING;
		line.text += number.kind == DFG_CSV_TEXT;
		line.quoted += cell.quoted;
		line.counts &= integer == (line.cells < 2);
		if (integer && line.cells < 2)
			line.count[line.cells] = number.integer;
	}
	line.counts &= line.cells > 2 && line.numbers == 2;
	*out_line = line;
	return NULL;
}

/* Counts the rows from table->begin to the end; all must have table->columns values. */
static struct dfg_err *count_rows(struct dfg_csv_table *table)
{
	struct dfg_csv_scan scan = table->begin;
	table->rows = 0;
	table->quoted = true;
	while (scan.at < scan.end) {
		size_t cells = 0, line = scan.line;
		for (bool last = false; !last; cells++) {
			struct dfg_csv_cell cell;
			DFG_TRY(dfg_csv_next(&scan, &cell, &last));
			table->quoted &= cell.quoted;
		}
		if (cells != table->columns)
			return DFG_ERR(
				DFG_DATA, "line %zu: has %zu values, but the first line has %zu", line, cells, table->columns);
		table->rows++;
	}
	return NULL;
}

static struct dfg_err *read_names(struct dfg_csv_table *table, struct dfg_csv_scan scan)
{
	if (!(table->name = dfg_arena_zeros(&table->arena, table->columns, sizeof *table->name)))
		return no_memory();
	for (size_t i = 0; i < table->columns; i++) {
		struct dfg_csv_cell cell;
		bool last;
		DFG_TRY(dfg_csv_next(&scan, &cell, &last));
		char *name = dfg_arena_zeros(&table->arena, cell.length + 1, 1);
		if (!name)
			return no_memory();
		size_t length = dfg_csv_unquote(&cell, name);
		while (length && isspace((unsigned char)name[length - 1]))
			length--;
		name[length] = '\0';
		table->name[i] = name + strspn(name, " \t");
	}
	return NULL;
}

/* The line at scan contains names if it has no number; but a table whose cells are all quoted is text. */
static struct dfg_err *open_at(struct dfg_csv_scan scan, struct dfg_csv_table *table)
{
	struct line first;
	struct dfg_csv_scan after = scan;
	if (scan.at == scan.end)
		return DFG_ERR(DFG_DATA, "is empty");
	DFG_TRY(look_at_line(&after, &first));
	bool words = !first.numbers && first.missing < first.cells;
	table->columns = first.cells;
	table->begin = words ? after : scan;
	DFG_TRY(count_rows(table));
	if (!words)
		return NULL;
	if (first.quoted < first.cells || !table->quoted)
		return read_names(table, scan);
	table->begin = scan;
	table->rows++;
	return NULL;
}

void dfg_csv_close(struct dfg_csv_table *table)
{
	dfg_arena_release(&table->arena);
	*table = (struct dfg_csv_table){0};
}

/* Reads the names in a comment, as NumPy writes them: "# x,y". */
static struct dfg_err *read_comment(struct dfg_csv_table *table, struct dfg_csv_scan comment)
{
	struct line line;
	struct dfg_csv_scan after = comment;
	if (table->name || comment.at == comment.end)
		return NULL;
	struct dfg_err *err = look_at_line(&after, &line);
	bool names = !err && line.cells == table->columns && !line.numbers && !line.missing;
	dfg_err_free(err);
	return names ? read_names(table, comment) : NULL;
}

/* Whether the counts are right: the class names are in the line, or the classes are numbers and columns follow it. */
static struct dfg_err *counts_are_true(const struct line *line, const struct dfg_csv_table *table, bool *out_are)
{
	struct dfg_csv_scan scan = table->begin;
	struct line values = {0};
	if (table->rows)
		DFG_TRY(look_at_line(&scan, &values));
	*out_are = (line->text || table->name) && !values.text && line->count[0] == (int64_t)table->rows &&
			   line->count[1] == (int64_t)table->columns - 1;
	return NULL;
}

/* Opens the table after the first line if that is a line of scikit-learn's counts. */
static struct dfg_err *try_counts(struct dfg_csv_scan scan, struct dfg_csv_table *table, bool *out_is)
{
	struct line first;
	*out_is = false;
	DFG_TRY(look_at_line(&scan, &first));
	if (!first.counts)
		return NULL;
	struct dfg_err *err = open_at(scan, table);
	if (!err)
		err = counts_are_true(&first, table, out_is);
	if (err && err->code == DFG_DATA) {
		dfg_err_free(err);
		err = NULL;
	}
	if (!*out_is)
		dfg_csv_close(table);
	return err;
}

static bool is_comment(const struct dfg_csv_scan *scan)
{
	return scan->end - scan->at > 1 && scan->at[0] == '#' && strchr(" \t\r\n", scan->at[1]);
}

struct dfg_err *dfg_csv_open(const struct dfg_blob *blob, struct dfg_csv_table *table)
{
	struct dfg_csv_scan scan = dfg_csv_begin(blob), comment = {scan.end, scan.end, 0};
	bool counts;
	*table = (struct dfg_csv_table){0};
	while (is_comment(&scan)) {
		comment = scan;
		comment.at++;
		dfg_csv_skip_line(&scan);
	}
	if (scan.at == scan.end && comment.at < comment.end)
		return DFG_ERR(DFG_DATA, "contains only comments");
	if (scan.at < scan.end) {
		DFG_TRY(try_counts(scan, table, &counts));
		if (counts)
			return NULL;
	}
	DFG_TRY(open_at(scan, table));
	return read_comment(table, comment);
}
