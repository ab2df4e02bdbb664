#include "tests/unit/test.h"

#include "lib/base/mem.h"
#include "lib/exec/parallel/loop_schedule.h"

#include <stdlib.h>
#include <string.h>

/*
 * Schedules of random iterations against definitions that are computed pair by pair: an iteration's level is one more than
 * the highest level of the earlier ones of its unit that it depends on.
 */
enum { MOST = 60, ACCESSES = 4, KEYS = 2 };

struct random_loop {
	int64_t space[MOST], time[MOST], key[ACCESSES][KEYS][MOST];
	const int64_t *keys[ACCESSES][KEYS];
	struct dfg_loop_access access[ACCESSES];
	struct dfg_loop_iterations loop;
};

static uint32_t state = 1;
static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

/* Every access has the row of the space or of the time coordinate, so that rotation keeps units of a clock apart. */
static void make_loop(struct random_loop *r, bool wide)
{
	*r = (struct random_loop){
		.loop = {.n = draw(MOST), .space = r->space, .time = r->time, .access = r->access, .n_access = ACCESSES}};
	int64_t scale = wide ? INT64_C(1) << 40 : 1;
	for (int64_t i = 0; i < r->loop.n; i++) {
		r->space[i] = draw(9) * scale - 3;
		r->time[i] = draw(7) * scale;
	}
	for (uint32_t a = 0; a < ACCESSES; a++) {
		uint32_t array = a / 2;
		for (int64_t i = 0; i < r->loop.n; i++) {
			r->key[a][0][i] = array ? r->time[i] : r->space[i];
			r->key[a][1][i] = a % 2 ? r->key[a - 1][1][i] : (int64_t)draw(2) * scale;
		}
		r->keys[a][0] = r->key[a][0];
		r->keys[a][1] = r->key[a][1];
		r->access[a] = (struct dfg_loop_access){array, draw(2), r->keys[a], KEYS};
	}
}

static bool depends(const struct dfg_loop_iterations *loop, int64_t i, int64_t j)
{
	for (uint32_t a = 0; a < loop->n_access; a++)
		for (uint32_t b = 0; b < loop->n_access; b++) {
			const struct dfg_loop_access *x = &loop->access[a], *y = &loop->access[b];
			bool same = x->array == y->array && (x->writes || y->writes);
			for (uint32_t k = 0; same && k < x->n_key; k++)
				same = x->key[k][i] == y->key[k][j];
			if (same)
				return true;
		}
	return false;
}

static int32_t clock_of(enum dfg_unit_clock clock, int32_t space, int32_t time, int32_t blocks)
{
	return clock == DFG_CLOCK_ROTATION    ? (time - space + blocks) % blocks
		   : clock == DFG_CLOCK_STAIRCASE ? space + time
										  : 0;
}

static void check_schedule(const struct random_loop *r, const struct dfg_loop_cut *cut)
{
	const struct dfg_loop_iterations *loop = &r->loop;
	int32_t space[MOST], time[MOST], clock[MOST], level[MOST], slice[MOST] = {0};
	struct dfg_loop_schedule s;
	succeeds(dfg_loop_schedule_find(loop, cut, &s));
	succeeds(dfg_loop_blocks_find(loop->space, loop->n, cut->blocks, cut->by_range, space));
	succeeds(dfg_loop_blocks_find(loop->time, loop->n, cut->blocks, cut->by_range, time));
	assert_true(s.start[0] == 0 && s.start[s.slices] == loop->n);
	for (int64_t k = 0; k < s.slices; k++) {
		assert_true(s.start[k] < s.start[k + 1]);
		for (int64_t p = s.start[k]; p < s.start[k + 1]; p++) {
			assert_true(p == s.start[k] || s.order[p] > s.order[p - 1]);
			assert_int_equal(s.block[p], space[s.order[p]]);
			slice[s.order[p]] = (int32_t)k + 1;
		}
	}
	for (int64_t i = 0; i < loop->n; i++) {
		assert_true(slice[i]); /* every iteration is in a slice, and none is in two, since the numbers add up */
		clock[i] = clock_of(cut->clock, space[i], time[i], (int32_t)cut->blocks);
		level[i] = 0;
		for (int64_t j = 0; j < i; j++)
			if (clock[i] == clock[j] && depends(loop, j, i) && level[j] >= level[i])
				level[i] = level[j] + 1;
	}
	for (int64_t i = 0; i < loop->n; i++)
		for (int64_t j = 0; j < loop->n; j++) {
			bool before = clock[i] < clock[j] || (clock[i] == clock[j] && level[i] < level[j]);
			bool same = clock[i] == clock[j] && level[i] == level[j];
			assert_int_equal(slice[i] < slice[j], before);
			assert_int_equal(slice[i] == slice[j], same);
		}
	dfg_loop_schedule_release(&s);
}

static void slices_are_levels_of_clocks(void **unused)
{
	static const enum dfg_unit_clock clocks[] = {DFG_CLOCK_ONE, DFG_CLOCK_ROTATION, DFG_CLOCK_STAIRCASE};
	struct random_loop r;
	(void)unused;
	for (int i = 0; i < 600; i++) {
		make_loop(&r, i % 5 == 4);
		struct dfg_loop_cut cut = {.blocks = 1 + draw(6),
			.clock = clocks[i % 3],
			.by_range = draw(2),
			.verify = clocks[i % 3] != DFG_CLOCK_ONE};
		check_schedule(&r, &cut);
	}
}

/* The count of each block is that of the definition: a cut lies after the value at which the running count reaches kn/B. */
static void check_cuts(const int64_t *value, int64_t n, uint32_t blocks)
{
	int32_t block[500];
	succeeds(dfg_loop_blocks_find(value, n, blocks, false, block));
	for (int64_t i = 0; i < n; i++) {
		int32_t expected = 0;
		for (uint32_t k = 1; k < blocks; k++) {
			int64_t less = 0; /* values before this one: the cut k is less than it if they reach kn/B */
			for (int64_t j = 0; j < n; j++)
				less += value[j] < value[i];
			expected += less * blocks >= (int64_t)k * n;
		}
		assert_int_equal(block[i], expected);
	}
}

static void cuts_follow_the_running_count(void **unused)
{
	int64_t value[500];
	(void)unused;
	for (int i = 0; i < 60; i++) {
		int64_t n = 1 + draw(40);
		for (int64_t k = 0; k < n; k++)
			value[k] = (int64_t)draw(12) * (i % 2 ? INT64_C(1) << 50 : 1) - 4;
		check_cuts(value, n, 1 + draw(9));
	}
}

/* Zipf's law: rows by equal counts are balanced, by equal ranges they are not. */
static void histograms_balance_skewed_rows(void **unused)
{
	enum { N = 20000, ROWS = 2000, BLOCKS = 8 };
	static int64_t value[N];
	static double sum[ROWS];
	double total = 0;
	(void)unused;
	for (int v = 0; v < ROWS; v++)
		sum[v] = total += 1 / __builtin_pow(v + 1, 0.7);
	for (int i = 0; i < N; i++) {
		double u = draw(1 << 20) / (double)(1 << 20) * total;
		while (value[i] < ROWS - 1 && sum[value[i]] < u)
			value[i]++;
	}
	const struct dfg_loop_iterations loop = {.n = N, .space = value};
	struct dfg_loop_cut cut = {.blocks = BLOCKS};
	struct dfg_loop_schedule s;
	succeeds(dfg_loop_schedule_find(&loop, &cut, &s));
	assert_true(s.space_load <= 1.1 && s.space_load >= 1);
	dfg_loop_schedule_release(&s);
	cut.by_range = true;
	succeeds(dfg_loop_schedule_find(&loop, &cut, &s));
	assert_true(s.space_load > 2);
	dfg_loop_schedule_release(&s);
}

/* A plan whose coordinate does not keep the rows apart is found out; reads alone may be shared. */
static void a_wrong_plan_is_caught(void **unused)
{
	const int64_t space[] = {0, 1, 2, 3}, row[] = {0, 1, 2, 1};
	const int64_t *key = row;
	struct dfg_loop_access access = {.writes = true, .key = &key, .n_key = 1};
	const struct dfg_loop_iterations loop = {.n = 4, .space = space, .access = &access, .n_access = 1};
	struct dfg_loop_cut cut = {.blocks = 4, .verify = true};
	struct dfg_loop_schedule s;
	(void)unused;
	fails(dfg_loop_schedule_find(&loop, &cut, &s), DFG_BUG, "iterations 1 and 3 access the same row of array 0");
	cut.blocks = 2;
	fails(dfg_loop_schedule_find(&loop, &cut, &s), DFG_BUG, "would run in parallel at clock 0");
	access.writes = false;
	succeeds(dfg_loop_schedule_find(&loop, &cut, &s));
	dfg_loop_schedule_release(&s);
}

static void a_staircase_in_order_requires_sorted_iterations(void **unused)
{
	const int64_t space[] = {0, 0, 1}, time[] = {0, 5, 3}, unsorted[] = {5, 0, 3};
	struct dfg_loop_iterations loop = {.n = 3, .space = space, .time = time};
	const struct dfg_loop_cut cut = {.blocks = 2, .clock = DFG_CLOCK_STAIRCASE, .needs_sorted = true};
	struct dfg_loop_schedule s;
	(void)unused;
	succeeds(dfg_loop_schedule_find(&loop, &cut, &s));
	dfg_loop_schedule_release(&s);
	loop.time = unsorted;
	fails(dfg_loop_schedule_find(&loop, &cut, &s), DFG_DATA, "iteration 1 is at (0, 0), after one at (0, 5)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_levels_of_clocks),
		cmocka_unit_test(cuts_follow_the_running_count),
		cmocka_unit_test(histograms_balance_skewed_rows),
		cmocka_unit_test(a_wrong_plan_is_caught),
		cmocka_unit_test(a_staircase_in_order_requires_sorted_iterations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
