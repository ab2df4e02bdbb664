#include "tests/unit/coordinator.h"

/* Launcher and workers of one process: what goes where, what comes back, and what happens when something breaks. */

#define CHAIN           \
	"input x: f64[n]\n" \
	"y = x * 2.0\n"     \
	"z = y + 1.0\n"     \
	"aside = 5.0 - x\n"

static struct dfg_tensor vector(double *values, int64_t count)
{
	return (struct dfg_tensor){
		.dtype = DFG_F64, .shape = DFG_SHAPE_VECTOR(count), .data = values, .capacity = (size_t)count * sizeof *values};
}

/* Fetches one tensor of a step that is fed one, by their names. */
static struct dfg_err *one_step(struct coordinator_test *test, const char *feed, const struct dfg_tensor *value,
	const char *fetch, struct dfg_tensor *out)
{
	struct dfg_edge in = {0}, of;
	struct dfg_plan *plan;
	succeeds(dfg_graph_edge(&test->program.graph, fetch, &of));
	if (feed)
		succeeds(dfg_graph_edge(&test->program.graph, feed, &in));
	struct dfg_step step = {.feed = &in, .n_feed = feed != NULL, .fetch = &of, .n_fetch = 1};
	DFG_TRY(dfg_session_plan(test->session, &step, &plan));
	return dfg_plan_run(plan, value, out);
}

static void gives(struct coordinator_test *test, const char *feed, double value, const char *fetch, double want)
{
	struct dfg_tensor in = vector(&value, 1), out;
	succeeds(one_step(test, feed, &in, fetch, &out));
	assert_true(dfg_tensor_float(&out, 0) == want);
	dfg_tensor_release(&out);
}

static void crossed(const struct coordinator_test *test, uint32_t from, uint32_t to, uint64_t messages, uint64_t bytes)
{
	struct dfg_traffic traffic = dfg_coordinator_traffic(test->coordinator, from, to);
	assert_int_equal(traffic.messages, messages);
	assert_int_equal(traffic.bytes, bytes);
}

/* w2 waits for y, which takes its time; w1 has its input at once, or soon. */
static void what_is_waited_for_is_counted_and_named(void **state)
{
	(void)state;
	struct coordinator_test test;
	coordinator_begin(&test, 3, "input x: f64[n]\ny = Dfg>Sleep(x, ms = 30)\nz = y + 1.0\n", "y=w1 z=w2", NULL);
	for (int i = 0; i < 2; i++) {
		gives(&test, "x", 3, "z", 4);
		struct dfg_traffic traffic = dfg_coordinator_traffic(test.coordinator, 1, 2);
		assert_int_equal(traffic.waits, 1);
		assert_true(traffic.waited_ns >= 25000000 && traffic.longest_ns == traffic.waited_ns);
		assert_string_equal(traffic.longest.s, "y:0");
		assert_int_equal(dfg_coordinator_traffic(test.coordinator, 2, 1).waits, 0);
	}
	gives(&test, "z", 3, "z", 3);
	assert_int_equal(dfg_coordinator_traffic(test.coordinator, 1, 2).waits, 0);
	coordinator_end(&test);
}

static void a_tensor_crosses_where_it_is_needed_elsewhere(void **state)
{
	(void)state;
	struct coordinator_test test;
	coordinator_begin(&test, 2, CHAIN, "y=w1", NULL);
	gives(&test, "x", 3, "z", 7);
	crossed(&test, 0, 1, 1, 8);
	crossed(&test, 1, 0, 1, 8);
	gives(&test, "x", 4, "z", 9);
	gives(&test, "x", 4, "y", 8);
	crossed(&test, 1, 0, 0, 0);
	coordinator_end(&test);
}

static void only_what_a_fetch_needs_runs_and_crosses(void **state)
{
	(void)state;
	struct coordinator_test test;
	coordinator_begin(&test, 3, CHAIN, "y=w1 z=w2", NULL);
	gives(&test, "x", 3, "aside", 2);
	crossed(&test, 0, 1, 0, 0);
	gives(&test, "y", 10, "z", 11);
	crossed(&test, 0, 1, 0, 0);
	crossed(&test, 1, 2, 1, 8);
	gives(&test, "z", 10, "z", 10);
	crossed(&test, 1, 2, 0, 0);
	coordinator_end(&test);
}

static void large_tensors_are_fed_cross_and_are_fetched(void **state)
{
	(void)state;
	enum { MANY = 100000 };
	struct coordinator_test test;
	struct dfg_tensor out;
	double *values = dfg_zeros(MANY, sizeof *values);
	for (int i = 0; i < MANY; i++)
		values[i] = i;
	struct dfg_tensor in = vector(values, MANY);
	coordinator_begin(&test, 4, CHAIN, "x=w3 y=w1 z=w2", NULL);
	succeeds(one_step(&test, "x", &in, "z", &out));
	for (int i = 0; i < MANY; i++)
		assert_true(((double *)out.data)[i] == i * 2.0 + 1);
	crossed(&test, 3, 1, 1, MANY * 8);
	dfg_tensor_release(&out);
	dfg_free(values);
	coordinator_end(&test);
}

static void strings_cross(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_tensor out;
	coordinator_begin(&test, 2, "a = [\"alpha\", \"\"]\nb = Identity(a)\nc = Identity(b)\n", "b=w1", NULL);
	succeeds(one_step(&test, NULL, NULL, "c", &out));
	const struct dfg_string *s = out.data;
	assert_int_equal(s[0].length, 5);
	assert_memory_equal(s[0].s, "alpha", 5);
	assert_int_equal(s[1].length, 0);
	dfg_tensor_release(&out);
	coordinator_end(&test);
}

static void variables_live_on_their_worker(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_variable_fact fact;
	struct dfg_tensor value;
	double one = 1, two = 2;
	coordinator_begin(&test, 2, "param v: f64[2] = [1.0, 2.0]\ny = v * 2.0\n", "v=w1 v/*=w1", NULL);
	struct dfg_edge handle;
	struct dfg_plan *plan;
	succeeds(dfg_graph_edge(&test.program.graph, "v", &handle));
	succeeds(dfg_session_plan(test.session, &(struct dfg_step){.target = &handle.node, .n_target = 1}, &plan));
	succeeds(dfg_plan_run(plan, NULL, NULL));
	struct dfg_variable_ref ref = {handle.node, "v"}, other = {handle.node, "w"};
	succeeds(dfg_session_variables(test.session, &ref, 1, &fact));
	assert_int_equal(fact.dtype, DFG_F64);
	assert_int_equal(fact.shape.dim[0], 2);
	assert_false(fact.set);
	succeeds(dfg_session_variables(test.session, &other, 1, &fact));
	assert_int_equal(fact.dtype, DFG_NO_DTYPE);
	fails(dfg_session_read(test.session, &ref, &value), DFG_DATA, "variable 'v' is not initialised");
	succeeds(dfg_tensor_new(DFG_F64, &DFG_SHAPE_VECTOR(2), &value));
	((double *)value.data)[0] = one, ((double *)value.data)[1] = two;
	succeeds(dfg_session_assign(test.session, &ref, &value));
	succeeds(dfg_session_read(test.session, &ref, &value));
	assert_true(((double *)value.data)[1] == 2);
	dfg_tensor_release(&value);
	succeeds(one_step(&test, NULL, NULL, "y", &value));
	assert_true(((double *)value.data)[1] == 4);
	dfg_tensor_release(&value);
	succeeds(dfg_tensor_new(DFG_F64, &DFG_SHAPE_SCALAR, &value));
	fails(dfg_session_assign(test.session, &ref, &value), DFG_DATA, "cannot assign f64[] to variable 'v'");
	coordinator_end(&test);
}

static void an_error_of_a_node_ends_the_step_everywhere_and_the_next_one_runs(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_tensor out;
	double values[] = {1, 2};
	struct dfg_tensor in = vector(values, 2);
	coordinator_begin(&test, 3, "input x: f64[n]\ny = reshape(x, [1])\nz = y + 1.0\nu = z * 2.0\n", "y=w1 z=w2", NULL);
	fails(one_step(&test, "x", &in, "u", &out), DFG_DATA, "node 'y' (Reshape)");
	assert_false(dfg_coordinator_is_broken(test.coordinator));
	gives(&test, "x", 3, "u", 8);
	coordinator_end(&test);
}

/* As on one machine: the Switch and its predicate are named, over however many workers its word went. Each step has a reason of its own. */
static void a_dead_fetch_names_the_switch_wherever_it_stands(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_tensor out;
	double values[] = {1, 3};
	struct dfg_tensor one = vector(&values[0], 1), three = vector(&values[1], 1);
	coordinator_begin(&test, 4,
		"input x: f64[n]\nno, yes = Switch(x, sum(x) > 2.0)\nu = yes * 2.0\nv = u + 1.0\n"
		"small, large = Switch(v, sum(x) > 5.0)\nw = large + v\n",
		"x=w3 u=w1 v=w2 w=w0", NULL);
	fails(one_step(&test, "x", &one, "v", &out), DFG_DATA,
		"fetch 'v:0' is dead: predicate 'no/Greater:0' of node 'no' (Switch) is false");
	fails(one_step(&test, "x", &one, "w", &out), DFG_DATA,
		"fetch 'w:0' is dead: predicate 'no/Greater:0' of node 'no' (Switch) is false");
	gives(&test, "x", 3, "v", 7);
	fails(one_step(&test, "x", &three, "w", &out), DFG_DATA,
		"fetch 'w:0' is dead: predicate 'small/Greater:0' of node 'small' (Switch) is false");
	fails(one_step(&test, "x", &three, "no", &out), DFG_DATA,
		"fetch 'no:0' is dead: predicate 'no/Greater:0' of node 'no' (Switch) is true");
	coordinator_end(&test);
}

static void what_cannot_run_is_said_when_it_is_planned(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_edge of;
	struct dfg_plan *plan;
	coordinator_begin(&test, 2, CHAIN, "y=w1", NULL);
	succeeds(dfg_graph_edge(&test.program.graph, "z", &of));
	fails(dfg_session_plan(test.session, &(struct dfg_step){.fetch = &of, .n_fetch = 1}, &plan), DFG_DATA,
		"node 'x' (Placeholder): must be fed");
	coordinator_end(&test);
}

static void a_worker_that_is_gone_is_named_and_nobody_hangs(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_tensor out;
	double one = 1;
	struct dfg_tensor in = vector(&one, 1);
	coordinator_begin(&test, 3, CHAIN, "y=w1 z=w2", NULL);
	gives(&test, "x", 3, "z", 7);
	test.thread[1].launcher->kind->close(test.thread[1].launcher);
	test.thread[1].launcher = NULL;
	fails(one_step(&test, "x", &in, "z", &out), DFG_UNAVAILABLE, "w1: ");
	assert_true(dfg_coordinator_is_broken(test.coordinator));
	dfg_worker_sink(test.thread[1].worker)
		.lost(test.thread[1].worker, DFG_LAUNCHER, DFG_ERR(DFG_UNAVAILABLE, "closed"));
	coordinator_end(&test);
	assert_true(test.thread[1].orphaned);
	assert_false(test.thread[0].orphaned);
}

static void a_step_takes_no_longer_than_its_deadline(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_tensor out;
	double one = 1;
	struct dfg_tensor in = vector(&one, 1);
	struct dfg_coordinator_options options = {.session = {.threads = 1, .timeout = 0.05}, .lease = 2};
	coordinator_begin(&test, 2, "input x: f64[n]\ny = Dfg>Sleep(x, ms = 100000)\nz = y + 1.0\n", "y=w1", &options);
	fails(one_step(&test, "x", &in, "z", &out), DFG_DEADLINE, "took longer than 0.05 s");
	coordinator_end(&test);
}

static void one_graph_after_the_other(void **state)
{
	(void)state;
	struct coordinator_test test;
	coordinator_begin(&test, 2, CHAIN, "y=w1", NULL);
	gives(&test, "x", 3, "z", 7);
	dfg_session_free(test.session);
	dfg_parts_release(&test.parts);
	dfg_facts_release(&test.facts);
	test.facts = (struct dfg_facts){0};
	coordinator_cut(&test, "z=w1");
	succeeds(dfg_coordinator_load(test.coordinator, &test.program.graph, &test.parts));
	struct dfg_session_options session = {.backend = dfg_coordinator_backend(test.coordinator)};
	succeeds(dfg_session_new(&test.program.graph, &session, &test.session));
	test.program.session = test.session;
	gives(&test, "x", 3, "z", 7);
	crossed(&test, 0, 1, 1, 8);
	crossed(&test, 1, 0, 0, 0);
	coordinator_end(&test);
}

/* By transfer: its sends less its receives; all events. */
struct seen {
	int balance, sends, events;
};

static void see(void *arg, const struct dfg_coordinator_event *event)
{
	struct seen *seen = arg;
	assert_true(event->worker < 2);
	assert_int_equal(event->step, 1);
	assert_true(event->node.end_ns >= event->node.begin_ns);
	seen->events++;
	if (event->node.transfer)
		seen->balance += event->node.sends ? 1 : -1;
	seen->sends += event->node.transfer && event->node.sends;
}

static void each_node_is_traced_and_each_send_has_its_receive(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct seen seen = {0};
	struct dfg_coordinator_options options = {.session.threads = 1, .trace = see, .trace_arg = &seen};
	coordinator_begin(&test, 2, CHAIN, "y=w1", &options);
	gives(&test, "x", 3, "z", 7);
	assert_int_equal(seen.sends, 2);
	assert_int_equal(seen.balance, 0);
	assert_true(seen.events >= 6);
	coordinator_end(&test);
}

/* A packet of a tensor, an error and a configuration. */
static void put_three(struct dfg_packet *packet, const struct dfg_tensor *tensor, const struct dfg_err *err,
	const struct dfg_worker_config *config)
{
	dfg_packet_put_tensor(packet, tensor);
	dfg_packet_put_error(packet, err);
	dfg_worker_config_put(packet, config);
	assert_false(packet->short_of_memory);
}

/* Reads the three. True if they are all there: then the bytes that were read are what writing them gives. */
static bool read_three(struct dfg_packet *packet)
{
	struct dfg_arena arena = {0};
	struct dfg_tensor tensor;
	struct dfg_worker_config config = {0};
	struct dfg_packet again = {0};
	packet->at = 0;
	packet->malformed = false;
	dfg_packet_get_tensor(packet, &tensor);
	struct dfg_err *words = dfg_packet_get_error(packet), *err = dfg_worker_config_get(packet, &arena, &config);
	bool good = !err;
	if (err)
		assert_int_equal(err->code, DFG_PROTOCOL);
	else {
		put_three(&again, &tensor, words, &config);
		assert_int_equal(again.length, packet->at);
		assert_memory_equal(again.bytes, packet->bytes, again.length);
	}
	dfg_packet_release(&again);
	dfg_err_free(words);
	dfg_err_free(err);
	dfg_tensor_release(&tensor);
	dfg_arena_release(&arena);
	return good;
}

static void a_packet_that_is_cut_or_changed_is_refused_or_read(void **state)
{
	(void)state;
	double values[] = {1, 2, 3};
	struct dfg_tensor tensor = vector(values, 3);
	struct dfg_peer peer[] = {{"w0", "/job:worker/task:0", "", "127.0.0.1:7", "", ""}};
	struct dfg_worker_config config = {.workers = 1, .replicas = 1, .peer = peer, .lease = 3};
	struct dfg_packet packet = {0};
	struct dfg_err *err = DFG_ERR(DFG_DATA, "words");
	put_three(&packet, &tensor, err, &config);
	dfg_err_free(err);
	size_t length = packet.length, good = 0;
	for (packet.length = 0; packet.length < length; packet.length++)
		assert_false(read_three(&packet));
	assert_true(read_three(&packet));
	for (size_t bit = 0; bit < 8 * length; bit++) {
		packet.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good += read_three(&packet);
		packet.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_in_range(good, 2 * length, 6 * length); /* elements, characters, seeds; not lengths, counts and types */
	dfg_packet_release(&packet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_waited_for_is_counted_and_named),
		cmocka_unit_test(a_tensor_crosses_where_it_is_needed_elsewhere),
		cmocka_unit_test(only_what_a_fetch_needs_runs_and_crosses),
		cmocka_unit_test(large_tensors_are_fed_cross_and_are_fetched),
		cmocka_unit_test(strings_cross),
		cmocka_unit_test(variables_live_on_their_worker),
		cmocka_unit_test(an_error_of_a_node_ends_the_step_everywhere_and_the_next_one_runs),
		cmocka_unit_test(a_dead_fetch_names_the_switch_wherever_it_stands),
		cmocka_unit_test(what_cannot_run_is_said_when_it_is_planned),
		cmocka_unit_test(a_worker_that_is_gone_is_named_and_nobody_hangs),
		cmocka_unit_test(a_step_takes_no_longer_than_its_deadline),
		cmocka_unit_test(one_graph_after_the_other),
		cmocka_unit_test(each_node_is_traced_and_each_send_has_its_receive),
		cmocka_unit_test(a_packet_that_is_cut_or_changed_is_refused_or_read),
	};
	return cmocka_run_group_tests_name("coordinator", tests, NULL, NULL);
}
