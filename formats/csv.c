#include "formats/csv.h"

#include "formats/csv_table.h"
#include "lib/base/map.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHOWN = 40,
	ARRAYS_MOST =
		1 << 16, /* maximal number of columns of a table with text: an array needs more memory than a column */
};

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("the csv table");
}

/* The chosen columns of a table in order; duplicates are possible. */
struct choice {
	size_t *column, n, capacity;
	bool matrix; /* whether a list was requested, possibly with one item */
};

static struct dfg_err *choose(struct choice *choice, size_t column)
{
	if (!dfg_reserve(&choice->column, &choice->capacity, choice->n + 1, sizeof *choice->column))
		return no_memory();
	choice->column[choice->n++] = column;
	return NULL;
}

/* Called for each cell of the chosen columns, row by row, with its index among them and its line. */
typedef struct dfg_err *visit_fn(void *arg, const struct dfg_csv_cell *cell, size_t i, size_t line);
static struct dfg_err *each_cell(
	const struct dfg_csv_table *table, const struct choice *choice, visit_fn *visit, void *arg)
{
	struct dfg_csv_scan scan = table->begin;
	struct dfg_csv_cell *cell = dfg_zeros(table->columns, sizeof *cell);
	struct dfg_err *err = cell ? NULL : no_memory();
	bool last;
	for (size_t row = 0; row < table->rows && !err; row++) {
		size_t line = scan.line;
		for (size_t column = 0; column < table->columns && !err; column++)
			err = dfg_csv_next(&scan, &cell[column], &last);
		for (size_t k = 0; k < choice->n && !err; k++)
			err = visit(arg, &cell[choice->column[k]], row * choice->n + k, line);
	}
	dfg_free(cell);
	return err;
}

/* The kinds of cells in one column. */
struct content {
	bool number, real; /* whether some are numbers, or reals; a missing value makes integers reals */
	bool word;         /* whether a missing value is a word, which is text if no other cell is a number */
	bool text;
};

struct fill {
	size_t columns;
	struct content *content;   /* by chosen column */
	struct dfg_tensor *tensor; /* one per column, or a single one */
	bool each;                 /* whether each column has its own tensor */
};

static struct dfg_err *look_at_cell(void *arg, const struct dfg_csv_cell *cell, size_t i, size_t line)
{
	struct fill *fill = arg;
	struct content *content = &fill->content[i % fill->columns];
	struct dfg_csv_number number = dfg_csv_number(cell);
	(void)line;
	content->number |= number.kind > DFG_CSV_MISSING;
	content->real |= number.kind != DFG_CSV_INTEGER;
	content->word |= number.kind == DFG_CSV_MISSING && cell->length;
	content->text |= number.kind == DFG_CSV_TEXT;
	return NULL;
}

static struct dfg_err *put_cell(void *arg, const struct dfg_csv_cell *cell, size_t i, size_t line)
{
	struct fill *fill = arg;
	struct dfg_tensor *tensor = &fill->tensor[fill->each ? i % fill->columns : 0];
	void *element = dfg_tensor_at(tensor, (int64_t)(fill->each ? i / fill->columns : i));
	(void)line;
	if (tensor->dtype == DFG_STRING) {
		struct dfg_string *string = element;
		DFG_TRY(dfg_buffer_string(tensor->buffer, cell->s, cell->length, string));
		string->length = dfg_csv_unquote(cell, (char *)string->s);
	} else if (tensor->dtype == DFG_I64) {
		*(int64_t *)element = dfg_csv_number(cell).integer;
	} else {
		*(double *)element = dfg_csv_number(cell).real;
	}
	return NULL;
}

static bool is_text(const struct content *content)
{
	return content->text || (content->word && !content->number);
}

static void put_column(struct dfg_text *text, const struct dfg_csv_table *table, size_t column)
{
	if (table->name && *table->name[column])
		dfg_text_escape(text, table->name[column], strlen(table->name[column]), SHOWN);
	else
		dfg_text_add(text, "%zu", column);
}

/* Returns an error for the first cell that is not a number. */
static struct dfg_err *refuse_text(void *arg, const struct dfg_csv_cell *cell, size_t i, size_t line)
{
	struct dfg_text text = {0};
	(void)arg, (void)i;
	if (dfg_csv_number(cell).kind > DFG_CSV_MISSING || !cell->length)
		return NULL;
	dfg_text_escape(&text, cell->s, cell->length, SHOWN);
	struct dfg_err *err = DFG_ERR(DFG_DATA, "line %zu: '%s'", line, text.s ? text.s : "");
	dfg_text_release(&text);
	return err;
}

/* Some columns are text and others are not: one array cannot hold them. */
static struct dfg_err *mixed(
	const struct dfg_csv_table *table, const struct choice *choice, const struct content *content)
{
	struct dfg_text words = {0}, numbers = {0};
	size_t text = 0, listed = 0;
	while (!is_text(&content[text]))
		text++;
	for (size_t k = 0; k < choice->n && listed < 3; k++)
		if (!is_text(&content[k])) {
			dfg_text_put(&numbers, ",", listed++ > 0);
			put_column(&numbers, table, choice->column[k]);
		}
	put_column(&words, table, choice->column[text]);
	const struct choice one = {.column = &choice->column[text], .n = 1};
	struct dfg_err *first = each_cell(table, &one, refuse_text, NULL);
	struct dfg_err *err =
		DFG_ERR(DFG_DATA, "%s in column '%s' is not a number: FILE[COLUMN,...] chooses columns, such as [%s]",
			first ? first->text : "text", words.s ? words.s : "", numbers.s ? numbers.s : "");
	dfg_err_free(first);
	dfg_text_release(&words);
	dfg_text_release(&numbers);
	return err;
}

static enum dfg_dtype dtype_of(const struct content *content, size_t n)
{
	bool text = false, real = false, number = !n;
	for (size_t k = 0; k < n; k++) {
		text |= is_text(&content[k]);
		number |= !is_text(&content[k]);
		real |= content[k].real;
	}
	return text && number ? DFG_NO_DTYPE : text ? DFG_STRING : real ? DFG_F64 : DFG_I64;
}

/* Determines the content of the chosen columns; the caller frees fill->content. */
static struct dfg_err *look_at(const struct dfg_csv_table *table, const struct choice *choice, struct fill *fill)
{
	*fill = (struct fill){.columns = choice->n, .content = dfg_zeros(choice->n, sizeof *fill->content)};
	return fill->content ? each_cell(table, choice, look_at_cell, fill) : no_memory();
}

static struct dfg_err *read_choice(
	const struct dfg_csv_table *table, const struct choice *choice, bool text, struct dfg_tensor *out_tensor)
{
	struct fill fill;
	struct dfg_shape shape = DFG_SHAPE_VECTOR((int64_t)table->rows);
	if (choice->matrix)
		shape = (struct dfg_shape){2, {(int64_t)table->rows, (int64_t)choice->n}};
	struct dfg_err *err = look_at(table, choice, &fill);
	enum dfg_dtype dtype = err ? DFG_NO_DTYPE : text ? DFG_STRING : dtype_of(fill.content, choice->n);
	if (!err && !dtype)
		err = mixed(table, choice, fill.content);
	if (!err)
		err = dfg_tensor_new(dtype, &shape, out_tensor);
	if (!err) {
		fill.tensor = out_tensor;
		err = each_cell(table, choice, put_cell, &fill);
		if (err)
			dfg_tensor_release(out_tensor);
	}
	dfg_free(fill.content);
	return err;
}

/* Finds a column by its name, or else its number; DFG_DATA if there is none, without a suggestion in a list. */
static struct dfg_err *find_column(const struct dfg_csv_table *table, const char *key, size_t *out_column)
{
	struct dfg_nearest nearest = {.word = key};
	char *end;
	size_t found = 0;
	for (size_t i = 0; table->name && i < table->columns; i++) {
		if (!strcmp(table->name[i], key) && !found++)
			*out_column = i;
		dfg_nearest_offer(&nearest, table->name[i]);
	}
	if (found > 1)
		return DFG_ERR(DFG_DATA, "%zu columns are named '%s': give a number, such as [%zu]", found, key, *out_column);
	unsigned long long number = strtoull(key, &end, 10);
	if (found || (!*end && isdigit((unsigned char)*key) && number < table->columns)) {
		*out_column = found ? *out_column : (size_t)number;
		return NULL;
	}
	if (!table->name)
		return DFG_ERR(DFG_DATA, "no column '%s': the columns have no names; give a number from 0 to %zu", key,
			table->columns - 1);
	return DFG_ERR(DFG_DATA, "no column '%s'; %s '%s'%s", key, nearest.best ? "did you mean" : "the first is",
		nearest.best ? nearest.best : table->name[0], nearest.best ? "?" : "");
}

/* Parses a range: "2:5" is 2, 3, 4; ":3" begins at 0, and "3:" ends with the last column. */
static bool is_range(const struct dfg_csv_table *table, const char *key, size_t *out_first, size_t *out_end)
{
	char *at = (char *)key;
	*out_first = 0;
	*out_end = table->columns;
	if (isdigit((unsigned char)*at))
		*out_first = strtoull(at, &at, 10);
	if (*at++ != ':')
		return false;
	if (isdigit((unsigned char)*at))
		*out_end = strtoull(at, &at, 10);
	return !*at;
}

static struct dfg_err *choose_item(const struct dfg_csv_table *table, const char *key, struct choice *choice)
{
	size_t column, first, end;
	struct dfg_err *err = find_column(table, key, &column);
	if (!err || err->code != DFG_DATA || !is_range(table, key, &first, &end))
		return err ? err : choose(choice, column);
	dfg_err_free(err);
	if (first >= end || end > table->columns)
		return DFG_ERR(DFG_DATA, "'%s' is not a range of the %zu columns, which are 0 to %zu", key, table->columns,
			table->columns - 1);
	while (first < end)
		DFG_TRY(choose(choice, first++));
	return NULL;
}

/* Parses "age", "3", or a list "age,3,5:9", in place. */
static struct dfg_err *choose_key(const struct dfg_csv_table *table, char *key, struct choice *choice)
{
	size_t column;
	struct dfg_err *err = find_column(table, key, &column);
	if (!err)
		return choose(choice, column);
	if (err->code != DFG_DATA || !strpbrk(key, ",:"))
		return err;
	dfg_err_free(err);
	choice->matrix = true;
	for (char *item = key, *comma = key; comma; item = comma + 1) {
		comma = strchr(item, ',');
		if (comma)
			*comma = '\0';
		DFG_TRY(choose_item(table, item, choice));
	}
	return NULL;
}

static struct dfg_err *choose_all(const struct dfg_csv_table *table, struct choice *choice)
{
	choice->matrix = table->columns > 1;
	for (size_t i = 0; i < table->columns; i++)
		DFG_TRY(choose(choice, i));
	return NULL;
}

struct dfg_err *dfg_csv_read(const struct dfg_blob *blob, char *key, struct dfg_tensor *out_tensor)
{
	struct dfg_csv_table table;
	struct choice choice = {0};
	struct dfg_err *err = dfg_csv_open(blob, &table);
	if (!err)
		err = key ? choose_key(&table, key, &choice) : choose_all(&table, &choice);
	if (!err)
		err = read_choice(&table, &choice, !key && table.rows && table.quoted, out_tensor);
	dfg_free(choice.column);
	dfg_csv_close(&table);
	return err;
}

/* Whether it is text: without control characters other than line ends and tabs. Called last. */
static bool is_csv(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 4096; i++)
		if ((bytes[i] < 0x20 && !strchr("\t\r\n", bytes[i])) || !bytes[i] || bytes[i] == 0x7f)
			return false;
	return size > 0;
}

static struct dfg_err *add_column(
	const struct dfg_csv_table *table, size_t column, struct dfg_tensor *tensor, struct dfg_arrays *out_arrays)
{
	struct dfg_text number = {0};
	bool named = table->name && *table->name[column];
	if (!named)
		dfg_text_add(&number, "%zu", column);
	struct dfg_err *err = dfg_text_check(&number);
	if (!err)
		err = dfg_arrays_add(out_arrays, named ? table->name[column] : number.s, tensor);
	dfg_text_release(&number);
	return err;
}

/* Adds an array for each column, by its name or number. */
static struct dfg_err *add_columns(
	const struct dfg_csv_table *table, const struct choice *all, struct fill *fill, struct dfg_arrays *out_arrays)
{
	const struct dfg_shape shape = DFG_SHAPE_VECTOR((int64_t)table->rows);
	struct dfg_err *err = NULL;
	fill->each = true;
	fill->tensor = dfg_zeros(table->columns, sizeof *fill->tensor);
	if (!fill->tensor)
		return no_memory();
	for (size_t i = 0; i < table->columns && !err; i++)
		err = dfg_tensor_new(dtype_of(&fill->content[i], 1), &shape, &fill->tensor[i]);
	if (!err)
		err = each_cell(table, all, put_cell, fill);
	for (size_t i = 0; i < table->columns && !err; i++)
		err = add_column(table, i, &fill->tensor[i], out_arrays);
	for (size_t i = 0; i < table->columns; i++)
		dfg_tensor_release(&fill->tensor[i]);
	dfg_free(fill->tensor);
	return err;
}

/* Adds one array if all columns are numbers, or all are text; else one per column. */
static struct dfg_err *add_table(
	const struct dfg_csv_table *table, const struct choice *all, struct dfg_arrays *out_arrays)
{
	struct fill fill;
	struct dfg_tensor tensor;
	bool text = table->rows && table->quoted;
	struct dfg_err *err = look_at(table, all, &fill);
	bool each = !err && !text && !dtype_of(fill.content, all->n) && all->n <= ARRAYS_MOST;
	if (each)
		err = add_columns(table, all, &fill, out_arrays);
	dfg_free(fill.content);
	if (err || each)
		return err;
	DFG_TRY(read_choice(table, all, text, &tensor));
	return dfg_arrays_add(out_arrays, "", &tensor);
}

static struct dfg_err *read_csv(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	struct dfg_csv_table table;
	struct choice all = {0};
	(void)file;
	struct dfg_err *err = dfg_csv_open(blob, &table);
	if (!err)
		err = choose_all(&table, &all);
	if (!err)
		err = add_table(&table, &all, out_arrays);
	dfg_free(all.column);
	dfg_csv_close(&table);
	return err;
}

const struct dfg_array_codec dfg_csv = {
	.name = "csv", .suffix = ".csv", .many = true, .is = is_csv, .read = read_csv, .write = dfg_csv_write};
