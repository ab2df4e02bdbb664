#include "tests/unit/test.h"

#include "lib/exec/group/row_set.h"

#include <math.h>

/* Sets of rows, which are sums over shards of gradients that have few rows of a table. */

static const struct dfg_row_type pairs = {.dtype = DFG_F32, .width = 2, .rows = 100};

static struct dfg_tensor tensor_of(enum dfg_dtype dtype, struct dfg_shape shape, const void *data)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(dtype, &shape, &tensor));
	if (dfg_tensor_bytes(&tensor))
		memcpy(tensor.data, data, dfg_tensor_bytes(&tensor));
	return tensor;
}

/* The set of n rows of two elements. */
static struct dfg_buffer *gather(size_t n, const int32_t *row, const float *value)
{
	struct dfg_tensor indices = tensor_of(DFG_I32, DFG_SHAPE_VECTOR((int64_t)n), row);
	struct dfg_tensor values = tensor_of(DFG_F32, (struct dfg_shape){.rank = 2, .dim = {(int64_t)n, 2}}, value);
	struct dfg_buffer *set;
	succeeds(dfg_row_set_gather(&pairs, &indices, &values, &set));
	dfg_tensor_release(&indices);
	dfg_tensor_release(&values);
	return set;
}

static void assert_set(const struct dfg_buffer *buffer, size_t n, const int64_t *number, const float *value)
{
	const struct dfg_row_set set = dfg_row_set_of(buffer);
	assert_int_equal(set.count, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(set.number[i], number[i]);
	if (n)
		assert_memory_equal(set.value, value, n * 2 * sizeof(float));
}

static void rows_that_repeat_are_added_in_their_order(void **state)
{
	(void)state;
	/* 1e8 + 4 + 4 is 1e8 in f32, while 4 + 4 + 1e8 is 1e8 + 8 */
	struct dfg_buffer *set = gather(4, (int32_t[]){7, 3, 7, 7}, (float[]){1e8F, 4, 1, 2, 4, 4, 4, 1e8F});
	assert_set(set, 2, (int64_t[]){3, 7}, (float[]){1, 2, 1e8F, 1e8F + 8});
	dfg_buffer_unref(set);
	set = gather(1, (int32_t[]){5}, (float[]){-0.0F, 1});
	assert_false(signbit(*(float *)dfg_row_set_of(set).value)); /* as 0 + -0 is in a dense sum */
	dfg_buffer_unref(set);
}

static void a_row_outside_the_table_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct dfg_tensor indices = tensor_of(DFG_I32, DFG_SHAPE_VECTOR(1), (int32_t[]){i ? 100 : -1});
		struct dfg_tensor values = tensor_of(DFG_F32, (struct dfg_shape){.rank = 2, .dim = {1, 2}}, (float[]){1, 2});
		struct dfg_buffer *set;
		fails(dfg_row_set_gather(&pairs, &indices, &values, &set), DFG_DATA,
			i ? "row number 100, but the table has 100 rows" : "row number -1, but the table has 100 rows");
		dfg_tensor_release(&indices);
		dfg_tensor_release(&values);
	}
}

static void the_sum_is_the_union(void **state)
{
	(void)state;
	struct dfg_buffer *left = gather(3, (int32_t[]){1, 4, 9}, (float[]){1, 2, 3, 4, 5, 6}), *sum;
	succeeds(dfg_row_set_add(&pairs, left, gather(2, (int32_t[]){4, 50}, (float[]){10, 20, 30, 40}), &sum));
	assert_set(sum, 4, (int64_t[]){1, 4, 9, 50}, (float[]){1, 2, 13, 24, 5, 6, 30, 40});
	struct dfg_buffer *all;
	succeeds(dfg_row_set_add(&pairs, sum, gather(0, NULL, NULL), &all));
	assert_set(all, 4, (int64_t[]){1, 4, 9, 50}, (float[]){1, 2, 13, 24, 5, 6, 30, 40});
	dfg_buffer_unref(all);
}

/* A set of the first n even or, beyond half, of the first n rows. */
static struct dfg_buffer *some_rows(int32_t n, bool even)
{
	int32_t row[100];
	float value[200];
	for (int32_t i = 0; i < n; i++) {
		row[i] = even ? 2 * i : i;
		value[2 * i] = (float)row[i];
		value[2 * i + 1] = (float)(-row[i] - 1);
	}
	return gather((size_t)n, row, value);
}

/* Eight bytes of head; a row has eight of values; its number four, all marks of 100 rows 16, and all rows none. */
static void a_message_takes_the_smallest_form(void **state)
{
	(void)state;
	static const struct {
		int32_t rows;
		int64_t bytes;
	} row[] = {{0, 8}, {1, 8 + 8 + 8}, {3, 8 + 16 + 24}, {4, 8 + 16 + 32}, {5, 8 + 16 + 40}, {50, 8 + 16 + 400},
		{99, 8 + 16 + 792}, {100, 8 + 800}};
	assert_int_equal(dfg_row_set_marked_from(100), 5);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct dfg_buffer *set = some_rows(row[i].rows, row[i].rows <= 50), *back;
		struct dfg_tensor message;
		succeeds(dfg_row_set_encode(&pairs, set, 0, 100, &message));
		assert_int_equal(message.shape.dim[0], row[i].bytes);
		succeeds(dfg_row_set_decode(&pairs, &message, 0, 100, &back));
		const struct dfg_row_set wanted = dfg_row_set_of(set);
		assert_set(back, wanted.count, wanted.number, wanted.value);
		dfg_tensor_release(&message);
		dfg_buffer_unref(set);
		dfg_buffer_unref(back);
	}
}

static void slices_join_to_the_whole(void **state)
{
	(void)state;
	struct dfg_buffer *set = some_rows(37, true), *part[3], *all;
	const struct dfg_row_set wanted = dfg_row_set_of(set);
	for (int i = 0; i < 3; i++) {
		const int64_t first = 100 * i / 3, length = 100 * (i + 1) / 3 - first;
		struct dfg_tensor message;
		succeeds(dfg_row_set_encode(&pairs, set, first, length, &message));
		succeeds(dfg_row_set_decode(&pairs, &message, first, length, &part[i]));
		dfg_tensor_release(&message);
	}
	succeeds(dfg_row_set_join(&pairs, part, 3, &all));
	assert_set(all, wanted.count, wanted.number, wanted.value);
	for (int i = 0; i < 3; i++)
		dfg_buffer_unref(part[i]);
	dfg_buffer_unref(all);
	dfg_buffer_unref(set);
}

/* The message of rows 3 and 7, of those from 0 to 99, with a change: 3 and 7 are at bytes 8 and 12. */
static void malformed_messages_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		uint8_t byte;
	} lie[] = {{0, 3}, {0, 101}, {7, 0x80}, {8, 7}, {12, 3}, {12, 100}};
	struct dfg_buffer *set = gather(2, (int32_t[]){3, 7}, (float[]){1, 2, 3, 4}), *back;
	struct dfg_tensor message;
	succeeds(dfg_row_set_encode(&pairs, set, 0, 100, &message));
	for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
		uint8_t *byte = (uint8_t *)message.data + lie[i].at, before = *byte;
		*byte = lie[i].byte;
		fails(dfg_row_set_decode(&pairs, &message, 0, 100, &back), DFG_PROTOCOL, "malformed");
		*byte = before;
	}
	message.shape.dim[0]--;
	fails(dfg_row_set_decode(&pairs, &message, 0, 100, &back), DFG_PROTOCOL, "malformed");
	message.shape.dim[0] = 4;
	fails(dfg_row_set_decode(&pairs, &message, 0, 100, &back), DFG_PROTOCOL, "malformed");
	dfg_tensor_release(&message);
	dfg_buffer_unref(set);

	set = some_rows(10, true);
	succeeds(dfg_row_set_encode(&pairs, set, 0, 100, &message));
	((uint8_t *)message.data)[8] |= 2; /* one mark more than rows */
	fails(dfg_row_set_decode(&pairs, &message, 0, 100, &back), DFG_PROTOCOL, "malformed");
	dfg_tensor_release(&message);
	dfg_buffer_unref(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_that_repeat_are_added_in_their_order),
		cmocka_unit_test(a_row_outside_the_table_is_refused),
		cmocka_unit_test(the_sum_is_the_union),
		cmocka_unit_test(a_message_takes_the_smallest_form),
		cmocka_unit_test(slices_join_to_the_whole),
		cmocka_unit_test(malformed_messages_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
