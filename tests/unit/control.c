#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/text.h"
#include "lib/lang/lang.h"
#include "lib/pass/verify/verify.h"

/* Conditionals and loops of the language: what they become, and what is said of mistakes. What they compute, and that
 * TensorFlow computes the same, tests/cli/control.sh says. */
static struct dfg_arena arena;
static struct dfg_graph graph;

static struct dfg_err *build(const char *text)
{
	const struct dfg_lang_options options = {.text = text, .length = strlen(text)};
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	dfg_graph_init(&graph, &arena);
	return dfg_lang_build("t.dfg", &options, &graph);
}

static int done(void **state)
{
	(void)state;
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return 0;
}

/* The ops of a program's nodes in order, joined by blanks; constants and inputs left out. */
static void ops(const char *text, const char *wanted)
{
	struct dfg_text out = {0};
	succeeds(build(text));
	succeeds(dfg_verify(&graph, NULL, NULL));
	for (uint32_t i = 0; i < graph.count; i++)
		if (strcmp(graph.node[i].op_name, "Const") != 0 && strcmp(graph.node[i].op_name, "Placeholder") != 0)
			dfg_text_add(&out, "%s%s", out.length ? " " : "", graph.node[i].op_name);
	assert_string_equal(out.s, wanted);
	dfg_text_release(&out);
}

static int count(const char *op)
{
	int n = 0;
	for (uint32_t i = 0; i < graph.count; i++)
		n += !strcmp(graph.node[i].op_name, op);
	return n;
}

static void a_loop_is_no_more_than_it_needs(void **state)
{
	(void)state;
	ops("input n: i32[]\nx = loop (i = 0) while i < n { next i + 1 }\n",
		"Enter Merge Enter Less LoopCond Switch Enter AddV2 NextIteration Exit");
	ops("input n: i32[]\nx = loop (s = 0) for i in 0..n { next s + i }\n",
		"Enter Merge Enter Merge Enter Less LoopCond Switch Switch AddV2 NextIteration Enter AddV2 NextIteration Exit");
}

static void a_choice_switches_a_value_once(void **state)
{
	(void)state;
	ops("input p: bool[]\ninput x: f32[2]\ny = if p { x * 2 } else { x }\n", "Switch Mul Merge");
	ops("input p: bool[]\ny = if p { 1 } else { 2 }\n", "Switch Switch Merge");
	ops("input p: bool[]\ninput x: f32[2]\na, b = if p { x, x + x } else { x - x, x }\n",
		"Switch AddV2 Sub Merge Merge");
}

static void a_value_is_entered_once_a_frame(void **state)
{
	(void)state;
	succeeds(
		build("input n: i32[]\ninput x: f32[2]\ny = loop (s = x) for i in 0..n {\n"
			  "  next loop (t = s) for j in 0..n { next t * x + x }\n}\n"));
	succeeds(dfg_verify(&graph, NULL, NULL));
	int constant = 0;
	for (uint32_t i = 0; i < graph.count; i++)
		constant += dfg_node_mark(&graph.node[i], "is_constant", NULL);
	assert_int_equal(constant, 2 * 3 + 1); /* n, x and 1 in each frame, 0 in the outer for the inner */
}

/* A node that reads only invariants would run once more, in the iteration that does not take place. */
static void what_reads_invariants_alone_waits_for_the_body(void **state)
{
	(void)state;
	succeeds(build("input n: i32[]\ninput x: f32[2]\ny = loop (s = x) for i in 0..n { next x * x }\n"));
	succeeds(dfg_verify(&graph, NULL, NULL));
	const struct dfg_node *product = &graph.node[dfg_graph_find(&graph, "y/Mul")];
	assert_int_equal(product->n_control, 1);
	const struct dfg_node *pivot = &graph.node[product->in[2].node];
	assert_string_equal(pivot->op_name, "Identity");
	assert_int_equal(pivot->in[0].port, 1);
}

static void params_of_bodies_stand_in_the_root(void **state)
{
	(void)state;
	succeeds(
		build("input n: i32[]\ninput x: f32[2, 3]\ny = loop (s = x) for i in 0..n { next tanh(dense(3)(s)) }\n"
			  "output z = y\n"));
	succeeds(dfg_verify(&graph, NULL, NULL));
	assert_int_equal(count("VarHandleOp"), 2);
	assert_int_not_equal(dfg_graph_find(&graph, "y/dense/w"), DFG_NONE);
	assert_int_equal(graph.node[dfg_graph_find(&graph, "y/dense/w/read")].n_control, 0);
}

static void a_choice_known_while_building_is_made_then(void **state)
{
	(void)state;
	ops("const n = 3\ninput x: f32[2]\ny = if n > 2 { x * 2 } else { x }\n", "Mul");
	ops("const n = 1\ninput x: f32[2]\ny = case n { 0: { x } 1: { x * 2 } else: { x + x } }\n", "Mul");
}

static void mistakes_are_told_in_the_programs_words(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} mistake[] = {
		{"y = if x { 1 } else { 2 }\n", "t.dfg:5:8: error: `if` requires a scalar bool, not bool[2]"},
		{"y = if v { 1 } else { 2 }\n", "`if` requires a bool, not f32[2]"},
		{"y = if p { 1, 2 } else { 2 }\n", "one arm has 2 values, the other 1"},
		{"y = if p { v } else { i32(v) }\n", "the arms have the values f32[2] and i32[2]: cast one of them"},
		{"y = if p { v } else { sum(v) }\n",
			"the arms have the values f32[2] and f32[]: both must have the same number of axes"},
		{"y = if p { sin } else { cos }\n", "expected a tensor, not a function"},
		{"if p {\n  v = v + 1\n} else { }\n", "6:3: error: 'v' is bound outside of the `if`"},
		{"y = case v { 0: { 1 } else: { 2 } }\n", "`case` requires an integer, not f32[2]"},
		{"y = case i32(v) { 0: { 1 } else: { 2 } }\n", "`case` requires a scalar integer, not i32[2]"},
		{"loop = 3\n", "t.dfg:5:1: error: `loop` is a reserved word and cannot be a name"},
		{"case, b = 1, 2\n", "t.dfg:5:1: error: `case` is a reserved word"},
		{"b, case = 1, 2\n", "t.dfg:5:4: error: `case` is a reserved word"},
		{"input loop: f32[]\n", "t.dfg:5:7: error: `loop` is a reserved word"},
		{"fn if(a) { a }\n", "t.dfg:5:4: error: `if` is a reserved word"},
		{"fn f(loop) { 1 }\n", "t.dfg:5:6: error: `loop` is a reserved word"},
		{"a = loop (next = 0) for t in 0..n { next t }\n", "t.dfg:5:11: error: `next` is a reserved word"},
		{"a = loop for in in 0..n { yield 1 }\n", "t.dfg:5:14: error: `in` is a reserved word"},
		{"y = loop (i = 0) while i < n {\n  v = v + 1\n  next i + 1\n}\n",
			"t.dfg:6:3: error: 'v' is bound outside of the loop; to change it, carry it: loop (v = v)\n      v = v + "
			"1\n      ^"},
		{"y = loop (i = 0) { next i + 1 }\n", "this loop never ends"},
		{"y = loop (i = 0) for t in 0.. { next i + t }\n", "this loop never ends"},
		{"y = loop (i = 0) while true { next i + 1 }\n", "this loop never ends"},
		{"loop while p { assert p, \"p\" }\n", "this loop never ends"},
		{"y = loop (i = 0) while v { next i + 1 }\n", "`while` requires a scalar bool, not f32[2]"},
		{"y = loop (i = 0) while i < n { yield i }\n",
			"`next` is missing: the body does not give 'i' a value for the next iteration"},
		{"a, b = loop (i = 0, j = 0) while i < n { next i + 1 }\n", "the loop carries 2 values, but `next` has 1"},
		{"a = loop (i = 0) while i < n { next i + 1, i }\n", "the loop carries 1 value, but `next` has 2"},
		{"a = loop (i = 0) while i < n {\n  next i + 1\n  next i\n}\n", "a body may have only one `next`"},
		{"a = loop (i = 0) while i < n { next f32(i) }\n",
			"'i' begins as i32[], but its next value is f32[]: cast one of them"},
		{"a = loop (i = 0) while i < n { next 1.5 }\n", "'i' begins as i32[]: 1.5 is not an integer, as i32 requires"},
		{"a = loop (i = v) for t in 0..n { next i[:1] }\n",
			"'i' begins as f32[2], but its next value is f32[1]: if that is intended, add `with (grows = i)`"},
		{"a = loop (i = v) for t in 0..n { next sum(i) }\n", "'i' begins as f32[2], but its next value is f32[]"},
		{"a = loop (i = 0) while i < n {\n  if p { yield i } else { }\n  next i + 1\n}\n",
			"6:10: error: `yield` is not allowed within `if`"},
		{"a = loop (i = 0) while i < n {\n  if p { next i } else { next i + 1 }\n}\n",
			"`next` is not allowed within `if`"},
		{"a = loop (i = 0) while i < n {\n  static for k in 0..2 { yield k }\n  next i + 1\n}\n",
			"this `yield` is evaluated twice in an iteration"},
		{"yield v\n", "`yield` is allowed only in the body of a loop"},
		{"fn f(x) { next x }\na = loop (i = 0) while i < n { f(i) }\n", "`next` is allowed only in the body of a loop"},
		{"a = loop (i = 0) while i < n { i + 1 }\n", "this value is not used: the results of a body are"},
		{"a = loop (i) while i < n { next i }\n", "a value that the loop carries requires a name"},
		{"a = loop (i = 0, i = 1) while i < n { next i }\n", "the loop already carries a value named 'i'"},
		{"a = loop (i = 0) for i in 0..n { next i }\n", "the loop already carries a value named 'i'"},
		{"a = loop (i = 0) for t in 0..2.5 { next i }\n", "a range requires an integer, not 2.5"},
		{"a = loop (i = 0) for t in 0..i64(n) { next i }\n", "a range requires i32, not i64[]: cast it"},
		{"a = loop (i = 0) for t in n { next i }\n",
			"a loop runs over the first axis, but i32[] has no axes; to count, use 0..n"},
		{"a = loop (i = 0) for t in 0..3, u in 0..4 { next i }\n",
			"the sequences differ in length: 't' has 3, 'u' has 4"},
		{"a = loop (i = 0) for t in v, u in 0..3 { next i }\n", "'t' has 2, 'u' has 3"},
		{"a = loop (i = 0.0) for t in v while t > 0 { next t }\n", "`while` cannot read 't'"},
		{"a = loop (i = 0) for t in 0..n with (paralel = 2) { next i }\n", "did you mean 'parallel'?"},
		{"a = loop (i = 0) for t in 0..n with (parallel = 0) { next i }\n", "`parallel` is 0"},
		{"a = loop (hid = 0) for t in 0..n with (grows = hidd) { next hid }\n",
			"carries no 'hidd'; did you mean 'hid'?"},
		{"a = loop (i = v) for t in 0..n {\n  param w: f32[2] = i\n  next i + w\n}\n", "is read outside of it"},
	};
	static const char inputs[] = "input n: i32[]\ninput p: bool[]\ninput x: bool[2]\ninput v: f32[2]\n";
	for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++) {
		struct dfg_text text = {0};
		dfg_text_add(&text, "%s%s", inputs, mistake[i].text);
		fails(build(text.s), DFG_DATA, mistake[i].words);
		dfg_text_release(&text);
	}
}

static char warned[1000];

static void hear(void *arg, const char *words)
{
	(void)arg;
	assert_string_equal(warned, "");
	assert_true(strlen(words) < sizeof warned);
	strcpy(warned, words);
}

/* The words of the one warning that there is, or "". */
static const char *warning_of(const char *text)
{
	struct dfg_arena its_arena = {0};
	struct dfg_graph its_graph;
	const struct dfg_lang_options options = {.text = text, .length = strlen(text), .warn = hear};
	warned[0] = '\0';
	dfg_graph_init(&its_graph, &its_arena);
	succeeds(dfg_lang_build("t.dfg", &options, &its_graph));
	dfg_graph_release(&its_graph);
	dfg_arena_release(&its_arena);
	return warned;
}

static void a_loop_whose_condition_cannot_change_is_warned_of(void **state)
{
	(void)state;
	assert_string_equal(warning_of("input c: bool[]\noutput y = loop (v = 1.0) while c { next v * 2 }\n"),
		"t.dfg:2:33: warning: 'c' does not change between iterations, so this loop either never begins or never ends\n"
		"    output y = loop (v = 1.0) while c { next v * 2 }\n                                    ^");
	assert_non_null(strstr(warning_of("input x: f32[]\noutput y = loop (v = x) while x < 3 and x > 1 { next v * 2 }\n"),
		"t.dfg:2:37: warning: no value that the condition reads changes between iterations"));
	static const char *const fine[] = {
		"input x: f32[]\noutput y = loop (v = x) while x < 3 and v > 1 { next v * 2 }\n",
		"input c: bool[]\noutput y = loop (v = 1) while c with (limit = 3) { next v * 2 }\n",
		"input n: i32[]\noutput y = loop (v = 1) for i in 0.. while i < n { next v * 2 }\n",
		"input n: i32[]\noutput y = loop (v = 1) while not (v > n) { next v * 2 }\n",
		"state w: f32[] = 0\ntarget go { loop while w < 3 { set w = w + 1 } }\n",
		"state w: f32[] = 0\nfn turn() { set w = w + 1 }\ntarget go { loop (v = 1) while w < 3 { turn()\nnext v } }\n",
		"const c = false\noutput y = loop (v = 1) while c { next v }\n",
	};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		assert_string_equal(warning_of(fine[i]), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_is_no_more_than_it_needs),
		cmocka_unit_test(a_choice_switches_a_value_once),
		cmocka_unit_test(a_value_is_entered_once_a_frame),
		cmocka_unit_test(what_reads_invariants_alone_waits_for_the_body),
		cmocka_unit_test(params_of_bodies_stand_in_the_root),
		cmocka_unit_test(a_choice_known_while_building_is_made_then),
		cmocka_unit_test(mistakes_are_told_in_the_programs_words),
		cmocka_unit_test(a_loop_whose_condition_cannot_change_is_warned_of),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
