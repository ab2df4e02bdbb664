#include "lib/pass/rewrite/cse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

static struct dfg_err *nothing(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static const struct dfg_op ops[] = {
	{.name = "Source", .sig = "<T: type>() -> (y: T)", .role = DFG_PLACEHOLDER, .shape = nothing},
	{.name = "Ref", .sig = "() -> (y: ref f32)", .role = DFG_VARIABLE, .flags = DFG_STATEFUL, .shape = nothing},
	{.name = "Same", .sig = "<T: type>(x: T) -> (y: T)", .role = DFG_IDENTITY},
	{.name = "Plus", .sig = "<T: number>(x: T, y: T) -> (z: T)", .flags = DFG_COMMUTATIVE},
	{.name = "Less", .sig = "<T: number>(x: T, y: T) -> (z: T)", .attr = {"n: int = 0", "s: string = ''"}},
	{.name = "Random", .sig = "(x: f32) -> (y: f32)", .flags = DFG_STATEFUL},
	{0},
};

/* After the pass, y reads what `reads` says: "a b". */
static void expect_reads(const char *text, const char *reads)
{
	struct sketch sketch;
	struct dfg_text report = {0};
	struct dfg_keep keep = {0};
	sketch_init(&sketch, ops, text);
	assert_null(dfg_cse(&sketch.graph, &keep, &sketch.arena, &report));
	const struct dfg_node *y = &sketch.graph.node[dfg_graph_find(&sketch.graph, "y")];
	char got[64] = "";
	for (uint32_t e = 0; e < y->n_in + y->n_control; e++) {
		strcat(got, e ? " " : "");
		strcat(got, dfg_graph_tensor_name(&sketch.graph, y->in[e]));
	}
	assert_string_equal(got, reads);
	dfg_text_release(&report);
	sketch_release(&sketch);
}

#define SOURCES "p Source T=f32\nq Source T=f32\n"

static void joins_what_computes_the_same(void **state)
{
	(void)state;
	expect_reads(SOURCES "a Less p q T=f32\nb Less p q T=f32\ny Plus a b T=f32\n", "a a");
	expect_reads(SOURCES "a Less p q T=f32 s='t'\nb Less p q T=f32 s='t'\ny Plus a b T=f32\n", "a a");
}

static void joins_chains(void **state)
{
	(void)state;
	expect_reads(
		SOURCES "a Same p T=f32\nb Same p T=f32\nc Less a q T=f32\nd Less b q T=f32\ny Plus c d T=f32\n", "c c");
}

static void order_counts_unless_the_op_says_it_does_not(void **state)
{
	(void)state;
	expect_reads(SOURCES "a Less p q T=f32\nb Less q p T=f32\ny Plus a b T=f32\n", "a b");
	expect_reads(SOURCES "a Plus p q T=f32\nb Plus q p T=f32\ny Less a b T=f32\n", "a a");
}

static void attributes_count_except_free_ones(void **state)
{
	(void)state;
	expect_reads(SOURCES "a Less p q T=f32 n=1\nb Less p q T=f32 n=2\ny Plus a b T=f32\n", "a b");
	expect_reads(SOURCES "a Less p q T=f32 _x=1\nb Less p q T=f32 _x=2\ny Plus a b T=f32\n", "a a");
	expect_reads(SOURCES "a Less p q T=f32\nb Less p q T=f32 _dfg_gradient_of='w'\ny Plus a b T=f32\n", "a b");
}

static void control_inputs_count(void **state)
{
	(void)state;
	expect_reads(SOURCES "a Same p ^q T=f32\nb Same p T=f32\ny Plus a b T=f32\n", "a b");
	expect_reads(SOURCES "a Same p ^q T=f32\nb Same p ^q T=f32\ny Plus a b ^b T=f32\n", "a a ^a");
}

static void what_has_state_is_left_alone(void **state)
{
	(void)state;
	expect_reads(SOURCES "a Random p\nb Random p\ny Plus a b T=f32\n", "a b");
	expect_reads("w Ref\na Same w T=f32\nb Same w T=f32\ny Plus a b T=f32\n", "a b");
	expect_reads(SOURCES "y Plus p q T=f32\n", "p q");
}

/* Bytes after those of the constant are not part of it. */
static void constant_handles_are_told_by_their_bytes(void **state)
{
	(void)state;
	static const char bytes[2][512] = {"abcd1", "abcd2"};
	struct sketch sketch;
	struct dfg_text report = {0};
	struct dfg_keep keep = {0};
	struct dfg_literal literal[3] = {{DFG_VARIANT, DFG_SHAPE_SCALAR, false, 4, bytes[0]},
		{DFG_VARIANT, DFG_SHAPE_SCALAR, false, 4, bytes[1]}, {DFG_VARIANT, DFG_SHAPE_SCALAR, false, 5, bytes[1]}};
	sketch_init(&sketch, ops,
		"a Const dtype=variant\nb Const dtype=variant\nc Const dtype=variant\n"
		"y IdentityN a b c T=3\n");
	const union dfg_value types[] = {{.dtype = DFG_VARIANT}, {.dtype = DFG_VARIANT}, {.dtype = DFG_VARIANT}};
	const struct dfg_list list = {DFG_ATTR_DTYPE, 3, types};
	for (uint32_t n = 0; n < 3; n++)
		assert_null(
			dfg_node_set_attr(&sketch.graph, n, "value", DFG_ATTR_TENSOR, (union dfg_value){.tensor = &literal[n]}));
	assert_null(dfg_node_set_attr(&sketch.graph, 3, "T", DFG_ATTR_LIST, (union dfg_value){.list = &list}));
	assert_null(dfg_cse(&sketch.graph, &keep, &sketch.arena, &report));
	const struct dfg_edge *in = sketch.graph.node[3].in;
	assert_true(in[0].node == 0 && in[1].node == 0 && in[2].node == 2);
	dfg_text_release(&report);
	sketch_release(&sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_what_computes_the_same),
		cmocka_unit_test(joins_chains),
		cmocka_unit_test(order_counts_unless_the_op_says_it_does_not),
		cmocka_unit_test(attributes_count_except_free_ones),
		cmocka_unit_test(control_inputs_count),
		cmocka_unit_test(what_has_state_is_left_alone),
		cmocka_unit_test(constant_handles_are_told_by_their_bytes),
	};
	return cmocka_run_group_tests_name("cse", tests, NULL, NULL);
}
