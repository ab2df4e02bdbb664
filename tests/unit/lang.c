#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/lang/lang.h"

/* Programs are files: each test writes t.dfg, and what it imports, in a directory of its own. */
static char directory[] = "/tmp/dfg-lang-XXXXXX";
static struct dfg_arena arena;
static struct dfg_graph graph;

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory) != 0;
}

static int leave(void **state)
{
	(void)state;
	remove("t.dfg");
	remove("m.dfg");
	return chdir("/") != 0 || rmdir(directory) != 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct dfg_err *build_with(const char *text, const char *const *define)
{
	const struct dfg_lang_options options = {.define = define};
	write_file("t.dfg", text);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	dfg_graph_init(&graph, &arena);
	return dfg_lang_build("t.dfg", &options, &graph);
}

static struct dfg_err *build(const char *text)
{
	return build_with(text, NULL);
}

static int done(void **state)
{
	(void)state;
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return 0;
}

/* All names of nodes other than Const, in order, joined by blanks. */
static void names(const char *text, const char *wanted)
{
	struct dfg_text out = {0};
	succeeds(build(text));
	for (uint32_t i = 0; i < graph.count; i++)
		if (strcmp(graph.node[i].op_name, "Const") != 0)
			dfg_text_add(&out, "%s%s", out.length ? " " : "", graph.node[i].name);
	assert_string_equal(out.s, wanted);
	dfg_text_release(&out);
}

/* Names of the variables alone. */
static void variables(const char *text, const char *wanted)
{
	struct dfg_text out = {0};
	succeeds(build(text));
	for (uint32_t i = 0; i < graph.count; i++)
		if (!strcmp(graph.node[i].op_name, "VarHandleOp")) {
			dfg_text_add(&out, "%s%s", out.length ? " " : "", graph.node[i].name);
			const struct dfg_attr *shared = dfg_node_attr(&graph.node[i], "shared_name");
			assert_int_equal(shared->value.s.length, strlen(graph.node[i].name));
			assert_memory_equal(shared->value.s.s, graph.node[i].name, shared->value.s.length);
		}
	assert_string_equal(out.s, wanted);
	dfg_text_release(&out);
}

static const struct dfg_node *node(const char *name)
{
	uint32_t number = dfg_graph_find(&graph, name);
	if (number == DFG_NONE)
		fail_msg("no node %s", name);
	return &graph.node[number];
}

static void the_last_of_a_name_has_it(void **state)
{
	(void)state;
	names("input x: f32[2]\nh = x * 2 + 1\nh = h * 3\nh = h - 1\n", "x h/Mul h.1 h.2 h");
	names("input x: f32[2]\nh = x * 2\noutput h\n", "x h.0 h");
	names("input x: f32[2]\nh = x * 2\nh = h * 2\noutput h\n", "x h.1 h.0 h");
	names("input x: f32[2]\noutput y = x * 2 + x * 3\n", "x y/Mul y/Mul.1 y.0 y");
	names("input x: f32[2]\nx = x * 2\noutput y = x + 1\n", "x x.1 y.0 y");
}

static void an_alias_makes_no_node(void **state)
{
	(void)state;
	names("input x: f32[2]\ny = x\noutput z = y\n", "x z");
	names("input x: f32[2]\nh = relu(x)\ng = h\ng = relu(g)\n", "x h g");
}

static void a_tuple_is_named_by_its_first(void **state)
{
	(void)state;
	names("input x: f32[2]\na, b = x * 2 + 1, x * 3 + 1\n", "x a/Mul a a/Mul.1 b");
	names("input x: f32[4]\n_, b = split(x, 2)\n", "x b");
	names("input x: f32[4]\na, b = split(x, 2)\nc = b * 2\n", "x a c");
}

static void functions_add_no_scope(void **state)
{
	(void)state;
	names("input x: f32[2]\nfn f(a) {\n  t = a * 2\n  t + 1\n}\ny = f(x)\nz = f(y) * 3\n", "x y/t y z/t z/AddV2 z");
}

static void params_are_named_by_the_instance(void **state)
{
	(void)state;
	variables("input x: f32[b, 3]\nh = relu(dense(4)(x))\nh = relu(dense(5)(h))\n",
		"h/dense/w h/dense/b h/dense.1/w h/dense.1/b");
	variables("input x: f32[b, 3]\ncell = dense(3, bias = false)\ny = cell(cell(x))\n", "cell/w");
	variables("input x: f32[b, 3]\nlayer two(n: int)(x) { dense(n)(dense(n, bias = false)(x)) }\ny = two(4)(x)\n",
		"y/two/dense.1/w y/two/dense/w y/two/dense/b");
	variables(
		"input x: f32[b, 3]\nlayer two(n: int)(x) { dense(n)(x) }\nt = two(3)\ny = t(t(x))\n", "t/dense/w t/dense/b");
	variables("input x: f32[b, 3]\ny = x\nstatic for l in 0..2 { y = dense(3, bias = false)(y) }\n",
		"l0/y/dense/w l1/y/dense/w");
	variables(
		"param w: f32[2] = 1\nlayer l()(x) {\n  static for i in 0..2 { param v: f32[] = 0 }\n  x\n}\ny = l()(w)\n",
		"w y/l/i0/v y/l/i1/v");
}

static void the_marks_are_on_the_nodes(void **state)
{
	(void)state;
	int64_t i;
	succeeds(
		build("input a: f32[2]\ninput b: f32[2] = [1, 2]\nparam w: f32[2] = zeros\nstate s: f32[2] = 1\n"
			  "output y = a + b * w\noutput z = s\n"));
	assert_true(dfg_node_mark(node("b"), "_dfg_input", &i) && i == 1);
	assert_string_equal(node("b")->op_name, "PlaceholderWithDefault");
	assert_true(dfg_node_mark(node("z"), "_dfg_output", &i) && i == 1);
	assert_true(dfg_node_mark(node("w"), "_dfg_trainable", NULL));
	assert_false(dfg_node_mark(node("s"), "_dfg_trainable", NULL));
	assert_true(dfg_node_mark(node("w/assign"), "_dfg_init", NULL));
	assert_string_equal(node("w/read")->op_name, "ReadVariableOp");
	assert_int_equal(node("init")->n_control, 2);
}

static void effects_come_in_order(void **state)
{
	(void)state;
	succeeds(
		build("state n: f32[] = 0\nset n = n + 1\nset n = n * 2\noutput y = n\n"
			  "target reset { set n = 0 }\noutput z = n\n"));
	const struct dfg_node *first = node("n/AssignVariableOp"), *second = node("n/AssignVariableOp.1");
	assert_true(dfg_node_mark(first, "_dfg_update", NULL) && dfg_node_mark(second, "_dfg_update", NULL));
	assert_int_equal(second->in[3].node, dfg_graph_find(&graph, "n/AssignVariableOp"));
	assert_int_equal(first->in[2].node, dfg_graph_find(&graph, "n/read"));
	/* A read after `set` gives the new value; a value that a target sets is not read after it. */
	assert_string_equal(graph.node[node("y")->in[0].node].op_name, "Mul");
	assert_int_equal(node("z")->in[0].node, node("y")->in[0].node);
	assert_int_equal(node("reset")->n_control, 1);
	assert_false(dfg_node_mark(&graph.node[node("reset")->in[0].node], "_dfg_update", NULL));
}

static void constants_are_one_node(void **state)
{
	(void)state;
	/* One node, however often it is read. */
	succeeds(build("c = f32([1, 2])\noutput y = c * c\n"));
	assert_string_equal(node("c")->op_name, "Const");
	assert_int_equal(node("y.0")->in[0].node, node("y.0")->in[1].node);
}

/* Nodes before an assert do not wait for it, those after it do. */
static void an_assertion_comes_before_what_follows(void **state)
{
	(void)state;
	succeeds(
		build("input x: f32[b]\noutput w = x * 2\nassert all(w > 0), \"positive\"\noutput y = sqrt(x) + 1\n"
			  "state n: i64[] = 0\ntarget count { set n = n + 1 }\n"));
	const uint32_t claim = dfg_graph_find(&graph, "Assert");
	assert_int_not_equal(claim, DFG_NONE);
	assert_string_equal(graph.node[graph.node[claim].in[0].node].op_name, "All");
	assert_int_equal(node("w")->n_control, 0);
	for (uint32_t i = 0; i < graph.count; i++) {
		const struct dfg_node *later = &graph.node[i];
		bool waits = !strcmp(later->op_name, "Sqrt") || !strcmp(later->name, "y") ||
					 (!strcmp(later->op_name, "AssignVariableOp") && strcmp(later->name, "n/assign") != 0);
		if (waits && (!later->n_control || later->in[later->n_in + later->n_control - 1].node != claim))
			fail_msg("%s does not come after the assertion", later->name);
	}
	assert_int_equal(node("n/assign")->n_control, 0);
	fails(build("input x: f32[b]\nassert x > 0, \"all\"\noutput y = x\n"), DFG_DATA, "t.dfg:2:");
	fails(build("input x: f32[]\nassert x, \"truth\"\noutput y = x\n"), DFG_DATA, "t.dfg:2:");
}

static void assertions_of_constants_are_decided_while_building(void **state)
{
	(void)state;
	fails(build("assert 1 > 2, \"one is less\"\n"), DFG_DATA, "t.dfg:1:1: error: one is less");
}

static void known_dimensions_are_numbers(void **state)
{
	(void)state;
	names("input x: f32[b, 784]\nfn f(x: f32[n, d]) { reshape(x, [d, 2]) }\ny = f(x)\n", "x y");
	names("input x: f32[b, 4]\noutput n = b * 2\n", "x b/Shape b n.0 n");
	names("input x: f32[b, 4]\ninput y: f32[b, 4]\nz = x + y\n", "x y z");
	fails(build("const d = 3\ninput x: f32[d]\nfn f(x: f32[n, n]) { x }\ny = f(x)\n"), DFG_DATA,
		"'x' is f32[3], but it must have 2 axes");
	fails(build("input x: f32[3, 4]\nfn f(x: f32[n, n]) { x }\ny = f(x)\n"), DFG_DATA, "axis 1 must be n = 3");
}

static void slices_are_strided_slices(void **state)
{
	(void)state;
	int64_t i;
	succeeds(build("input x: f32[4, 5, 6]\ny = x[1, 2:, ..., new, ::2]\nz = x[-1]\n"));
	const struct dfg_node *y = node("y");
	assert_string_equal(y->op_name, "StridedSlice");
	assert_true(dfg_node_mark(y, "shrink_axis_mask", &i) && i == 1);
	assert_true(dfg_node_mark(y, "end_mask", &i) && i == (2 | 16));
	assert_true(dfg_node_mark(y, "begin_mask", &i) && i == 16);
	assert_true(dfg_node_mark(y, "ellipsis_mask", &i) && i == 4);
	assert_true(dfg_node_mark(y, "new_axis_mask", &i) && i == 8);
}

static void constants_can_be_defined_outside(void **state)
{
	(void)state;
	const char *text =
		"const n = 3\nconst rate = 0.5\nconst name = \"a\"\ninput x: f32[n]\n"
		"static if training { output y = x * rate } else { output z = x }\n";
	succeeds(build(text));
	assert_int_equal(dfg_graph_find(&graph, "y"), DFG_NONE);
	succeeds(build_with(text, (const char *[]){"n=5", "training=true", "rate=2", "name=b", NULL}));
	assert_int_equal(dfg_node_attr(node("x"), "shape")->value.shape->dim[0], 5);
	assert_non_null(node("y"));
	fails(build_with(text, (const char *[]){"n=0.5", NULL}), DFG_DATA,
		"-D n=0.5: 'n' is 3 in the program: give a whole number");
	fails(build_with(text, (const char *[]){"m=5", NULL}), DFG_DATA, "no const 'm' for -D m=5; did you mean 'n'?");
	fails(build_with(text, (const char *[]){"training=1", NULL}), DFG_DATA, "the value must be true or false");
}

static void imports_bring_functions(void **state)
{
	(void)state;
	write_file("m.dfg", "const k = 2\nfn twice(x) { x * k }\n");
	names("import \"m.dfg\" as m\ninput x: f32[2]\ny = m.twice(x) * m.k\n", "x y/Mul y");
	names("import \"m.dfg\"\ninput x: f32[2]\ny = twice(x)\n", "x y");
	fails(build("import \"m.dfg\" as m\ninput x: f32[2]\ny = m.twise(x)\n"), DFG_DATA, "did you mean 'twice'?");
	fails(build("import \"none.dfg\"\n"), DFG_NO_INPUT, "t.dfg:1:1: error: there is no file 'none.dfg'");
	write_file("m.dfg", "import \"m.dfg\"\n");
	fails(build("import \"m.dfg\"\n"), DFG_DATA, "imports itself");
	write_file("m.dfg", "x = 1\n");
	fails(build("import \"m.dfg\"\n"), DFG_DATA, "m.dfg:1:1: error: an imported file may contain only");
}

static void mistakes_show_place_and_both_sides(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} mistake[] = {
		{"input x: f32[2, 3]\n\ny = x @ x\n",
			"t.dfg:3:7: error: MatMul: cannot multiply [2,3] by [2,3]\n    y = x @ x\n          ^"},
		{"input x: f32[2]\ny = rellu(x)\n", "t.dfg:2:5: error: there is no 'rellu' here; did you mean 'relu'?"},
		{"input x: f32[2]\ny = x + i32(x)\n", "`+` of f32[2] and i32[2]: cast one of them"},
		{"input x: f33[2]\n", "there is no type 'f33'; did you mean 'f32'?"},
		{"input x: f32[2]\nx * 2\ny = x\n", "t.dfg:2:1: error: this expression has no effect"},
		{"x = [[1, 2], [3]]\noutput x\n", "t.dfg:1:14: error: the list is ragged: 1 item here, 2 in the lists before"},
		{"x = [[1, 2], 3]\noutput x\n", "t.dfg:1:5: error: the list is ragged: it has both lists and numbers"},
		{"input x: f32[2]\noutput y = x + \"a\"\n", "t.dfg:2:14: error: expected f32, not a string"},
		{"input x: f32 = true\n", "expected f32, not a bool"},
		{"x = relu(\n\t[1, \"a\"])\noutput x\n", "t.dfg:2:2: error: expected i32, not a string"},
		{"static for i in 0..2100 { static for k in 0..2100 { a = 1 } }\n",
			"t.dfg:1:43: error: `static for` of 2100 iterations: a program has at most 4194304 in all"},
		{"fn f(n: int) { static if n == 0 { 1 } else { f(n - 1) + f(n - 1) } }\noutput y = f(40)\n",
			"t.dfg:1:57: error: the program calls functions more than 262144 times"},
		{"x = [1]\nstatic for i in 0..60 { x = x + x }\n", "lists of 1048576 and 1048576 items are too long"},
		{"input x: f32[2]\nx * 2\n", "this expression has no effect"},
		{"input x: f32[2]\ny = dense(4, unit = 3)(x)\n", "dense takes no 'unit' here; did you mean 'units'?"},
		{"input x: f32[2]\ny = dense()(x)\n", "dense requires 'units'"},
		{"input x: f32[2]\ny = dense(2.5)(x)\n", "'units' must be an int that is known while building, not 2.5"},
		{"input x: i32[2, 2]\ny = dense(2)(x)\n", "in dense (std:"},
		{"input x: f32[2]\na, b = x\n", "1 value cannot be assigned to 2 names"},
		{"input x: f32[2]\nY = x\n", "a word that begins with a capital letter is an op"},
		{"param w: f32[2] = 1\nparam w: f32[2] = 1\n", "'w' is already declared"},
		{"input n: f32[b]\nparam w: f32[b] = 1\n", "its shape must be known while building"},
		{"param w: f32[2] = [1, 2, 3]\n", "'w' is f32[2], but the value is f32[3]"},
		{"input x: f32[2]\nset x = 1\n", "'x' is not a param or state"},
		{"fn f(x) { f(x) }\ny = f(1)\n", "deeper than"},
		{"fn f() { output y = 1 }\nx = f()\n", "`output` is allowed only at the top level"},
		{"input x: f32[2]\ny = x[[1, 2]]\n", "to gather rows, use take(x, ids)"},
		{"c = dense(3)\ninput x: f32[2, 3]\ninput y: f32[2, 4]\na = c(x)\nb = c(y)\n",
			"t.dfg:5:5: error: 'c/w' was f32[3,3] when its layer was first applied, but is f32[4,3] in this call"},
	};
	for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++)
		fails(build(mistake[i].text), DFG_DATA, mistake[i].words);
}

static void random_numbers_are_keyed_by_place(void **state)
{
	(void)state;
	succeeds(build("param a: f32[2] = uniform\nparam b: f32[2] = uniform\nx = random_uniform([2])\n"));
	const struct dfg_literal *a = dfg_node_attr(node("a/Const"), "value")->value.tensor;
	const struct dfg_literal *b = dfg_node_attr(node("b/Const"), "value")->value.tensor;
	assert_int_equal(a->dtype, DFG_U64);
	assert_memory_not_equal(a->data, b->data, 8);
	assert_string_equal(node("dfg/seed")->op_name, "PlaceholderWithDefault");
	assert_false(dfg_node_mark(node("train/step"), "_dfg_trainable", NULL));
}

static void an_optimizer_makes_slots(void **state)
{
	(void)state;
	struct dfg_optimizer *optimizer;
	struct dfg_builder builder;
	const uint32_t *effects;
	uint32_t n_effects;
	struct dfg_edge p, g, step, out;
	succeeds(build("input p: f32[3]\ninput g: f32[3]\nstate s: i64[] = 0\noutput step = s\n"));
	succeeds(dfg_builder_init(&builder, &graph));
	succeeds(dfg_graph_edge(&graph, "p", &p));
	succeeds(dfg_graph_edge(&graph, "g", &g));
	succeeds(dfg_graph_edge(&graph, "step", &step));
	const struct dfg_edge in[] = {p, g, step};
	succeeds(dfg_optimizer_new("adam(lr = exponential_decay(0.1, step, 10, 0.5), decay = 0.1)", NULL, &optimizer));
	succeeds(dfg_optimizer_apply(optimizer, &builder, "train/a", in, NULL, &out, &effects, &n_effects));
	assert_int_equal(n_effects, 2);
	assert_true(dfg_node_mark(node("train/a/m"), "_dfg_slot", NULL));
	assert_non_null(node("train/a/v/assign"));
	succeeds(dfg_optimizer_apply(optimizer, &builder, "train/b", in, NULL, &out, &effects, &n_effects));
	assert_non_null(node("train/b/m"));
	assert_string_equal(node("train/lr")->op_name, "PlaceholderWithDefault");
	assert_int_equal(dfg_graph_find(&graph, "train/lr_1"), DFG_NONE);
	dfg_optimizer_free(optimizer);
	fails(dfg_optimizer_new("adagradd(lr = 1)", NULL, &optimizer), DFG_DATA, "did you mean 'adagrad'?");
	fails(dfg_optimizer_new("relu", NULL, &optimizer), DFG_DATA, "'relu' is not an optimizer");
	write_file("m.dfg", "layer lion(lr: f32[] = 0.1)(p, g, step) { p - lr * sign(g) }\n");
	succeeds(dfg_optimizer_new("m.dfg:lion", NULL, &optimizer));
	succeeds(dfg_optimizer_apply(optimizer, &builder, "train/c", in, NULL, &out, &effects, &n_effects));
	assert_int_equal(n_effects, 0);
	dfg_optimizer_free(optimizer);
	dfg_builder_release(&builder);
}

static void layout_is_canonical(void **state)
{
	(void)state;
	static const struct {
		const char *text, *layout;
	} sample[] = {
		{"x=1 # one\ny  = [ 1,2 ] # two\n", "x = 1       # one\ny = [1, 2]  # two\n"},
		{"fn f( x :f32[ n , ... ] )->f32{\nx [ 1 : , -1 ]\n\n\n\n# end\n}",
			"fn f(x: f32[n, ...]) -> f32 {\n    x[1:, -1]\n\n    # end\n}\n"},
		{"static for i in 0 .. 4{y= - y ** -2}", "static for i in 0..4 { y = -y ** -2 }\n"},
		{"y=f(a,\nb = not c)\n", "y = f(a,\n    b = not c)\n"},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
		struct dfg_text once = {0}, twice = {0};
		succeeds(dfg_lang_format("t.dfg", sample[i].text, strlen(sample[i].text), &once));
		assert_string_equal(once.s ? once.s : "", sample[i].layout);
		succeeds(dfg_lang_format("t.dfg", once.s ? once.s : "", once.length, &twice));
		assert_string_equal(twice.s ? twice.s : "", sample[i].layout);
		dfg_text_release(&once);
		dfg_text_release(&twice);
	}
}

static void a_graph_prints_a_statement_a_node(void **state)
{
	(void)state;
	struct dfg_text out = {0};
	succeeds(
		build("input x: f32[b, 4]\nassert true, \"yes\"\nfirst, second = split(x, 2, axis = 1)\n"
			  "on \"/device:CPU:1\" {\n  y = second * 0.5\n}\n"));
	succeeds(dfg_lang_print(&graph, &out));
	assert_non_null(strstr(out.s, "\"x\" = Placeholder(_dfg_input = 0, dtype = f32, shape = [?,4])\n"));
	assert_non_null(strstr(out.s, "\"y\" = Mul(\"first:1\", \"y/Const\", T = f32) on \"/device:CPU:1\"\n"));
	assert_non_null(strstr(out.s, "\"y/Const\" = Const(dtype = f32, value = f32[](0.5))"));
	dfg_text_release(&out);
}

/* The files that make embeds are in the layout that fmt prints, and every function in it is one that a name reaches. */
static void the_library_is_in_layout(void **state)
{
	(void)state;
	size_t length;
	for (size_t i = 0; dfg_lang_std_name(i); i++) {
		struct dfg_text out = {0};
		const char *text = dfg_lang_std(dfg_lang_std_name(i), &length);
		succeeds(dfg_lang_format(dfg_lang_std_name(i), text, length, &out));
		assert_string_equal(out.s, text);
		dfg_text_release(&out);
	}
	assert_null(dfg_lang_std("nothing", &length));
}

#define CASE(name) cmocka_unit_test_teardown(name, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_last_of_a_name_has_it),
		CASE(an_alias_makes_no_node),
		CASE(a_tuple_is_named_by_its_first),
		CASE(functions_add_no_scope),
		CASE(params_are_named_by_the_instance),
		CASE(the_marks_are_on_the_nodes),
		CASE(effects_come_in_order),
		CASE(constants_are_one_node),
		CASE(an_assertion_comes_before_what_follows),
		CASE(assertions_of_constants_are_decided_while_building),
		CASE(known_dimensions_are_numbers),
		CASE(slices_are_strided_slices),
		CASE(constants_can_be_defined_outside),
		CASE(imports_bring_functions),
		CASE(mistakes_show_place_and_both_sides),
		CASE(random_numbers_are_keyed_by_place),
		CASE(an_optimizer_makes_slots),
		CASE(layout_is_canonical),
		CASE(a_graph_prints_a_statement_a_node),
		CASE(the_library_is_in_layout),
	};
	return cmocka_run_group_tests_name("lang", tests, enter, leave);
}
