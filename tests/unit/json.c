#include "tests/unit/test.h"

#include "formats/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dfg_json *value;
static struct dfg_arena arena;

static struct dfg_err *read_text(const char *text)
{
	dfg_arena_release(&arena);
	return dfg_json_read(text, strlen(text), &arena, &value);
}

static void expect_read(const char *text)
{
	struct dfg_err *err = read_text(text);
	if (err)
		fail_msg("%s: %s", text, err->text);
}

static void reads_every_kind_of_value(void **state)
{
	(void)state;
	expect_read(" {\"a\" : [1, -2.5e1, true, false, null], \"b\": {\"c\": \"x\"} } ");
	const struct dfg_json *a = dfg_json_get(value, "a");
	assert_int_equal(value->kind, DFG_JSON_OBJECT);
	assert_int_equal(a->count, 5);
	assert_true(a->first->whole);
	assert_int_equal(a->first->integer, 1);
	assert_false(a->first->next->whole);
	assert_true(a->first->next->number == -25);
	assert_true(a->first->next->next->truth);
	assert_int_equal(a->first->next->next->next->next->kind, DFG_JSON_NULL);
	assert_string_equal(dfg_json_get(dfg_json_get(value, "b"), "c")->string, "x");
	assert_null(dfg_json_get(value, "d"));
	dfg_arena_release(&arena);
}

static void reads_escapes_and_surrogates(void **state)
{
	(void)state;
	expect_read("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\"");
	assert_string_equal(value->string, "\"\\/\b\f\n\r\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	expect_read("\"a\\u0000b\"");
	assert_int_equal(value->count, 3);
	assert_memory_equal(value->string, "a\0b", 3);
	dfg_arena_release(&arena);
}

static void keeps_integers_of_64_bits(void **state)
{
	(void)state;
	expect_read("-9223372036854775808");
	assert_true(value->whole && value->integer == INT64_MIN);
	expect_read("9223372036854775808");
	assert_false(value->whole);
	assert_true(value->number == 9223372036854775808.0);
	dfg_arena_release(&arena);
}

static void refuses_what_the_grammar_lacks(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"", "line 1, column 1: expected a JSON value"},
		{"{\"a\": 1, }", "column 10: expected a key in quotes"},
		{"{\"a\": 1, \"a\": 2}", "duplicate key"},
		{"{\"a\\u0000\": 1}", "zero character in a key"},
		{"{a: 1}", "expected a key in quotes"},
		{"{\"a\" 1}", "expected ':'"},
		{"{\"a\": 1", "expected ',' or '}'"},
		{"[1,]", "expected a JSON value"},
		{"[1 2]", "expected ',' or ']'"},
		{"[1", "expected ',' or ']'"},
		{"01", "expected a JSON value"},
		{"1.", "expected a JSON value"},
		{".5", "expected a JSON value"},
		{"1e", "expected a JSON value"},
		{"+1", "expected a JSON value"},
		{"NaN", "expected a JSON value"},
		{"nul", "expected a JSON value"},
		{"\"a", "the string is not closed"},
		{"\"a\\", "the string is not closed"},
		{"\"\\x41\"", "unknown escape"},
		{"\"\\u12\"", "unknown escape"},
		{"\"\\ud83d\"", "incomplete surrogate pair"},
		{"\"\\ude00\"", "unknown escape"},
		{"\"a\nb\"", "line 1, column 3: a string contains a control character: write it as an escape such as \\n"},
		{"\"\xff\"", "not UTF-8"},
		{"\"\xc0\xaf\"", "not UTF-8"},
		{"\"\xed\xa0\x80\"", "not UTF-8"},
		{"1\n 2", "line 2, column 2: unexpected text after the value"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dfg_err *err = read_text(bad[i].text);
		if (!err)
			fail_msg("accepted: %s", bad[i].text);
		if (!strstr(err->text, bad[i].words))
			fail_msg("%s: %s", bad[i].text, err->text);
		assert_int_equal(err->code, DFG_DATA);
		dfg_err_free(err);
	}
	dfg_arena_release(&arena);
}

static void bounds_the_depth(void **state)
{
	(void)state;
	char text[2 * 65 + 1] = {0};
	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	expect_read(text);
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	struct dfg_err *err = dfg_json_read(text, sizeof text - 1, &arena, &value);
	assert_non_null(strstr(err->text, "nested deeper than 64"));
	dfg_err_free(err);
	dfg_arena_release(&arena);
}

static void refuses_every_prefix_without_a_crash(void **state)
{
	(void)state;
	static const char text[] = "{\"k\": [1.5e3, \"\\u20ac\\ud83d\\ude00\", {\"x\": null}], \"l\": true}";
	for (size_t n = 0; n < sizeof text - 1; n++) {
		char *exact = malloc(n + 1);
		memcpy(exact, text, n);
		struct dfg_err *err = dfg_json_read(exact, n, &arena, &value);
		assert_non_null(err);
		assert_int_equal(err->code, DFG_DATA);
		dfg_err_free(err);
		free(exact);
		dfg_arena_release(&arena);
	}
}

static void names_the_member_that_is_missing_or_of_another_kind(void **state)
{
	(void)state;
	const struct dfg_json *member;
	uint64_t size;
	expect_read("{\"a\": 1.5, \"b\": -1, \"c\": 7}");
	struct dfg_err *err = dfg_json_need(value, "steps", DFG_JSON_ARRAY, &member);
	assert_string_equal(err->text, "no \"steps\"");
	dfg_err_free(err);
	err = dfg_json_need(value, "a", DFG_JSON_ARRAY, &member);
	assert_string_equal(err->text, "\"a\" is a number, not an array");
	dfg_err_free(err);
	err = dfg_json_need_size(value, "a", &size);
	assert_string_equal(err->text, "\"a\" is 1.5, but must be an integer of at least 0");
	dfg_err_free(err);
	err = dfg_json_need_size(value, "b", &size);
	assert_string_equal(err->text, "\"b\" is -1, but must be an integer of at least 0");
	dfg_err_free(err);
	assert_null(dfg_json_need_size(value, "c", &size));
	assert_int_equal(size, 7);
	dfg_arena_release(&arena);
}

static void writes_in_order_with_the_shortest_floats(void **state)
{
	(void)state;
	struct dfg_json_out out = {0};
	dfg_json_open(&out, '{');
	dfg_json_key(&out, "f");
	dfg_json_open(&out, '[');
	dfg_json_f32(&out, 0.1f);
	dfg_json_f64(&out, 0.1);
	dfg_json_f64(&out, 0.1f);
	dfg_json_f32(&out, -1.0f / 0.0f);
	dfg_json_f64(&out, __builtin_nan(""));
	dfg_json_close(&out, ']');
	dfg_json_key(&out, "i");
	dfg_json_int(&out, INT64_MIN);
	dfg_json_key(&out, "u");
	dfg_json_uint(&out, UINT64_MAX);
	dfg_json_key(&out, "s");
	dfg_json_bytes(&out, "a\"\\\n\xff\xc3\xa4\0", 8);
	dfg_json_key(&out, "e");
	dfg_json_open(&out, '{');
	dfg_json_close(&out, '}');
	dfg_json_key(&out, "n");
	dfg_json_null(&out);
	dfg_json_key(&out, "t");
	dfg_json_bool(&out, true);
	dfg_json_close(&out, '}');
	assert_null(dfg_text_check(&out.text));
	assert_string_equal(out.text.s,
		"{\"f\":[0.1,0.1,0.10000000149011612,\"-Infinity\",\"NaN\"],\"i\":-9223372036854775808,"
		"\"u\":18446744073709551615,\"s\":\"a\\\"\\\\\\u000a\\u00ff\xc3\xa4\\u0000\",\"e\":{},\"n\":null,\"t\":true}");
	dfg_text_release(&out.text);
}

/* The text before the list, and the numbers in it. */
static struct dfg_err *see_row(void *arg, const struct dfg_json *object, const struct dfg_json *element, uint64_t i)
{
	char *seen = arg;
	const struct dfg_json *name = dfg_json_get(object, "name");
	if (!name || element->kind != DFG_JSON_ARRAY)
		return DFG_ERR(DFG_DATA, "row %d is not a list", (int)i);
	sprintf(seen + strlen(seen), "%s%d:%lld ", name->string, (int)i, (long long)element->first->integer);
	return NULL;
}

static struct dfg_err *read_rows(const char *text, char seen[200])
{
	struct dfg_arena arena = {0};
	struct dfg_json *value;
	const struct dfg_json_rows rows = {"rows", see_row, seen};
	*seen = '\0';
	struct dfg_err *err = dfg_json_read_rows(text, strlen(text), &rows, &arena, &value);
	if (!err && dfg_json_get(value, "rows")) {
		assert_int_equal(dfg_json_get(value, "rows")->kind, DFG_JSON_ARRAY);
		assert_null(dfg_json_get(value, "rows")->first);
	}
	dfg_arena_release(&arena);
	return err;
}

static void a_long_list_goes_by_row_by_row(void **state)
{
	(void)state;
	char seen[200];
	succeeds(read_rows("{\"name\":\"a\", \"rows\" : [ [1], [20, {\"rows\":[2]}] ,[3]], \"more\":[[4]]}", seen));
	assert_string_equal(seen, "a0:1 a1:20 a2:3 ");
	succeeds(read_rows("{\"rows\":[ ]}", seen));
	succeeds(read_rows("{\"name\":{\"rows\":[5]}}", seen));
	assert_string_equal(seen, "");
	fails(read_rows("{\"rows\":[[1]],\"name\":\"a\"}", seen), DFG_DATA, "row 0 is not a list");
	fails(read_rows("{\"name\":\"a\",\"rows\":[[1],2]}", seen), DFG_DATA, "row 1 is not a list");
	fails(read_rows("{\"name\":\"a\",\"rows\":[[1] [2]]}", seen), DFG_DATA, "line 1, column 25: expected ',' or ']'");
	fails(read_rows("{\"name\":\"a\",\"rows\":[[1],]}", seen), DFG_DATA, "line 1");
	fails(read_rows("{\"name\":\"a\",\"rows\":[[1]", seen), DFG_DATA, "line 1");
	fails(read_rows("{\"name\":\"a\",\"rows\":[[1]],\"rows\":[[1]]}", seen), DFG_DATA, "duplicate key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind_of_value),
		cmocka_unit_test(reads_escapes_and_surrogates),
		cmocka_unit_test(keeps_integers_of_64_bits),
		cmocka_unit_test(refuses_what_the_grammar_lacks),
		cmocka_unit_test(bounds_the_depth),
		cmocka_unit_test(refuses_every_prefix_without_a_crash),
		cmocka_unit_test(names_the_member_that_is_missing_or_of_another_kind),
		cmocka_unit_test(writes_in_order_with_the_shortest_floats),
		cmocka_unit_test(a_long_list_goes_by_row_by_row),
	};
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
