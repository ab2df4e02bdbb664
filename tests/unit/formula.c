#include "tests/unit/test.h"

#include "lib/base/text.h"
#include "lib/lang/lang.h"

/* A graph with Placeholders x: f32[2], y: f32[2] and i: i32[2], and what a formula adds to it, a node a line. */
static struct dfg_arena arena;
static struct dfg_graph graph;
static struct dfg_builder builder;
static struct dfg_edge x, y, i;

static struct dfg_edge placeholder(const char *name, enum dfg_dtype dtype)
{
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_VECTOR(2)}}};
	struct dfg_edge edge = {0};
	succeeds(dfg_build(
		&builder, &(struct dfg_new_node){.op = "Placeholder", .name = name, .attr = attr, .n_attr = 2}, &edge.node));
	return edge;
}

static int set_up(void **state)
{
	(void)state;
	arena = (struct dfg_arena){0};
	dfg_graph_init(&graph, &arena);
	succeeds(dfg_builder_init(&builder, &graph));
	x = placeholder("x", DFG_F32);
	y = placeholder("y", DFG_F32);
	i = placeholder("i", DFG_I32);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return 0;
}

static struct dfg_err *apply(const char *text, const char *wanted, struct dfg_edge *out)
{
	struct dfg_formula *formula;
	const struct dfg_shape shape = DFG_SHAPE_VECTOR(3);
	const struct dfg_edge both[] = {x, y};
	const struct dfg_binding binding[] = {
		{.name = "x", .kind = DFG_BIND_TENSOR, .edge = &x},
		{.name = "y", .kind = DFG_BIND_TENSOR, .edge = &y},
		{.name = "i", .kind = DFG_BIND_TENSOR, .edge = &i},
		{.name = "both", .kind = DFG_BIND_TENSORS, .edge = both, .n = 2},
		{.name = "flip", .kind = DFG_BIND_VALUE, .value_kind = DFG_ATTR_BOOL, .value.b = true},
		{.name = "T", .kind = DFG_BIND_VALUE, .value_kind = DFG_ATTR_DTYPE, .value.dtype = DFG_F32},
		{.name = "dims", .kind = DFG_BIND_VALUE, .value_kind = DFG_ATTR_SHAPE, .value.shape = &shape},
		{.name = "dz", .kind = DFG_BIND_NOTHING},
	};
	DFG_TRY(dfg_formula_new(text, &formula));
	struct dfg_err *err = dfg_formula_apply(
		formula, &builder, "g", binding, sizeof binding / sizeof *binding, &wanted, wanted ? 1 : 0, out);
	dfg_formula_free(formula);
	return err;
}

/* The nodes that the formula made: "NAME IN..." joined by "; ". */
static void makes(const char *text, const char *wanted, const char *nodes)
{
	struct dfg_text out = {0};
	struct dfg_edge edge = {0};
	uint32_t first = graph.count;
	succeeds(apply(text, wanted, &edge));
	for (uint32_t n = first; n < graph.count; n++) {
		dfg_text_add(&out, "%s%s", n > first ? "; " : "", graph.node[n].name);
		for (uint32_t k = 0; k < graph.node[n].n_in; k++)
			dfg_text_add(&out, " %s", dfg_graph_tensor_name(&graph, graph.node[n].in[k]));
	}
	dfg_text_add(&out, " -> %s", edge.node == DFG_NONE ? "none" : dfg_graph_tensor_name(&graph, edge));
	assert_string_equal(out.s, nodes);
	dfg_text_release(&out);
}

static void numbers_take_the_type_of_the_tensor_they_meet(void **state)
{
	(void)state;
	makes("r = i * 2 - 1", "r", "g/Const; g/Mul i g/Const; g/Const_1; g/Sub g/Mul g/Const_1 -> g/Sub");
	assert_int_equal(dfg_facts_of(&builder.facts, (struct dfg_edge){graph.count - 1, 0})->dtype, DFG_I32);
	makes("r = 1 + 2 * 3 + x", "r", "g/Const_2; g/AddV2 g/Const_2 x -> g/AddV2");
}

static void only_what_is_wanted_is_made(void **state)
{
	(void)state;
	makes("a, b = x * y, y - x", "b", "g/Sub y x -> g/Sub");
	makes("t = x * y\na, b = t - x, t - y", "a", "g/Mul x y; g/Sub_1 g/Mul x -> g/Sub_1");
	makes("a = dz * x\nb = y * x", "b", "g/Mul_1 y x -> g/Mul_1");
	makes("b = y", "c", " -> none");
	makes("b = y", "b", " -> y");
}

static void attributes_decide_while_building(void **state)
{
	(void)state;
	makes("static if flip { a = x * y } else { a = x + y }", "a", "g/Mul x y -> g/Mul");
	makes("static if not flip { a = x * y }\nelse { a = x - y }", "a", "g/Sub x y -> g/Sub");
	makes("static if len(dims) == 1 and dims[0] > 2 { a = both[1] * both[0] }", "a", "g/Mul_1 y x -> g/Mul_1");
	makes("a = T(x)", "a", " -> x");
}

static void the_library_is_in_scope(void **state)
{
	(void)state;
	makes("a = sum(x * y, axis = -1)", "a", "g/Mul x y; g/Const; g/Sum g/Mul g/Const -> g/Sum");
	makes("a = sum(x)", "a", "g/Const_1; g/Sum_1 x g/Const_1 -> g/Sum_1");
}

static void mistakes_are_told(void **state)
{
	(void)state;
	struct dfg_edge edge;
	fails(apply("a = dz * x", "a", &edge), DFG_DATA, "does not exist here");
	fails(apply("a = x *\n yy", "a", &edge), DFG_DATA, "formula:2:2: error: there is no 'yy' here");
	fails(apply("a = x * i", "a", &edge), DFG_DATA, "`*` of f32[2] and i32[2]: cast one of them");
	fails(apply("a = a + x", "a", &edge), DFG_DATA, "read in its own definition");
	fails(apply("a = i * 0.5", "a", &edge), DFG_DATA, "0.5 is not an integer, as i32 requires");
	fails(apply("a = Mull(x, y)", "a", &edge), DFG_DATA, "there is no op Mull; did you mean Mul?");
	fails(apply("output a = x", "a", &edge), DFG_DATA, "a formula contains only assignments");
	fails(apply("a = i / 2", "a", &edge), DFG_DATA, "`/` requires floats, not i32");
}

static void it_knows_what_it_assigns(void **state)
{
	(void)state;
	struct dfg_formula *formula;
	succeeds(dfg_formula_new("static if c { dx, t = 1, 2 } else { dy = 3 }", &formula));
	const char *const *name = dfg_formula_names(formula);
	assert_string_equal(name[0], "dx");
	assert_string_equal(name[1], "t");
	assert_string_equal(name[2], "dy");
	assert_null(name[3]);
	dfg_formula_free(formula);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_take_the_type_of_the_tensor_they_meet, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_what_is_wanted_is_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(attributes_decide_while_building, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_library_is_in_scope, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mistakes_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_knows_what_it_assigns, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
