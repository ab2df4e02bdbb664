#include "lib/pass/rewrite/prune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

static const struct dfg_op ops[] = {
	{.name = "N", .sig = "<A: int>(x: A * f32) -> (y: f32)"},
	{.name = "Set", .sig = "<A: int>(x: A * f32) -> ()", .role = DFG_ASSIGN},
	{0},
};

/*
 *     a --> b --> d      c - - > e (control)      f <--> g (a loop)      h <-- s <-- i (s initialises h)
 */
static const char graph[] =
	"a N\nb N a\nc N\nd N b\ne N ^c\nf N g\ng N f\nh N\ns Set h i _dfg_init=true\ni N\nt Set h c\n";

static void expect_left(const char *target, const char *names)
{
	struct sketch sketch;
	struct dfg_text report = {0};
	sketch_init(&sketch, ops, graph);
	struct dfg_edge fetch = {dfg_graph_find(&sketch.graph, target), 0};
	struct dfg_keep keep = {.fetch = &fetch, .n_fetch = 1};

	assert_null(dfg_prune(&sketch.graph, &keep, &sketch.arena, &report));
	char left[16] = "";
	for (uint32_t i = 0; i < sketch.graph.count; i++) {
		strcat(left, sketch.graph.node[i].name);
		assert_int_equal(dfg_graph_find(&sketch.graph, sketch.graph.node[i].name), i);
	}
	assert_string_equal(left, names);
	assert_string_equal(sketch.graph.node[fetch.node].name, target);
	dfg_text_release(&report);
	sketch_release(&sketch);
}

static void keeps_what_the_fetch_needs(void **state)
{
	(void)state;
	expect_left("d", "abd");
}

static void follows_control_edges(void **state)
{
	(void)state;
	expect_left("e", "ce");
}

static void ends_on_a_loop(void **state)
{
	(void)state;
	expect_left("f", "fg");
}

static void keeps_what_initialises_a_variable(void **state)
{
	(void)state;
	expect_left("h", "hsi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_the_fetch_needs),
		cmocka_unit_test(follows_control_edges),
		cmocka_unit_test(ends_on_a_loop),
		cmocka_unit_test(keeps_what_initialises_a_variable),
	};
	return cmocka_run_group_tests_name("prune", tests, NULL, NULL);
}
