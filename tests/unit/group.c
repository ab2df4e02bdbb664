#include "tests/unit/test.h"

#include "lib/exec/group/group.h"
#include "lib/exec/group/tree.h"

#include <string.h>

/* The all-reduce over the shards of a batch: order of addition, weights, types. */

/* The sum of x[first..first + count) as the design words it: the left half holds the largest power of two below count. */
static float tree(const float *x, uint32_t first, uint32_t count)
{
	uint32_t left = 1;
	if (count == 1)
		return x[first];
	while (left * 2 < count)
		left *= 2;
	return tree(x, first, left) + tree(x, first + left, count - left);
}

static void put_value(struct dfg_tree_sum *sum, uint32_t shard, float value)
{
	struct dfg_buffer *buffer;
	succeeds(dfg_tree_sum_buffer(sum, &buffer));
	*(float *)buffer->data = value;
	succeeds(dfg_tree_sum_add(sum, (struct dfg_tree_node){shard, 1}, buffer));
}

/* Numbers whose sum depends on the order. */
static float number(uint32_t i)
{
	return (float)(i % 7 + 1) * (i % 2 ? 1e-3f : 1e4f) + (float)i / 3;
}

static void sums_have_one_order_whatever_arrives_first(void **state)
{
	(void)state;
	struct dfg_tree_sum sum = {0};
	float x[33];
	for (uint32_t i = 0; i < 33; i++)
		x[i] = number(i);
	for (uint32_t shards = 1; shards <= 33; shards++)
		for (uint32_t step = 1; step <= shards; step++) {
			uint32_t a = step, b = shards;
			while (b) {
				uint32_t rest = a % b;
				a = b;
				b = rest;
			}
			if (a != 1)
				continue; /* steps of `step` meet each shard once where both have no common divisor */
			dfg_tree_sum_begin(&sum, shards, DFG_F32, 1);
			for (uint32_t i = 0; i < shards; i++) {
				assert_false(dfg_tree_sum_complete(&sum));
				put_value(&sum, i * step % shards, x[i * step % shards]);
			}
			assert_true(dfg_tree_sum_complete(&sum));
			struct dfg_buffer *value = dfg_tree_sum_take(&sum);
			float wanted = tree(x, 0, shards);
			assert_memory_equal(value->data, &wanted, sizeof wanted);
			dfg_tree_sum_give(&sum, value);
		}
	dfg_tree_sum_release(&sum);
}

static void a_sum_knows_the_missing_shard(void **state)
{
	(void)state;
	struct dfg_tree_sum sum = {0};
	struct dfg_buffer *buffer;
	dfg_tree_sum_begin(&sum, 6, DFG_F32, 1);
	assert_int_equal(dfg_tree_sum_missing(&sum), 0);
	put_value(&sum, 1, 1);
	put_value(&sum, 0, 1);
	put_value(&sum, 2, 1);
	put_value(&sum, 5, 1);
	assert_int_equal(dfg_tree_sum_missing(&sum), 3);
	succeeds(dfg_tree_sum_buffer(&sum, &buffer));
	fails(dfg_tree_sum_add(&sum, (struct dfg_tree_node){2, 1}, buffer), DFG_BUG, "shard 2 contributes twice");
	put_value(&sum, 3, 1);
	put_value(&sum, 4, 1);
	assert_int_equal(dfg_tree_sum_missing(&sum), 6);
	dfg_tree_sum_release(&sum);
}

/* Halves are added as f32: their rounded result is not the buffer of the next contribution. */
static void a_buffer_that_is_too_small_is_not_used_again(void **state)
{
	(void)state;
	struct dfg_tree_sum sum = {0};
	struct dfg_buffer *small, *buffer;
	dfg_tree_sum_begin(&sum, 2, DFG_F32, 1000);
	succeeds(dfg_buffer_new(DFG_F16, 2000, &small));
	dfg_tree_sum_give(&sum, small);
	succeeds(dfg_tree_sum_buffer(&sum, &buffer));
	assert_true(buffer->capacity >= 4000);
	dfg_buffer_unref(buffer);
	dfg_tree_sum_release(&sum);
}

static void rows_are_shared_out_in_order(void **state)
{
	(void)state;
	static const int64_t ten[] = {0, 2, 5, 7, 10}, two[] = {0, 0, 1, 1, 2};
	for (uint32_t j = 0; j < 4; j++) {
		struct dfg_shard of_ten = dfg_shard_of(j, 4, 10), of_two = dfg_shard_of(j, 4, 2);
		assert_int_equal(of_ten.first, ten[j]);
		assert_int_equal(of_ten.rows, ten[j + 1] - ten[j]);
		assert_int_equal(of_two.first, two[j]);
		assert_int_equal(of_two.rows, two[j + 1] - two[j]);
	}
}

struct session {
	struct dfg_state state;
	struct dfg_group *group;
};

static void begin(struct session *session)
{
	succeeds(dfg_state_init(&session->state));
	succeeds(dfg_group_of(&session->state, &session->group));
}

static void contribute(struct session *session, const struct dfg_shard *shard, bool is_sum, struct dfg_tensor *tensor)
{
	const struct dfg_tensor *const list[] = {tensor};
	dfg_group_enter(session->group, shard);
	if (shard->rows)
		succeeds(dfg_group_contribute(
			session->group, &(struct dfg_contribution){.bucket = 0, .is_sum = is_sum, .tensor = list, .n = 1}));
	dfg_group_enter(session->group, NULL);
}

/* Shard j contributes {j + 1, -j}; the result of a batch of `rows` over 4 shards. */
static void reduce(struct session *session, int64_t rows, bool is_sum, enum dfg_dtype dtype, double wanted[2])
{
	dfg_group_begin(session->group, 4, rows);
	for (uint32_t j = 0; j < 4; j++) {
		struct dfg_shard shard = dfg_shard_of(j, 4, rows);
		struct dfg_tensor tensor;
		double value[2] = {j + 1.0, -(double)j};
		succeeds(dfg_tensor_new(dtype, &DFG_SHAPE_VECTOR(2), &tensor));
		dfg_convert(dtype, tensor.data, DFG_F64, value, 2);
		contribute(session, &shard, is_sum, &tensor);
		dfg_tensor_release(&tensor);
	}
	struct dfg_tensor result;
	succeeds(dfg_group_result(session->group, 0, 0, &result));
	assert_int_equal(result.dtype, dtype);
	for (int i = 0; i < 2; i++)
		assert_true(dfg_tensor_float(&result, i) == wanted[i]);
	dfg_tensor_release(&result);
	dfg_group_end(session->group);
}

static void means_are_weighted_by_rows_and_sums_are_not(void **state)
{
	(void)state;
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_F16, DFG_BF16};
	struct session session;
	begin(&session);
	for (int i = 0; i < 4; i++) {
		reduce(&session, 8, false, dtypes[i], (double[]){2.5, -1.5});
		reduce(&session, 8, true, dtypes[i], (double[]){10, -6});
		/* rows 2, 3, 2, 3: (2 * 1 + 3 * 2 + 2 * 3 + 3 * 4) / 10 = 2.6, (0 - 3 - 4 - 9) / 10 = -1.6 */
		if (dtypes[i] == DFG_F64)
			reduce(&session, 10, false, dtypes[i], (double[]){2.6, -1.6});
		reduce(&session, 10, true, dtypes[i], (double[]){10, -6});
		/* rows 0, 1, 0, 1: the mean of shards 1 and 3 */
		reduce(&session, 2, false, dtypes[i], (double[]){3, -2});
		reduce(&session, 2, true, dtypes[i], (double[]){6, -4});
	}
	dfg_state_release(&session.state);
}

/* The same where only the shards whose bit is set are taken, of contributions that come before or after that is known. */
static void reduce_some(
	struct session *session, int64_t rows, bool is_sum, unsigned bits, bool held, const double wanted[2])
{
	bool taken[4];
	struct dfg_tensor result;
	dfg_group_begin(session->group, 4, rows);
	for (uint32_t j = 0; j < 4; j++)
		taken[j] = bits >> j & 1;
	if (held)
		dfg_group_hold(session->group);
	else
		succeeds(dfg_group_take(session->group, taken, NULL));
	for (uint32_t j = 0; j < 4; j++) {
		struct dfg_shard shard = dfg_shard_of(j, 4, rows);
		struct dfg_tensor tensor;
		double value[2] = {j + 1.0, -(double)j};
		if (!held && !taken[j])
			continue;
		succeeds(dfg_tensor_new(DFG_F64, &DFG_SHAPE_VECTOR(2), &tensor));
		memcpy(tensor.data, value, sizeof value);
		contribute(session, &shard, is_sum, &tensor);
		dfg_tensor_release(&tensor);
	}
	if (held)
		succeeds(dfg_group_take(session->group, taken, NULL));
	succeeds(dfg_group_result(session->group, 0, 0, &result));
	for (int i = 0; i < 2; i++)
		assert_true(dfg_tensor_float(&result, i) == wanted[i]);
	dfg_tensor_release(&result);
	dfg_group_end(session->group);
}

static void shards_that_are_not_taken_do_not_count(void **state)
{
	(void)state;
	struct session session;
	begin(&session);
	for (int held = 0; held < 2; held++) {
		reduce_some(&session, 8, false, 15, held, (double[]){2.5, -1.5});
		reduce_some(&session, 8, false, 5, held, (double[]){2, -1}); /* shards 0 and 2: 1, 3 and 0, -2 */
		reduce_some(&session, 8, true, 5, held, (double[]){4, -2});
		reduce_some(&session, 8, false, 8, held, (double[]){4, -3});
		/* rows 2, 3, 2, 3, of which 3 and 2 are taken: (3 * 2 + 2 * 3) / 5 = 2.4, (-3 - 2 * 2) / 5 = -1.4 */
		reduce_some(&session, 10, false, 6, held, (double[]){2.4, -1.4});
		/* rows 0, 1, 0, 1: shard 0 is taken, and has none */
		reduce_some(&session, 2, false, 9, held, (double[]){4, -3});
		bool none[4] = {true, false, true, false};
		dfg_group_begin(session.group, 4, 2);
		if (held)
			dfg_group_hold(session.group);
		fails(dfg_group_take(session.group, none, NULL), DFG_DATA, "none of the shards that contribute");
		dfg_group_end(session.group);
	}
	reduce(&session, 8, false, DFG_F64, (double[]){2.5, -1.5}); /* the next step takes all */
	dfg_state_release(&session.state);
}

static void complex_numbers_are_reduced_by_part(void **state)
{
	(void)state;
	struct session session;
	begin(&session);
	dfg_group_begin(session.group, 2, 2);
	float value[2][2] = {{1, 2}, {5, -4}}, wanted[2] = {3, -1};
	for (uint32_t j = 0; j < 2; j++) {
		struct dfg_shard shard = dfg_shard_of(j, 2, 2);
		struct dfg_tensor tensor = {DFG_C64, DFG_SHAPE_SCALAR, value[j], sizeof value[j], NULL};
		contribute(&session, &shard, false, &tensor);
	}
	struct dfg_tensor result;
	succeeds(dfg_group_result(session.group, 0, 0, &result));
	assert_memory_equal(result.data, wanted, sizeof wanted);
	dfg_tensor_release(&result);
	dfg_group_end(session.group);
	dfg_state_release(&session.state);
}

/* A variable may be given a result: the next step must not change it. */
static void a_result_that_is_held_does_not_change(void **state)
{
	(void)state;
	struct session session;
	struct dfg_tensor held;
	begin(&session);
	struct dfg_tensor one;
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(2), &one));
	memcpy(one.data, (float[]){2.5f, -1.5f}, 8);
	dfg_group_begin(session.group, 1, 1);
	struct dfg_shard shard = dfg_shard_of(0, 1, 1);
	contribute(&session, &shard, false, &one);
	succeeds(dfg_group_result(session.group, 0, 0, &held));
	dfg_group_end(session.group);
	dfg_tensor_release(&one);
	reduce(&session, 8, true, DFG_F32, (double[]){10, -6});
	assert_true(((float *)held.data)[0] == 2.5f && ((float *)held.data)[1] == -1.5f);
	dfg_tensor_release(&held);
	dfg_state_release(&session.state);
}

static void faults_are_named(void **state)
{
	(void)state;
	struct session session;
	struct dfg_tensor two, three, result;
	begin(&session);
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(2), &two));
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(3), &three));
	memset(two.data, 0, dfg_tensor_bytes(&two));
	dfg_group_begin(session.group, 4, 8);
	struct dfg_shard shard = dfg_shard_of(0, 4, 8), next = dfg_shard_of(1, 4, 8);
	contribute(&session, &shard, false, &two);
	fails(dfg_group_result(session.group, 0, 0, &result), DFG_DATA, "bucket 0 waits for shard 1");
	fails(dfg_group_result(session.group, 3, 0, &result), DFG_DATA, "bucket 3 waits for shard 0");
	dfg_group_enter(session.group, &next);
	const struct dfg_tensor *const list[] = {&three};
	fails(dfg_group_contribute(session.group, &(struct dfg_contribution){.tensor = list, .n = 1}), DFG_DATA,
		"tensor 0 of bucket 0 is f32[3] in shard 1, but f32[2] in another shard");
	dfg_group_end(session.group);
	dfg_tensor_release(&two);
	dfg_tensor_release(&three);
	dfg_state_release(&session.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_have_one_order_whatever_arrives_first),
		cmocka_unit_test(a_sum_knows_the_missing_shard),
		cmocka_unit_test(a_buffer_that_is_too_small_is_not_used_again),
		cmocka_unit_test(rows_are_shared_out_in_order),
		cmocka_unit_test(means_are_weighted_by_rows_and_sums_are_not),
		cmocka_unit_test(shards_that_are_not_taken_do_not_count),
		cmocka_unit_test(complex_numbers_are_reduced_by_part),
		cmocka_unit_test(a_result_that_is_held_does_not_change),
		cmocka_unit_test(faults_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
