#include "lib/exec/group/row_set.h"

#include "lib/base/mem.h"
#include "lib/graph/half.h"

#include <stdlib.h>
#include <string.h>

/* A set's buffer: the number of rows, the numbers, the values; each part is aligned. */
static size_t aligned(size_t bytes)
{
	return (bytes + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
}

static size_t row_bytes(const struct dfg_row_type *type)
{
	return type->width * dfg_dtype_size(type->dtype);
}

struct dfg_row_set dfg_row_set_of(const struct dfg_buffer *buffer)
{
	char *at = buffer->data;
	const size_t count = *(const size_t *)buffer->data;
	return (struct dfg_row_set){count, (int64_t *)(at + DFG_ALIGN), at + DFG_ALIGN + aligned(count * sizeof(int64_t))};
}

struct dfg_err *dfg_row_set_new(const struct dfg_row_type *type, size_t count, struct dfg_buffer **out_buffer)
{
	size_t values, bytes;
	if (count > SIZE_MAX / 16 || __builtin_mul_overflow(count, row_bytes(type), &values) ||
		__builtin_add_overflow(values, DFG_ALIGN + aligned(count * sizeof(int64_t)), &bytes))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu rows", count);
	DFG_TRY(dfg_buffer_new(DFG_U8, bytes, out_buffer));
	*(size_t *)(*out_buffer)->data = count;
	return NULL;
}

static char *value_at(const struct dfg_row_type *type, const struct dfg_row_set *set, size_t i)
{
	return (char *)set->value + i * row_bytes(type);
}

/* to += from; from is NULL: zeros, which turn -0 to 0. */
static void add_row(const struct dfg_row_type *type, void *to, const void *from)
{
	for (size_t e = 0; e < type->width; e++)
		if (type->dtype == DFG_F64)
			((double *)to)[e] += from ? ((const double *)from)[e] : 0.0;
		else
			((float *)to)[e] += from ? ((const float *)from)[e] : 0.0F;
}

/* The set of a gradient. */

/* A row's number, and its position in the gradient. */
struct numbered {
	int64_t number;
	size_t at;
};

static int by_number(const void *a, const void *b)
{
	const struct numbered *one = a, *two = b;
	if (one->number != two->number)
		return one->number < two->number ? -1 : 1;
	return (one->at > two->at) - (one->at < two->at);
}

static struct dfg_err *sort_numbers(
	const struct dfg_row_type *type, const struct dfg_tensor *indices, struct numbered *list, size_t count)
{
	bool sorted = true;
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct numbered){dfg_tensor_int(indices, (int64_t)i), i};
		if (list[i].number < 0 || list[i].number >= type->rows)
			return DFG_ERR(DFG_DATA, "a gradient has row number %lld, but the table has %lld rows",
				(long long)list[i].number, (long long)type->rows);
		sorted &= !i || list[i - 1].number <= list[i].number;
	}
	if (!sorted)
		qsort(list, count, sizeof *list, by_number);
	return NULL;
}

/* Converts row `at` of the gradient. */
static void copy_row(const struct dfg_row_type *type, void *to, const struct dfg_tensor *values, size_t at)
{
	const size_t bytes = row_bytes(type);
	if (dfg_is_half(values->dtype))
		dfg_convert(
			DFG_F32, to, values->dtype, (const char *)values->data + at * type->width * 2, (int64_t)type->width);
	else if (bytes)
		memcpy(to, (const char *)values->data + at * bytes, bytes);
	add_row(type, to, NULL);
}

/* `spare` has room for a row. */
static void fill_set(const struct dfg_row_type *type, const struct numbered *list, size_t count,
	const struct dfg_tensor *values, const struct dfg_row_set *set, void *spare)
{
	size_t row = 0;
	for (size_t i = 0; i < count; i++) {
		bool repeats = i && list[i].number == list[i - 1].number;
		row += i && !repeats;
		copy_row(type, repeats ? spare : value_at(type, set, row), values, list[i].at);
		if (repeats)
			add_row(type, value_at(type, set, row), spare);
		set->number[row] = list[i].number;
	}
}

static struct dfg_err *gather_sorted(const struct dfg_row_type *type, const struct numbered *list, size_t count,
	const struct dfg_tensor *values, struct dfg_buffer **out_buffer)
{
	size_t different = count != 0;
	for (size_t i = 1; i < count; i++)
		different += list[i].number != list[i - 1].number;
	void *spare = dfg_zeros(row_bytes(type) + 1, 1);
	struct dfg_err *err = spare ? dfg_row_set_new(type, different, out_buffer) : dfg_no_memory("a row");
	if (!err) {
		const struct dfg_row_set set = dfg_row_set_of(*out_buffer);
		fill_set(type, list, count, values, &set, spare);
	}
	dfg_free(spare);
	return err;
}

struct dfg_err *dfg_row_set_gather(const struct dfg_row_type *type, const struct dfg_tensor *indices,
	const struct dfg_tensor *values, struct dfg_buffer **out_buffer)
{
	const size_t count = (size_t)dfg_shape_count(&indices->shape);
	struct numbered *list = dfg_zeros(count + 1, sizeof *list);
	struct dfg_err *err = list ? sort_numbers(type, indices, list, count) : dfg_no_memory("the rows of a gradient");
	if (!err)
		err = gather_sorted(type, list, count, values, out_buffer);
	dfg_free(list);
	return err;
}

/* Sums. */

static size_t union_count(const struct dfg_row_set *left, const struct dfg_row_set *right)
{
	size_t a = 0, b = 0, count = 0;
	for (; a < left->count && b < right->count; count++) {
		const int64_t x = left->number[a], y = right->number[b];
		a += x <= y;
		b += y <= x;
	}
	return count + (left->count - a) + (right->count - b);
}

static void merge(const struct dfg_row_type *type, const struct dfg_row_set *left, const struct dfg_row_set *right,
	const struct dfg_row_set *to)
{
	size_t a = 0, b = 0;
	for (size_t i = 0; i < to->count; i++) {
		bool of_left = b == right->count || (a < left->count && left->number[a] <= right->number[b]);
		bool of_right = a == left->count || (b < right->count && right->number[b] <= left->number[a]);
		const struct dfg_row_set *first = of_left ? left : right;
		to->number[i] = first->number[of_left ? a : b];
		memcpy(value_at(type, to, i), value_at(type, first, of_left ? a : b), row_bytes(type));
		add_row(type, value_at(type, to, i), of_left && of_right ? value_at(type, right, b) : NULL);
		a += of_left;
		b += of_right;
	}
}

struct dfg_err *dfg_row_set_add(
	const struct dfg_row_type *type, struct dfg_buffer *left, struct dfg_buffer *right, struct dfg_buffer **out_buffer)
{
	const struct dfg_row_set a = dfg_row_set_of(left), b = dfg_row_set_of(right);
	struct dfg_err *err = dfg_row_set_new(type, union_count(&a, &b), out_buffer);
	if (!err) {
		const struct dfg_row_set to = dfg_row_set_of(*out_buffer);
		merge(type, &a, &b, &to);
	}
	dfg_buffer_unref(left);
	dfg_buffer_unref(right);
	return err;
}

struct dfg_err *dfg_row_set_join(
	const struct dfg_row_type *type, struct dfg_buffer *const *part, size_t parts, struct dfg_buffer **out_buffer)
{
	size_t count = 0, at = 0;
	for (size_t i = 0; i < parts; i++)
		count += dfg_row_set_of(part[i]).count;
	DFG_TRY(dfg_row_set_new(type, count, out_buffer));
	const struct dfg_row_set all = dfg_row_set_of(*out_buffer);
	for (size_t i = 0; i < parts; i++) {
		const struct dfg_row_set set = dfg_row_set_of(part[i]);
		memcpy(all.number + at, set.number, set.count * sizeof *set.number);
		memcpy(value_at(type, &all, at), set.value, set.count * row_bytes(type));
		at += set.count;
	}
	return NULL;
}

/* Messages: the number of rows in eight bytes; their numbers or marks, to a multiple of eight bytes; the values. */

enum { HEAD = 8 };

static size_t marks_bytes(int64_t length)
{
	return (size_t)(length + 63) / 64 * 8;
}

int64_t dfg_row_set_marked_from(int64_t length)
{
	return length > UINT32_MAX ? 0 : (int64_t)(marks_bytes(length) / sizeof(uint32_t)) + 1;
}

static bool is_marked(size_t count, int64_t length)
{
	return (int64_t)count >= dfg_row_set_marked_from(length);
}

/* Bytes of the numbers or the marks of `count` of `length` rows. */
static size_t names_bytes(size_t count, int64_t length)
{
	if ((int64_t)count == length)
		return 0;
	return is_marked(count, length) ? marks_bytes(length) : (count * sizeof(uint32_t) + 7) / 8 * 8;
}

static void put_names(const int64_t *number, size_t count, int64_t first, int64_t length, char *to)
{
	if ((int64_t)count == length)
		return;
	memset(to, 0, names_bytes(count, length));
	for (size_t i = 0; i < count; i++) {
		const uint64_t row = (uint64_t)(number[i] - first);
		const uint32_t word = (uint32_t)row;
		if (is_marked(count, length))
			to[row / 8] = (char)(to[row / 8] | 1 << row % 8);
		else
			memcpy(to + i * sizeof word, &word, sizeof word);
	}
}

/* The first of the set's rows whose number is at least that. */
static size_t lower_bound(const struct dfg_row_set *set, int64_t number)
{
	size_t low = 0, high = set->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->number[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct dfg_err *dfg_row_set_encode(const struct dfg_row_type *type, const struct dfg_buffer *buffer, int64_t first,
	int64_t length, struct dfg_tensor *out_message)
{
	const struct dfg_row_set set = dfg_row_set_of(buffer);
	const size_t from = lower_bound(&set, first), count = lower_bound(&set, first + length) - from;
	const size_t names = names_bytes(count, length), values = count * row_bytes(type);
	DFG_TRY(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)(HEAD + names + values)), out_message));
	char *at = out_message->data;
	const uint64_t head = count;
	memcpy(at, &head, HEAD);
	put_names(set.number + from, count, first, length, at + HEAD);
	if (values)
		memcpy(at + HEAD + names, value_at(type, &set, from), values);
	return NULL;
}

static void read_marks(const char *from, int64_t first, int64_t length, struct dfg_row_set *set)
{
	size_t count = 0;
	for (int64_t row = 0; row < length; row++)
		if (from[row / 8] >> row % 8 & 1) {
			if (count < set->count)
				set->number[count] = first + row;
			count++;
		}
	set->count = count;
}

static void read_numbers(const char *from, int64_t first, struct dfg_row_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		uint32_t word;
		memcpy(&word, from + i * sizeof word, sizeof word);
		set->number[i] = first + word;
	}
}

/* Reads the numbers of the rows; false if there are others, or not in this order. */
static bool read_names(const char *from, int64_t first, int64_t length, const struct dfg_row_set *set)
{
	struct dfg_row_set read = *set;
	if ((int64_t)set->count == length)
		for (size_t i = 0; i < set->count; i++)
			read.number[i] = first + (int64_t)i;
	else if (is_marked(set->count, length))
		read_marks(from, first, length, &read);
	else
		read_numbers(from, first, &read);
	for (size_t i = 0; i < set->count && read.count == set->count; i++)
		if (read.number[i] >= first + length || (i && read.number[i] <= read.number[i - 1]))
			return false;
	return read.count == set->count;
}

static struct dfg_err *wrong(const struct dfg_tensor *message)
{
	return DFG_ERR(DFG_PROTOCOL, "a message with rows of a sum is malformed: %s",
		dfg_type_words(message->dtype, &message->shape).s);
}

struct dfg_err *dfg_row_set_decode(const struct dfg_row_type *type, const struct dfg_tensor *message, int64_t first,
	int64_t length, struct dfg_buffer **out_buffer)
{
	const size_t bytes = message->dtype == DFG_U8 && message->shape.rank == 1 ? dfg_tensor_bytes(message) : 0;
	const char *at = message->data;
	uint64_t count = 0;
	if (bytes < HEAD)
		return wrong(message);
	memcpy(&count, at, HEAD);
	if (count > (uint64_t)length || count > SIZE_MAX / 16 / (row_bytes(type) + 1))
		return wrong(message);
	const size_t names = names_bytes(count, length), values = count * row_bytes(type);
	if (bytes != HEAD + names + values)
		return wrong(message);
	DFG_TRY(dfg_row_set_new(type, count, out_buffer));
	const struct dfg_row_set set = dfg_row_set_of(*out_buffer);
	if (values)
		memcpy(set.value, at + HEAD + names, values);
	if (read_names(at + HEAD, first, length, &set))
		return NULL;
	dfg_buffer_unref(*out_buffer);
	return wrong(message);
}
