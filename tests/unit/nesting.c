#include "app/nesting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/sketch.h"

/* "outer > inner" of a node. */
static void expect_box(
	const struct dfg_graph *graph, const struct dfg_nesting *nesting, const char *node, const char *path)
{
	char words[200] = "", rest[200];
	for (uint32_t at = nesting->of[dfg_graph_find(graph, node)]; at; at = nesting->box[at].parent) {
		snprintf(rest, sizeof rest, "%s", words);
		snprintf(words, sizeof words, "%s%s%.100s", nesting->box[at].label, *rest ? " > " : "", rest);
	}
	assert_string_equal(words, path);
}

/* i counts up; where it is odd, v is negated. */
static const char graph[] =
	"zero Const dtype=i32\np Placeholder dtype=bool\n"
	"enter Enter zero T=i32 frame_name='count'\nknows Enter p T=bool frame_name='count' is_constant=true\n"
	"merge Merge enter next T=i32 N=2\nless LoopCond knows\n"
	"turn Switch merge less T=i32\nv Neg turn:1 T=i32\nodd Greater v v T=i32\n"
	"side Switch v odd T=i32\nyes Neg side:1 T=i32\nno Neg side T=i32\njoin Merge no yes T=i32 N=2\n"
	"next NextIteration join T=i32\nexit Exit turn T=i32\nafter Neg exit T=i32\n";

static void branches_stand_in_their_loop(void **state)
{
	(void)state;
	struct sketch sketch;
	struct dfg_nesting nesting;
	sketch_init(&sketch, NULL, graph);
	assert_null(dfg_nesting_find(&sketch.graph, &nesting));
	expect_box(&sketch.graph, &nesting, "zero", "");
	expect_box(&sketch.graph, &nesting, "after", "");
	expect_box(&sketch.graph, &nesting, "enter", "loop count");
	expect_box(&sketch.graph, &nesting, "exit", "loop count");
	expect_box(&sketch.graph, &nesting, "v", "loop count");
	expect_box(&sketch.graph, &nesting, "side", "loop count");
	expect_box(&sketch.graph, &nesting, "yes", "loop count > odd is true");
	expect_box(&sketch.graph, &nesting, "no", "loop count > odd is false");
	expect_box(&sketch.graph, &nesting, "join", "loop count");
	dfg_nesting_release(&nesting);
	sketch_release(&sketch);
}

static void a_graph_without_them_is_one_box(void **state)
{
	(void)state;
	struct sketch sketch;
	struct dfg_nesting nesting;
	sketch_init(&sketch, NULL, "a Const dtype=i32\nb Neg a T=i32\n");
	assert_null(dfg_nesting_find(&sketch.graph, &nesting));
	assert_int_equal(nesting.count, 1);
	dfg_nesting_release(&nesting);
	sketch_release(&sketch);
}

static void an_output_that_a_switch_does_not_have_is_an_error(void **state)
{
	(void)state;
	struct sketch sketch;
	struct dfg_nesting nesting;
	sketch_init(&sketch, NULL,
		"p Placeholder dtype=bool\nx Placeholder dtype=f32\ns Switch x p T=f32\n"
		"t Identity s:70000000 T=f32\nm Merge t s T=f32 N=2\n");
	struct dfg_err *err = dfg_nesting_find(&sketch.graph, &nesting);
	assert_string_equal(err->text, "node 's' (Switch) has no output 70000000");
	dfg_err_free(err);
	dfg_nesting_release(&nesting);
	sketch_release(&sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_stand_in_their_loop),
		cmocka_unit_test(a_graph_without_them_is_one_box),
		cmocka_unit_test(an_output_that_a_switch_does_not_have_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
