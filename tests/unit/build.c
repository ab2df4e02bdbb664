#include "tests/unit/test.h"

#include "lib/graph/build.h"

/* A graph under construction, and the edge that was built last. */
static struct dfg_arena arena;
static struct dfg_graph graph;
static struct dfg_builder builder;

static int set_up(void **state)
{
	(void)state;
	dfg_graph_init(&graph, &arena);
	struct dfg_err *err = dfg_builder_init(&builder, &graph);
	return err != NULL;
}

static int tear_down(void **state)
{
	(void)state;
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return 0;
}

static struct dfg_edge placeholder(const char *name, enum dfg_dtype dtype, struct dfg_shape shape)
{
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	struct dfg_edge edge = {0};
	succeeds(dfg_build(
		&builder, &(struct dfg_new_node){.op = "Placeholder", .name = name, .attr = attr, .n_attr = 2}, &edge.node));
	return edge;
}

static void types_follow_from_the_inputs(void **state)
{
	(void)state;
	struct dfg_edge x = placeholder("x", DFG_F64, DFG_SHAPE_VECTOR(3)), y;
	succeeds(dfg_build_op(&builder, "Identity", "y", &x, 1, &y));
	const struct dfg_attr *type = dfg_node_attr(&graph.node[y.node], "T");
	assert_non_null(type);
	assert_int_equal(type->value.dtype, DFG_F64);
	assert_int_equal(dfg_facts_of(&builder.facts, y)->shape.dim[0], 3);
}

static void lists_count_and_type_themselves(void **state)
{
	(void)state;
	struct dfg_edge in[] = {placeholder("a", DFG_F32, DFG_SHAPE_SCALAR), placeholder("b", DFG_I32, DFG_SHAPE_SCALAR)};
	uint32_t node;
	succeeds(
		dfg_build(&builder, &(struct dfg_new_node){.op = "IdentityN", .name = "both", .in = in, .n_in = 2}, &node));
	assert_int_equal(dfg_facts_outputs(&builder.facts, node), 2);
	assert_int_equal(dfg_facts_of(&builder.facts, (struct dfg_edge){node, 1})->dtype, DFG_I32);
	in[1] = in[0];
	succeeds(dfg_build(&builder, &(struct dfg_new_node){.op = "Merge", .name = "merge", .in = in, .n_in = 2}, &node));
	assert_int_equal(dfg_node_attr(&graph.node[node], "N")->value.i, 2);
}

static void a_taken_name_gets_a_number_unless_exact(void **state)
{
	(void)state;
	struct dfg_edge edge;
	succeeds(dfg_build_float(&builder, "x", DFG_F32, 1, &edge));
	succeeds(dfg_build_float(&builder, "x", DFG_F32, 2, &edge));
	succeeds(dfg_build_float(&builder, "x", DFG_F32, 3, &edge));
	assert_string_equal(graph.node[edge.node].name, "x_2");
	uint32_t node;
	fails(dfg_build(&builder, &(struct dfg_new_node){.op = "NoOp", .name = "x", .exact = true}, &node), DFG_DATA,
		"node 'x' already exists");
}

static void defaults_are_not_written(void **state)
{
	(void)state;
	struct dfg_edge x = placeholder("x", DFG_F32, DFG_SHAPE_SCALAR);
	const struct dfg_attr attr[] = {
		DFG_ATTR_S("frame_name", "f"), DFG_ATTR_B("is_constant", false), DFG_ATTR_I("parallel_iterations", 32)};
	uint32_t node;
	succeeds(dfg_build(&builder,
		&(struct dfg_new_node){.op = "Enter", .name = "e", .in = &x, .n_in = 1, .attr = attr, .n_attr = 3}, &node));
	assert_null(dfg_node_attr(&graph.node[node], "is_constant"));
	assert_int_equal(dfg_node_attr(&graph.node[node], "parallel_iterations")->value.i, 32);
}

static void mistakes_show_where_they_are_made(void **state)
{
	(void)state;
	struct dfg_edge x = placeholder("x", DFG_F32, DFG_SHAPE_VECTOR(2)), out;
	struct dfg_edge in[] = {x, x};
	fails(dfg_build_op(&builder, "Swich", "s", in, 2, &out), DFG_DATA, "did you mean 'Switch'?");
	fails(dfg_build_op(&builder, "Switch", "s", in, 2, &out), DFG_DATA,
		"node 's' (Switch): input 1 'pred' is f32[2], must be bool");
}

static void an_error_of_a_node_with_a_provisional_name_names_the_op(void **state)
{
	(void)state;
	struct dfg_edge x = placeholder("x", DFG_F32, (struct dfg_shape){2, {2, 3}}), in[] = {x, x};
	struct dfg_new_node want = {.op = "MatMul", .name = "y", .in = in, .n_in = 2};
	struct dfg_err *err;
	for (int i = 0; i < 2; i++) {
		uint32_t node;
		want.provisional = i;
		assert_non_null(err = dfg_build(&builder, &want, &node));
		assert_string_equal(err->text,
			i ? "MatMul: cannot multiply [2,3] by [2,3]" : "node 'y' (MatMul): cannot multiply [2,3] by [2,3]");
		dfg_err_free(err);
	}
}

static void inputs_are_counted_and_attributes_wanted(void **state)
{
	(void)state;
	struct dfg_edge x = placeholder("x", DFG_F32, DFG_SHAPE_SCALAR), out;
	fails(dfg_build_op(&builder, "Enter", "e", &x, 1, &out), DFG_DATA, "attribute 'frame_name' is missing");
}

static void small_integers_are_known_before_the_graph_runs(void **state)
{
	(void)state;
	struct dfg_edge sizes, same;
	succeeds(dfg_build_ints(&builder, "sizes", DFG_I32, &DFG_SHAPE_VECTOR(3), (int64_t[]){2, 3, 4}, &sizes));
	succeeds(dfg_build_op(&builder, "Identity", "same", &sizes, 1, &same));
	const struct dfg_known_value *known = dfg_facts_of(&builder.facts, same)->known;
	assert_non_null(known);
	assert_int_equal(known->count, 3);
	assert_int_equal(known->v[2], 4);
}

static void tensor_names_read_as_edges(void **state)
{
	(void)state;
	struct dfg_edge edge;
	placeholder("scope/x", DFG_F32, DFG_SHAPE_SCALAR);
	succeeds(dfg_graph_edge(&graph, "scope/x", &edge));
	assert_int_equal(edge.port, 0);
	succeeds(dfg_graph_edge(&graph, "scope/x:3", &edge));
	assert_int_equal(edge.port, 3);
	succeeds(dfg_graph_edge(&graph, "^scope/x", &edge));
	assert_int_equal(edge.port, DFG_CONTROL);
	fails(dfg_graph_edge(&graph, "scope/y", &edge), DFG_DATA, "did you mean 'scope/x'?");
	fails(dfg_graph_edge(&graph, "scope/x:-1", &edge), DFG_DATA, "does not name an output");
	fails(dfg_graph_edge(&graph, "scope/x:99999999999", &edge), DFG_DATA, "does not name an output");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(types_follow_from_the_inputs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_count_and_type_themselves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_taken_name_gets_a_number_unless_exact, set_up, tear_down),
		cmocka_unit_test_setup_teardown(defaults_are_not_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mistakes_show_where_they_are_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_error_of_a_node_with_a_provisional_name_names_the_op, set_up, tear_down),
		cmocka_unit_test_setup_teardown(inputs_are_counted_and_attributes_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(small_integers_are_known_before_the_graph_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tensor_names_read_as_edges, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
