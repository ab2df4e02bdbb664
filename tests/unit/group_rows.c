#include "tests/unit/replicas.h"

#include <stdlib.h>

/*
 * The all-reduce of rows: the rows that any shard has, each with the bits of the dense sum, whatever the replicas, rows of
 * the batch and types.
 */

enum { TABLE = 70, WIDTH = 3, MOST = 40 };

static const struct dfg_shape table = {.rank = 2, .dim = {TABLE, WIDTH}};

/* The rows of a shard: few or many, some more than once, and none of one in five shards. */
static int64_t row_of(uint32_t shard, uint32_t i)
{
	return (int64_t)((shard * 31 + i * i * 7 + i) % TABLE);
}

static uint32_t rows_of(uint32_t shard)
{
	return shard % 5 == 2 ? 0 : shard % 3 ? 3 + shard : MOST;
}

/* Numbers of which each sum depends on the order. */
static double value_of(uint32_t shard, uint32_t i, int e)
{
	return (double)((shard * 7 + i) % 11) * ((i + (uint32_t)e) % 2 ? 1e-3 : 1e3) + (double)(e + 1) / 3;
}

static void put_number(const struct dfg_tensor *tensor, int64_t at, double value)
{
	dfg_convert(tensor->dtype, (char *)tensor->data + (size_t)at * dfg_dtype_size(tensor->dtype), DFG_F64, &value, 1);
}

static void contribute_rows(
	struct dfg_group *group, const struct dfg_shard *shard, enum dfg_dtype dtype, enum dfg_dtype numbers)
{
	const uint32_t rows = rows_of(shard->number);
	struct dfg_tensor indices, values;
	const struct dfg_tensor *list[] = {&values};
	succeeds(dfg_tensor_new(numbers, &DFG_SHAPE_VECTOR(rows), &indices));
	succeeds(dfg_tensor_new(dtype, &(struct dfg_shape){.rank = 2, .dim = {rows, WIDTH}}, &values));
	for (uint32_t i = 0; i < rows; i++) {
		put_number(&indices, i, (double)row_of(shard->number, i));
		for (int e = 0; e < WIDTH; e++)
			put_number(&values, (int64_t)i * WIDTH + e, value_of(shard->number, i, e));
	}
	const struct dfg_contribution contribution = {
		.bucket = 4, .tensor = list, .n = 1, .indices = &indices, .table = &table};
	dfg_group_enter(group, shard);
	succeeds(dfg_group_contribute(group, &contribution));
	dfg_group_enter(group, NULL);
	dfg_tensor_release(&indices);
	dfg_tensor_release(&values);
}

/* The same as a dense gradient: rows that repeat are added in their order, in the type of the sum. */
static void contribute_dense(struct dfg_group *group, const struct dfg_shard *shard, enum dfg_dtype dtype)
{
	struct dfg_tensor dense;
	const struct dfg_tensor *list[] = {&dense};
	enum dfg_dtype wide = dfg_dtype_is(dtype, "complex") ? dtype : dtype == DFG_F64 ? DFG_F64 : DFG_F32;
	succeeds(dfg_tensor_new(wide, &table, &dense));
	memset(dense.data, 0, dfg_tensor_bytes(&dense));
	for (uint32_t i = 0; i < rows_of(shard->number); i++)
		for (int e = 0; e < WIDTH; e++) {
			int64_t at = row_of(shard->number, i) * WIDTH + e;
			struct dfg_tensor one;
			succeeds(dfg_tensor_new(dtype, &DFG_SHAPE_SCALAR, &one));
			put_number(&one, 0, value_of(shard->number, i, e));
			float narrow[2];
			if (wide == DFG_F64) {
				((double *)dense.data)[at] += *(double *)one.data;
			} else if (wide == DFG_C64) {
				memcpy(narrow, one.data, sizeof narrow);
				((float *)dense.data)[2 * at] += narrow[0];
				((float *)dense.data)[2 * at + 1] += narrow[1];
			} else {
				dfg_convert(DFG_F32, narrow, dtype, one.data, 1);
				((float *)dense.data)[at] += narrow[0];
			}
			dfg_tensor_release(&one);
		}
	dfg_group_enter(group, shard);
	succeeds(dfg_group_contribute(group, &(struct dfg_contribution){.bucket = 5, .tensor = list, .n = 1}));
	dfg_group_enter(group, NULL);
	dfg_tensor_release(&dense);
}

/* The dense mean of one process, in the type of the sum. */
static void find_dense(
	struct dfg_group *group, uint32_t shards, int64_t batch, enum dfg_dtype dtype, struct dfg_tensor *out)
{
	dfg_group_begin(group, shards, batch);
	for (uint32_t j = 0; j < shards; j++) {
		struct dfg_shard shard = dfg_shard_of(j, shards, batch);
		if (shard.rows)
			contribute_dense(group, &shard, dtype);
	}
	succeeds(dfg_group_result(group, 5, 0, out));
	dfg_group_end(group);
}

/* Which rows any shard has. */
static int64_t find_union(uint32_t shards, int64_t batch, bool present[TABLE])
{
	int64_t count = 0;
	memset(present, 0, TABLE);
	for (uint32_t j = 0; j < shards; j++)
		for (uint32_t i = 0; i < rows_of(j) && dfg_shard_of(j, shards, batch).rows; i++)
			present[row_of(j, i)] = true;
	for (int row = 0; row < TABLE; row++)
		count += present[row];
	return count;
}

static void assert_row(
	const struct dfg_tensor *values, int64_t at, const struct dfg_tensor *dense, int64_t row, enum dfg_dtype dtype)
{
	const size_t size = dfg_dtype_size(dtype);
	const char *wanted = (const char *)dense->data + (size_t)row * WIDTH * dfg_dtype_size(dense->dtype);
	char rounded[WIDTH * 16];
	dfg_convert(dtype, rounded, dense->dtype, wanted, WIDTH);
	assert_memory_equal(
		(const char *)values->data + (size_t)at * WIDTH * size, dtype == DFG_F16 ? rounded : wanted, WIDTH * size);
}

static void check_rows(struct dfg_group *group, uint32_t shards, int64_t batch, enum dfg_dtype dtype,
	enum dfg_dtype numbers, const struct dfg_tensor *dense)
{
	bool present[TABLE];
	int64_t count = find_union(shards, batch, present), at = 0;
	struct dfg_tensor indices, values;
	succeeds(dfg_group_result(group, 4, 0, &indices));
	succeeds(dfg_group_result(group, 4, 1, &values));
	assert_int_equal(indices.dtype, numbers);
	assert_int_equal(values.dtype, dtype);
	assert_int_equal(indices.shape.dim[0], count);
	assert_true(dfg_shape_equal(&values.shape, &(struct dfg_shape){.rank = 2, .dim = {count, WIDTH}}));
	for (int64_t row = 0; row < TABLE; row++) {
		if (!present[row])
			continue;
		assert_int_equal(dfg_tensor_int(&indices, at), row);
		assert_row(&values, at++, dense, row, dtype);
	}
	dfg_tensor_release(&indices);
	dfg_tensor_release(&values);
}

static void compare(struct replicas *all, uint64_t step, uint32_t shards, int64_t batch, enum dfg_dtype dtype,
	enum dfg_dtype numbers, const struct dfg_tensor *dense)
{
	for (uint32_t r = all->count; r--;) { /* the last one first: its messages come early */
		struct dfg_shard range = dfg_group_range(r, all->count, shards);
		succeeds(dfg_group_join(all->node[r].group,
			&(struct dfg_group_step){.number = step, .shards = shards, .batch = batch, .holds = step % 3 == 0}));
		for (int64_t j = range.first; j < range.first + range.rows; j++) {
			struct dfg_shard shard = dfg_shard_of((uint32_t)j, shards, batch);
			if (shard.rows)
				contribute_rows(all->node[r].group, &shard, dtype, numbers);
		}
	}
	for (uint32_t r = 0; r < all->count && step % 3 == 0; r++)
		succeeds(dfg_group_take(all->node[r].group, NULL, NULL));
	for (uint32_t r = 0; r < all->count; r++) {
		succeeds(dfg_group_wait(all->node[r].group, 4, 60));
		check_rows(all->node[r].group, shards, batch, dtype, numbers, dense);
		dfg_group_end(all->node[r].group);
	}
}

static void rows_have_the_bits_of_dense_sums(void **state)
{
	(void)state;
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_F16, DFG_C64};
	static const int64_t batches[] = {24, 10, 2, 1};
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (uint32_t count = 1; count <= REPLICAS_MOST; count++) {
		struct replicas all;
		uint64_t step = 0;
		replicas_begin(&all, count, DFG_KEEP);
		for (uint32_t shards = count < 2 ? 2 : count; shards <= 12; shards += shards < 6 ? 1 : 3)
			for (int b = 0; b < 4; b++)
				for (int t = 0; t < 4; t++) {
					struct dfg_tensor dense;
					find_dense(group, shards, batches[b], dtypes[t], &dense);
					compare(&all, ++step, shards, batches[b], dtypes[t], t % 2 ? DFG_I64 : DFG_I32, &dense);
					dfg_tensor_release(&dense);
				}
		replicas_end(&all);
	}
	dfg_state_release(&alone);
}

/* Bytes sent grow with the rows that occur, not with the table: 3 rows of a million, from each of two replicas. */
static void bytes_do_not_depend_on_the_table(void **state)
{
	(void)state;
	const struct dfg_shape large = {.rank = 2, .dim = {1000000, WIDTH}};
	struct replicas all;
	replicas_begin(&all, 2, DFG_KEEP);
	for (uint32_t r = 0; r < 2; r++) {
		struct dfg_tensor indices, values;
		const struct dfg_tensor *list[] = {&values};
		struct dfg_shard shard = dfg_shard_of(r, 2, 8);
		succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(3), &indices));
		succeeds(dfg_tensor_new(DFG_F32, &(struct dfg_shape){.rank = 2, .dim = {3, WIDTH}}, &values));
		memcpy(indices.data, (int32_t[]){5, 500000, 999999}, 12);
		memset(values.data, 0, dfg_tensor_bytes(&values));
		succeeds(dfg_group_join(all.node[r].group, &(struct dfg_group_step){.number = 1, .shards = 2, .batch = 8}));
		dfg_group_enter(all.node[r].group, &shard);
		succeeds(dfg_group_contribute(all.node[r].group,
			&(struct dfg_contribution){.bucket = 1, .tensor = list, .n = 1, .indices = &indices, .table = &large}));
		dfg_group_enter(all.node[r].group, NULL);
		dfg_tensor_release(&indices);
		dfg_tensor_release(&values);
	}
	for (uint32_t r = 0; r < 2; r++) {
		succeeds(dfg_group_wait(all.node[r].group, 1, 60));
		dfg_group_end(all.node[r].group);
	}
	/* replica 0 owns the first half. It sends rows 500000 and 999999, and the sum of row 5: numbers are padded to 8 bytes */
	struct dfg_group_sent sent = dfg_group_sent(all.node[0].group, 1);
	assert_int_equal(sent.messages, 2);
	assert_int_equal(sent.bytes, (8 + 2 * 4 + 2 * 12) + (8 + 8 + 12));
	replicas_end(&all);
}

static void shards_give_rows_of_one_table(void **state)
{
	(void)state;
	static const struct dfg_shape other = {.rank = 2, .dim = {TABLE + 1, WIDTH}};
	struct dfg_state alone;
	struct dfg_group *group;
	struct dfg_tensor indices, values;
	const struct dfg_tensor *list[] = {&values};
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(2), &indices));
	succeeds(dfg_tensor_new(DFG_F32, &(struct dfg_shape){.rank = 2, .dim = {2, WIDTH}}, &values));
	memset(indices.data, 0, dfg_tensor_bytes(&indices));
	memset(values.data, 0, dfg_tensor_bytes(&values));
	struct dfg_contribution contribution = {.bucket = 0, .tensor = list, .n = 1, .indices = &indices, .table = &table};
	struct dfg_shard shard = dfg_shard_of(0, 2, 4);
	dfg_group_begin(group, 2, 4);
	dfg_group_enter(group, &shard);
	succeeds(dfg_group_contribute(group, &contribution));
	shard = dfg_shard_of(1, 2, 4);
	dfg_group_enter(group, &shard);
	contribution.table = &other;
	fails(dfg_group_contribute(group, &contribution), DFG_DATA, "rows of a table of shape [70,3]");
	contribution.indices = NULL;
	fails(dfg_group_contribute(group, &contribution), DFG_DATA,
		"one shard has a gradient of rows, another a dense gradient");
	contribution.indices = &indices;
	contribution.table = &table;
	indices.shape.dim[0] = 1;
	fails(dfg_group_contribute(group, &contribution), DFG_DATA, "not rows f32[2,3] and row numbers i32[1]");
	dfg_group_end(group);
	dfg_tensor_release(&indices);
	dfg_tensor_release(&values);
	dfg_state_release(&alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_bits_of_dense_sums),
		cmocka_unit_test(bytes_do_not_depend_on_the_table),
		cmocka_unit_test(shards_give_rows_of_one_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
