#include "lib/pass/rewrite/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

static struct dfg_err *vector(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_VECTOR(node->call->attr[0].i);
	return NULL;
}

static const struct dfg_op ops[] = {
	{.name = "Source", .sig = "<T: type>() -> (y: T)", .attr = {"n: int"}, .role = DFG_PLACEHOLDER, .shape = vector},
	{0},
};

/* The op of node y after the pass, and the elements of its constant, if it is one. */
static void expect_folded(const char *text, const char *op, const int64_t *values, int count)
{
	struct sketch sketch;
	struct dfg_text report = {0};
	struct dfg_keep keep = {0};
	sketch_init(&sketch, ops, text);
	assert_null(dfg_fold(&sketch.graph, &keep, &sketch.arena, &report));
	const struct dfg_node *y = &sketch.graph.node[dfg_graph_find(&sketch.graph, "y")];
	assert_string_equal(y->op_name, op);
	if (count) {
		struct dfg_tensor tensor;
		assert_null(dfg_literal_tensor(dfg_node_attr(y, "value")->value.tensor, &tensor));
		assert_int_equal(dfg_shape_count(&tensor.shape), count);
		for (int i = 0; i < count; i++)
			assert_int_equal(dfg_tensor_int(&tensor, i), values[i]);
		dfg_tensor_release(&tensor);
		assert_int_equal(y->n_in, 0);
	}
	dfg_text_release(&report);
	sketch_release(&sketch);
}

static void a_known_shape_is_a_constant(void **state)
{
	(void)state;
	expect_folded("x Source T=f32 n=3\ny Shape x T=f32\n", "Const", (int64_t[]){3}, 1);
}

static void so_is_what_is_made_of_shapes(void **state)
{
	(void)state;
	expect_folded("x Source T=f32 n=3\ns Shape x T=f32\ny AddV2 s s T=i32\n", "Const", (int64_t[]){6}, 1);
	expect_folded("x Source T=f32 n=3\ns Size x T=f32\ny Pack s s T=i32 N=2\n", "Const", (int64_t[]){3, 3}, 2);
}

static void what_waits_for_something_stays(void **state)
{
	(void)state;
	expect_folded("x Source T=f32 n=3\ny Shape x ^x T=f32\n", "Shape", NULL, 0);
	expect_folded("x Source T=f32 n=3\ny AddV2 x x T=f32\n", "AddV2", NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_shape_is_a_constant),
		cmocka_unit_test(so_is_what_is_made_of_shapes),
		cmocka_unit_test(what_waits_for_something_stays),
	};
	return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
