#include "lib/graph/liveness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

struct analysis {
	struct sketch sketch;
	struct dfg_arena arena;
	uint32_t *order;
	struct dfg_loops loops;
	struct dfg_liveness liveness;
};

static void analyse(struct analysis *a, const char *text)
{
	static const struct dfg_op none[] = {{0}};
	uint32_t count;
	sketch_init(&a->sketch, none, text);
	a->arena = (struct dfg_arena){0};
	a->order = dfg_arena_zeros(&a->arena, a->sketch.graph.count, sizeof *a->order);
	assert_null(dfg_graph_order(&a->sketch.graph, &a->arena, a->order, &count));
	assert_int_equal(count, a->sketch.graph.count);
	assert_null(dfg_loops_find(&a->sketch.graph, a->order, &a->arena, &a->loops));
	assert_null(dfg_liveness_find(&a->sketch.graph, a->order, &a->loops, NULL, &a->liveness));
}

static void release(struct analysis *a)
{
	dfg_liveness_release(&a->liveness);
	dfg_arena_release(&a->arena);
	sketch_release(&a->sketch);
}

static uint32_t number(const struct analysis *a, const char *name)
{
	uint32_t n = dfg_graph_find(&a->sketch.graph, name);
	assert_int_not_equal(n, DFG_NONE);
	return n;
}

static uint32_t set_of(struct analysis *a, const char *tensor)
{
	struct dfg_edge edge;
	uint32_t set;
	assert_null(dfg_graph_edge(&a->sketch.graph, tensor, &edge));
	assert_null(dfg_live_of(&a->liveness, edge, &set));
	return set;
}

/* while i < n: i, v = i + 1, v * x */
static const char loop[] =
	"i0 Const\nn Const\nx Const\nv0 Const\n"
	"ei Enter i0 frame_name='loop'\nev Enter v0 frame_name='loop'\n"
	"en Enter n frame_name='loop' is_constant=true\n"
	"ex Enter x frame_name='loop' is_constant=true\n"
	"mi Merge ei ni\nmv Merge ev nv\nless Less mi en\nc LoopCond less\n"
	"si Switch mi c\nsv Switch mv c\none Const ^bi\nbi Identity si:1\n"
	"add Add bi one\nmul Mul sv:1 ex\nni NextIteration add\nnv NextIteration mul\n"
	"xi Exit si\nxv Exit sv\ny Identity xv\n";

static void a_loop_has_its_condition_variables_and_invariants(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a, loop);
	assert_int_equal(a.loops.count, 2);
	const struct dfg_loop *found = &a.loops.loop[1];
	assert_int_equal(found->condition, number(&a, "c"));
	assert_int_equal(found->n_variable, 2);
	assert_int_equal(found->n_invariant, 2);
	const struct dfg_loop_variable *v = &found->variable[1];
	assert_int_equal(v->enter, number(&a, "ev"));
	assert_int_equal(v->merge, number(&a, "mv"));
	assert_int_equal(v->switch_node, number(&a, "sv"));
	assert_int_equal(v->next, number(&a, "nv"));
	assert_int_equal(v->exit, number(&a, "xv"));
	assert_int_equal(a.loops.of[number(&a, "mul")], 1);
	assert_int_equal(a.loops.of[number(&a, "one")], 1);
	assert_int_equal(a.loops.of[number(&a, "xv")], 0);
	assert_int_equal(dfg_loop_home(&a.sketch.graph, &a.loops, number(&a, "xv")), 1);
	release(&a);
}

static void what_the_condition_needs_is_live_more_often_than_the_body(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a, loop);
	uint32_t body = set_of(&a, "si:1");
	assert_int_equal(set_of(&a, "mi"), 0);
	assert_int_equal(set_of(&a, "less"), 0);
	assert_int_not_equal(body, 0);
	assert_int_equal(set_of(&a, "mul"), body);
	assert_int_equal(set_of(&a, "one"), body);
	assert_true(dfg_live_exclusive(&a.liveness, body, set_of(&a, "sv:0")));
	assert_int_equal(set_of(&a, "y"), 0);
	release(&a);
}

static void a_merge_of_both_sides_is_live_whenever_what_they_share_is(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a,
		"p Const\nq Const\nx Const\npid Identity p\nsx Switch x pid\nsq Switch q p\n"
		"sx2 Switch sx:1 sq:1\nf Neg sx2\nt Neg sx2:1\nm Merge t f\nm2 Merge m sx\n"
		"lone Merge sx2 sx2\ndead Switch sx2 p\n");
	uint32_t taken = set_of(&a, "sx:1");
	assert_int_equal(set_of(&a, "m"), taken);
	assert_int_equal(set_of(&a, "m2"), 0);
	assert_true(dfg_live_within(&a.liveness, taken, set_of(&a, "t")));
	assert_true(dfg_live_exclusive(&a.liveness, set_of(&a, "t"), set_of(&a, "f")));
	assert_false(dfg_live_exclusive(&a.liveness, set_of(&a, "t"), set_of(&a, "m")));
	assert_int_equal(set_of(&a, "lone"), set_of(&a, "sx2"));
	uint32_t never = set_of(&a, "dead");
	assert_true(dfg_live_exclusive(&a.liveness, never, never));
	release(&a);
}

static void a_merge_is_as_live_as_its_inputs_that_can_be_live(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a, "p Const\nq Const\nx Const\ns Switch x p\nt Switch s:1 p\nu Switch x q\nm Merge t u:1\nn Merge t t\n");
	assert_true(dfg_live_never(&a.liveness, set_of(&a, "t")));
	assert_int_equal(set_of(&a, "m"), set_of(&a, "u:1"));
	assert_true(dfg_live_never(&a.liveness, set_of(&a, "n")));
	assert_true(a.liveness.is_partial[number(&a, "m")] == false);
	release(&a);
}

static void two_readings_of_a_ref_are_two_predicates(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a,
		"v VariableV2 dtype=bool\nx Const\nr1 Identity v T=bool\nr2 Identity v T=bool\nr3 Identity r1 T=bool\n"
		"s1 Switch x r1\ns2 Switch x r2\ns3 Switch x r1\ns4 Switch x r3\n");
	assert_int_equal(set_of(&a, "s1"), set_of(&a, "s3"));
	assert_int_not_equal(set_of(&a, "s1"), set_of(&a, "s2"));
	assert_int_not_equal(set_of(&a, "s1"), set_of(&a, "s4"));
	release(&a);
}

/* A step that feeds output 1 of the Switch, and reads its output 0 through a lowered call of two outputs. */
static void feeds_cut_the_graph_of_a_step(void **state)
{
	(void)state;
	static const char *const names[] = {"p", "x", "s", "f", "t", "u", "after", "g"};
	enum { COUNT = sizeof names / sizeof *names };
	struct analysis a;
	struct dfg_edge feed;
	uint32_t order[COUNT], numbers[32], of[COUNT] = {0}, variable[COUNT];
	analyse(&a,
		"p Const\nx Const\ns Switch x p\nf Neg s\nt Neg s:1\nu Neg x\ncall IdentityN f u _dfg_call=true\n"
		"after Neg call:1\ng Neg call\n");
	uint32_t whole = set_of(&a, "f");
	assert_int_equal(set_of(&a, "after"), whole);
	assert_int_not_equal(set_of(&a, "t"), 0);
	dfg_liveness_release(&a.liveness);
	assert_null(dfg_graph_edge(&a.sketch.graph, "s:1", &feed));
	memset(numbers, 0xff, sizeof numbers);
	for (uint32_t i = 0; i < COUNT; i++) {
		order[i] = number(&a, names[i]);
		numbers[order[i]] = i;
		variable[i] = DFG_NONE;
	}
	a.loops.of = of;
	a.loops.variable = variable;
	struct dfg_live_step step = {COUNT, numbers, &feed, 1};
	assert_null(dfg_liveness_find(&a.sketch.graph, order, &a.loops, &step, &a.liveness));
	assert_int_equal(set_of(&a, "s:1"), 0);
	assert_int_equal(set_of(&a, "t"), 0);
	assert_int_not_equal(set_of(&a, "s:0"), 0);
	assert_int_equal(set_of(&a, "g"), set_of(&a, "s:0"));
	assert_int_equal(set_of(&a, "after"), 0);
	release(&a);
}

static void sides_that_leave_a_case_out_are_not_whole(void **state)
{
	(void)state;
	struct analysis a;
	bool whole;
	uint32_t common;
	analyse(&a, "p Const\nq Const\nx Const\na Switch x p\nb Switch x q\nc Switch b p\n");
	assert_null(dfg_live_merge(&a.liveness, (uint32_t[]){set_of(&a, "a"), set_of(&a, "c:1")}, 2, &common, &whole));
	assert_false(whole);
	assert_int_equal(common, 0);
	assert_null(dfg_live_merge(&a.liveness, (uint32_t[]){set_of(&a, "c"), set_of(&a, "c:1")}, 2, &common, &whole));
	assert_true(whole);
	assert_int_equal(common, set_of(&a, "b"));
	release(&a);
}

static void ways_of_one_number_exclude_each_other_as_far_as_both_tell_them_apart(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a, "n Const\nx Const\na _SwitchN x n num_outs=3\nb _SwitchN x n num_outs=5\n");
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 5; k++) {
			char one[] = "a:0", other[] = "b:0";
			one[2] = (char)('0' + i);
			other[2] = (char)('0' + k);
			assert_int_equal(dfg_live_exclusive(&a.liveness, set_of(&a, one), set_of(&a, other)), i != (k < 2 ? k : 2));
		}
	release(&a);
}

static void a_loop_in_a_branch_is_entered_under_its_condition(void **state)
{
	(void)state;
	struct analysis a;
	analyse(&a,
		"p Const\nx Const\ns Switch x p\ne Enter s:1 frame_name='inner'\nm Merge e n\n"
		"less Less m m\nc LoopCond less\nt Switch m c\nn NextIteration t:1\nout Exit t\n");
	assert_int_equal(a.liveness.entry[1], set_of(&a, "s:1"));
	assert_int_equal(set_of(&a, "out"), set_of(&a, "s:1"));
	assert_int_equal(set_of(&a, "e"), 0);
	release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_has_its_condition_variables_and_invariants),
		cmocka_unit_test(what_the_condition_needs_is_live_more_often_than_the_body),
		cmocka_unit_test(a_merge_of_both_sides_is_live_whenever_what_they_share_is),
		cmocka_unit_test(a_merge_is_as_live_as_its_inputs_that_can_be_live),
		cmocka_unit_test(two_readings_of_a_ref_are_two_predicates),
		cmocka_unit_test(feeds_cut_the_graph_of_a_step),
		cmocka_unit_test(sides_that_leave_a_case_out_are_not_whole),
		cmocka_unit_test(ways_of_one_number_exclude_each_other_as_far_as_both_tell_them_apart),
		cmocka_unit_test(a_loop_in_a_branch_is_entered_under_its_condition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
