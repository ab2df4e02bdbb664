#include "tests/unit/cutting.h"

/* The part's nodes, "name Op input ..." a line. */
static void cut_print(const struct dfg_graph *part, char *text, size_t capacity)
{
	*text = '\0';
	for (uint32_t n = 0; n < part->count; n++) {
		const struct dfg_node *node = &part->node[n];
		size_t at = strlen(text);
		at += (size_t)snprintf(text + at, capacity - at, "%s %s", node->name, node->op_name);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			at += (size_t)snprintf(text + at, capacity - at, " %s", dfg_graph_tensor_name(part, node->in[e]));
		assert_true(at + 2 < capacity);
		strcpy(text + at, "\n");
	}
}

/* The graph is cut into parts that are these, and that verify accepts. */
static void becomes(const char *text, uint32_t devices, const char *const *part)
{
	static char got[16000];
	struct cut_sketch cut;
	succeeds(cut_begin(&cut, devices, text));
	for (uint32_t d = 0; d < devices; d++) {
		cut_print(&cut.parts.part[d], got, sizeof got);
		assert_string_equal(got, part[d]);
	}
	cut_verify(&cut);
	cut_end(&cut);
}

static void one_transfer_serves_all_readers_of_a_device(void **state)
{
	(void)state;
	becomes(
		"x Placeholder dtype=f32\n"
		"a Neg x T=f32 @1\n"
		"b Neg x T=f32 @1\n"
		"c Add a b T=f32\n"
		"d Add a x T=f32 @2\n",
		3,
		(const char *const[]){"x Placeholder\n"
							  "_dfg/send/0 _Send x\n"
							  "_dfg/send/4 _Send x\n"
							  "_dfg/recv/1 _Recv\n"
							  "_dfg/recv/2 _Recv\n"
							  "c Add _dfg/recv/1 _dfg/recv/2\n",
			"_dfg/recv/0 _Recv\n"
			"a Neg _dfg/recv/0\n"
			"_dfg/send/1 _Send a\n"
			"_dfg/send/3 _Send a\n"
			"b Neg _dfg/recv/0\n"
			"_dfg/send/2 _Send b\n",
			"_dfg/recv/3 _Recv\n"
			"_dfg/recv/4 _Recv\n"
			"d Add _dfg/recv/3 _dfg/recv/4\n"});
}

static void outputs_of_one_node_are_sent_each_for_itself(void **state)
{
	(void)state;
	becomes(
		"x Placeholder dtype=f32\n"
		"p Placeholder dtype=bool\n"
		"s Switch x p T=f32\n"
		"a Neg s T=f32 @1\n"
		"b Neg s:1 T=f32 @1\n"
		"m Merge a b T=f32 N=2 @1\n",
		2,
		(const char *const[]){"x Placeholder\n"
							  "p Placeholder\n"
							  "s Switch x p\n"
							  "_dfg/send/0 _Send s\n"
							  "_dfg/send/1 _Send s:1\n",
			"_dfg/recv/0 _Recv\n"
			"a Neg _dfg/recv/0\n"
			"_dfg/recv/1 _Recv\n"
			"b Neg _dfg/recv/1\n"
			"m Merge a b\n"});
}

static void control_edges_cross_as_one_signal(void **state)
{
	(void)state;
	becomes(
		"x Placeholder dtype=f32\n"
		"n NoOp ^x\n"
		"a NoOp ^n @1\n"
		"b NoOp ^n ^a @1\n",
		2,
		(const char *const[]){"x Placeholder\n"
							  "n NoOp ^x\n"
							  "_dfg/signal/0 Const ^n\n"
							  "_dfg/send/0 _Send _dfg/signal/0\n",
			"_dfg/recv/0 _Recv\n"
			"a NoOp ^_dfg/recv/0\n"
			"b NoOp ^_dfg/recv/0 ^a\n"});
}

static void a_tensor_that_crosses_is_signal_enough(void **state)
{
	(void)state;
	becomes(
		"x Placeholder dtype=f32\n"
		"y Neg x T=f32\n"
		"a NoOp ^y ^x @1\n"
		"b Add x y T=f32 @1\n",
		2,
		(const char *const[]){"x Placeholder\n"
							  "_dfg/send/0 _Send x\n"
							  "y Neg x\n"
							  "_dfg/send/1 _Send y\n",
			"_dfg/recv/1 _Recv\n"
			"_dfg/recv/0 _Recv\n"
			"a NoOp ^_dfg/recv/1 ^_dfg/recv/0\n"
			"b Add _dfg/recv/0 _dfg/recv/1\n"});
}

/* An output of a Switch may be dead where the Switch is not. */
static void a_side_of_a_switch_is_no_signal(void **state)
{
	(void)state;
	becomes(
		"p Placeholder dtype=bool\n"
		"s Switch p p T=bool\n"
		"a LogicalNot s @1\n"
		"b NoOp ^s @1\n",
		2,
		(const char *const[]){"p Placeholder\n"
							  "s Switch p p\n"
							  "_dfg/send/0 _Send s\n"
							  "_dfg/signal/1 Const ^s\n"
							  "_dfg/send/1 _Send _dfg/signal/1\n",
			"_dfg/recv/0 _Recv\n"
			"a LogicalNot _dfg/recv/0\n"
			"_dfg/recv/1 _Recv\n"
			"b NoOp ^_dfg/recv/1\n"});
}

static void small_constants_are_cloned_and_large_ones_sent(void **state)
{
	(void)state;
	becomes(
		"x Placeholder dtype=i32\n"
		"small Const value=1 _elements=256\n"
		"large Const value=1 _elements=257\n"
		"after Const value=1 ^x\n"
		"both Const value=1 ^x ^large\n"
		"a Abs small T=i32 @1\n"
		"b Abs large T=i32 @1\n"
		"c Add small after T=i32 @1\n"
		"d Abs both T=i32 @1\n",
		2,
		(const char *const[]){"x Placeholder\n"
							  "_dfg/signal/2 Const ^x\n"
							  "_dfg/send/2 _Send _dfg/signal/2\n"
							  "small Const\n"
							  "large Const\n"
							  "_dfg/send/0 _Send large\n"
							  "after Const ^x\n"
							  "both Const ^x ^large\n"
							  "_dfg/send/1 _Send both\n",
			"_dfg/clone/1/small Const\n"
			"a Abs _dfg/clone/1/small\n"
			"_dfg/recv/0 _Recv\n"
			"b Abs _dfg/recv/0\n"
			"_dfg/recv/2 _Recv\n"
			"_dfg/clone/1/after Const ^_dfg/recv/2\n"
			"c Add _dfg/clone/1/small _dfg/clone/1/after\n"
			"_dfg/recv/1 _Recv\n"
			"d Abs _dfg/recv/1\n"});
}

static void refuses(const char *text, const char *words)
{
	struct cut_sketch cut;
	fails(cut_begin(&cut, 2, text), DFG_DATA, words);
	cut_end(&cut);
}

static void what_refers_to_a_place_stays_there(void **state)
{
	(void)state;
	refuses(
		"v Placeholder dtype=resource\n"
		"r ReadVariableOp v dtype=f32 @1\n",
		"node 'r' (ReadVariableOp) on /job:worker/task:1/device:CPU:0 reads 'v' (Placeholder) on "
		"/job:worker/task:0/device:CPU:0, which is a resource and cannot be sent");
}

static void a_part_is_not_cut_again(void **state)
{
	(void)state;
	refuses("_dfg/recv/0 NoOp\n", "node '_dfg/recv/0' (NoOp): names that begin with _dfg/");
}

static int64_t number_of(const struct dfg_node *node)
{
	int64_t number = -1;
	assert_true(dfg_node_mark(node, "_dfg_edge", &number));
	return number;
}

static void says(const struct dfg_node *node, const char *name, const char *text)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	assert_non_null(attr);
	assert_int_equal(attr->kind, DFG_ATTR_STRING);
	assert_int_equal(attr->value.s.length, strlen(text));
	assert_memory_equal(attr->value.s.s, text, strlen(text));
}

static void both_ends_say_what_they_carry_and_for_whom(void **state)
{
	(void)state;
	struct cut_sketch cut;
	succeeds(cut_begin(&cut, 2, "c Const value=0 _elements=300\na Abs c T=i32 @1\n"));
	const struct dfg_node *send = &cut.parts.part[0].node[1], *recv = &cut.parts.part[1].node[0];
	const struct dfg_node *end[] = {send, recv};
	for (int i = 0; i < 2; i++) {
		says(end[i], "tensor_name", "c:0");
		says(end[i], "send_device", cut_devices[0]);
		says(end[i], "recv_device", cut_devices[1]);
		assert_int_equal(dfg_node_attr(end[i], "send_device_incarnation")->value.i, 0);
		assert_int_equal(number_of(end[i]), 0);
		assert_string_equal(end[i]->device, cut_devices[i]);
	}
	assert_int_equal(dfg_node_attr(send, "T")->value.dtype, DFG_I32);
	assert_int_equal(dfg_node_attr(recv, "tensor_type")->value.dtype, DFG_I32);
	assert_true(dfg_shape_equal(dfg_node_attr(recv, "_dfg_shape")->value.shape, &DFG_SHAPE_VECTOR(300)));
	assert_string_equal(cut.parts.part[1].node[1].device, cut_devices[1]);
	const struct dfg_transfer *transfer = cut.parts.transfer;
	assert_int_equal(cut.parts.transfers, 1);
	assert_int_equal(transfer->from, 0);
	assert_int_equal(transfer->to, 1);
	assert_string_equal(transfer->tensor, "c:0");
	assert_int_equal(transfer->dtype, DFG_I32);
	assert_true(dfg_shape_equal(&transfer->shape, &DFG_SHAPE_VECTOR(300)));
	assert_string_equal(transfer->loop, "");
	assert_int_equal(transfer->depth, 0);
	cut_end(&cut);
}

static void versions_are_kept_and_unused_libraries_are_not(void **state)
{
	(void)state;
	struct cut_sketch cut;
	succeeds(cut_begin(&cut, 2, "a NoOp\nb NoOp @1\n"));
	dfg_parts_release(&cut.parts);
	cut.sketch.graph.producer = 1234;
	cut.sketch.graph.library = "x";
	cut.sketch.graph.n_library = 1;
	const struct dfg_placed placed[2] = {{.device = 0}, {.device = 1}};
	const struct dfg_place_options options = {.device = cut_devices, .devices = 2};
	succeeds(dfg_partition(&cut.sketch.graph, &cut.facts, placed, &options, &cut.arena, &cut.parts));
	for (int d = 0; d < 2; d++) {
		assert_int_equal(cut.parts.part[d].producer, 1234);
		assert_int_equal(cut.parts.part[d].n_library, 0);
	}
	cut_end(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_transfer_serves_all_readers_of_a_device),
		cmocka_unit_test(outputs_of_one_node_are_sent_each_for_itself),
		cmocka_unit_test(control_edges_cross_as_one_signal),
		cmocka_unit_test(a_tensor_that_crosses_is_signal_enough),
		cmocka_unit_test(a_side_of_a_switch_is_no_signal),
		cmocka_unit_test(small_constants_are_cloned_and_large_ones_sent),
		cmocka_unit_test(what_refers_to_a_place_stays_there),
		cmocka_unit_test(a_part_is_not_cut_again),
		cmocka_unit_test(both_ends_say_what_they_carry_and_for_whom),
		cmocka_unit_test(versions_are_kept_and_unused_libraries_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
