#include "tests/unit/program.h"

/*
 * Derivatives of loops and branches: known values, of order 1 to 3, in every window, on one thread and two, in a hundred
 * schedules each. The values are worked out by hand.
 */

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { SCHEDULES = 10 };
#else
enum { SCHEDULES = 100 };
#endif

/* The text with each W a window. */
static void with_window(const char *text, int window, char *out, size_t room)
{
	size_t at = 0;
	for (; *text; text++) {
		assert_true(at + 12 < room);
		if (*text == 'W')
			at += (size_t)snprintf(out + at, room - at, "%d", window);
		else
			out[at++] = *text;
	}
	out[at] = '\0';
}

static void run_in(struct program *program, const struct dfg_session_options *options, const char *wanted)
{
	struct dfg_tensor y;
	char words[1000];
	dfg_session_free(program->session);
	program->session = NULL;
	succeeds(dfg_session_new(&program->graph, options, &program->session));
	succeeds(program_run(program, "y", NULL, &y));
	program_words(&y, words, sizeof words);
	if (strcmp(words, wanted))
		fail_msg("y is '%s', not '%s' (threads %d, schedule %d)", words, wanted, options->threads,
			(int)options->schedule_seed);
	dfg_tensor_release(&y);
}

/* What the program calls y, always. */
static void slopes(const char *text, const char *wanted)
{
	static const int windows[] = {1, 2, 10, 32};
	char windowed[4000];
	for (int w = 0; w < 4; w++) {
		struct program program;
		with_window(text, windows[w], windowed, sizeof windowed);
		succeeds(program_begin(&program, windowed, NULL));
		for (int threads = 1; threads <= 2; threads++)
			for (int seed = 0; seed <= SCHEDULES; seed++)
				run_in(&program,
					&(struct dfg_session_options){
						.threads = threads, .random_schedule = seed > 0, .schedule_seed = (uint64_t)seed},
					wanted);
		program_end(&program);
	}
}

static void as_many_trips_as_the_value_says(void **state)
{
	(void)state;
#define SQUARES(x)                                                                        \
	"input x: f64[] = " x                                                                 \
	"\nv = loop (v = x) while v < 8 with (parallel = W) { next v * v }\na = grad(v, x)\n" \
	"b = grad(a, x)\noutput y = stack([v, a, b, grad(b, x)])\n"
	slopes(SQUARES("2"), "[4] 16 32 48 48");
	slopes(SQUARES("9"), "[4] 9 1 0 0");
}

static void an_invariant_has_the_sum_of_all_trips(void **state)
{
	(void)state;
#define POWERS(n)                                                                                     \
	"input x: f64[] = 2\ninput w: f64[] = 3\ninput n: i32[] = " n                                     \
	"\nv = loop (v = x) for i in 0..n with (parallel = W) { next v * w }\ndx, dw = grad(v, [x, w])\n" \
	"output y = stack([v, dx, dw, grad(dw, w), grad(dw, x)])\n"
	slopes(POWERS("3"), "[5] 54 27 54 36 27");
	slopes(POWERS("0"), "[5] 2 1 0 0 0");
}

static void a_branch_in_a_loop(void **state)
{
	(void)state;
	slopes(
		"input x: f64[] = 3\nv = loop (v = 1.0 + 0 * x) for i in 0..4 with (parallel = W) {\n"
		"next if i % 2 == 0 { v * x } else { v + x }\n}\na = grad(v, x)\noutput y = stack([v, a, grad(a, x)])\n",
		"[3] 21 13 4");
}

static void loops_in_loops(void **state)
{
	(void)state;
#define NEST(trips)                                                                                            \
	"input x: f64[] = 2\ninput n: i32[] = 3\nv = loop (v = 1.0 + 0 * x) for i in 0..n with (parallel = W) {\n" \
	"next loop (u = v) for j in 0.." trips                                                                     \
	" with (parallel = W) { next u * x }\n}\na = grad(v, x)\n"                                                 \
	"output y = stack([v, a, grad(a, x)])\n"
	slopes(NEST("2"), "[3] 64 192 480");
	slopes(NEST("i"), "[3] 8 12 12");
}

static void what_is_not_asked_for_and_what_is_overwritten(void **state)
{
	(void)state;
#define TWO(n, what)                                                              \
	"input x: f64[] = 2\ninput w: f64[] = 3\ninput n: i32[] = " n                 \
	"\na, b = loop (a = x, b = w) for i in 0..n with (parallel = W) { next " what \
	" }\n"                                                                        \
	"output y = stack(grad(a, [x, w]))\n"
	slopes(TWO("3", "a + b, 2 * b"), "[2] 1 7");
	slopes(TWO("3", "w, b"), "[2] 0 1");
	slopes(TWO("0", "w, b"), "[2] 1 0");
}

static void a_side_that_reads_nothing_gives_zeros(void **state)
{
	(void)state;
#define CHOICE(p)                                                  \
	"input x: f64[] = 2\ninput w: f64[] = 3\ninput p: bool[] = " p \
	"\nv = if p { x * w } else { x * 3 }\na, b = grad(v, [x, w])\noutput y = stack([v, a, b])\n"
	slopes(CHOICE("true"), "[3] 6 3 2");
	slopes(CHOICE("false"), "[3] 6 3 0");
}

static void asked_for_in_a_body(void **state)
{
	(void)state;
	slopes(
		"input x: f64[] = 1\nv = loop (v = x) for i in 0..3 with (parallel = W) { next v - 0.1 * grad(v * v, v) }\n"
		"output y = stack([v, grad(v, x)])\n",
		"[2] 0.512 0.512");
}

static void rows_of_an_invariant(void **state)
{
	(void)state;
	slopes(
		"input table: f64[3, 2] = [[1, 2], [3, 4], [5, 6]]\n"
		"v = loop (s = f64(0)) for i in 0..3 with (parallel = W) { next s + 2 * sum(take(table, [i, i])) }\n"
		"output y = grad(v, table)\n",
		"[3,2] 4 4 4 4 4 4");
}

static void sequences_and_what_is_yielded(void **state)
{
	(void)state;
	slopes(
		"input xs: f64[3] = [2, 3, 4]\np, ps = loop (p = f64(1)) for e in xs with (parallel = W) {\nq = p * e\n"
		"yield q\nnext q\n}\nv = sum(ps)\noutput y = concat([[v], grad(v, xs)], axis = 0)\n",
		"[4] 32 16 10 6");
}

/* Five products read the variable, so do five of their derivatives; what stays the same needs no saving. */
static void a_value_is_saved_once_a_trip_whoever_reads_it(void **state)
{
	(void)state;
	struct program program;
	struct dfg_tensor y;
	struct dfg_edge of;
	struct dfg_plan *plan;
	struct dfg_stats stats;
	succeeds(program_begin(&program,
		"input a: f64[] = 1\ninput b: f64[] = 2\ninput c: f64[] = 3\ninput d: f64[] = 4\ninput e: f64[] = -9.5\n"
		"v = loop (v = 1.0 + 0 * a) for i in 0..7 { next v * a + v * b + v * c + v * d + v * e }\n"
		"output y = sum(stack(grad(v, [a, b, c, d, e])))\n",
		NULL));
	succeeds(program_run(&program, "y", NULL, &y));
	assert_true(fabs(dfg_tensor_float(&y, 0) - 5 * 7 * pow(0.5, 6)) < 1e-12);
	dfg_tensor_release(&y);
	succeeds(dfg_graph_edge(&program.graph, "y", &of));
	succeeds(dfg_session_plan(program.session, &(struct dfg_step){.fetch = &of, .n_fetch = 1}, &plan));
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.saves, 7);
	program_end(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_trips_as_the_value_says),
		cmocka_unit_test(an_invariant_has_the_sum_of_all_trips),
		cmocka_unit_test(a_branch_in_a_loop),
		cmocka_unit_test(loops_in_loops),
		cmocka_unit_test(what_is_not_asked_for_and_what_is_overwritten),
		cmocka_unit_test(a_side_that_reads_nothing_gives_zeros),
		cmocka_unit_test(asked_for_in_a_body),
		cmocka_unit_test(rows_of_an_invariant),
		cmocka_unit_test(sequences_and_what_is_yielded),
		cmocka_unit_test(a_value_is_saved_once_a_trip_whoever_reads_it),
	};
	return cmocka_run_group_tests_name("gradient_ways", tests, NULL, NULL);
}
