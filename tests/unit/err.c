#include "tests/unit/test.h"

#include "lib/base/mem.h"
#include "lib/base/text.h"

static void reads_from_the_outside_in(void **state)
{
	(void)state;
	struct dfg_err *err = DFG_ERR(DFG_DATA, "cannot multiply %s by %s", "[3,4]", "[5,6]");
	err = dfg_err_note(err, "node '%s' (%s)", "fc1", "MatMul");
	err = dfg_err_note(err, "%s", "net.pb");
	assert_string_equal(err->text, "net.pb: node 'fc1' (MatMul): cannot multiply [3,4] by [5,6]");
	assert_int_equal(err->code, 65);
	dfg_err_free(err);
}

static void a_long_note_cuts_the_end_not_the_place(void **state)
{
	(void)state;
	char words[2000] = {0};
	memset(words, 'w', sizeof words - 1);
	struct dfg_err *err = dfg_err_note(DFG_ERR(DFG_DATA, "%s", words), "node '%s'", words);
	err = dfg_err_note(err, "net.pb");
	assert_memory_equal(err->text, "net.pb: node 'www", 17);
	assert_int_equal(strlen(err->text), sizeof err->text - 1);
	dfg_err_free(err);
}

static void joined_errors_keep_their_order_and_share_notes(void **state)
{
	(void)state;
	struct dfg_err *err = dfg_err_join(NULL, DFG_ERR(DFG_DATA, "one"));
	err = dfg_err_note(dfg_err_join(err, DFG_ERR(DFG_IO, "two")), "f");
	assert_int_equal(err->code, DFG_DATA);
	assert_string_equal(err->text, "f: one");
	assert_string_equal(err->next->text, "f: two");
	dfg_err_free(err);
}

static void a_copy_has_the_code_and_the_text(void **state)
{
	(void)state;
	struct dfg_err *err = dfg_err_note(DFG_ERR(DFG_IO, "one\ntwo"), "f"), *copy = dfg_err_copy(err);
	dfg_err_free(err);
	assert_int_equal(copy->code, DFG_IO);
	assert_string_equal(copy->text, "f: one\ntwo");
	dfg_err_free(copy);
	assert_null(dfg_err_copy(NULL));
}

static void a_file_is_named_once(void **state)
{
	(void)state;
	struct dfg_err *err = dfg_err_join(dfg_err_of_file(DFG_ERR(DFG_DATA, "one"), "a.pb"), DFG_ERR(DFG_DATA, "two"));
	err = dfg_err_of_file(dfg_err_note(err, "step 1"), "b.pb");
	assert_string_equal(err->text, "step 1: a.pb: one");
	assert_string_equal(err->next->text, "b.pb: step 1: two");
	dfg_err_free(err);
	err = dfg_err_of_file(dfg_err_of_file(DFG_ERR(DFG_DATA, "c.pb:1:1: bad"), NULL), "c.pb");
	assert_string_equal(err->text, "c.pb:1:1: bad");
	assert_false(err->waited);
	err = dfg_err_that_waited(err);
	assert_true(err->waited);
	dfg_err_free(err);
	assert_null(dfg_err_of_file(NULL, "c.pb"));
}

static void out_of_memory_needs_no_memory(void **state)
{
	(void)state;
	struct dfg_mem_failing failing;
	struct dfg_allocator *heap = dfg_mem;
	dfg_mem_failing_init(&failing, heap, 0, true);
	dfg_mem = &failing.base;
	struct dfg_err *err = dfg_err_note(DFG_ERR(DFG_DATA, "bad"), "net.pb");
	dfg_mem = heap;
	assert_int_equal(err->code, DFG_MEMORY);
	assert_string_equal(err->text, "out of memory");
	assert_ptr_equal(dfg_err_of_file(dfg_err_that_waited(err), "net.pb"), err);
	assert_ptr_equal(dfg_err_join(err, DFG_ERR(DFG_IO, "close")), err);
	dfg_err_free(err);
}

static void becomes_one_line(const char *text, size_t size, const char *wanted)
{
	char buffer[32];
	strcpy(buffer, text);
	dfg_one_line(buffer, size);
	assert_string_equal(buffer, wanted);
}

static void a_line_break_in_a_name_breaks_no_line(void **state)
{
	(void)state;
	struct dfg_err *err = dfg_err_note(DFG_ERR(DFG_DATA, "no node '%s'", "a\nb"), "net\n.pb");
	assert_string_equal(err->text, "net\\n.pb: no node 'a\\nb'");
	dfg_err_free(err);
	err = DFG_ERR(DFG_DATA, "%s: bad\n    %s", "a.dfg", "x = y");
	assert_string_equal(err->text, "a.dfg: bad\n    x = y");
	dfg_err_free(err);
	becomes_one_line("\n\na\n", 32, "\\n\\na\\n");
	becomes_one_line("ab\ncd", 7, "ab\\ncd");
	becomes_one_line("ab\ncd", 6, "ab\\nc");
	becomes_one_line("ab\ncd", 5, "ab\\n");
	becomes_one_line("abc\n", 5, "abc"); /* half an escape is dropped */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_from_the_outside_in),
		cmocka_unit_test(a_long_note_cuts_the_end_not_the_place),
		cmocka_unit_test(joined_errors_keep_their_order_and_share_notes),
		cmocka_unit_test(a_copy_has_the_code_and_the_text),
		cmocka_unit_test(a_file_is_named_once),
		cmocka_unit_test(a_line_break_in_a_name_breaks_no_line),
		cmocka_unit_test(out_of_memory_needs_no_memory),
	};
	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
