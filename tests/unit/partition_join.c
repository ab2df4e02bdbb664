#include "tests/unit/cutting.h"

static void join(const struct cut_sketch *cut, struct dfg_arena *arena, struct dfg_graph *graph)
{
	const struct dfg_graph *part[3];
	cut_verify(cut);
	for (uint32_t d = 0; d < cut->parts.parts; d++)
		part[d] = &cut->parts.part[d];
	succeeds(dfg_parts_join(part, cut->parts.parts, arena, graph));
}

static void a_recv_becomes_an_identity_of_what_is_sent(void **state)
{
	(void)state;
	struct cut_sketch cut;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	succeeds(
		cut_begin(&cut, 2, "x Placeholder dtype=f32\nq Placeholder dtype=bool\ny Neg x T=f32@1\nz Neg y T=f32 ^q\n"));
	join(&cut, &arena, &graph);
	uint32_t recv = dfg_graph_find(&graph, "_dfg/recv/1"), send = dfg_graph_find(&graph, "_dfg/send/1");
	const struct dfg_node *node = &graph.node[recv];
	assert_string_equal(node->op_name, "Identity");
	assert_string_equal(node->device, cut_devices[0]);
	assert_int_equal(node->n_in, 1);
	assert_string_equal(graph.node[node->in[0].node].name, "y");
	assert_int_equal(node->n_control, 1);
	assert_int_equal(node->in[1].node, send);
	assert_string_equal(graph.node[send].device, cut_devices[1]);
	for (uint32_t n = 0; n < cut.sketch.graph.count; n++)
		assert_int_not_equal(dfg_graph_find(&graph, cut.sketch.graph.node[n].name), DFG_NONE);
	succeeds(dfg_verify(&graph, NULL, NULL));
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	cut_end(&cut);
}

/* The parts' pieces of a loop become one frame, and the types of all nodes follow. */
static void a_loop_that_was_cut_can_be_inferred_when_joined(void **state)
{
	(void)state;
	struct cut_sketch cut;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder builder;
	succeeds(cut_begin(&cut, 2,
		"x Placeholder dtype=i32\ne Enter x T=i32 frame_name='f'\nm Merge e n T=i32 N=2\nless Less m m T=i32\n"
		"c LoopCond less\ns Switch m c T=i32\nd Add s:1 s:1 T=i32@1\nn NextIteration d T=i32\nout Exit s T=i32\n"));
	join(&cut, &arena, &graph);
	succeeds(dfg_builder_init(&builder, &graph));
	struct dfg_edge recv = {dfg_graph_find(&graph, "_dfg/recv/0"), 0};
	assert_int_equal(dfg_facts_of(&builder.facts, recv)->dtype, DFG_I32);
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	cut_end(&cut);
}

static void a_device_that_counts_for_itself_has_the_condition_of_the_loop(void **state)
{
	(void)state;
	struct cut_sketch cut;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	succeeds(cut_begin(&cut, 2,
		"x Placeholder dtype=i32 _scalar=true\nz Const value=0\no Const value=1\nmost Enter x T=i32 frame_name='f' "
		"is_constant=true\none Enter o T=i32 frame_name='f' is_constant=true\ni Enter z T=i32 frame_name='f'\n"
		"im Merge i in T=i32 N=2\nless Less im most T=i32\nc LoopCond less\nis Switch im c T=i32\n"
		"more Add is:1 one T=i32\nin NextIteration more T=i32\ne Enter x T=i32 frame_name='f'\nm Merge e n T=i32 N=2\n"
		"s Switch m c T=i32\nd Neg s:1 T=i32@1\nn NextIteration d T=i32\nout Exit s T=i32\n"));
	join(&cut, &arena, &graph);
	uint32_t own = dfg_graph_find(&graph, "_dfg/clone/1/c");
	assert_true(own != DFG_NONE);
	assert_string_equal(graph.node[own].op_name, "Identity");
	assert_int_equal(graph.node[own].in[0].node, dfg_graph_find(&graph, "c"));
	assert_int_equal(graph.node[own].in[1].port, DFG_CONTROL);
	succeeds(dfg_verify(&graph, NULL, NULL));
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	cut_end(&cut);
}

static void refuses(const char *a, const char *b, const char *words)
{
	struct sketch one, two;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	sketch_init(&one, NULL, a);
	sketch_init(&two, NULL, b);
	const struct dfg_graph *const part[] = {&one.graph, &two.graph};
	fails(dfg_parts_join(part, 2, &arena, &graph), DFG_DATA, words);
	dfg_arena_release(&arena);
	sketch_release(&one);
	sketch_release(&two);
}

static void parts_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	const char *send = "x Placeholder dtype=f32\ns _Send x T=f32 _dfg_edge=1\n";
	refuses("x NoOp\n", "x NoOp\n", "node 'x' already exists");
	refuses(send, "y NoOp\n", "node 's' (_Send): its transfer has no _Recv");
	refuses(send, "r _Recv tensor_type=f32 _dfg_edge=0\n", "node 'r' (_Recv): transfer 0 has no _Send");
	refuses(send, "r _Recv tensor_type=f64 _dfg_edge=1\n", "node 'r' (_Recv): receives f64, but 's' sends f32");
	refuses(send, "r _Recv tensor_type=f32 _dfg_edge=1\nt _Recv tensor_type=f32 _dfg_edge=1\n",
		"node 't' (_Recv): transfer 1 has more than one _Recv");
	refuses(send, "y NoOp\nt _Send y T=f32 _dfg_edge=1\n", "node 't' (_Send): sends transfer 1, which 's' also sends");
	refuses(send, "r _Recv tensor_type=f32\n", "node 'r' (_Recv): attribute '_dfg_edge' is missing");
	refuses(send, "r _Recv tensor_type=f32 _dfg_edge=3\n",
		"attribute '_dfg_edge' is 3, expected the number of a transfer: at least 0 and less than 3");
	refuses(send, "r _Recv tensor_type=f32 _dfg_edge=-1\n", "attribute '_dfg_edge' is -1, expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recv_becomes_an_identity_of_what_is_sent),
		cmocka_unit_test(a_loop_that_was_cut_can_be_inferred_when_joined),
		cmocka_unit_test(a_device_that_counts_for_itself_has_the_condition_of_the_loop),
		cmocka_unit_test(parts_that_do_not_fit_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
