#include "tests/unit/step.h"

/* Control flow: every rule of Switch, Merge and the frames, on every engine and schedule. */

#define COND                             \
	"x Placeholder dtype=i32\n"          \
	"y Placeholder dtype=i32\n"          \
	"p Below x y\n"                      \
	"xs Switch x p T=i32\n"              \
	"ys Switch y p T=i32\n"              \
	"sum Plus xs:1 ys:1 T=i32\n"         \
	"ticked Tick ys:0\n"                 \
	"square Times ticked ticked T=i32\n" \
	"m Merge square sum T=i32 N=2\n"     \
	"after Plus square x T=i32\n"

static void a_branch_that_is_not_taken_does_not_run(void **state)
{
	(void)state;
	tick_count = 0;
	gives(COND, "x=2 y=5", "m", 7);
	assert_int_equal(tick_count, 0);
	gives(COND, "x=5 y=2", "m", 4);
	assert_int_equal(tick_count, 48);
}

static void a_merge_says_which_input_lived(void **state)
{
	(void)state;
	gives(COND, "x=2 y=5", "m:1", 1);
	gives(COND, "x=5 y=2", "m:1", 0);
}

static void a_dead_fetch_names_its_switch_and_the_predicate(void **state)
{
	(void)state;
	refuses(COND, "x=2 y=5", "after", "fetch 'after:0' is dead: node 'ys' (Switch) saw the predicate true");
	refuses(COND, "x=5 y=2", "sum", "fetch 'sum:0' is dead: node 'xs' (Switch) saw the predicate false");
}

static void dead_control_kills_all_but_merge_and_trigger(void **state)
{
	(void)state;
	const char *graph = COND
		"dead Number v=1 ^square\n"
		"trigger ControlTrigger ^square\n"
		"live Number v=2 ^trigger\n"
		"both Merge x dead T=i32 N=2 ^square\n";
	refuses(graph, "x=2 y=5", "dead", "fetch 'dead:0' is dead");
	gives(graph, "x=2 y=5", "live", 2);
	gives(graph, "x=2 y=5", "both", 2);
	gives(graph, "x=5 y=2", "dead", 1);
}

static void a_dead_predicate_kills_both_sides(void **state)
{
	(void)state;
	const char *graph = COND
		"inner Switch x q T=i32\n"
		"q Even square\n"
		"left Merge inner:0 inner:1 T=i32 N=2\n"
		"all Merge left sum T=i32 N=2\n";
	gives(graph, "x=2 y=5", "all", 7);
	gives(graph, "x=5 y=2", "all", 5);
	refuses(graph, "x=2 y=5", "left", "is dead: node 'ys' (Switch)");
}

static void two_live_inputs_of_a_merge_must_be_the_same(void **state)
{
	(void)state;
	const char *graph = "x Placeholder dtype=i32\ny Placeholder dtype=i32\nm Merge x y T=i32 N=2\n";
	refuses(graph, "x=1 y=2", "m", "node 'm' (Merge): inputs 0 and 1 are both live");
	gives(graph, "x=3 y=3", "m", 3);
	refuses(graph, "x=3 y=3", "m:1", "node 'm' (Merge): inputs 0 and 1 are both live");
}

/* i runs from `x` to n by 1; every trip ticks. */
#define COUNT_TO(n, window)                                                           \
	"x Placeholder dtype=i32\n"                                                       \
	"n Number v=" #n                                                                  \
	"\n"                                                                              \
	"one Number v=1\n"                                                                \
	"e Enter x T=i32 frame_name='w' parallel_iterations=" #window                     \
	"\n"                                                                              \
	"en Enter n T=i32 frame_name='w' is_constant=true parallel_iterations=" #window   \
	"\n"                                                                              \
	"e1 Enter one T=i32 frame_name='w' is_constant=true parallel_iterations=" #window \
	"\n"                                                                              \
	"m Merge e next T=i32 N=2\n"                                                      \
	"c LoopCond less\n"                                                               \
	"less Below m en\n"                                                               \
	"s Switch m c T=i32\n"                                                            \
	"t Tick s:1\n"                                                                    \
	"add Plus t e1 T=i32\n"                                                           \
	"next NextIteration add T=i32\n"                                                  \
	"out Exit s:0 T=i32\n"

static void a_loop_runs_its_body_as_often_as_it_should(void **state)
{
	(void)state;
	tick_count = 0;
	gives(COUNT_TO(10, 10), "x=99", "out", 99);
	assert_int_equal(tick_count, 0);
	gives(COUNT_TO(10, 10), "x=9", "out", 10);
	assert_int_equal(tick_count, 48);
	gives(COUNT_TO(1000, 1), "x=0", "out", 1000);
	gives(COUNT_TO(1000, 2), "x=0", "out", 1000);
	gives(COUNT_TO(1000, 32), "x=0", "out", 1000);
	assert_int_equal(tick_count, 48 * 3001);
}

/* a, b = b, a + b, ten times. */
static void loop_variables_move_together(void **state)
{
	(void)state;
	const char *graph =
		"zero Number v=0\none Number v=1\nten Number v=10\n"
		"ei Enter zero T=i32 frame_name='f'\nea Enter zero T=i32 frame_name='f'\neb Enter one T=i32 frame_name='f'\n"
		"e10 Enter ten T=i32 frame_name='f' is_constant=true\ne1 Enter one T=i32 frame_name='f' is_constant=true\n"
		"mi Merge ei ni T=i32 N=2\nma Merge ea na T=i32 N=2\nmb Merge eb nb T=i32 N=2\n"
		"less Below mi e10\nc LoopCond less\n"
		"si Switch mi c T=i32\nsa Switch ma c T=i32\nsb Switch mb c T=i32\n"
		"i1 Plus si:1 e1 T=i32\nab Plus sa:1 sb:1 T=i32\nb Identity sb:1 T=i32\n"
		"ni NextIteration i1 T=i32\nna NextIteration b T=i32\nnb NextIteration ab T=i32\n"
		"xa Exit sa:0 T=i32\nxb Exit sb:0 T=i32\nr Plus xa xb T=i32\n";
	gives(graph, "", "xa", 55);
	gives(graph, "", "xb", 89);
	gives(graph, "", "r", 144);
}

/* acc += i where i is even, else acc -= i; i < 10. */
static void a_branch_may_stand_in_a_loop(void **state)
{
	(void)state;
	const char *graph =
		"zero Number v=0\none Number v=1\nten Number v=10\n"
		"ei Enter zero T=i32 frame_name='f'\nea Enter zero T=i32 frame_name='f'\n"
		"e10 Enter ten T=i32 frame_name='f' is_constant=true\ne1 Enter one T=i32 frame_name='f' is_constant=true\n"
		"mi Merge ei ni T=i32 N=2\nma Merge ea na T=i32 N=2\n"
		"less Below mi e10\nc LoopCond less\nsi Switch mi c T=i32\nsa Switch ma c T=i32\n"
		"even Even si:1\nbi Switch si:1 even T=i32\nba Switch sa:1 even T=i32\n"
		"plus Plus ba:1 bi:1 T=i32\nminus Minus ba:0 bi:0 T=i32\nacc Merge minus plus T=i32 N=2\n"
		"i1 Plus si:1 e1 T=i32\nni NextIteration i1 T=i32\nna NextIteration acc T=i32\nxa Exit sa:0 T=i32\n";
	gives(graph, "", "xa", -5);
}

/* sum of i * j, j < i, i < n: the inner loop has no trip at i = 0. */
#define NESTED                                                                                           \
	"n Placeholder dtype=i32\nzero Number v=0\none Number v=1\n"                                         \
	"ei Enter zero T=i32 frame_name='o' parallel_iterations=4\nes Enter zero T=i32 frame_name='o' "      \
	"parallel_iterations=4\n"                                                                            \
	"en Enter n T=i32 frame_name='o' is_constant=true parallel_iterations=4\n"                           \
	"e1 Enter one T=i32 frame_name='o' is_constant=true parallel_iterations=4\n"                         \
	"mi Merge ei ni T=i32 N=2\nms Merge es ns T=i32 N=2\nless Below mi en\nc LoopCond less\n"            \
	"si Switch mi c T=i32\nss Switch ms c T=i32\nj0 Minus si:1 si:1 T=i32\n"                             \
	"ej Enter j0 T=i32 frame_name='i' parallel_iterations=4\net Enter ss:1 T=i32 frame_name='i' "        \
	"parallel_iterations=4\n"                                                                            \
	"eo Enter si:1 T=i32 frame_name='i' is_constant=true parallel_iterations=4\n"                        \
	"ei1 Enter e1 T=i32 frame_name='i' is_constant=true parallel_iterations=4\n"                         \
	"mj Merge ej nj T=i32 N=2\nmt Merge et nt T=i32 N=2\njless Below mj eo\njc LoopCond jless\n"         \
	"sj Switch mj jc T=i32\nst Switch mt jc T=i32\nij Times sj:1 eo T=i32\nt1 Plus st:1 ij T=i32\n"      \
	"j1 Plus sj:1 ei1 T=i32\nnj NextIteration j1 T=i32\nnt NextIteration t1 T=i32\nxt Exit st:0 T=i32\n" \
	"i1 Plus si:1 e1 T=i32\nni NextIteration i1 T=i32\nns NextIteration xt T=i32\nxs Exit ss:0 T=i32\n"

static void loops_may_stand_in_loops(void **state)
{
	(void)state;
	gives(NESTED, "n=3", "xs", 2);
	gives(NESTED, "n=0", "xs", 0);
	gives(NESTED, "n=7", "xs", 175);
}

/* A loop that is entered dead ends at once, and its exit is dead; so does one behind it. */
static void loops_in_a_branch_not_taken_end(void **state)
{
	(void)state;
	const char *graph =
		"x Placeholder dtype=i32\nten Number v=10\np Below ten x\nxs Switch x p T=i32\none Number v=1\n"
		"e Enter xs:0 T=i32 frame_name='w'\nen Enter ten T=i32 frame_name='w' is_constant=true\n"
		"e1 Enter one T=i32 frame_name='w' is_constant=true\nm Merge e next T=i32 N=2\nless Below m en\n"
		"c LoopCond less\ns Switch m c T=i32\nt Tick s:1\nadd Plus t e1 T=i32\nnext NextIteration add T=i32\n"
		"out Exit s:0 T=i32\n"
		"f Enter out T=i32 frame_name='v'\nfn Enter x T=i32 frame_name='v' is_constant=true\n"
		"f1 Enter one T=i32 frame_name='v' is_constant=true\ng Merge f gnext T=i32 N=2\ngless Below g fn\n"
		"gc LoopCond gless\ngs Switch g gc T=i32\ngt Tick gs:1\ngadd Plus gt f1 T=i32\ngnext NextIteration gadd T=i32\n"
		"gout Exit gs:0 T=i32\n"
		"r Merge gout xs:1 T=i32 N=2\nafter Negate gout T=i32\n";
	tick_count = 0;
	gives(graph, "x=77", "r", 77);
	assert_int_equal(tick_count, 0);
	gives(graph, "x=3", "r", 10);
	refuses(graph, "x=77", "after", "fetch 'after:0' is dead: node 'xs' (Switch) saw the predicate true");
	refuses(graph, "x=77", "gout", "fetch 'gout:0' is dead: node 'xs' (Switch) saw the predicate true");
}

static void what_is_not_asked_for_does_not_run(void **state)
{
	(void)state;
	tick_count = 0;
	gives(COUNT_TO(5, 10), "x=0", "n", 5);
	assert_int_equal(tick_count, 0);
}

static void an_exit_may_be_fed(void **state)
{
	(void)state;
	tick_count = 0;
	gives(COUNT_TO(5, 10) "r Plus out one T=i32\n", "out=41", "r", 42);
	assert_int_equal(tick_count, 0);
}

static void an_error_in_a_body_names_its_iteration_and_leaves_nothing(void **state)
{
	(void)state;
	const char *graph = COUNT_TO(1000, 10) "h Half add\n"
		"eh Enter x T=i32 frame_name='w'\nmh Merge eh nh T=i32 N=2\nsh Switch mh c T=i32\n"
		"nh NextIteration h T=i32\nxh Exit sh:0 T=i32\n";
	refuses(graph, "x=1", "xh", "node 'h' (Half): in iteration 1 of loop 'w': 3 is odd");
}

static void a_loop_may_be_held_to_a_number_of_iterations(void **state)
{
	(void)state;
	for (int64_t most = 9; most <= 10; most++) {
		struct steps steps;
		int32_t got;
		steps_begin(&steps, &(struct dfg_session_options){.max_iterations = most}, COUNT_TO(10, 3));
		if (most == 10)
			succeeds(steps_run(&steps, "x=0", "out", &got));
		else
			fails(steps_run(&steps, "x=0", "out", &got), DFG_DATA, "loop 'w' runs more than 9 iterations");
		steps_end(&steps);
	}
}

static void a_step_may_be_held_to_a_time(void **state)
{
	(void)state;
	struct steps steps;
	int32_t got;
	steps_begin(&steps, &(struct dfg_session_options){.timeout = 0.02, .threads = 2}, COUNT_TO(2000000000, 3));
	fails(steps_run(&steps, "x=0", "out", &got), DFG_DEADLINE, "the step took longer than 0.02 s");
	succeeds(steps_run(&steps, "x=2000000000", "out", &got));
	steps_end(&steps);
}

static void frames_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	refuses(COUNT_TO(5, 10), "x=0", "add", "fetch 'add:0' is inside the loop 'w'");
	refuses(COUNT_TO(5, 10) "mix Plus add one T=i32\nxm Exit mix T=i32\n", "x=0", "xm",
		"node 'mix' (Plus): takes inputs from different frames");
	refuses(COUNT_TO(5, 10), "x=0 t=1", "out", "feed 't:0' is inside the loop 'w'");
	refuses("x Number v=1\nout Exit x T=i32\n", "", "out", "stands outside all loops");
}

struct seen {
	int events, dead, deepest;
	char frame[64];
	int64_t last;
};

static void see(void *arg, const struct dfg_trace_event *event)
{
	struct seen *seen = arg;
	seen->events++;
	seen->dead += event->dead;
	if (event->depth < seen->deepest || event->end_ns < event->begin_ns)
		return;
	seen->deepest = event->depth;
	strcpy(seen->frame, event->frame);
	seen->last = event->depth ? event->iteration[event->depth - 1] : -1;
}

static void a_trace_tells_frame_and_iteration(void **state)
{
	(void)state;
	struct seen seen = {0};
	struct steps steps;
	int32_t got;
	steps_begin(&steps, &(struct dfg_session_options){.trace = see, .trace_arg = &seen, .threads = 1}, NESTED);
	succeeds(steps_run(&steps, "n=3", "xs", &got));
	steps_end(&steps);
	assert_int_equal(seen.deepest, 2);
	assert_string_equal(seen.frame, "o/i");
	assert_true(seen.events > 100 && seen.dead > 3);
}

static void statistics_count_iterations_and_frames(void **state)
{
	(void)state;
	struct steps steps;
	struct dfg_stats stats;
	struct dfg_plan *plan;
	int32_t got;
	steps_begin(&steps, &(struct dfg_session_options){.threads = 1}, COUNT_TO(100, 4));
	succeeds(steps_run(&steps, "x=0", "out", &got));
	struct dfg_edge feed = {dfg_graph_find(&steps.sketch.graph, "x"), 0};
	struct dfg_edge fetch = {dfg_graph_find(&steps.sketch.graph, "out"), 0};
	succeeds(dfg_session_plan(
		steps.session, &(struct dfg_step){.feed = &feed, .n_feed = 1, .fetch = &fetch, .n_fetch = 1}, &plan));
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.iterations, 101);
	assert_int_equal(stats.peak_frames, 1);
	assert_true(stats.peak_bytes > 0 && stats.peak_bytes < 1000);
	steps_end(&steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_that_is_not_taken_does_not_run),
		cmocka_unit_test(a_merge_says_which_input_lived),
		cmocka_unit_test(a_dead_fetch_names_its_switch_and_the_predicate),
		cmocka_unit_test(dead_control_kills_all_but_merge_and_trigger),
		cmocka_unit_test(a_dead_predicate_kills_both_sides),
		cmocka_unit_test(two_live_inputs_of_a_merge_must_be_the_same),
		cmocka_unit_test(a_loop_runs_its_body_as_often_as_it_should),
		cmocka_unit_test(loop_variables_move_together),
		cmocka_unit_test(a_branch_may_stand_in_a_loop),
		cmocka_unit_test(loops_may_stand_in_loops),
		cmocka_unit_test(loops_in_a_branch_not_taken_end),
		cmocka_unit_test(what_is_not_asked_for_does_not_run),
		cmocka_unit_test(an_exit_may_be_fed),
		cmocka_unit_test(an_error_in_a_body_names_its_iteration_and_leaves_nothing),
		cmocka_unit_test(a_loop_may_be_held_to_a_number_of_iterations),
		cmocka_unit_test(a_step_may_be_held_to_a_time),
		cmocka_unit_test(frames_that_do_not_fit_are_refused),
		cmocka_unit_test(a_trace_tells_frame_and_iteration),
		cmocka_unit_test(statistics_count_iterations_and_frames),
	};
	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
