#include "lib/pass/partition/cost_estimate.h"

#include "tests/unit/test.h"

#include "lib/lang/lang.h"

#include <stdio.h>

static const struct dfg_shape scalar = {.rank = 0}, rows = {.rank = 2, .dim = {-1, 3}}, none = {.rank = 1, .dim = {0}},
							  wide = {.rank = 2, .dim = {-1, -1}}, anything = {.rank = DFG_UNKNOWN};

static void amount_is(const struct dfg_amount *amount, const char *words)
{
	struct dfg_text text = {0};
	dfg_amount_text(amount, &text);
	assert_string_equal(text.s, words);
	dfg_text_release(&text);
}

static void check_estimate(
	const struct dfg_transfer *transfer, uint32_t transfers, struct dfg_arena *arena, struct dfg_cost_estimate *out)
{
	*arena = (struct dfg_arena){0};
	succeeds(dfg_cost_transfers(transfer, transfers, arena, out));
}

static void end(struct dfg_cost_estimate *out, struct dfg_arena *arena)
{
	dfg_cost_release(out);
	dfg_arena_release(arena);
}

static void each_link_and_all_of_them_are_billed(void **state)
{
	(void)state;
	struct dfg_cost_estimate b;
	struct dfg_arena arena;
	check_estimate(
		(struct dfg_transfer[]){
			{1, 0, "y:0", DFG_F32, scalar, "", 0, false},
			{0, 1, "x:0", DFG_F32, rows, "", 0, false},
			{0, 1, "^x", DFG_F32, none, "", 0, false},
			{0, 2, "x:0", DFG_F32, rows, "", 0, false},
		},
		4, &arena, &b);
	amount_is(&b.messages, "4");
	amount_is(&b.bytes, "4 + 24*b");
	assert_int_equal(b.links, 3);
	assert_int_equal(b.link[0].from, 0);
	assert_int_equal(b.link[0].to, 1);
	amount_is(&b.link[0].messages, "2");
	amount_is(&b.link[0].bytes, "12*b");
	assert_int_equal(b.link[2].from, 1);
	amount_is(&b.link[2].bytes, "4");
	end(&b, &arena);
}

static void a_loop_sends_as_often_as_it_goes_on_or_turns(void **state)
{
	(void)state;
	struct dfg_cost_estimate b;
	struct dfg_arena arena;
	check_estimate(
		(struct dfg_transfer[]){
			{0, 1, "less:0", DFG_BOOL, scalar, "outer", 1, true},
			{0, 1, "x:0", DFG_F64, scalar, "outer", 1, false},
			{1, 0, "y:0", DFG_F64, scalar, "outer", 1, false},
			{0, 1, "p:0", DFG_BOOL, scalar, "outer/inner", 2, true},
			{1, 0, "z:0", DFG_F32, scalar, "", 0, false},
		},
		5, &arena, &b);
	amount_is(&b.messages, "2 + 4*n(outer) + n(outer/inner)");
	amount_is(&b.bytes, "5 + 18*n(outer) + n(outer/inner)");
	assert_true(dfg_amount_at(&b.messages, 1, 10) == 52);
	end(&b, &arena);
}

static void the_loop_around_is_known_though_frames_have_slashes(void **state)
{
	(void)state;
	struct dfg_cost_estimate b;
	struct dfg_arena arena;
	check_estimate(
		(struct dfg_transfer[]){
			{0, 1, "p:0", DFG_BOOL, scalar, "a/b/c/d", 2, true},
			{0, 1, "q:0", DFG_BOOL, scalar, "a/b", 1, false},
		},
		2, &arena, &b);
	amount_is(&b.messages, "2*n(a/b) + n(a/b/c/d)");
	end(&b, &arena);
}

static void sizes_that_are_not_known_have_letters(void **state)
{
	(void)state;
	struct dfg_cost_estimate b;
	struct dfg_arena arena;
	struct dfg_text text = {0};
	check_estimate(
		(struct dfg_transfer[]){
			{0, 1, "x:0", DFG_F32, wide, "", 0, false},
			{0, 2, "x:0", DFG_F32, wide, "", 0, false},
			{0, 1, "y:0", DFG_F32, anything, "", 0, false},
			{0, 1, "s:0", DFG_STRING, rows, "", 0, false},
		},
		4, &arena, &b);
	amount_is(&b.bytes, "8*b*c + 4*d + e");
	assert_true(dfg_amount_at(&b.bytes, 10, 0) == 850);
	dfg_cost_text(&b, &text);
	assert_string_equal(text.s,
		"a step: 4 messages, 8*b*c + 4*d + e bytes\n"
		"w0 -> w1: 3 messages, 4*b*c + 4*d + e bytes\n"
		"w0 -> w2: 1 message, 4*b*c bytes\n"
		"c is dimension 1 of 'x:0'\nd is the number of elements of 'y:0'\ne is the number of bytes of 's:0'\n");
	dfg_text_release(&text);
	end(&b, &arena);
}

static void nothing_sent_costs_nothing(void **state)
{
	(void)state;
	struct dfg_cost_estimate b;
	struct dfg_arena arena;
	check_estimate(NULL, 0, &arena, &b);
	amount_is(&b.messages, "0");
	amount_is(&b.bytes, "0");
	end(&b, &arena);
}

/* The memory of a program on two devices: w1 has what is marked so. */
static void a_host_keeps_parameters_and_the_most_that_lives_at_once(void **state)
{
	(void)state;
	const char *text =
		"input x: f32[batch, 100]\nparam w: f32[100, 10] = zeros\nh = x @ w\n"
		"on \"w1\" { a = exp(h)\nb = exp(a)\nc = exp(b)\noutput y = c + a }\n";
	const char *const device[] = {"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0"};
	const struct dfg_lang_options lang = {.text = text, .length = strlen(text)};
	struct dfg_arena arena = {0}, scratch = {0};
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_placed *placed;
	struct dfg_cost_estimate b;
	dfg_graph_init(&graph, &arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &graph));
	succeeds(dfg_builder_init(&builder, &graph));
	succeeds(dfg_place(
		&graph, &builder.facts, &(struct dfg_place_options){.device = device, .devices = 2}, &scratch, &placed));
	struct dfg_transfer sent[] = {
		{0, 1, "h", DFG_F32, rows, "", 0, false}, {1, 0, "^w/assign", DFG_F32, none, "", 0, false}};
	const struct dfg_parts parts = {.parts = 2, .transfer = sent, .transfers = 2};
	succeeds(dfg_cost_estimate(&graph, &builder.facts, placed, &parts, &scratch, &b));
	amount_is(&b.messages, "1"); /* the initialiser is not part of a step */
	amount_is(&b.bytes, "12*b");
	assert_int_equal(b.hosts, 2);
	assert_true(dfg_amount_at(&b.host[0].parameters, 0, 0) >= 4000);
	assert_true(dfg_amount_at(&b.host[0].parameters, 0, 0) <= 8100);
	amount_is(&b.host[1].parameters, "0");
	/* x and h */
	amount_is(&b.host[0].activations, "440*b");
	/* a, b, c; then a, c, y */
	amount_is(&b.host[1].activations, "120*b");
	dfg_cost_release(&b);
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&scratch);
	dfg_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_link_and_all_of_them_are_billed),
		cmocka_unit_test(a_loop_sends_as_often_as_it_goes_on_or_turns),
		cmocka_unit_test(the_loop_around_is_known_though_frames_have_slashes),
		cmocka_unit_test(sizes_that_are_not_known_have_letters),
		cmocka_unit_test(nothing_sent_costs_nothing),
		cmocka_unit_test(a_host_keeps_parameters_and_the_most_that_lives_at_once),
	};
	return cmocka_run_group_tests_name("cost_estimate", tests, NULL, NULL);
}
