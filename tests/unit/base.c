#include "tests/unit/test.h"

#include "lib/base/arena.h"
#include "lib/base/deferred.h"
#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void a_limit_refuses_what_would_pass_it_and_takes_back(void **state)
{
	(void)state;
	struct dfg_mem_limit limit;
	dfg_mem_limit_init(&limit, dfg_mem, 10000);
	void *a = limit.base.take(&limit.base, 6000, 16);
	assert_non_null(a);
	assert_null(limit.base.take(&limit.base, 6000, 16));
	limit.base.drop(&limit.base, a);
	void *b = limit.base.take(&limit.base, 9000, 64);
	assert_non_null(b);
	limit.base.drop(&limit.base, b);
}

static void a_failing_allocator_fails_once_or_for_ever(void **state)
{
	(void)state;
	for (int forever = 0; forever < 2; forever++) {
		struct dfg_mem_failing failing;
		dfg_mem_failing_init(&failing, dfg_mem, 1, forever);
		for (int i = 0; i < 4; i++) {
			void *memory = failing.base.take(&failing.base, 8, 8);
			assert_int_equal(memory == NULL, i == 1 || (forever && i > 1));
			failing.base.drop(&failing.base, memory);
		}
	}
}

static void an_array_grows_keeps_what_it_held_and_is_zero_behind_that(void **state)
{
	(void)state;
	enum { COUNT = 300000 };
	struct dfg_allocator *heap = dfg_mem;
	struct dfg_mem_limit copies; /* has no way to grow but to copy */
	dfg_mem_limit_init(&copies, heap, SIZE_MAX);
	for (int i = 0; i < 2; i++) {
		int *array = NULL;
		size_t capacity = 0, before = 0;
		dfg_mem = i ? &copies.base : heap;
		for (int n = 0; n < COUNT; n++) {
			assert_true(dfg_reserve(&array, &capacity, (size_t)n + 1, sizeof *array));
			for (; before < capacity; before++)
				assert_int_equal(array[before], 0);
			array[n] = n;
		}
		for (int n = 0; n < COUNT; n++)
			assert_int_equal(array[n], n);
		assert_false(dfg_reserve(&array, &capacity, SIZE_MAX / 4, sizeof *array));
		assert_int_equal(array[COUNT - 1], COUNT - 1);
		dfg_free(array);
		dfg_mem = heap;
	}
}

static void a_product_that_overflows_is_no_memory(void **state)
{
	(void)state;
	struct dfg_arena arena = {0};
	assert_null(dfg_zeros(SIZE_MAX / 2, 4));
	assert_null(dfg_arena_zeros(&arena, SIZE_MAX / 2, 4));
	dfg_arena_release(&arena);
}

static void count(void *owner)
{
	++*(int *)owner;
}

static void an_arena_releases_what_it_was_handed(void **state)
{
	(void)state;
	struct dfg_arena arena = {0};
	int one = 0, two = 0;
	assert_true(dfg_arena_defer(&arena, count, &one));
	assert_non_null(dfg_arena_zeros(&arena, 1 << 20, 1));
	dfg_arena_reset(&arena);
	assert_int_equal(one, 1);
	assert_true(dfg_arena_defer(&arena, count, &two));
	assert_true(dfg_arena_defer(&arena, count, &two));
	assert_int_equal(two, 0);
	dfg_arena_release(&arena);
	assert_int_equal(one, 1);
	assert_int_equal(two, 2);
	assert_int_equal(arena.total, 0);
}

static void a_chunk_of_an_arena_leaves_memory_beside_it_under_the_limit(void **state)
{
	(void)state;
	struct dfg_arena arena = {0};
	assert_non_null(dfg_arena_zeros(&arena, 4 << 20, 1));
	const size_t held = arena.total;
	arena.limit = held + (256 << 10);
	assert_non_null(dfg_arena_zeros(&arena, 100, 1));
	assert_true(arena.total <= held + (128 << 10));
	assert_non_null(dfg_arena_zeros(&arena, arena.limit - arena.total, 1));
	assert_int_equal(arena.total, arena.limit);
	dfg_arena_release(&arena);
}

static void an_arena_keeps_to_its_limit(void **state)
{
	(void)state;
	struct dfg_arena arena = {.limit = 1 << 20};
	int count = 0;
	while (dfg_arena_zeros(&arena, 1000, 1))
		count++;
	assert_in_range(count, 900, 1048);
	dfg_arena_release(&arena);
}

static void a_path_is_scope_and_name(void **state)
{
	(void)state;
	struct dfg_arena arena = {0}, small = {.limit = 16};
	assert_string_equal(dfg_arena_path(&arena, "h/dense", "MatMul"), "h/dense/MatMul");
	assert_string_equal(dfg_arena_path(&arena, "", "x"), "/x");
	assert_string_equal(dfg_arena_number(&arena, "h/dense", ':', 0), "h/dense:0");
	assert_string_equal(dfg_arena_number(&arena, "", '/', UINT64_MAX), "/18446744073709551615");
	assert_null(dfg_arena_path(&small, "a scope of some length", "MatMul"));
	assert_null(dfg_arena_number(&small, "a scope of some length", ':', 1));
	dfg_arena_release(&arena);
	dfg_arena_release(&small);
}

static void a_map_numbers_names_in_the_order_of_insertion(void **state)
{
	(void)state;
	enum { MANY = 10000 };
	static char name[MANY][16];
	struct dfg_map map = {0};
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t number;
		bool is_new;
		snprintf(name[i], sizeof name[i], "node/%u", i * 7919 % MANY);
		assert_true(dfg_map_put(&map, name[i], strlen(name[i]), &number, &is_new));
		assert_int_equal(number, i);
		assert_true(is_new);
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(dfg_map_find(&map, name[i], strlen(name[i])), i);
	assert_int_equal(dfg_map_find(&map, "node/x", 6), DFG_NONE);
	dfg_map_release(&map);
}

static const char *nearest(const char *word)
{
	static const char *const candidate[] = {"Tanh", "MatMul", "BiasAdd", "relu"};
	struct dfg_nearest nearest = {.word = word};
	for (size_t i = 0; i < 4; i++)
		dfg_nearest_offer(&nearest, candidate[i]);
	return nearest.best;
}

static void the_nearest_spelling_is_within_a_third(void **state)
{
	(void)state;
	assert_string_equal(nearest("Tahn"), "Tanh");
	assert_string_equal(nearest("MatMull"), "MatMul");
	assert_null(nearest("Conv"));
	assert_null(nearest("xyz"));
}

static void floats_are_written_as_short_as_reads_back(void **state)
{
	(void)state;
	struct dfg_text text = {0};
	dfg_text_f32(&text, 0.1f);
	dfg_text_put(&text, " ", 1);
	dfg_text_f64(&text, 0.1);
	dfg_text_put(&text, " ", 1);
	dfg_text_f32(&text, 16777217.0f / 3);
	dfg_text_put(&text, " ", 1);
	dfg_text_f64(&text, -INFINITY);
	dfg_text_put(&text, " ", 1);
	dfg_text_f32(&text, NAN);
	assert_string_equal(text.s, "0.1 0.1 5592405.5 -inf nan");
	dfg_text_release(&text);
	for (uint32_t bits = 1, i = 0; i < 20000; i++, bits = bits * 1664525 + 1013904223) {
		float value;
		memcpy(&value, &bits, sizeof value);
		if (!isfinite(value))
			continue;
		dfg_text_f32(&text, value);
		float back = strtof(text.s, NULL);
		assert_memory_equal(&back, &value, sizeof value);
		dfg_text_release(&text);
	}
}

static void what_could_drive_a_terminal_is_escaped(void **state)
{
	(void)state;
	struct dfg_text text = {0};
	dfg_text_escape(&text, "a\x1b[2J\"\\\n\xff\xc3\xa9\xe2\x82", 13, 100);
	assert_string_equal(text.s, "a\\x1b[2J\\\"\\\\\\n\\xff\xc3\xa9\\xe2\\x82");
	dfg_text_release(&text);
	dfg_text_escape(&text, "abcdef", 6, 3);
	assert_string_equal(text.s, "abc...");
	dfg_text_release(&text);
	text.length = 0;
	dfg_text_printable(&text, "a\n\t\r\x1b\"\\\0\xc2\x9b\xe2\x80\xae\xff\xc3\xa9\xe2\x80", 18, "\n\t");
	assert_string_equal(text.s, "a\n\t\\x0d\\x1b\"\\\\x00\\xc2\\x9b\\xe2\\x80\\xae\\xff\xc3\xa9\\xe2\\x80");
	text.length = 0;
	dfg_text_printable(&text, "a\nb", 3, "");
	assert_string_equal(text.s, "a\\x0ab");
	dfg_text_release(&text);
}

static void tells_signs_from_bytes_that_are_none(void **state)
{
	(void)state;
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000}, most[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
	static const char *const none[] = {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xc3\x28"};
	char sign[4];
	uint32_t code;
	for (size_t length = 1; length <= 4; length++)
		for (int last = 0; last < 2; last++) {
			uint32_t wanted = last ? most[length - 1] : least[length - 1];
			assert_int_equal(dfg_utf8_put(wanted, sign), length);
			assert_int_equal(dfg_utf8_get(sign, length, &code), length);
			assert_int_equal(code, wanted);
			assert_false(length > 1 && dfg_utf8_get(sign, length - 1, &code));
		}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(dfg_utf8_is(none[i], strlen(none[i])));
	assert_true(dfg_utf8_is("a\xc3\xa9\xf0\x9f\x99\x82", 7));
	assert_false(dfg_utf8_is_shown(0x9b));
	assert_true(dfg_utf8_is_shown(0xe9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_refuses_what_would_pass_it_and_takes_back),
		cmocka_unit_test(a_failing_allocator_fails_once_or_for_ever),
		cmocka_unit_test(an_array_grows_keeps_what_it_held_and_is_zero_behind_that),
		cmocka_unit_test(a_product_that_overflows_is_no_memory),
		cmocka_unit_test(an_arena_releases_what_it_was_handed),
		cmocka_unit_test(a_chunk_of_an_arena_leaves_memory_beside_it_under_the_limit),
		cmocka_unit_test(an_arena_keeps_to_its_limit),
		cmocka_unit_test(a_path_is_scope_and_name),
		cmocka_unit_test(a_map_numbers_names_in_the_order_of_insertion),
		cmocka_unit_test(the_nearest_spelling_is_within_a_third),
		cmocka_unit_test(floats_are_written_as_short_as_reads_back),
		cmocka_unit_test(what_could_drive_a_terminal_is_escaped),
		cmocka_unit_test(tells_signs_from_bytes_that_are_none),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
