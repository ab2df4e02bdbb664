#include "tests/unit/ways.h"

#include <pthread.h>
#include <time.h>

/* The limits of a step, and its reports: windows, time, iterations, errors, statistics, the trace. */

/* i from x to n by 1; every iteration ticks. */
#define COUNT_TO(n)                                                         \
	"x Placeholder dtype=i32\n.0 Number v=0\n.1 Number v=1\nn Number v=" #n \
	"\ninto w limit n\ninto w step .1\n"                                    \
	"less Below i.m limit\nwhile w less\ncarry w i x add\nt Tick i\nadd Plus t step T=i32\n"

static void a_loop_in_a_loop_is_named_with_what_is_around_it(void **state)
{
	(void)state;
	static char text[4000];
	expand(
		"x Placeholder dtype=i32\n.0 Number v=0\n.1 Number v=1\n.9 Number v=9\ncount o x\ncarry o sum .0 inner.out\n"
		"into o o.9 .9\ncount i o.9 o\ncarry i inner sum h\nh Plus inner i.1 T=i32\n",
		3, text, sizeof text);
	for (int way = 0; way < 2; way++) {
		struct steps steps;
		int32_t got;
		steps_begin(&steps, &(struct dfg_session_options){.max_iterations = 8, .random_schedule = way > 0}, text);
		fails(steps_run(&steps, "x=3", "sum.out", &got), DFG_DATA, "loop 'o/i' runs more than 8 iterations");
		nothing_is_left();
		steps_end(&steps);
	}
}

static void a_loop_may_be_held_to_a_number_of_iterations(void **state)
{
	(void)state;
	static char text[4000];
	expand(COUNT_TO(10), 3, text, sizeof text);
	for (int64_t most = 9; most <= 10; most++) {
		struct steps steps;
		int32_t got;
		steps_begin(&steps, &(struct dfg_session_options){.max_iterations = most}, text);
		if (most == 10)
			succeeds(steps_run(&steps, "x=0", "i.out", &got));
		else
			fails(steps_run(&steps, "x=0", "i.out", &got), DFG_DATA, "loop 'w' runs more than 9 iterations");
		nothing_is_left();
		steps_end(&steps);
	}
}

/* Loops in loops without an end; a third one runs ahead of them and waits for what they save. */
#define ENDLESS                                                                                                   \
	"x Placeholder dtype=i32\n.0 Number v=0\n.1 Number v=1\ncount f x\ncarry f sum .0 inner.out\ncount h f.i f\n" \
	"into h h.f f.i\ncarry h inner sum more\nmore Plus inner h.f T=i32\nlate Work inner.out\n"                    \
	"s Dfg>Save late f.i T=i32 K=i32 N=1\ncount g x\ncarry g total .0 add\nl Dfg>Load s g.i T=i32 K=i32 N=1\n"    \
	"add Plus total l T=i32\ni.out Plus total.out sum.out T=i32\n"

static void expect_deadline(const char *graph, const char *longer, const char *shorter)
{
	static char text[8000];
	for (int way = 0; way < 4; way++) {
		struct steps steps;
		int32_t got;
		expand(graph, way < 2 ? 3 : 10, text, sizeof text);
		steps_begin(&steps,
			&(struct dfg_session_options){.timeout = 0.02, .threads = 1 + way % 2, .random_schedule = way > 1}, text);
		fails(steps_run(&steps, longer, "i.out", &got), DFG_DEADLINE, "the step took longer than 0.02 s");
		nothing_is_left();
		succeeds(steps_run(&steps, shorter, "i.out", &got));
		nothing_is_left();
		steps_end(&steps);
	}
}

static void a_step_may_be_held_to_a_time(void **state)
{
	(void)state;
	expect_deadline(COUNT_TO(2000000000), "x=0", "x=2000000000");
	expect_deadline(ENDLESS, "x=2000000000", "x=3");
}

static atomic_bool cancelled;

static void *cancel_soon(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	atomic_store(&cancelled, true);
	return arg;
}

static void expect_stopped(const char *graph, const char *longer, const char *shorter)
{
	static char text[8000];
	expand(graph, 3, text, sizeof text);
	for (int way = 0; way < 4; way++) {
		struct steps steps;
		pthread_t thread;
		int32_t got;
		atomic_store(&cancelled, false);
		steps_begin(&steps,
			&(struct dfg_session_options){.cancel = &cancelled, .threads = 1 + way % 2, .random_schedule = way > 1},
			text);
		assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
		fails(steps_run(&steps, longer, "i.out", &got), DFG_STOPPED, "the step was stopped");
		assert_int_equal(pthread_join(thread, NULL), 0);
		nothing_is_left();
		atomic_store(&cancelled, false);
		succeeds(steps_run(&steps, shorter, "i.out", &got));
		nothing_is_left();
		steps_end(&steps);
	}
}

static void a_step_may_be_stopped(void **state)
{
	(void)state;
	expect_stopped(COUNT_TO(2000000000), "x=0", "x=2000000000");
	expect_stopped(ENDLESS, "x=2000000000", "x=3");
	expect_stopped(
		"x Placeholder dtype=i32\nn Number v=1\n"
		"p Below x n\ns Switch x p T=i32\nlong Dfg>Sleep s:1 ms=3600000 T=i32\ni.out Merge s long T=i32 "
		"N=2\n",
		"x=0", "x=2000000000");
}

/* How many of the nodes of a name were at work at once, and how often one of another name ran before the third. */
struct seen {
	int events, dead, deepest;
	char frame[64];
	const char *name, *until;
	int before, at_once;
	bool over;
	int count;
	uint64_t begin[256], end[256];
};

static void see(void *arg, const struct dfg_trace_event *event)
{
	struct seen *seen = arg;
	seen->events++;
	seen->dead += event->dead;
	seen->over |= seen->until && !strcmp(event->node, seen->until);
	if (seen->name && !event->dead && !strcmp(event->node, seen->name)) {
		seen->before += !seen->over;
		assert_true(seen->count < 256);
		seen->begin[seen->count] = event->begin_ns;
		seen->end[seen->count++] = event->end_ns;
	}
	assert_true(event->end_ns >= event->begin_ns);
	if (event->depth > seen->deepest) {
		seen->deepest = event->depth;
		strcpy(seen->frame, event->frame);
	}
}

static int most_at_once(const struct seen *seen)
{
	int most = 0;
	for (int i = 0; i < seen->count; i++) {
		int now = 0;
		for (int j = 0; j < seen->count; j++)
			now += seen->begin[j] <= seen->begin[i] && seen->begin[i] < seen->end[j];
		most = now > most ? now : most;
	}
	return most;
}

static int32_t run_traced(const char *graph, int window, int threads, struct seen *seen, struct dfg_stats *out_stats)
{
	static char text[4000];
	struct steps steps;
	int32_t got;
	expand(graph, window, text, sizeof text);
	steps_begin(&steps, &(struct dfg_session_options){.trace = see, .trace_arg = seen, .threads = threads}, text);
	succeeds(steps_run(&steps, "x=0", "i.out", &got));
	nothing_is_left();
	dfg_plan_stats(last_plan, out_stats);
	steps_end(&steps);
	return got;
}

static void as_many_iterations_overlap_as_the_window_allows(void **state)
{
	(void)state;
	const char *graph = COUNT_TO(30) "long Dfg>Sleep t ms=10 T=i32\n"
													   "carry w v x long\nr Plus i.out v.out T=i32\n";
	static const int windows[] = {1, 2, 10};
	for (int w = 0; w < 3; w++) {
		struct seen seen = {.name = "long"};
		struct steps steps;
		static char text[4000];
		int32_t got;
		expand(graph, windows[w], text, sizeof text);
		steps_begin(&steps, &(struct dfg_session_options){.trace = see, .trace_arg = &seen, .threads = 1}, text);
		succeeds(steps_run(&steps, "x=0", "r", &got));
		assert_int_equal(got, 59);
		assert_int_equal(most_at_once(&seen), windows[w]);
		steps_end(&steps);
	}
}

/* Until all has entered, no iteration ends: as many run ahead as the window allows. */
static void a_late_invariant_holds_the_loop_to_its_window(void **state)
{
	(void)state;
	const char *graph = COUNT_TO(40) "late Dfg>Sleep .1 ms=30 T=i32\ninto w l late\n"
													   "carry w v .0 sum\nsum Plus v l T=i32\n"
													   "i.out2 Plus i.out v.out T=i32\n";
	for (int w = 0; w < 4; w++) {
		struct seen seen = {.name = "t", .until = "l"};
		struct dfg_stats stats;
		struct steps steps;
		static char text[4000];
		int32_t got;
		expand(graph, all_windows[w], text, sizeof text);
		steps_begin(&steps, &(struct dfg_session_options){.trace = see, .trace_arg = &seen, .threads = 1}, text);
		succeeds(steps_run(&steps, "x=0", "i.out2", &got));
		assert_int_equal(got, 80);
		assert_int_equal(seen.before, all_windows[w]);
		dfg_plan_stats(last_plan, &stats);
		assert_int_equal(stats.iterations, 41);
		steps_end(&steps);
	}
}

#define NESTED                                                                                              \
	".0 Number v=0\n.1 Number v=1\nx Placeholder dtype=i32\nn Number v=9\ncount o n\ncarry o i .0 in.out\n" \
	"count k o.i o\ninto k f o.i\ncarry k in i add\nij Times k.i f T=i32\nadd Plus in ij T=i32\n"

static void a_window_bounds_the_frames_of_the_loop_within(void **state)
{
	(void)state;
	for (int w = 0; w < 4; w++) {
		struct seen seen = {0};
		struct dfg_stats stats;
		assert_int_equal(run_traced(NESTED, all_windows[w], 1, &seen, &stats), 546);
		assert_true(stats.peak_frames <= 1 + (uint64_t)all_windows[w]);
		assert_int_equal(stats.iterations, 10 + 9 * 10 / 2 + 1); /* the inner loop is entered dead once */
		assert_int_equal(seen.deepest, 2);
		assert_string_equal(seen.frame, "o/k");
		assert_int_equal(seen.dead > 0, 1);
	}
}

static void a_loop_takes_no_more_memory_for_more_iterations(void **state)
{
	(void)state;
	struct seen seen = {0};
	struct dfg_stats few, many;
	assert_int_equal(run_traced(COUNT_TO(1000), 10, 1, &seen, &few), 1000);
	assert_int_equal(run_traced(COUNT_TO(1000000), 10, 1, &seen, &many), 1000000);
	assert_int_equal(few.iterations, 1001);
	assert_int_equal(many.iterations, 1000001);
	assert_int_equal(many.peak_bytes, few.peak_bytes);
	assert_int_equal(many.peak_frames, 1);
	assert_true(few.dead_tokens > 0);
}

static void sleep_says_what_it_cannot_do(void **state)
{
	(void)state;
	never("x Placeholder dtype=i32\ny Dfg>Sleep x ms=-5 T=i32\n", "x=1", "y", "node 'y' (Dfg>Sleep)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_may_be_held_to_a_number_of_iterations),
		cmocka_unit_test(a_loop_in_a_loop_is_named_with_what_is_around_it),
		cmocka_unit_test(a_step_may_be_held_to_a_time),
		cmocka_unit_test(a_step_may_be_stopped),
		cmocka_unit_test(as_many_iterations_overlap_as_the_window_allows),
		cmocka_unit_test(a_late_invariant_holds_the_loop_to_its_window),
		cmocka_unit_test(a_window_bounds_the_frames_of_the_loop_within),
		cmocka_unit_test(a_loop_takes_no_more_memory_for_more_iterations),
		cmocka_unit_test(sleep_says_what_it_cannot_do),
	};
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
