/* The entries of a lookup table from the lines of a text file: a vocabulary. */
#include "kernels/number_text.h"
#include "kernels/shape_rules.h"
#include "kernels/table.h"
#include "lib/base/io.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_INDEX, VALUE_INDEX, VOCAB_SIZE, DELIMITER, OFFSET };

/* A key or value is a column of its line, by number, or one of these. */
enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

struct vocabulary {
	const char *path;
	struct dfg_blob blob;
	int64_t key_index, value_index, lines; /* lines to read, after the first `offset` */
	int64_t offset;
	char delimiter;
};

/* The next line, without its end (\n or \r\n); false: there are no more. */
static bool next_line(const struct vocabulary *vocabulary, size_t *at, struct dfg_string *out_line)
{
	const char *s = (const char *)vocabulary->blob.bytes + *at;
	size_t left = vocabulary->blob.size - *at;
	if (!left)
		return false;
	const char *end = memchr(s, '\n', left);
	size_t length = end ? (size_t)(end - s) : left;
	*at += length + (end != NULL);
	*out_line = (struct dfg_string){s, length && s[length - 1] == '\r' ? length - 1 : length};
	return true;
}

static bool column_of(struct dfg_string line, char delimiter, int64_t column, struct dfg_string *out_text)
{
	for (;; column--) {
		const char *end = memchr(line.s, delimiter, line.length);
		size_t length = end ? (size_t)(end - line.s) : line.length;
		if (!column) {
			*out_text = (struct dfg_string){line.s, length};
			return true;
		}
		if (!end)
			return false;
		line = (struct dfg_string){end + 1, line.length - length - 1};
	}
}

/* Sets entry k of the tensor, a vector. */
static struct dfg_err *set_entry(
	const struct vocabulary *vocabulary, struct dfg_string line, int64_t index, int64_t k, struct dfg_tensor *tensor)
{
	const int64_t number = k + vocabulary->offset + 1;
	struct dfg_string text = line;
	if (index == LINE_NUMBER) {
		((int64_t *)tensor->data)[k] = k;
		return NULL;
	}
	if (index >= 0 && !column_of(line, vocabulary->delimiter, index, &text))
		return DFG_ERR(DFG_DATA, "%s: line %" PRId64 " has no column %" PRId64, vocabulary->path, number, index);
	if (tensor->dtype == DFG_STRING)
		return dfg_buffer_string(tensor->buffer, text.s, text.length, (struct dfg_string *)tensor->data + k);
	if (!dfg_read_number(text, tensor->dtype, dfg_tensor_at(tensor, k)))
		return DFG_ERR(DFG_DATA, "%s: line %" PRId64 ": '%.*s' is not a valid %s", vocabulary->path, number,
			(int)(text.length > 40 ? 40 : text.length), text.s, dfg_dtype_name(tensor->dtype));
	return NULL;
}

static struct dfg_err *read_lines(
	const struct vocabulary *vocabulary, struct dfg_tensor *keys, struct dfg_tensor *values)
{
	struct dfg_string line;
	size_t at = 0;
	for (int64_t l = 0; l < vocabulary->offset; l++)
		(void)next_line(vocabulary, &at, &line);
	for (int64_t k = 0; k < vocabulary->lines && next_line(vocabulary, &at, &line); k++) {
		DFG_TRY(set_entry(vocabulary, line, vocabulary->key_index, k, keys));
		DFG_TRY(set_entry(vocabulary, line, vocabulary->value_index, k, values));
	}
	return NULL;
}

/* Sets the number of lines to read; DFG_DATA if the file has fewer than vocab_size. */
static struct dfg_err *count_lines(struct vocabulary *vocabulary, int64_t vocab_size)
{
	struct dfg_string line;
	size_t at = 0;
	int64_t lines = 0;
	while (next_line(vocabulary, &at, &line))
		lines++;
	if (lines < vocabulary->offset)
		return DFG_ERR(DFG_DATA, "%s: it has %" PRId64 " lines, fewer than offset %" PRId64, vocabulary->path, lines,
			vocabulary->offset);
	lines -= vocabulary->offset;
	if (lines < vocab_size)
		return DFG_ERR(DFG_DATA, "%s: it has %" PRId64 " entries, fewer than vocab_size %" PRId64, vocabulary->path,
			lines, vocab_size);
	vocabulary->lines = vocab_size < 0 ? lines : vocab_size;
	return NULL;
}

static struct dfg_err *check_index(const char *what, int64_t index, enum dfg_dtype dtype)
{
	if (index == LINE_NUMBER && dtype != DFG_I64)
		return DFG_ERR(DFG_DATA, "%ss are line numbers, so the lookup table must have %ss of i64, not %s", what, what,
			dfg_dtype_name(dtype));
	if (index == WHOLE_LINE && dtype != DFG_STRING)
		return DFG_ERR(DFG_DATA, "%ss are whole lines, so the lookup table must have %ss of string, not %s", what, what,
			dfg_dtype_name(dtype));
	const uint64_t readable = UINT64_C(1) << DFG_STRING | UINT64_C(1) << DFG_I32 | UINT64_C(1) << DFG_I64 |
							  UINT64_C(1) << DFG_F32 | UINT64_C(1) << DFG_F64;
	if (!(readable >> dtype & 1))
		return DFG_ERR(DFG_DATA, "%ss of the lookup table are %s, which cannot be read from a text file", what,
			dfg_dtype_name(dtype));
	return NULL;
}

static struct dfg_err *file_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds = node->in_holds[0];
	const union dfg_value *attr = node->call->attr;
	if (attr[DELIMITER].s.length != 1)
		return DFG_ERR(DFG_DATA, "delimiter has %zu bytes, expected one", attr[DELIMITER].s.length);
	if (attr[VOCAB_SIZE].i < -1 || !attr[VOCAB_SIZE].i)
		return DFG_ERR(DFG_DATA, "vocab_size is %" PRId64 ", expected -1 for all lines, or the number of entries",
			attr[VOCAB_SIZE].i);
	if (attr[OFFSET].i < 0)
		return DFG_ERR(DFG_DATA, "offset is %" PRId64 ", expected at least 0", attr[OFFSET].i);
	DFG_TRY(dfg_need_rank(node, 1, 0));
	if (!holds)
		return NULL;
	if (!holds->component || !holds->dtype)
		return DFG_ERR(DFG_DATA, "input 0 is the handle of another object, expected that of a lookup table");
	DFG_TRY(check_index("key", attr[KEY_INDEX].i, holds->component->item[0].dtype));
	return check_index("value", attr[VALUE_INDEX].i, holds->dtype);
}

static struct dfg_err *fill(struct dfg_table *table, struct vocabulary *vocabulary, int64_t vocab_size)
{
	struct dfg_tensor keys = {0}, values = {0};
	DFG_TRY(count_lines(vocabulary, vocab_size));
	const struct dfg_shape shape = {.rank = 1, .dim = {vocabulary->lines}};
	struct dfg_err *err = dfg_tensor_new(table->key.dtype, &shape, &keys);
	if (!err)
		err = dfg_tensor_new(table->value.dtype, &shape, &values);
	if (!err)
		err = read_lines(vocabulary, &keys, &values);
	if (!err) {
		pthread_rwlock_wrlock(&table->lock);
		err = dfg_err_note(dfg_table_initialise(table, &keys, &values, vocabulary->lines), "%s", vocabulary->path);
		pthread_rwlock_unlock(&table->lock);
	}
	dfg_tensor_release(&keys);
	dfg_tensor_release(&values);
	return err;
}

static struct dfg_err *check_table(const struct dfg_table *table, const union dfg_value *attr)
{
	if (table->form != DFG_TABLE_CONSTANT)
		return DFG_ERR(
			DFG_DATA, "lookup table '%s' is mutable: only a HashTable is read from a file", table->resource.name);
	DFG_TRY(check_index("key", attr[KEY_INDEX].i, table->key.dtype));
	return check_index("value", attr[VALUE_INDEX].i, table->value.dtype);
}

static struct dfg_err *file_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_tensor *name = dfg_kernel_input(ctx, 1);
	struct dfg_table *table;
	struct dfg_text path = {0};
	DFG_TRY(dfg_object_in(ctx, 0, dfg_table_kind, &table));
	DFG_TRY(check_table(table, attr));
	if (name->shape.rank)
		return DFG_ERR(DFG_DATA, "filename has shape %s, expected a scalar", dfg_shape_words(&name->shape).s);
	const struct dfg_string *file = name->data;
	dfg_text_put(&path, file->s, file->length);
	struct dfg_err *err = dfg_text_check(&path);
	struct vocabulary vocabulary = {
		.path = path.s,
		.key_index = attr[KEY_INDEX].i,
		.value_index = attr[VALUE_INDEX].i,
		.delimiter = attr[DELIMITER].s.s[0],
		.offset = attr[OFFSET].i,
	};
	if (!err && (!file->length || memchr(file->s, '\0', file->length)))
		err = DFG_ERR(DFG_DATA, "filename is empty, or has a zero byte");
	if (!err)
		err = dfg_blob_open_plain(path.s, 0, &vocabulary.blob);
	if (!err)
		err = fill(table, &vocabulary, attr[VOCAB_SIZE].i);
	dfg_blob_close(&vocabulary.blob);
	dfg_text_release(&path);
	return err;
}

const struct dfg_op dfg_op_InitializeTableFromTextFileV2 = {
	.name = "InitializeTableFromTextFileV2",
	.doc =
		"gives a constant lookup table an entry for each line of a file: columns, line numbers (-1), whole lines (-2)",
	.sig = "(table_handle: resource, filename: string) -> ()",
	.attr = {[KEY_INDEX] = "key_index: int >= -2",
		[VALUE_INDEX] = "value_index: int >= -2",
		[VOCAB_SIZE] = "vocab_size: int = -1",
		[DELIMITER] = "delimiter: string = '\t'",
		[OFFSET] = "offset: int = 0"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.means = DFG_MEANS_TABLE_ENTRIES,
	.shape = file_shape,
	.run = file_run,
};
