#include "tests/unit/test.h"

#include "lib/graph/build.h"

static struct dfg_arena arena, brief;
static struct dfg_graph graph;
static struct dfg_builder builder;

static int set_up(void **state)
{
	(void)state;
	dfg_graph_init(&graph, &arena);
	return dfg_builder_init(&builder, &graph) != NULL;
}

static int tear_down(void **state)
{
	(void)state;
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	dfg_arena_release(&brief);
	return 0;
}

static struct dfg_edge placeholder(const char *name, struct dfg_shape shape)
{
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	struct dfg_edge edge = {0};
	succeeds(dfg_build(
		&builder, &(struct dfg_new_node){.op = "Placeholder", .name = name, .attr = attr, .n_attr = 2}, &edge.node));
	return edge;
}

static struct dfg_edge matmul(const char *name, struct dfg_edge a, struct dfg_edge b, bool transpose)
{
	struct dfg_attr attr = DFG_ATTR_B("transpose_b", transpose);
	struct dfg_edge in[] = {a, b}, edge = {0};
	succeeds(dfg_build(&builder,
		&(struct dfg_new_node){.op = "MatMul", .name = name, .in = in, .n_in = 2, .attr = &attr, .n_attr = 1},
		&edge.node));
	return edge;
}

static struct dfg_resolved_node call_of(struct dfg_edge edge)
{
	struct dfg_resolved_node call;
	succeeds(dfg_facts_resolve(&builder.facts, &graph, edge.node, &brief, &call));
	return call;
}

static const struct dfg_inferred *fact_of(struct dfg_edge edge)
{
	return dfg_facts_of(&builder.facts, edge);
}

static void nodes_alike_share_a_call_but_not_the_name(void **state)
{
	(void)state;
	struct dfg_edge a = placeholder("a", (struct dfg_shape){2, {3, 3}}), b = matmul("b", a, a, false);
	struct dfg_resolved_node one = call_of(b), two = call_of(matmul("c", b, a, false)),
							 other = call_of(matmul("d", a, a, true));
	assert_int_not_equal(one.alike, 0);
	assert_int_equal(one.alike, two.alike);
	assert_ptr_equal(one.attr, two.attr);
	assert_string_equal(two.node, "c");
	assert_int_not_equal(one.alike, other.alike);
	assert_true(other.attr[dfg_op_attr(other.signature, "transpose_b")].b);
}

static void a_call_with_a_constant_is_its_own(void **state)
{
	(void)state;
	struct dfg_edge one, two;
	succeeds(dfg_build_float(&builder, "one", DFG_F32, 1, &one));
	succeeds(dfg_build_float(&builder, "two", DFG_F32, 2, &two));
	assert_int_equal(call_of(one).alike, 0);
	assert_ptr_not_equal(call_of(one).attr, call_of(two).attr);
}

static void facts_that_say_the_same_are_the_same(void **state)
{
	(void)state;
	struct dfg_edge a = placeholder("a", (struct dfg_shape){2, {3, 3}});
	struct dfg_edge b = placeholder("b", (struct dfg_shape){2, {3, 4}});
	assert_ptr_equal(fact_of(matmul("square", a, a, false)), fact_of(a));
	assert_ptr_equal(fact_of(matmul("wide", a, b, false)), fact_of(b));
	assert_ptr_not_equal(fact_of(a), fact_of(b));
}

static void known_values_tell_facts_apart(void **state)
{
	(void)state;
	struct dfg_edge two, three, again;
	succeeds(dfg_build_ints(&builder, "two", DFG_I32, NULL, (int64_t[]){2}, &two));
	succeeds(dfg_build_ints(&builder, "three", DFG_I32, NULL, (int64_t[]){3}, &three));
	succeeds(dfg_build_ints(&builder, "again", DFG_I32, NULL, (int64_t[]){2}, &again));
	assert_ptr_not_equal(fact_of(two), fact_of(three));
	assert_ptr_equal(fact_of(two), fact_of(again));
}

static void each_call_is_inferred_from_its_own_inputs(void **state)
{
	(void)state;
	struct dfg_edge a = placeholder("a", (struct dfg_shape){2, {2, 3}});
	struct dfg_edge b = placeholder("b", (struct dfg_shape){2, {5, 3}});
	assert_int_equal(fact_of(matmul("ab", a, b, true))->shape.dim[1], 5);
	assert_int_equal(fact_of(matmul("aa", a, a, true))->shape.dim[1], 2);
	struct dfg_edge in[] = {a, b}, bad = {0};
	struct dfg_attr attr = DFG_ATTR_B("transpose_b", false);
	struct dfg_new_node node = {.op = "MatMul", .name = "bad", .in = in, .n_in = 2, .attr = &attr, .n_attr = 1};
	fails(dfg_build(&builder, &node, &bad.node), DFG_DATA, "node 'bad' (MatMul)");
}

static void setting_an_attribute_leaves_shared_ones_alone(void **state)
{
	(void)state;
	struct dfg_edge a = placeholder("a", (struct dfg_shape){2, {3, 3}});
	uint32_t one = matmul("one", a, a, true).node, two = matmul("two", a, a, true).node;
	graph.node[two].attr = graph.node[one].attr;
	succeeds(dfg_node_set_attr(&graph, two, "transpose_b", DFG_ATTR_BOOL, (union dfg_value){.b = false}));
	assert_true(dfg_node_attr(&graph.node[one], "transpose_b")->value.b);
	assert_false(dfg_node_attr(&graph.node[two], "transpose_b")->value.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nodes_alike_share_a_call_but_not_the_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_with_a_constant_is_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(facts_that_say_the_same_are_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(known_values_tell_facts_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_call_is_inferred_from_its_own_inputs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(setting_an_attribute_leaves_shared_ones_alone, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
