#include "tests/unit/test.h"

#include "remote/batch_rows.h"

/* Rows that stand for a batch: what a worker makes of them, and what it does not take on trust. */
enum { SAMPLES = 4 };
static float values[SAMPLES][2] = {{0, 1}, {10, 11}, {20, 21}, {30, 31}};

static struct dfg_batch_source samples(void)
{
	static struct dfg_samples_part part = {.words = "file",
		.end = SAMPLES,
		.rows.all = {.dtype = DFG_F32, .shape = {2, {SAMPLES, 2}}, .data = values, .capacity = sizeof values}};
	return (struct dfg_batch_source){.all = {.dtype = DFG_F32, .shape = {2, {SAMPLES, 2}}, .part = &part, .parts = 1}};
}

/* The feed as it comes out at the other end. */
static struct dfg_err *cross(
	const struct dfg_tensor *feed, struct dfg_batch_source *source, size_t sources, struct dfg_tensor *out)
{
	struct dfg_packet packet = {0};
	*out = (struct dfg_tensor){0};
	dfg_rows_put(&packet, feed, 0);
	struct dfg_err *err = dfg_rows_get(&packet, source, sources, out);
	if (!err)
		err = dfg_packet_check(&packet);
	dfg_packet_release(&packet);
	return err;
}

static void gives(int64_t first, const int64_t *order, int64_t n, const float *wanted)
{
	struct dfg_batch_source source = samples();
	struct dfg_tensor batch = {0}, out;
	succeeds(dfg_rows_new(&source.all, 0, first, order, n, &batch));
	assert_non_null(dfg_rows_of(&batch));
	succeeds(cross(&batch, &source, 1, &out));
	assert_int_equal(out.shape.dim[0], n);
	for (int64_t i = 0; i < n; i++)
		assert_true(((float *)out.data)[2 * i] == wanted[i] && ((float *)out.data)[2 * i + 1] == wanted[i] + 1);
	dfg_tensor_release(&out);
	dfg_tensor_release(&batch);
	dfg_tensor_release(&source.batch);
}

static void rows_stand_for_elements_that_are_elsewhere(void **state)
{
	(void)state;
	gives(1, NULL, 2, (float[]){10, 20});
	gives(4, NULL, 0, NULL);
	gives(0, (int64_t[]){3, 0, 3}, 3, (float[]){30, 0, 30});
	gives(0, (int64_t[]){2}, 0, NULL);
}

/* The rows [1, 3) of four, as a shard of a batch takes them; and the copies of a source. */
static void a_view_of_rows_is_those_rows(void **state)
{
	(void)state;
	static const int64_t order[] = {3, 0, 2, 1};
	static const uint32_t copies[] = {1};
	struct dfg_batch_source source[2] = {{.all.dtype = DFG_NO_DTYPE}, samples()};
	for (int listed = 0; listed < 2; listed++) {
		struct dfg_tensor batch = {0}, out;
		succeeds(dfg_rows_new(&source[1].all, 7, 0, listed ? order : NULL, 4, &batch));
		dfg_rows_set_copies(&batch, copies);
		struct dfg_tensor shard = batch;
		shard.data = dfg_tensor_at(&batch, 2);
		shard.shape.dim[0] = 2;
		succeeds(cross(&shard, source, 2, &out));
		assert_int_equal(out.shape.dim[0], 2);
		const float *got = out.data, *want = listed ? (float[]){0, 1, 20, 21} : (float[]){10, 11, 20, 21};
		assert_memory_equal(got, want, 4 * sizeof *got);
		dfg_tensor_release(&out);
		dfg_tensor_release(&batch);
	}
	dfg_tensor_release(&source[1].batch);
}

static void other_feeds_are_what_they_were(void **state)
{
	(void)state;
	const struct dfg_tensor all = samples().all.part->rows.all;
	struct dfg_tensor out;
	assert_null(dfg_rows_of(&all));
	succeeds(cross(&all, NULL, 0, &out));
	assert_memory_equal(out.data, values, sizeof values);
	dfg_tensor_release(&out);
}

/* The data of a batch is used again, unless somebody still reads it. */
static void a_batch_that_is_read_is_not_overwritten(void **state)
{
	(void)state;
	struct dfg_batch_source source = samples();
	struct dfg_tensor batch = {0}, one, two;
	succeeds(dfg_rows_new(&source.all, 0, 0, (int64_t[]){3}, 1, &batch));
	succeeds(cross(&batch, &source, 1, &one));
	succeeds(dfg_rows_new(&source.all, 0, 0, (int64_t[]){1}, 1, &batch));
	succeeds(cross(&batch, &source, 1, &two));
	assert_true(*(float *)one.data == 30 && *(float *)two.data == 10);
	dfg_tensor_release(&one);
	const void *data = two.data;
	dfg_tensor_release(&two);
	succeeds(cross(&batch, &source, 1, &two));
	assert_ptr_equal(two.data, data);
	dfg_tensor_release(&two);
	dfg_tensor_release(&batch);
	dfg_tensor_release(&source.batch);
}

static void refuses(uint32_t number, int64_t first, const int64_t *order, int64_t n)
{
	struct dfg_batch_source source = samples();
	struct dfg_tensor batch = {0}, out;
	succeeds(dfg_rows_new(&source.all, number, first, order, n, &batch));
	fails(cross(&batch, &source, 1, &out), DFG_PROTOCOL, "the launcher requests ");
	dfg_tensor_release(&batch);
}

static void rows_that_the_file_does_not_have_are_refused(void **state)
{
	(void)state;
	refuses(1, 0, NULL, 1);
	refuses(0, 3, NULL, 2);
	refuses(0, -1, NULL, 1);
	refuses(0, 1, NULL, INT64_MAX);
	refuses(0, 0, (int64_t[]){0, 4}, 2);
	refuses(0, 0, (int64_t[]){-1}, 1);
}

/* Anything else in their place. */
static void what_is_no_rows_is_refused(void **state)
{
	(void)state;
	struct dfg_batch_source source = samples(), empty = {.all = {.dtype = DFG_F32, .shape = {2, {0, 2}}}};
	struct dfg_tensor out = {0};
	for (uint64_t kind = 0; kind < 5; kind++) {
		struct dfg_packet packet = {0};
		dfg_packet_put(&packet, kind);
		dfg_packet_put(&packet, 0);
		struct dfg_err *err = dfg_rows_get(&packet, &source, 1, &out);
		if (!err)
			err = dfg_packet_check(&packet);
		fails(err, DFG_PROTOCOL, "");
		dfg_tensor_release(&out);
		dfg_packet_release(&packet);
	}
	struct dfg_tensor batch = {0};
	succeeds(dfg_rows_new(&empty.all, 0, 0, NULL, 0, &batch));
	fails(cross(&batch, &empty, 1, &out), DFG_PROTOCOL, "the launcher requests ");
	dfg_tensor_release(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_stand_for_elements_that_are_elsewhere),
		cmocka_unit_test(a_view_of_rows_is_those_rows),
		cmocka_unit_test(other_feeds_are_what_they_were),
		cmocka_unit_test(a_batch_that_is_read_is_not_overwritten),
		cmocka_unit_test(rows_that_the_file_does_not_have_are_refused),
		cmocka_unit_test(what_is_no_rows_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
