#include "tests/unit/program.h"

#include <pthread.h>

#include <unistd.h>

/*
 * Queues: who waits for whom, within a step and between steps; what a step that fails gives back. A fault would leave a step
 * waiting for ever: each has STEP_SECONDS, and the program, whose deadlines could be at fault themselves, PROGRAM_SECONDS.
 */
enum { STEP_SECONDS = 60, PROGRAM_SECONDS = 300 };

#define TEXT                                                                                                  \
	"input x: f64[]\nq = FIFOQueueV2(capacity = 2, component_types = [f64], shapes = [[]])\n"                 \
	"put = QueueEnqueueV2(q, [x])\nget = QueueDequeueV2(q, component_types = [f64])\nsize = QueueSizeV2(q)\n" \
	"three = QueueDequeueManyV2(q, 3, component_types = [f64])\nclose = QueueCloseV2(q)\n"

struct step {
	struct program *program;
	const char *fetch, *target;
	double x;
	struct dfg_tensor out;
	struct dfg_err *err;
};

static uint32_t find(const struct dfg_graph *graph, const char *name)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (!strncmp(graph->node[n].name, name, strlen(name)) && strcmp(graph->node[n].op_name, "Const"))
			return n;
	fail_msg("no node %s", name);
	return 0;
}

static void *run_step(void *step_)
{
	struct step *step = step_;
	const struct dfg_graph *graph = &step->program->graph;
	struct dfg_edge in = {find(graph, "x"), 0}, of = {step->fetch ? find(graph, step->fetch) : 0, 0};
	uint32_t target = step->target ? find(graph, step->target) : 0;
	const struct dfg_tensor x = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &step->x, .capacity = 8};
	struct dfg_plan *plan;
	succeeds(dfg_session_plan(step->program->session,
		&(struct dfg_step){.feed = &in,
			.n_feed = 1,
			.fetch = &of,
			.n_fetch = step->fetch != NULL,
			.target = &target,
			.n_target = step->target != NULL},
		&plan));
	step->err = dfg_plan_run(plan, &x, &step->out);
	return NULL;
}

static void put_number(struct program *program, double x)
{
	struct step step = {.program = program, .target = "put", .x = x};
	run_step(&step);
	succeeds(step.err);
}

static double get_number(struct program *program, const char *what)
{
	struct step step = {.program = program, .fetch = what};
	run_step(&step);
	succeeds(step.err);
	double value = !strcmp(what, "size") ? (double)dfg_tensor_int(&step.out, 0) : dfg_tensor_float(&step.out, 0);
	dfg_tensor_release(&step.out);
	return value;
}

static void begin(struct program *program, int variant, bool alone)
{
	struct dfg_session_options options = program_variant(variant);
	options.alone = alone;
	options.timeout = STEP_SECONDS;
	succeeds(program_begin(program, TEXT, &options));
}

static void elements_come_in_their_order(void **state)
{
	(void)state;
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant++) {
		struct program program;
		begin(&program, variant, false);
		put_number(&program, 1.5);
		put_number(&program, 2.5);
		assert_true(get_number(&program, "size") == 2);
		assert_true(get_number(&program, "get") == 1.5);
		put_number(&program, 3.5);
		assert_true(get_number(&program, "get") == 2.5);
		assert_true(get_number(&program, "get") == 3.5);
		program_end(&program);
	}
}

static void a_step_that_nothing_can_help_fails(void **state)
{
	(void)state;
	struct program program;
	begin(&program, 0, true);
	struct step step = {.program = &program, .fetch = "get"};
	run_step(&step);
	fails(step.err, DFG_DATA, "deadlock: no runnable node can wake it");
	put_number(&program, 1);
	put_number(&program, 2);
	step = (struct step){.program = &program, .target = "put", .x = 3};
	run_step(&step);
	fails(step.err, DFG_DATA, "deadlock: no runnable node can wake it");
	assert_true(get_number(&program, "size") == 2);
	program_end(&program);
}

/* Two of three were taken when the step failed. */
static void what_was_taken_in_vain_is_there_again(void **state)
{
	(void)state;
	struct program program;
	begin(&program, 0, true);
	put_number(&program, 4);
	put_number(&program, 5);
	struct step step = {.program = &program, .fetch = "three"};
	run_step(&step);
	fails(step.err, DFG_DATA, "deadlock: no runnable node can wake it");
	assert_true(get_number(&program, "size") == 2);
	assert_true(get_number(&program, "get") == 4);
	assert_true(get_number(&program, "get") == 5);
	program_end(&program);
}

/* The two begin in any order. */
static void steps_wait_for_each_other(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct program program;
		pthread_t thread;
		begin(&program, round % PROGRAM_VARIANTS, false);
		put_number(&program, 1);
		put_number(&program, 2);
		struct step taking = {.program = &program, .fetch = "three"};
		struct step putting = {.program = &program, .target = "put", .x = 3};
		assert_int_equal(pthread_create(&thread, NULL, run_step, round % 2 ? &putting : &taking), 0);
		run_step(round % 2 ? &taking : &putting);
		pthread_join(thread, NULL);
		succeeds(putting.err);
		succeeds(taking.err);
		for (int i = 0; i < 3; i++)
			assert_true(dfg_tensor_float(&taking.out, i) == i + 1);
		dfg_tensor_release(&taking.out);
		program_end(&program);
	}
}

static void a_step_that_waits_ends_with_its_time(void **state)
{
	(void)state;
	struct program program;
	const struct dfg_session_options options = {.timeout = 0.02};
	succeeds(program_begin(&program, TEXT, &options));
	struct step step = {.program = &program, .fetch = "get"};
	run_step(&step);
	fails(step.err, DFG_DEADLINE, "");
	put_number(&program, 9);
	assert_true(get_number(&program, "get") == 9);
	program_end(&program);
}

static void a_closed_queue_gives_what_it_has(void **state)
{
	(void)state;
	struct program program;
	begin(&program, 0, true);
	put_number(&program, 7);
	struct step step = {.program = &program, .target = "close"};
	run_step(&step);
	succeeds(step.err);
	step = (struct step){.program = &program, .target = "put", .x = 8};
	run_step(&step);
	fails(step.err, DFG_DATA, "queue 'q' is closed");
	step = (struct step){.program = &program, .fetch = "three"};
	run_step(&step);
	fails(step.err, DFG_DATA, "queue 'q' is closed and has 1 elements, fewer than the 3 requested");
	assert_true(get_number(&program, "get") == 7);
	step = (struct step){.program = &program, .fetch = "get"};
	run_step(&step);
	fails(step.err, DFG_DATA, "queue 'q' is closed and has 0 elements, fewer than the 1 requested");
	program_end(&program);
}

static void queues_hold_no_queues(void **state)
{
	(void)state;
	refuses("q = FIFOQueueV2(component_types = [resource])\ny = QueueSizeV2(q)\n",
		"component 0 is resource, which a queue cannot contain");
	refuses("q = FIFOQueueV2(component_types = [f32], shapes = [[], []])\ny = QueueSizeV2(q)\n",
		"2 shapes for 1 components");
	refuses(
		"q = RandomShuffleQueueV2(component_types = [f32], capacity = 2, min_after_dequeue = 2)\ny = QueueSizeV2(q)\n",
		"min_after_dequeue is 2, not less than capacity 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_come_in_their_order),
		cmocka_unit_test(a_step_that_nothing_can_help_fails),
		cmocka_unit_test(what_was_taken_in_vain_is_there_again),
		cmocka_unit_test(steps_wait_for_each_other),
		cmocka_unit_test(a_step_that_waits_ends_with_its_time),
		cmocka_unit_test(a_closed_queue_gives_what_it_has),
		cmocka_unit_test(queues_hold_no_queues),
	};
	alarm(PROGRAM_SECONDS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
