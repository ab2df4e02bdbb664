#include "formats/pbtxt.h"

#include "formats/graph.pb-c.h"
#include "formats/graphdef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

static struct dfg_arena arena;
static struct dfg_graph graph;
static struct dfg_text wire;

/* Text as a graph, which lives until the next. */
static struct dfg_err *read_text(const char *text, bool strict)
{
	struct dfg_wire_file file = {.start = (const uint8_t *)text, .strict = strict};
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	dfg_text_release(&wire);
	DFG_TRY(dfg_pbtxt_to_wire(&dfg__graph_def__descriptor, file.start, strlen(text), &file, &wire));
	return dfg_graphdef_read((const uint8_t *)wire.s, wire.length, NULL, &arena, &graph);
}

/* The attribute `a` of a node, its value as in the text. */
static const struct dfg_attr *value_of(const char *value)
{
	char text[1000] = "node { name: \"n\" op: \"X\" attr { key: \"a\" value { ";
	strcat(strcat(text, value), " } } }");
	struct dfg_err *err = read_text(text, true);
	if (err)
		fail_msg("%s: %s", value, err->text);
	return dfg_node_attr(&graph.node[0], "a");
}

static void refuses(const char *text, const char *words)
{
	struct dfg_err *err = read_text(text, true);
	if (!err)
		fail_msg("takes %s", text);
	assert_int_equal(err->code, DFG_DATA);
	if (!strstr(err->text, words))
		fail_msg("%s: '%s' does not say '%s'", text, err->text, words);
	dfg_err_free(err);
}

static void numbers_are_read_in_all_their_forms(void **state)
{
	(void)state;
	assert_int_equal(value_of("i: -9223372036854775808")->value.i, INT64_MIN);
	assert_int_equal(value_of("i: 0x1F")->value.i, 31);
	assert_int_equal(value_of("i: - 017")->value.i, -15);
	assert_true(value_of("f: 1.5e3f")->value.f == 1500);
	assert_true(value_of("f: -inf")->value.f == -HUGE_VAL);
	assert_true(isnan(value_of("f: nan")->value.f));
	assert_true(value_of("f: 0.1")->value.f == (double)0.1f);
	assert_true(value_of("f: 7")->value.f == 7);
	assert_true(signbit(value_of("f: -0.0")->value.f));
	assert_true(value_of("b: true")->value.b);
	assert_false(value_of("b: 0")->value.b);
	assert_int_equal(value_of("type: DT_HALF")->value.dtype, DFG_F16);
	assert_int_equal(value_of("type: 101")->value.dtype, DFG_REF + DFG_F32);
	assert_int_equal(value_of("list { i: [1, 2, 3] i: 4 }")->value.list->count, 4);
	assert_int_equal(value_of("list { shape: [{ dim { size: 2 } }, <>] }")->value.list->count, 2);
	assert_int_equal(value_of("list { i: [] }")->value.list->count, 0);
}

static void quoted_texts_join_and_have_escapes(void **state)
{
	(void)state;
	const struct dfg_string *s = &value_of("s: \"a\\n\\001\\x41\\\"\" 'b\\'' # comment\n \"\\u00e9\\?\"")->value.s;
	assert_int_equal(s->length, 10);
	assert_memory_equal(s->s, "a\n\001A\"b'\xc3\xa9?", 10);
	assert_int_equal(value_of("s: \"\"")->value.s.length, 0);
}

static void fields_may_stand_apart_by_signs(void **state)
{
	(void)state;
	assert_null(read_text("node: < name: 'x'; op: 'X', > node { name: 'y' op: 'Y' input: ['x', '^x'] };", true));
	assert_int_equal(graph.count, 2);
	assert_int_equal(graph.node[1].n_control, 1);
	assert_null(read_text("node [{name:'x' op:'X'}, {name:'y' op:'Y'}] # end", true));
	assert_int_equal(graph.count, 2);
}

static void mistakes_have_line_and_column(void **state)
{
	(void)state;
	refuses("node {\n  nam: 1\n}", "2:3: no field 'nam' in a NodeDef; did you mean 'name'?");
	refuses("node {\n  name: 1\n}", "2:9: name must be a quoted string, not '1'");
	refuses("node { name: \"x", "1:14: the quote is not closed");
	refuses("node { name: \"x\" name: \"y\" }", "1:18: name of a NodeDef is given twice");
	refuses("node { attr { value { i: 1 b: true } } }", "1:28: b of a AttrValue is given twice, or together with i");
	refuses("node { attr { value { i: 9223372036854775808 } } }",
		"1:26: i must be an integer of 64 bits, not '9223372036854775808'");
	refuses("node { attr { value { i: 1.5 } } }", "i must be an integer of 64 bits");
	refuses("node { attr { value { f: 1.5x } } }", "f must be a number");
	refuses("node { attr { value { b: 2 } } }", "b must be true or false");
	refuses("node { attr { value { type: DT_FLAOT } } }", "type must be a name or number of its enum");
	refuses("node { attr { value { s: \"\\q\" } } }", "unknown escape '\\q'");
	refuses("node { attr { value { s: \"\\400\" } } }", "unknown escape '\\4'");
	refuses("node { name \"x\" }", "1:13: expected ':', not '\\\"x\\\"'");
	refuses("node { name: [\"x\"] }", "name takes one value, but a list is given");
	refuses("node [ {name: 'x'} {name: 'y'} ]", "1:20: expected ',', not '{'");
	refuses("node {", "1:7: expected the name of a field, not 'the end'");
	refuses("}", "1:1: expected the name of a field, not '}'");
	refuses("node { > }", "expected the name of a field, not '>'");
}

static void nesting_is_bounded(void **state)
{
	(void)state;
	static char text[2000001];
	for (size_t i = 0; i + 2 < sizeof text; i += 2)
		memcpy(text + i, "a{", 2);
	struct dfg_err *err = read_text(text, false);
	assert_non_null(strstr(err->text, "nested deeper than 100"));
	dfg_err_free(err);
}

static void unknown_fields_are_passed_over_whole(void **state)
{
	(void)state;
	assert_null(read_text("new { a: [1, -2.5, x] b < c: 'd' \"e\" > } node { name: 'x' op: 'X' later: -inf }", false));
	assert_int_equal(graph.count, 1);
	assert_null(read_text("new: [{ a: 1 }, { b: 2 }] node { name: 'x' op: 'X' }", false));
	assert_int_equal(graph.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_in_all_their_forms),
		cmocka_unit_test(quoted_texts_join_and_have_escapes),
		cmocka_unit_test(fields_may_stand_apart_by_signs),
		cmocka_unit_test(mistakes_have_line_and_column),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(unknown_fields_are_passed_over_whole),
	};
	int failed = cmocka_run_group_tests_name("pbtxt", tests, NULL, NULL);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	dfg_text_release(&wire);
	return failed;
}
