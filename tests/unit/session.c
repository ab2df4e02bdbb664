#include "tests/unit/step.h"

#include <pthread.h>
#include <stdio.h>

/* Steps: what runs, what is fed and fetched, what lives from step to step, many at once. */

static void only_what_a_fetch_needs_runs(void **state)
{
	(void)state;
	tick_count = 0;
	gives("x Placeholder dtype=i32\na Tick x\nb Negate x T=i32\nz NoSuchOp x\n", "x=3", "b", -3);
	assert_int_equal(tick_count, 0);
	refuses("x Placeholder dtype=i32\nz Plu x\n", "x=3", "z", "node 'z': no op 'Plu'");
}

static void any_edge_may_be_fed_and_its_node_does_not_run(void **state)
{
	(void)state;
	tick_count = 0;
	const char *graph = "x Placeholder dtype=i32\na Tick x\nb Plus a x T=i32\nc Number v=7 ^a\nd Plus b c T=i32\n";
	gives(graph, "a=5 x=1", "b", 6);
	gives(graph, "b=5", "b", 5);
	gives(graph, "a=5 x=1", "d", 13);
	assert_int_equal(tick_count, 0);
	gives(graph, "x=2", "d", 11);
	assert_int_equal(tick_count, 48);
}

static void a_placeholder_must_be_fed(void **state)
{
	(void)state;
	refuses("x Placeholder dtype=i32\ny Negate x T=i32\n", "", "y", "node 'x' (Placeholder): must be fed");
}

static void a_feed_is_checked_against_the_graph(void **state)
{
	(void)state;
	struct steps steps;
	struct dfg_plan *plan;
	struct dfg_tensor out;
	float half = 0.5f;
	steps_begin(&steps, NULL, "x Placeholder dtype=i32\nk Number v=1\ny Negate x T=i32\n");
	struct dfg_step step = {
		.feed = &(struct dfg_edge){0, 0}, .n_feed = 1, .fetch = &(struct dfg_edge){2, 0}, .n_fetch = 1};
	succeeds(dfg_session_plan(steps.session, &step, &plan));
	struct dfg_tensor wrong = {.dtype = DFG_F32, .shape = DFG_SHAPE_SCALAR, .data = &half, .capacity = 4};
	fails(dfg_plan_run(plan, &wrong, &out), DFG_DATA, "feed 'x:0' is f32[], must be i32[");
	step.feed = &(struct dfg_edge){1, 0};
	step.fetch = &(struct dfg_edge){1, 0};
	succeeds(dfg_session_plan(steps.session, &step, &plan));
	int32_t two[2] = {1, 2};
	wrong = (struct dfg_tensor){.dtype = DFG_I32, .shape = DFG_SHAPE_VECTOR(2), .data = two, .capacity = 8};
	fails(dfg_plan_run(plan, &wrong, &out), DFG_DATA, "feed 'k:0' is i32[2], must be i32[]");
	steps_end(&steps);
}

static void the_same_step_has_the_same_plan(void **state)
{
	(void)state;
	struct steps steps;
	struct dfg_plan *one, *two, *other;
	steps_begin(&steps, NULL, "x Number v=1\ny Negate x T=i32\n");
	struct dfg_step step = {.fetch = &(struct dfg_edge){1, 0}, .n_fetch = 1};
	succeeds(dfg_session_plan(steps.session, &step, &one));
	succeeds(dfg_session_plan(steps.session, &step, &two));
	step.fetch = &(struct dfg_edge){0, 0};
	succeeds(dfg_session_plan(steps.session, &step, &other));
	assert_ptr_equal(one, two);
	assert_ptr_not_equal(one, other);
	steps_end(&steps);
}

#define VARIABLE                      \
	"v Handle\n"                      \
	"one Number v=1\n"                \
	"init Write v one\n"              \
	"r Read v\n"                      \
	"next Plus r one T=i32\n"         \
	"step Write v next\n"             \
	"before Identity r T=i32 ^step\n" \
	"r2 Read v ^step\n"               \
	"all NoOp ^step\n"

static void variables_live_from_step_to_step(void **state)
{
	(void)state;
	for (int random = 0; random < 10; random++) {
		struct steps steps;
		struct dfg_session_options options = {
			.random_schedule = random, .schedule_seed = (uint64_t)random, .threads = random % 3 + 1};
		int32_t out[2];
		steps_begin(&steps, &options, VARIABLE);
		fails(steps_run(&steps, "", "r", out), DFG_DATA, "node 'r' (Read): variable 'v' is not initialised");
		succeeds(steps_run(&steps, "", "^init", out));
		for (int i = 0; i < 5; i++)
			succeeds(steps_run(&steps, "", "^all", out));
		succeeds(steps_run(&steps, "", "before r2", out));
		assert_int_equal(out[0], 6);
		assert_int_equal(out[1], 7);
		steps_end(&steps);
	}
}

/* A ref is read at the turn of its reader, a fetch at the end; as a ref it passes through Identity, Switch and Merge. */
static void a_ref_is_read_at_the_turn_of_its_reader(void **state)
{
	(void)state;
	const char *graph =
		"c Cell\nten Number v=10\nset Set c ten\n"
		"old Identity c T=i32\nx Placeholder dtype=i32\nmore Plus c x T=i32\nset2 Set c more ^old\n"
		"new Identity set2 T=i32\nlate Plus c old T=i32 ^set2\n"
		"p Even x\ns RefSwitch c p T=i32\nm RefMerge s:0 s:1 T=i32 N=2\nset3 Set m x\n";
	for (int random = 0; random < 10; random++) {
		struct steps steps;
		struct dfg_session_options options = {.random_schedule = random, .schedule_seed = (uint64_t)random};
		int32_t out[4];
		steps_begin(&steps, &options, graph);
		fails(steps_run(&steps, "", "old", out), DFG_DATA, "node 'old' (Identity): variable 'c' is not initialised");
		fails(steps_run(&steps, "", "c", out), DFG_DATA, "node 'c' (Cell): variable 'c' is not initialised");
		fails(steps_run(&steps, "x=5", "m", out), DFG_DATA, "node 'm' (RefMerge): variable 'c' is not initialised");
		succeeds(steps_run(&steps, "", "set", out));
		assert_int_equal(out[0], 10);
		succeeds(steps_run(&steps, "x=5", "old new late", out));
		assert_int_equal(out[0], 15);
		assert_int_equal(out[1], 15);
		assert_int_equal(out[2], 30);
		succeeds(steps_run(&steps, "x=4", "^set3 x", out));
		succeeds(steps_run(&steps, "", "c", out));
		assert_int_equal(out[0], 4);
		steps_end(&steps);
	}
}

static void a_value_that_was_fetched_never_changes(void **state)
{
	(void)state;
	struct dfg_state variables;
	struct dfg_variable *variable;
	struct dfg_tensor *locked, first, value;
	succeeds(dfg_state_init(&variables));
	succeeds(dfg_state_variable(&variables, "v", DFG_I32, &DFG_SHAPE_VECTOR(2), &variable));
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(2), &value));
	memcpy(value.data, (int32_t[]){1, 2}, 8);
	fails(dfg_variable_lock(variable, &locked), DFG_DATA, "variable 'v' is not initialised");
	succeeds(dfg_variable_assign(variable, &value));
	succeeds(dfg_variable_lock(variable, &locked));
	void *place = locked->data;
	dfg_variable_unlock(variable);
	succeeds(dfg_variable_read(variable, &first));
	assert_ptr_equal(first.data, place);
	succeeds(dfg_variable_lock(variable, &locked));
	((int32_t *)locked->data)[0] = 7;
	dfg_variable_unlock(variable);
	assert_int_equal(((int32_t *)first.data)[0], 1);
	dfg_tensor_release(&first);
	succeeds(dfg_variable_read(variable, &first));
	assert_int_equal(((int32_t *)first.data)[0], 7);
	dfg_tensor_release(&first);
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(3), &value));
	fails(dfg_variable_assign(variable, &value), DFG_DATA, "cannot assign i32[3] to variable 'v', which is i32[2]");
	fails(dfg_state_variable(&variables, "v", DFG_F32, &DFG_SHAPE_VECTOR(2), &variable), DFG_DATA,
		"variable 'v' already exists as i32[2], not f32[2]");
	assert_non_null(dfg_state_find(&variables, "v"));
	assert_null(dfg_state_find(&variables, "w"));
	dfg_state_release(&variables);
}

static void a_fetch_outlives_its_session(void **state)
{
	(void)state;
	struct steps steps;
	struct dfg_plan *plan;
	struct dfg_tensor out;
	steps_begin(&steps, NULL, "x Number v=20\ny Plus x x T=i32\n");
	struct dfg_step step = {.fetch = &(struct dfg_edge){1, 0}, .n_fetch = 1};
	succeeds(dfg_session_plan(steps.session, &step, &plan));
	succeeds(dfg_plan_run(plan, NULL, &out));
	steps_end(&steps);
	assert_int_equal(dfg_tensor_int(&out, 0), 40);
	dfg_tensor_release(&out);
}

static void one_value_may_be_fetched_twice_and_fed_straight_through(void **state)
{
	(void)state;
	struct steps steps;
	int32_t out[4];
	steps_begin(&steps, NULL, "x Placeholder dtype=i32\ny Negate x T=i32\nz Identity y T=i32\n");
	succeeds(steps_run(&steps, "x=3", "y x y z", out));
	assert_int_equal(out[0], -3);
	assert_int_equal(out[1], 3);
	assert_int_equal(out[2], -3);
	assert_int_equal(out[3], -3);
	steps_end(&steps);
}

/* 1 + 8 in each of 8 lanes, added up. */
#define LANES                                                                                          \
	"x Placeholder dtype=i32\n"                                                                        \
	"a0 Work x\na1 Work x\na2 Work x\na3 Work x\na4 Work x\na5 Work x\na6 Work x\na7 Work x\n"         \
	"b0 Work a0\nb1 Work a1\nb2 Work a2\nb3 Work a3\nb4 Work a4\nb5 Work a5\nb6 Work a6\nb7 Work a7\n" \
	"c0 Plus b0 b1 T=i32\nc1 Plus b2 b3 T=i32\nc2 Plus b4 b5 T=i32\nc3 Plus b6 b7 T=i32\n"             \
	"d0 Plus c0 c1 T=i32\nd1 Plus c2 c3 T=i32\ne Plus d0 d1 T=i32\n"

static void expensive_nodes_share_the_threads(void **state)
{
	(void)state;
	gives(LANES, "x=1", "e", 24);
}

static void expensive_nodes_in_a_loop_share_the_threads(void **state)
{
	(void)state;
	gives(
		"x Placeholder dtype=i32\nn Number v=40\n"
		"e Enter x T=i32 frame_name='w'\nf Enter x T=i32 frame_name='w'\n"
		"en Enter n T=i32 frame_name='w' is_constant=true\n"
		"m Merge e ne T=i32 N=2\nk Merge f nf T=i32 N=2\nless Below m en\nc LoopCond less\n"
		"s Switch m c T=i32\nt Switch k c T=i32\nw Work s:1\nu Work t:1\n"
		"ne NextIteration w T=i32\nnf NextIteration u T=i32\nxs Exit s:0 T=i32\nxt Exit t:0 T=i32\n"
		"r Plus xs xt T=i32\n",
		"x=0", "r", 80);
}

static void *run_often(void *arg)
{
	for (int32_t i = 0, out[2]; i < 100; i++) {
		char feed[32];
		snprintf(feed, sizeof feed, "x=%d", (int)i);
		succeeds(steps_run(arg, feed, "e a0", out));
		assert_int_equal(out[0], 8 * (i + 2));
		assert_int_equal(out[1], i + 1);
	}
	return NULL;
}

static void steps_of_one_session_may_run_at_once(void **state)
{
	(void)state;
	for (int random = 0; random < 2; random++) {
		pthread_t thread[3];
		struct steps steps;
		steps_begin(&steps, &(struct dfg_session_options){.threads = 2, .random_schedule = random}, LANES);
		for (int i = 0; i < 3; i++)
			assert_false(pthread_create(&thread[i], NULL, run_often, &steps));
		for (int i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		steps_end(&steps);
	}
}

static void *die_often(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int32_t out;
		struct dfg_cause cause;
		fails(steps_run(arg, "x=0", "s", &out), DFG_DATA, "predicate 'p:0' of node 's' (Switch) is true");
		dfg_plan_cause(last_plan, 0, 0, &cause);
		assert_true(!*cause.words || !strcmp(cause.words, "fetch 's:0' is dead")); /* none: a later step has begun */
	}
	return NULL;
}

static void steps_that_run_at_once_may_all_find_a_dead_fetch(void **state)
{
	(void)state;
	pthread_t thread[3];
	struct steps steps;
	struct dfg_cause cause;
	int32_t out;
	steps_begin(&steps, &(struct dfg_session_options){.threads = 2, .random_schedule = true},
		"x Placeholder dtype=i32\none Number v=1\np Below x one\ns Switch x p T=i32\n");
	for (int i = 0; i < 3; i++)
		assert_false(pthread_create(&thread[i], NULL, die_often, &steps));
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	fails(steps_run(&steps, "x=0", "s", &out), DFG_DATA, "is dead");
	dfg_plan_cause(last_plan, 0, 0, &cause);
	assert_string_equal(cause.words, "fetch 's:0' is dead");
	steps_end(&steps);
}

static void running_out_of_memory_is_an_error_and_no_leak(void **state)
{
	(void)state;
	struct dfg_mem_failing failing;
	struct dfg_allocator *heap = dfg_mem;
	long passed = 0;
	for (long left = 0; left < 400 && passed < 3; left++) {
		for (int random = 0; random < 2; random++) {
			struct steps steps;
			int32_t out[4];
			steps_begin(&steps, &(struct dfg_session_options){.threads = 1, .random_schedule = random}, LANES VARIABLE);
			dfg_mem_failing_init(&failing, heap, left, true);
			dfg_mem = &failing.base;
			struct dfg_err *err = steps_run(&steps, "x=1", "e", out);
			if (!err)
				err = steps_run(&steps, "", "^init", out);
			dfg_mem = heap;
			assert_true(!err || err->code == DFG_MEMORY);
			passed += !err;
			dfg_err_free(err);
			steps_end(&steps);
		}
	}
	assert_true(passed >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_a_fetch_needs_runs),
		cmocka_unit_test(any_edge_may_be_fed_and_its_node_does_not_run),
		cmocka_unit_test(a_placeholder_must_be_fed),
		cmocka_unit_test(a_feed_is_checked_against_the_graph),
		cmocka_unit_test(the_same_step_has_the_same_plan),
		cmocka_unit_test(variables_live_from_step_to_step),
		cmocka_unit_test(a_ref_is_read_at_the_turn_of_its_reader),
		cmocka_unit_test(a_value_that_was_fetched_never_changes),
		cmocka_unit_test(a_fetch_outlives_its_session),
		cmocka_unit_test(one_value_may_be_fetched_twice_and_fed_straight_through),
		cmocka_unit_test(expensive_nodes_share_the_threads),
		cmocka_unit_test(expensive_nodes_in_a_loop_share_the_threads),
		cmocka_unit_test(steps_of_one_session_may_run_at_once),
		cmocka_unit_test(steps_that_run_at_once_may_all_find_a_dead_fetch),
		cmocka_unit_test(running_out_of_memory_is_an_error_and_no_leak),
	};
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
