#include "tests/unit/step.h"

#include "lib/exec/linear/program_private.h"

#include <stdlib.h>

/* Memory of a step: packing, memory used again, views, shapes that change. */

static void expect_packed(const struct live_range *range, uint32_t count, size_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(range[i].offset % DFG_ALIGN, 0);
		assert_true(range[i].offset + range[i].bytes <= bytes);
		for (uint32_t j = 0; j < i; j++) {
			bool together = range[i].first <= range[j].last && range[j].first <= range[i].last;
			bool apart = range[i].offset + range[i].bytes <= range[j].offset ||
						 range[j].offset + range[j].bytes <= range[i].offset;
			assert_true(!together || apart);
		}
	}
}

/* Values that live for some ops: the block is hardly larger than what is alive at once. */
static void what_is_alive_together_does_not_overlap(void **state)
{
	(void)state;
	enum { COUNT = 3000 };
	struct live_range *range = calloc(COUNT, sizeof *range);
	srand(1);
	for (int large = 0; large < 2; large++) {
		struct dfg_arena scratch = {0};
		size_t bytes, live;
		for (uint32_t i = 0; i < COUNT; i++)
			range[i] = (struct live_range){.bytes = (size_t)(rand() % 64 + 1) * (large ? 4096 : 4),
				.first = i,
				.last = i + (uint32_t)(rand() % 40)};
		succeeds(dfg_pack(range, COUNT, &scratch, &bytes, &live));
		expect_packed(range, COUNT, bytes);
		assert_true(bytes >= live);
		if (large)
			assert_true((double)bytes <= 1.25 * (double)live); /* sizes at random are the worst there is */
		dfg_arena_release(&scratch);
	}
	free(range);
}

static void very_many_values_are_packed_too(void **state)
{
	(void)state;
	enum { COUNT = 9000 };
	struct live_range *range = calloc(COUNT, sizeof *range);
	struct dfg_arena scratch = {0};
	size_t bytes, live;
	for (uint32_t i = 0; i < COUNT; i++)
		range[i] = (struct live_range){.bytes = i % 100 + 1, .first = i, .last = i + i % 7};
	succeeds(dfg_pack(range, COUNT, &scratch, &bytes, &live));
	expect_packed(range, COUNT, bytes);
	assert_true(bytes < 1000000);
	dfg_arena_release(&scratch);
	free(range);
}

/* A vector 0, 1, 2, ... goes in as x; the fetch comes out. */
struct vector {
	struct steps steps;
	struct dfg_plan *plan;
	struct dfg_stats stats;
	int64_t count;
	int32_t *result;
};

static void vector_begin(struct vector *vector, const char *graph, const char *fetch)
{
	*vector = (struct vector){0};
	steps_begin(&vector->steps, &(struct dfg_session_options){.threads = 2}, graph);
	struct dfg_edge from, to;
	succeeds(dfg_graph_edge(&vector->steps.sketch.graph, "x", &from));
	succeeds(dfg_graph_edge(&vector->steps.sketch.graph, fetch, &to));
	struct dfg_step step = {.feed = &from, .n_feed = 1, .fetch = &to, .n_fetch = 1};
	succeeds(dfg_session_plan(vector->steps.session, &step, &vector->plan));
}

static void vector_run(struct vector *vector, int64_t n)
{
	struct dfg_tensor feed, out;
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(n), &feed));
	for (int64_t i = 0; i < n; i++)
		((int32_t *)feed.data)[i] = (int32_t)i;
	succeeds(dfg_plan_run(vector->plan, &feed, &out));
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(((int32_t *)feed.data)[i], i);
	vector->count = dfg_shape_count(&out.shape);
	vector->result = realloc(vector->result, (size_t)vector->count * 4 + 1);
	memcpy(vector->result, out.data, (size_t)vector->count * 4);
	dfg_tensor_release(&feed);
	dfg_tensor_release(&out);
	dfg_plan_stats(vector->plan, &vector->stats);
}

static void vector_end(struct vector *vector)
{
	free(vector->result);
	steps_end(&vector->steps);
}

static void a_chain_works_in_one_place(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\na Negate x T=i32\nb Negate a T=i32\nc Negate b T=i32\nd Negate c T=i32\n"
		"e Negate d T=i32\n",
		"e");
	vector_run(&vector, 10000);
	assert_int_equal(vector.result[9999], -9999);
	assert_true(vector.stats.peak_bytes <= 2 * 40064);
	assert_true((double)vector.stats.peak_bytes <= 1.1 * (double)vector.stats.live_bytes);
	vector_end(&vector);
}

static void what_is_read_later_is_not_written_over(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\na Plus x x T=i32\nb Negate a T=i32\nc Times b a T=i32\nd Plus c a T=i32\n"
		"e Minus d b T=i32\nf Identity e T=i32\n",
		"f");
	for (int time = 0; time < 2; time++) {
		vector_run(&vector, 100);
		for (int32_t i = 0; i < 100; i++)
			assert_int_equal(vector.result[i], -4 * i * i + 4 * i);
	}
	vector_end(&vector);
}

static void shapes_may_change_from_step_to_step(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\nk Number v=3\na Times x k T=i32\nb Plus a x T=i32\nn Size x T=i32\nc Plus b n "
		"T=i32\n",
		"c");
	for (int64_t n = 0; n < 200; n = n * 2 + 1) {
		vector_run(&vector, n);
		assert_int_equal(vector.count, n);
		for (int64_t i = 0; i < n; i++)
			assert_int_equal(vector.result[i], 4 * i + n);
	}
	for (int64_t n = 1; n < 100; n++)
		vector_run(&vector, n);
	assert_int_equal(vector.result[98], 4 * 98 + 99);
	vector_end(&vector);
}

static void a_view_costs_no_memory(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\nminus Number v=-1\nzero Number v=0\np Negate x T=i32\nq Minus p x T=i32\na Plus q x "
		"T=i32\n"
		"s ExpandDims a zero T=i32 Tdim=i32\nt Squeeze s T=i32\nb Negate t T=i32\nc Plus b a T=i32\n",
		"c");
	vector_run(&vector, 10000);
	assert_int_equal(vector.result[9999], 0);
	assert_true(vector.stats.peak_bytes <= 3 * 40064);
	vector_end(&vector);
}

/* Of sizes at which a kernel takes the memory of an input that nothing else reads. */
static void a_view_of_a_constant_is_not_worked_in(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\nn Number v=50000\nzero Number v=0\none Number v=1\nd ExpandDims n zero T=i32 "
		"Tdim=i32\n"
		"c Fill d zero T=i32 index_type=i32\ns Shape x T=i32 out_type=i32\nv Reshape c s T=i32 Tshape=i32\n"
		"y Plus v one T=i32\n",
		"y");
	for (int time = 0; time < 3; time++) {
		vector_run(&vector, 50000);
		assert_int_equal(vector.result[0], 1);
		assert_int_equal(vector.result[49999], 1);
	}
	vector_end(&vector);
}

static void a_view_of_a_feed_that_a_step_made_is_not_worked_in(void **state)
{
	(void)state;
	struct vector vector;
	vector_begin(&vector,
		"x Placeholder dtype=i32\nzero Number v=0\nv ExpandDims x zero T=i32 Tdim=i32\ny Negate v T=i32\n", "y");
	struct dfg_tensor feed, made, out;
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(50000), &feed));
	((int32_t *)feed.data)[7] = 7;
	succeeds(dfg_plan_run(vector.plan, &feed, &made));
	made.shape = feed.shape;
	succeeds(dfg_plan_run(vector.plan, &made, &out));
	assert_int_equal(((int32_t *)out.data)[7], 7);
	assert_int_equal(((int32_t *)made.data)[7], -7);
	dfg_tensor_release(&feed);
	dfg_tensor_release(&made);
	dfg_tensor_release(&out);
	vector_end(&vector);
}

static void constants_are_computed_once_but_effects_are_not(void **state)
{
	(void)state;
	tick_count = 0;
	gives("a Number v=3\nb Number v=4\nc Times a b T=i32\nd Tick c\ne Plus d c T=i32\n", "", "e", 24);
	assert_int_equal(tick_count, 48);
}

static void a_constant_that_fails_matters_only_where_it_runs(void **state)
{
	(void)state;
	const char *graph =
		"x Placeholder dtype=i32\np Even x\none Number v=1\ns Switch one p T=i32\nh Half s:0\n"
		"bad Half one\nc Plus bad h T=i32\nm Merge c s:1 T=i32 N=2\n";
	refuses(graph, "x=2", "m", "node 'bad' (Half): 1 is odd");
	gives(
		"x Placeholder dtype=i32\np Even x\none Number v=1\ns Switch one p T=i32\nh Half s:0\n"
		"m Merge h s:1 T=i32 N=2\n",
		"x=2", "m", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_alive_together_does_not_overlap),
		cmocka_unit_test(very_many_values_are_packed_too),
		cmocka_unit_test(a_chain_works_in_one_place),
		cmocka_unit_test(what_is_read_later_is_not_written_over),
		cmocka_unit_test(shapes_may_change_from_step_to_step),
		cmocka_unit_test(a_view_costs_no_memory),
		cmocka_unit_test(a_view_of_a_constant_is_not_worked_in),
		cmocka_unit_test(a_view_of_a_feed_that_a_step_made_is_not_worked_in),
		cmocka_unit_test(constants_are_computed_once_but_effects_are_not),
		cmocka_unit_test(a_constant_that_fails_matters_only_where_it_runs),
	};
	return cmocka_run_group_tests_name("memory_plan", tests, NULL, NULL);
}
