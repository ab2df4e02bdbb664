#include "lib/pass/verify/liveness.h"

#include "lib/pass/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

static struct dfg_err *number_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

/* A Const that a line can write. */
static const struct dfg_op number_op[] = {
	{.name = "Number", .role = DFG_CONST, .sig = "() -> (y: i32)", .attr = {"v: int"}, .shape = number_shape}, {0}};

/* The first fault, or warning, of a graph says all of the words, which '|' divides; "" where there is none. */
static void says(const struct dfg_err *err, const char *words)
{
	char copy[512];
	snprintf(copy, sizeof copy, "%s", words);
	if (!*words && err)
		fail_msg("'%s' where nothing is wrong", err->text);
	for (const char *word = strtok(copy, "|"); word; word = strtok(NULL, "|"))
		if (!err || !strstr(err->text, word))
			fail_msg("'%s' does not say '%s'", err ? err->text : "", word);
}

static void expect(const char *text, const char *fault, const char *warning)
{
	struct sketch sketch;
	struct dfg_faults warnings = {.left = 20};
	sketch_init(&sketch, number_op, text);
	struct dfg_err *err =
		dfg_verify(&sketch.graph, &(struct dfg_verify_options){.unknown_ops = true, .warnings = &warnings}, NULL);
	says(err, fault);
	const struct dfg_err *one = warnings.err;
	while (one && one->next && !strstr(one->text, warning)) /* one of several may be meant */
		one = one->next;
	says(one, warning);
	dfg_err_free(err);
	dfg_err_free(warnings.err);
	sketch_release(&sketch);
}
static void good(const char *text)
{
	expect(text, "", "");
}
static void bad(const char *text, const char *fault)
{
	expect(text, fault, "");
}

#define INPUTS                                                                    \
	"x Placeholder dtype=i32\ny Placeholder dtype=i32\nn Placeholder dtype=i32\n" \
	"p Placeholder dtype=bool\nq Placeholder dtype=bool\nk Placeholder dtype=i32\n"
#define SIDES INPUTS "s Switch x p T=i32\nt Switch y p T=i32\nu Switch x q T=i32\n"

static void a_merge_takes_the_sides_of_one_predicate(void **state)
{
	(void)state;
	good(SIDES "m Merge s t:1 T=i32 N=2\n");
	good(SIDES "a Neg s T=i32\nb Neg t:1 T=i32\nm Merge b a T=i32 N=2\n");
	good(SIDES "same Identity p T=bool\nv Switch y same T=i32\nm Merge s v:1 T=i32 N=2\n");
	bad(INPUTS "m Merge x y T=i32 N=2\n", "node 'm' (Merge): inputs 0 'x' and 1 'y' can both be live;");
	bad(SIDES "m Merge s u:1 T=i32 N=2\n", "inputs 0 's' and 1 'u:1' can both be live where|'q' is true|'p' is false");
	bad(SIDES "m Merge s t T=i32 N=2\n", "inputs 0 's' and 1 't' can both be live where 'p' is false");
	bad(SIDES "m Merge s t:1 x T=i32 N=3\n", "and 2 'x' can both be live");
	bad(SIDES "m Merge s s T=i32 N=2\n", "can both be live");
}

static void predicates_may_be_made_of_predicates(void **state)
{
	(void)state;
	good(SIDES "no LogicalNot p\nv Switch y no T=i32\nm Merge s v T=i32 N=2\n");
	bad(SIDES "no LogicalNot p\nv Switch y no T=i32\nm Merge s v:1 T=i32 N=2\n", "can both be live");
	good(SIDES "both LogicalAnd p q\nv Switch y both T=i32\nm Merge v:1 v T=i32 N=2\n");
	good(SIDES
		"not_p LogicalNot p\nelse LogicalAnd not_p q\nnot_q LogicalNot q\nrest LogicalAnd not_p not_q\n"
		"b Switch x else T=i32\nc Switch x rest T=i32\nm Merge s:1 b:1 c:1 T=i32 N=3\n");
	bad(SIDES "or LogicalOr p q\nv Switch y or T=i32\nm Merge s:1 v:1 T=i32 N=2\n",
		"can both be live where 'p' is true");
}

static void branches_stand_in_branches(void **state)
{
	(void)state;
	good(SIDES
		"q_in Switch q p T=bool\nv Switch s:1 q_in:1 T=i32\ninner Merge v v:1 T=i32 N=2\n"
		"m Merge s inner T=i32 N=2\n");
	good(SIDES "q_in Switch q p T=bool\nv Switch s:1 q_in:1 T=i32\nm Merge s v v:1 T=i32 N=3\n");
	bad(SIDES
		"q_in Switch q p T=bool\nv Switch s:1 q_in:1 T=i32\ninner Merge v v:1 T=i32 N=2\n"
		"m Merge inner t:1 T=i32 N=2\n",
		"inputs 0 'inner' and 1 't:1' can both be live where 'p' is true");
	good(SIDES "p_in Switch p p T=bool\nv Switch y p_in:1 T=i32\nm Merge v:1 s T=i32 N=2\n");
}

static void a_control_input_counts_but_for_merges_and_triggers(void **state)
{
	(void)state;
	good(SIDES "one Neg y ^no T=i32\nno Identity s T=i32\nm Merge one t:1 T=i32 N=2\n");
	good(SIDES
		"no Identity s T=i32\nm Merge t t:1 ^no T=i32 N=2\nm2 Merge s m2_in T=i32 N=2\n"
		"m2_in Neg m ^yes T=i32\nyes Identity s:1 T=i32\n");
	bad(SIDES "no Identity s T=i32\ngo ControlTrigger ^no\none Neg y ^go T=i32\nm Merge one t:1 T=i32 N=2\n",
		"inputs 0 'one' and 1 't:1' can both be live where 'p' is true");
	bad(SIDES "one Neg y ^s T=i32\nm Merge one t:1 T=i32 N=2\n", "can both be live");
}

/* The constant is live in both cases, so it is what is left where the branch is dead. */
#define SEVEN SIDES "seven Number v=7\n"
static void a_constant_may_be_a_fallback(void **state)
{
	(void)state;
	expect(SEVEN "m Merge seven s:1 T=i32 N=2\n", "",
		"node 'm' (Merge): both inputs are live where 'p' is true, as input 0 'seven' is a constant outside of the "
		"branch; "
		"input 1 is taken there");
	expect(SEVEN "a Neg seven T=i32\nm Merge s a T=i32 N=2\nouter Merge m u:1 T=i32 N=2\n", "",
		"node 'outer' (Merge): both inputs are live where 'q' is true, as input 0 'm' is");
	bad(SEVEN "a Add seven x T=i32\nm Merge a s:1 T=i32 N=2\n", "can both be live");
	bad(SEVEN "m Merge seven s:1 u:1 T=i32 N=3\n", "can both be live");
	bad(SEVEN "on Identity u:1 T=i32\na Neg seven T=i32 ^on\nm Merge a s:1 T=i32 N=2\n", "can both be live");
	bad(SIDES
		"v Placeholder dtype=f32\nw Switch v p T=f32\nf Cast seven SrcT=i32 DstT=f32\n"
		"seven Number v=7\nm Merge f w:1 T=f32 N=2\n",
		"can both be live");
}

static void the_mark_of_a_fallback_is_not_trusted(void **state)
{
	(void)state;
	expect(SEVEN "m Merge seven s:1 T=i32 N=2 _dfg_fallback=0\n", "", "node 'm' (Merge): both inputs are live");
	bad(SEVEN "m Merge seven s:1 T=i32 N=2 _dfg_fallback=1\n",
		"node 'm' (Merge): attribute '_dfg_fallback' is 1, but it is input 0 that is a constant and live in more "
		"cases");
	bad(SEVEN "m Merge s t:1 T=i32 N=2 _dfg_fallback=2\n",
		"node 'm' (Merge): attribute '_dfg_fallback' is 2, but only");
	bad(SEVEN "m Merge s t:1 T=i32 N=2 _dfg_fallback=-1\n", "attribute '_dfg_fallback' is -1, but only");
	bad(SIDES "m Merge x s:1 T=i32 N=2 _dfg_fallback=0\n", "can both be live");
	bad(SIDES "v Placeholder dtype=f32\nw Switch v p T=f32\nm Merge w w:1 T=f32 N=2 _dfg_fallback=0\n",
		"of two i32 or i64");
	good(SEVEN "m Merge s t:1 T=i32 N=2 _dfg_fallback=1\n");
}

static void what_is_dead_and_should_not_be_is_a_warning(void **state)
{
	(void)state;
	expect(SIDES "sum Add s t:1 T=i32\nmore Neg sum T=i32\n", "",
		"node 'sum' (Add): never runs: its inputs are on opposite sides");
	expect(SIDES "q_in Switch q p T=bool\nv Switch s:1 q_in:1 T=i32\nm Merge s v T=i32 N=2\n", "",
		"node 'm' (Merge): no input is live where 'q' is true and 'p' is true");
	expect(
		SIDES "yes Neg s:1 T=i32 _dfg_output=0\n", "", "node 'yes' (Neg): is an output, but dead where 'p' is false");
}

/* A loop `while i < n`, of frame 'f', that is closed by what the test says. */
#define LOOP_FROM(start)                                                                                               \
	"enter Enter " start                                                                                               \
	" T=i32 frame_name='f'\nn_in Enter n T=i32 frame_name='f' is_constant=true\n"                                      \
	"merge Merge enter next T=i32 N=2\nless Less merge n_in T=i32\ntest LoopCond less\nturn Switch merge test T=i32\n" \
	"body Identity turn:1 T=i32\nexit Exit turn T=i32\n"
#define LOOP INPUTS LOOP_FROM("x")
#define CLOSED LOOP "next NextIteration back T=i32\nback Neg body T=i32\n"
/* One more variable, of values from outside. */
#define VARIABLE(start)                                                                     \
	"w_enter Enter " start                                                                  \
	" T=i32 frame_name='f'\nw Merge w_enter w_next T=i32 N=2\nw_turn Switch w test T=i32\n" \
	"w_exit Exit w_turn T=i32\nw_next NextIteration w_back T=i32\nw_back Neg w_turn:1 T=i32\n"

static void an_enter_has_a_name_and_a_window(void **state)
{
	(void)state;
	bad(INPUTS "e Enter x T=i32 frame_name=''\n", "node 'e' (Enter): attribute 'frame_name' is empty");
	bad(INPUTS "e Enter x T=i32 frame_name='f' parallel_iterations=0\n", "is 0, must be at least 1");
	bad(INPUTS "e Enter x T=i32 frame_name='f' parallel_iterations=-1\n", "is -1, must be at least 1");
}

static void a_loops_variable_goes_on_where_the_loop_does(void **state)
{
	(void)state;
	good(CLOSED);
	good(CLOSED VARIABLE("y"));
	bad(LOOP "even Less body n_in T=i32\nfork Switch body even T=i32\nnext NextIteration fork:1 T=i32\n",
		"node 'next' (NextIteration): its input 'fork:1' is dead where 'even' is false, though frame 'f' continues");
	good(LOOP
		"even Less body n_in T=i32\nfork Switch body even T=i32\nno Neg fork T=i32\n"
		"all Merge no fork:1 T=i32 N=2\nnext NextIteration all T=i32\n");
	bad(LOOP "more Neg merge T=i32\nnext NextIteration more T=i32\n",
		"node 'next' (NextIteration): its input 'more' is live where 'test' (LoopCond) is false too, so frame 'f' "
		"would never end");
	bad(LOOP "next NextIteration turn T=i32\n", "'turn' is live where 'test' (LoopCond) is false too");
	bad(LOOP "next NextIteration n_in T=i32\n", "'n_in' is live where 'test' (LoopCond) is false too");
}

static void what_enters_a_loop_is_live_together(void **state)
{
	(void)state;
	bad(INPUTS "s Switch y p T=i32\n" LOOP_FROM("x") "next NextIteration body T=i32\n" VARIABLE("s:1"),
		"node 'w_enter' (Enter): is dead where 'p' is false, but 'test' (LoopCond) of frame 'f' is live");
	good(INPUTS
		"s Switch y p T=i32\nz Switch x p T=i32\nn2 Switch n p T=i32\n"
		"enter Enter z:1 T=i32 frame_name='f'\nn_in Enter n2:1 T=i32 frame_name='f' is_constant=true\n"
		"merge Merge enter next T=i32 N=2\nless Less merge n_in T=i32\ntest LoopCond less\n"
		"turn Switch merge test T=i32\nbody Identity turn:1 T=i32\nexit Exit turn T=i32\n"
		"next NextIteration body T=i32\n" VARIABLE("s:1") "m Merge exit z T=i32 N=2\n");
}

static void a_loop_in_a_branch_leaves_it_dead_or_live(void **state)
{
	(void)state;
	good(INPUTS "s Switch x p T=i32\n" LOOP_FROM("s:1") "next NextIteration body T=i32\nm Merge exit s T=i32 N=2\n");
	bad(INPUTS "s Switch x p T=i32\n" LOOP_FROM("s:1") "next NextIteration body T=i32\nm Merge exit s:1 T=i32 N=2\n",
		"node 'm' (Merge): inputs 0 'exit' and 1 's:1' can both be live where 'p' is true");
}

static void an_invariant_of_the_outer_loop_enters_the_inner_one(void **state)
{
	(void)state;
	good(LOOP
		"in Enter body T=i32 frame_name='g'\nlimit Enter n_in T=i32 frame_name='g' is_constant=true\n"
		"g Merge in g_next T=i32 N=2\ng_less Less g limit T=i32\ng_test LoopCond g_less\n"
		"g_turn Switch g g_test T=i32\ng_next NextIteration g_turn:1 T=i32\ng_exit Exit g_turn T=i32\n"
		"next NextIteration g_exit T=i32\n");
}

static void inputs_of_a_node_come_in_the_same_iterations(void **state)
{
	(void)state;
	bad(CLOSED "odd Add enter merge T=i32\n",
		"node 'odd' (Add): its inputs arrive in different iterations: 'enter' only in the first, 'merge' in each");
	bad(CLOSED "odd Add body next T=i32\n", "'body' in each, 'next' in all but the first");
	good(CLOSED "even Add enter n_in T=i32\n");
}

static void what_reads_only_invariants_has_no_effects(void **state)
{
	(void)state;
	expect(CLOSED "square Mul n_in n_in T=i32\nsum Add body square T=i32\n", "",
		"node 'square' (Mul): reads only what does not change in frame 'f'");
	bad(CLOSED
		"h Placeholder dtype=resource\nh_in Enter h T=resource frame_name='f' is_constant=true\n"
		"put AssignAddVariableOp h_in n_in dtype=i32\n",
		"node 'put' (AssignAddVariableOp): reads only what does not change in frame 'f'|on 'test'");
	good(CLOSED
		"h Placeholder dtype=resource\nh_in Enter h T=resource frame_name='f' is_constant=true\n"
		"put AssignAddVariableOp h_in n_in ^body dtype=i32\n");
	bad(CLOSED "ratio FloorDiv n_in n_in T=i32\nsum Add body ratio T=i32\n",
		"node 'ratio' (FloorDiv): reads only what does not change");
}

static void saves_stand_where_the_loop_goes_on(void **state)
{
	(void)state;
	const char *region = "node 'load' (Dfg>Load): ";
	good(CLOSED "save Dfg>Save back body T=i32 N=1 K=i32\nload Dfg>Load save x T=i32 N=1 K=i32\n");
	bad(CLOSED "save Dfg>Save merge merge T=i32 N=1 K=i32\nload Dfg>Load save x T=i32 N=1 K=i32\n",
		"node 'save' (Dfg>Save): saves in the last iteration of frame 'f' too, where 'test' (LoopCond) is false");
	bad(CLOSED "save Dfg>Save back body x T=i32 N=2 K=i32\n", "different frames");
	bad(CLOSED "save Dfg>Save back body body T=i32 N=2 K=i32\nload Dfg>Load save x x T=i32 N=2 K=i32\n",
		"node 'save' (Dfg>Save): has 2 keys, but frame 'f' is nested only 1 loop deep");
	bad(CLOSED "save Dfg>Save back body T=i32 N=1 K=i32\nload Dfg>Load save x x T=i32 N=2 K=i32\n",
		"has 2 keys, but 'save' (Dfg>Save) saves under 1");
	bad(CLOSED "save Dfg>Save back T=i32 N=0 K=i32\nload Dfg>Load save T=i32 N=0 K=i32\n", region);
	bad(CLOSED "save Dfg>Save back body T=i32 N=1 K=i32\nsame Identity save T=variant\n",
		"node 'same' (Identity): input 0 is 'save' (Dfg>Save), whose output only a Load can read");
}

#define ARRAY                                                             \
	INPUTS                                                                \
	"a TensorArrayV3 n dtype=i32\nw TensorArrayWriteV3 a x x a:1 T=i32\n" \
	"r TensorArrayReadV3 a x w dtype=i32\n"

static void the_flow_of_an_array_is_taken_by_one_write(void **state)
{
	(void)state;
	good(ARRAY "v TensorArrayWriteV3 a y y w T=i32\ns TensorArrayReadV3 a y v dtype=i32\n");
	bad(ARRAY "v TensorArrayWriteV3 a y y a:1 T=i32\ns TensorArrayReadV3 a y v dtype=i32\n",
		"node 'v' (TensorArrayWriteV3): consumes the flow of 'a' and so does 'w' (TensorArrayWriteV3)");
	bad(ARRAY "same Identity a:1 T=f32\nv TensorArrayWriteV3 a y y same T=i32\ns TensorArrayReadV3 a y v dtype=i32\n",
		"consumes the flow of 'a' and so does 'w'");
	good(INPUTS
		"a TensorArrayV3 n dtype=i32\nf Switch a:1 p T=f32\nw TensorArrayWriteV3 a x x f T=i32\n"
		"v TensorArrayWriteV3 a y y f:1 T=i32\nm Merge v w T=f32 N=2\nr TensorArrayReadV3 a x m dtype=i32\n");
	good(ARRAY
		"g TensorArrayGradV3 a w source='g'\nb TensorArrayWriteV3 g x x g:1 T=i32\n"
		"c TensorArrayWriteV3 g x x g:1 T=i32\nboth Add b c T=f32\n");
}

/* As many branches within branches as would take gigabytes if each node had its conditions listed. */
static void deep_nests_are_followed_at_once(void **state)
{
	(void)state;
	enum { DEEP = 4000 };
	struct sketch sketch;
	sketch_init(&sketch, NULL, INPUTS);
	struct dfg_edge data = {0, 0};
	for (int i = 0; i < DEEP; i++) {
		uint32_t number;
		struct dfg_edge *in = dfg_arena_zeros(&sketch.arena, 2, sizeof *in);
		struct dfg_node pred = {
			.name = dfg_arena_print(&sketch.arena, "p%d", i), .op_name = "Placeholder", .device = ""};
		pred.op = dfg_op_find("Placeholder");
		assert_null(dfg_graph_add(&sketch.graph, &pred, &number));
		sketch_attr(&sketch, number, "dtype=bool");
		in[0] = data;
		in[1] = (struct dfg_edge){number, 0};
		struct dfg_node fork = {
			.name = dfg_arena_print(&sketch.arena, "s%d", i), .op_name = "Switch", .device = "", .in = in, .n_in = 2};
		fork.op = dfg_op_find("Switch");
		assert_null(dfg_graph_add(&sketch.graph, &fork, &number));
		sketch_attr(&sketch, number, "T=i32");
		data = (struct dfg_edge){number, 1};
	}
	struct dfg_edge *sides = dfg_arena_zeros(&sketch.arena, DEEP + 1, sizeof *sides);
	for (uint32_t i = 0; i < DEEP; i++)
		sides[i] = (struct dfg_edge){7 + 2 * i, 0};
	sides[DEEP] = data;
	struct dfg_node merge = {.name = "m", .op_name = "Merge", .device = "", .in = sides, .n_in = DEEP + 1};
	merge.op = dfg_op_find("Merge");
	uint32_t number;
	assert_null(dfg_graph_add(&sketch.graph, &merge, &number));
	sketch_attr(&sketch, number, "T=i32");
	sketch_attr(&sketch, number, "N=4001");
	assert_null(dfg_verify(&sketch.graph, NULL, NULL));
	sketch.graph.node[number].in[DEEP] = (struct dfg_edge){7 + 2 * (DEEP / 2), 0};
	struct dfg_err *err = dfg_verify(&sketch.graph, NULL, NULL);
	says(err, "node 'm' (Merge): inputs 2000 's2000' and 4000 's2000' can both be live");
	dfg_err_free(err);
	sketch_release(&sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_merge_takes_the_sides_of_one_predicate),
		cmocka_unit_test(predicates_may_be_made_of_predicates),
		cmocka_unit_test(branches_stand_in_branches),
		cmocka_unit_test(a_control_input_counts_but_for_merges_and_triggers),
		cmocka_unit_test(a_constant_may_be_a_fallback),
		cmocka_unit_test(the_mark_of_a_fallback_is_not_trusted),
		cmocka_unit_test(what_is_dead_and_should_not_be_is_a_warning),
		cmocka_unit_test(an_enter_has_a_name_and_a_window),
		cmocka_unit_test(a_loops_variable_goes_on_where_the_loop_does),
		cmocka_unit_test(what_enters_a_loop_is_live_together),
		cmocka_unit_test(a_loop_in_a_branch_leaves_it_dead_or_live),
		cmocka_unit_test(an_invariant_of_the_outer_loop_enters_the_inner_one),
		cmocka_unit_test(inputs_of_a_node_come_in_the_same_iterations),
		cmocka_unit_test(what_reads_only_invariants_has_no_effects),
		cmocka_unit_test(saves_stand_where_the_loop_goes_on),
		cmocka_unit_test(the_flow_of_an_array_is_taken_by_one_write),
		cmocka_unit_test(deep_nests_are_followed_at_once),
	};
	return cmocka_run_group_tests_name("deadness", tests, NULL, NULL);
}
