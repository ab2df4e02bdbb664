#include "lib/base/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct dfg_pool *new_pool(int threads)
{
	struct dfg_pool *pool;
	assert_null(dfg_pool_new(threads, &pool));
	return pool;
}

enum { PARTS = 1000 };

struct marks {
	struct dfg_pool *pool;
	atomic_int mark[PARTS];
};

static void mark(void *arg, int64_t i)
{
	atomic_fetch_add(&((struct marks *)arg)->mark[i], 1);
}

static void expect_each(const struct marks *marks, int times)
{
	for (int i = 0; i < PARTS; i++)
		assert_int_equal(marks->mark[i], times);
}

static void every_part_runs_once_on_any_number_of_threads(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 5; threads++) {
		struct marks marks = {.pool = new_pool(threads)};
		for (int time = 1; time <= 20; time++) {
			dfg_pool_parallel(marks.pool, PARTS, mark, &marks);
			expect_each(&marks, time);
		}
		dfg_pool_free(marks.pool);
	}
}

static void mark_row(void *arg, int64_t row)
{
	struct marks *marks = arg;
	(void)row;
	dfg_pool_parallel(marks->pool, PARTS, mark, marks);
}

static void loops_may_stand_within_loops(void **state)
{
	(void)state;
	struct marks marks = {.pool = new_pool(4)};
	dfg_pool_parallel(marks.pool, 10, mark_row, &marks);
	expect_each(&marks, 10);
	dfg_pool_free(marks.pool);
}

static void *mark_all(void *arg)
{
	struct marks *marks = arg;
	for (int time = 0; time < 50; time++)
		dfg_pool_parallel(marks->pool, PARTS, mark, marks);
	return NULL;
}

static void several_threads_may_ask_at_once(void **state)
{
	(void)state;
	pthread_t thread[3];
	struct marks marks = {.pool = new_pool(3)};
	for (int i = 0; i < 3; i++)
		assert_false(pthread_create(&thread[i], NULL, mark_all, &marks));
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	expect_each(&marks, 150);
	dfg_pool_free(marks.pool);
}

struct errand {
	struct dfg_task task;
	struct dfg_event *done; /* outlives the task: whoever signals looks at it once more */
	atomic_int runs, thread;
};

static void run_errand(struct dfg_task *task)
{
	struct errand *errand = (struct errand *)task;
	errand->thread = dfg_pool_thread();
	atomic_fetch_add(&errand->runs, 1);
	dfg_event_signal(errand->done);
}

static void a_task_runs_once_elsewhere_or_is_taken_back(void **state)
{
	(void)state;
	struct dfg_pool *pool = new_pool(2);
	struct dfg_event done = {0};
	for (int time = 0; time < 200; time++) {
		struct errand errand = {.task.begin = run_errand, .done = &done};
		uint32_t before = atomic_load(&done.word);
		dfg_pool_submit(pool, &errand.task);
		bool back = time % 2 && dfg_pool_take_back(pool, &errand.task);
		while (!back && atomic_load(&done.word) == before)
			dfg_event_wait(&done, before);
		assert_int_equal(errand.runs, back ? 0 : 1);
		assert_int_equal(errand.thread, back ? 0 : 1);
	}
	assert_int_equal(dfg_pool_thread(), 0);
	dfg_pool_free(pool);
}

static void a_pool_of_one_makes_no_thread(void **state)
{
	(void)state;
	struct dfg_pool *pool = new_pool(1);
	struct marks marks = {.pool = pool};
	dfg_pool_parallel(pool, PARTS, mark, &marks);
	expect_each(&marks, 1);
	assert_int_equal(dfg_pool_threads(pool), 1);
	dfg_pool_free(pool);
}

static void at_least_one_thread_is_allowed(void **state)
{
	(void)state;
	assert_true(dfg_threads_allowed() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_runs_once_on_any_number_of_threads),
		cmocka_unit_test(loops_may_stand_within_loops),
		cmocka_unit_test(several_threads_may_ask_at_once),
		cmocka_unit_test(a_task_runs_once_elsewhere_or_is_taken_back),
		cmocka_unit_test(a_pool_of_one_makes_no_thread),
		cmocka_unit_test(at_least_one_thread_is_allowed),
	};
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
