#include "tests/unit/ways.h"

#include "lib/exec/plan/schedule.h"

/* Loops and branches as straight code: which plans have a schedule, and what may be made where. */

#define NUMBERS ".0 Number v=0\n.1 Number v=1\n.2 Number v=2\nn Placeholder dtype=i32\n"

/* Whether the plan for the fetch has a schedule; it must run, too. */
static bool has_course(const struct dfg_session_options *options, const char *graph, const char *fetch)
{
	static char text[16000];
	struct steps steps;
	int32_t got;
	expand(graph, 10, text, sizeof text);
	steps_begin(&steps, options, text);
	succeeds(steps_run(&steps, "n=3", fetch, &got));
	bool found = last_plan->schedule;
	steps_end(&steps);
	return found;
}

#define SUM NUMBERS "count f n\ncarry f sum .0 add\nadd Plus sum f.i T=i32\n"

static void well_formed_loops_have_a_course(void **state)
{
	(void)state;
	const struct dfg_session_options one = {.threads = 1}, plain = {.threads = 1, .no_opt = true};
	assert_true(has_course(&one, SUM, "sum.out"));
	assert_false(has_course(&plain, SUM, "sum.out"));
	assert_false(has_course(&(struct dfg_session_options){.random_schedule = true}, SUM, "sum.out"));
	assert_true(has_course(&one, SUM "p Even n\ns Switch n p T=i32\nm Merge s s:1 T=i32 N=2\n", "m"));
}

/* Two inputs of which it does not follow that one is dead; two that may both be. */
static void what_does_not_follow_from_predicates_is_for_tokens(void **state)
{
	(void)state;
	const struct dfg_session_options one = {.threads = 1};
	const char *sides = NUMBERS "p Even n\nq Even .1\ns Switch n p T=i32\n";
	char both[400], none[400];
	snprintf(both, sizeof both, "%s%s", sides, "t Switch n q T=i32\nm Merge s t:1 T=i32 N=2\n");
	snprintf(none, sizeof none, "%s%s", sides, "t Switch s:1 q T=i32\nm Merge s t:1 T=i32 N=2\n");
	assert_false(has_course(&one, both, "m"));
	assert_false(has_course(&one, none, "m"));
}

/* With threads, what is expensive and does not wait for the iteration before is worth tokens; what does is not. */
static void iterations_that_could_overlap_are_for_tokens(void **state)
{
	(void)state;
	const struct dfg_session_options two = {.threads = 2}, one = {.threads = 1};
	const char *free = NUMBERS "count f n\ncarry f sum .0 add\nw Work f.i\nadd Plus sum w T=i32\n";
	const char *bound = NUMBERS "count f n\ncarry f sum .0 w\nw Work sum\n";
	const char *pipe = NUMBERS "count f n\ncarry f a .0 v\nv Work a\ncarry f sum .0 w\ns Plus sum v T=i32\nw Work s\n";
	assert_false(has_course(&two, free, "sum.out"));
	assert_false(has_course(&two, pipe, "sum.out"));
	assert_true(has_course(&two, bound, "sum.out"));
	assert_true(has_course(&one, free, "sum.out"));
	assert_true(has_course(&one, pipe, "sum.out"));
	always(free, "n=5", "sum.out", 15, -1);
	always(pipe, "n=3", "sum.out", 9, -1);
}

static void variables_change_places(void **state)
{
	(void)state;
	const char *swap = NUMBERS
		"count f n\ncarry f a .1 b.same\ncarry f b .2 a.same\na.same Identity a T=i32\nb.same Identity b T=i32\n"
		"ten Number v=10\nh Times a.out ten T=i32\nr Plus h b.out T=i32\n";
	always(swap, "n=0", "r", 12, -1);
	always(swap, "n=1", "r", 21, -1);
	always(swap, "n=6", "r", 12, -1);
	const char *ring = NUMBERS
		"count f n\ncarry f a .0 b\ncarry f b .1 c\ncarry f c .2 a\nten Number v=10\nh Times a.out ten T=i32\n"
		"h1 Plus h b.out T=i32\nh2 Times h1 ten T=i32\nr Plus h2 c.out T=i32\n";
	always(ring, "n=1", "r", 120, -1);
	always(ring, "n=2", "r", 201, -1);
	always(ring, "n=3", "r", 12, -1);
	const char *fixed_move = NUMBERS "count f n\ncarry f a .0 b\ncarry f b .1 ab\nab Plus a b T=i32\n";
	always(fixed_move, "n=10", "a.out", 55, -1);
	always(fixed_move, "n=10", "b.out", 89, -1);
}

/* The next value is read by others, or the old one is, after it was made. */
static void a_value_is_not_lost_while_somebody_reads_it(void **state)
{
	(void)state;
	const char *late =
		NUMBERS "count f n\ncarry f a .1 next\nnext Plus a f.1 T=i32\ncarry f seen .0 see\nsee Times a next T=i32\n";
	always(late, "n=3", "seen.out", 12, -1);
	always(late, "n=3", "a.out", 4, -1);
	const char *twice =
		NUMBERS "count f n\ncarry f a .1 next\ncarry f b .2 next\nnext Plus a b T=i32\nr Minus a.out b.out T=i32\n";
	always(twice, "n=4", "a.out", 24, -1);
	always(twice, "n=4", "r", 0, -1);
	always(twice, "n=0", "r", -1, -1);
}

/* The condition is computed once more than the body: its last values must not become the loop's. */
static void the_condition_may_make_the_next_value(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"into f f.1 .1\ninto f most n\nahead Plus a.m f.1 T=i32\nless Below a.m most\nwhile f less\n"
		"carry f a .0 go\nside Switch ahead f T=i32\ngo Identity side:1 T=i32\n";
	always(graph, "n=5", "a.out", 5, -1);
	always(graph, "n=0", "a.out", 0, -1);
}

/* Of three variables one changes, as the branch says. */
static void branches_may_leave_a_variable_as_it_is(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"count f n\ncarry f a .0 a.next\ncarry f b .0 b.next\n"
		"p Even f.i\nas Switch a p T=i32\nbs Switch b p T=i32\nis Switch f.i p T=i32\n"
		"a.more Plus as:1 is:1 T=i32\na.next Merge as a.more T=i32 N=2\n"
		"q Even b.half\nb.half Minus bs is T=i32\nbq Switch b.half q T=i32\nbn Negate bq T=i32\n"
		"b.in Merge bn bq:1 T=i32 N=2\nb.next Merge b.in bs:1 T=i32 N=2\n"
		"hundred Number v=100\nh Times a.out hundred T=i32\nr Plus h b.out T=i32\n";
	/* b: 0, at 1: -(-1), at 3: 1 - 3 stays -2 as it is even, at 5: -(-7), at 7: 0, at 9: -(-9) */
	always(graph, "n=10", "r", 2009, -1);
	always(graph, "n=1", "r", 0, -1);
}

static void an_inner_loop_goes_on_from_the_outer_one(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"count f n\ncarry f a .1 b.out\ncount g f.i f\ncarry g b a b.next\ninto g g.two f.two\ninto f f.two .2\n"
		"b.next Times b g.two T=i32\n";
	always(graph, "n=5", "a.out", 1024, -1);
	const char *kept = NUMBERS
		"count f n\ncarry f a .1 a.next\ncount g f.i f\ncarry g b a b.next\ninto g g.a a\nb.next Plus b g.a T=i32\n"
		"a.next Minus b.out a T=i32\nzero Number v=0\n";
	always(kept, "n=4", "a.out", 0, -1);
}

/* A loop that only one side has, in a loop. */
static void a_loop_may_stand_on_one_side(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"count f n\ncarry f a .0 a.next\np Even f.i\nas Switch a p T=i32\nis Switch f.i p T=i32\n"
		"zs Switch f.0 p T=i32\nus Switch f.1 p T=i32\n"
		"into g g.limit is:1\ninto g g.1 us:1\ng.less Below g.i.m g.limit\nwhile g g.less\n"
		"carry g g.i zs:1 g.more\ng.more Plus g.i g.1 T=i32\ncarry g c as:1 c.next\nc.next Plus c g.1 T=i32\n"
		"t Tick c.out\nodd Minus as us T=i32\na.next Merge odd t T=i32 N=2\n";
	/* even i add i, unsupported ones take 1 */
	always(graph, "n=7", "a.out", 12 - 3, 4);
	always(graph, "n=0", "a.out", 0, 0);
}

/* A vector that grows is not in a fixed place, nor is what depends on it. */
static void shapes_may_change_in_a_loop(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"count f n\nstart Pack .1 .2 T=i32 N=2 axis=0\ncarry f v start joined\ninto f axis .0\n"
		"joined ConcatV2 v v axis T=i32 Tidx=i32 N=2\nsize Size v.out T=i32 out_type=i32\n";
	always(graph, "n=5", "size", 64, -1);
	const char *branch = NUMBERS
		"count f n\nstart Pack .1 .2 T=i32 N=2 axis=0\ncarry f v start next\ninto f axis .0\np Even f.i\n"
		"vs Switch v p T=i32\nax Switch axis p T=i32\njoined ConcatV2 vs:1 vs:1 ax:1 T=i32 Tidx=i32 N=2\n"
		"next Merge vs joined T=i32 N=2\nsize Size v.out T=i32 out_type=i32\n";
	always(branch, "n=5", "size", 16, -1);
}

static struct dfg_stats stats_of(struct steps *steps, const char *feed)
{
	struct dfg_stats stats;
	int32_t got;
	succeeds(steps_run(steps, feed, "sum.out", &got));
	dfg_plan_stats(last_plan, &stats);
	return stats;
}

static void memory_does_not_grow_with_iterations(void **state)
{
	(void)state;
	static char text[16000];
	struct steps steps;
	expand(SUM
		"size Size v.out T=i32 out_type=i32\nstart Pack .1 .2 T=i32 N=2 axis=0\n"
		"carry f v start w\nw Plus v v T=i32\n",
		10, text, sizeof text);
	steps_begin(&steps, &(struct dfg_session_options){.threads = 1}, text);
	struct dfg_stats few = stats_of(&steps, "n=10");
	size_t held = dfg_buffer_pool_used(steps.session->buffers); /* by the plan */
	struct dfg_stats many = stats_of(&steps, "n=1000000");
	assert_int_equal(dfg_buffer_pool_used(steps.session->buffers), held);
	assert_true(last_plan->schedule);
	assert_int_equal(few.peak_bytes, many.peak_bytes);
	assert_int_equal(many.iterations, 1000001);
	assert_int_equal(many.peak_frames, 1);
	steps_end(&steps);
}

/* A value that is made before branches and read in one of them is given back where that is not taken. */
static void what_a_branch_would_have_read_is_given_back(void **state)
{
	(void)state;
	static char text[16000];
	struct steps steps;
	int32_t got;
	size_t held = 0; /* by the plan; no step adds to it */
	expand(NUMBERS
		"count f n\nstart Pack .1 .2 T=i32 N=2 axis=0\ncarry f v start next\ninto f axis .0\np Even f.i\n"
		"long ConcatV2 v v axis T=i32 Tidx=i32 N=2\nls Switch long p T=i32\nvs Switch v p T=i32\n"
		"next Merge ls vs:1 T=i32 N=2\nsize Size v.out T=i32 out_type=i32\n",
		10, text, sizeof text);
	for (int n = 0; n < 6; n++) {
		char feed[20];
		steps_begin(&steps, &(struct dfg_session_options){.threads = 1}, text);
		snprintf(feed, sizeof feed, "n=%d", n);
		succeeds(steps_run(&steps, feed, "size", &got));
		assert_true(last_plan->schedule);
		assert_int_equal(got, 2 << n / 2);
		held = n ? held : dfg_buffer_pool_used(steps.session->buffers);
		assert_int_equal(dfg_buffer_pool_used(steps.session->buffers), held);
		steps_end(&steps);
	}
}

static void what_only_the_next_iteration_waits_for_runs(void **state)
{
	(void)state;
	tick_count = 0;
	gives(
		"x Placeholder dtype=i32\nn Number v=10\none Number v=1\ne Enter x T=i32 frame_name='w' ^t0\n"
		"en Enter n T=i32 frame_name='w' is_constant=true\ne1 Enter one T=i32 frame_name='w' is_constant=true\n"
		"m Merge e next T=i32 N=2\nless Below m en\nc LoopCond less\ns Switch m c T=i32\nt Tick s:1\n"
		"add Plus s:1 e1 T=i32\nnext NextIteration add T=i32 ^t\nout Exit s:0 T=i32\nt0 Tick x\n",
		"x=0", "out", 10);
	assert_int_equal(tick_count, 48 * 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_loops_have_a_course),
		cmocka_unit_test(what_does_not_follow_from_predicates_is_for_tokens),
		cmocka_unit_test(iterations_that_could_overlap_are_for_tokens),
		cmocka_unit_test(variables_change_places),
		cmocka_unit_test(a_value_is_not_lost_while_somebody_reads_it),
		cmocka_unit_test(the_condition_may_make_the_next_value),
		cmocka_unit_test(branches_may_leave_a_variable_as_it_is),
		cmocka_unit_test(an_inner_loop_goes_on_from_the_outer_one),
		cmocka_unit_test(a_loop_may_stand_on_one_side),
		cmocka_unit_test(shapes_may_change_in_a_loop),
		cmocka_unit_test(what_only_the_next_iteration_waits_for_runs),
		cmocka_unit_test(memory_does_not_grow_with_iterations),
		cmocka_unit_test(what_a_branch_would_have_read_is_given_back),
	};
	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
