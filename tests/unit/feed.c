#include "app/feed.h"

#include "app/tensor_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

/* The value as --feed reads it for a tensor of that dtype, printed again; or the error. */
static void expect(const char *value, enum dfg_dtype dtype, const char *printed)
{
	struct dfg_inferred fact = {.dtype = dtype, .shape = DFG_SHAPE_UNKNOWN};
	struct dfg_tensor tensor;
	struct dfg_text text = {0};
	struct dfg_err *err = dfg_feed_value(value, &fact, &tensor);
	if (err) {
		assert_int_equal(err->code, DFG_DATA);
		dfg_text_add(&text, "%s", err->text);
		dfg_err_free(err);
	} else {
		dfg_tensor_text(&text, "x", &tensor, 0);
		dfg_tensor_release(&tensor);
	}
	if (strcmp(text.s, printed))
		fail_msg("%s for %s: got \"%s\", not \"%s\"", value, dfg_dtype_name(dtype), text.s, printed);
	dfg_text_release(&text);
}

static void takes_scalars_in_the_dtype_of_the_tensor(void **state)
{
	(void)state;
	expect("3.5", DFG_F32, "x: f32[] 3.5\n");
	expect("0.1", DFG_F16, "x: f16[] 0.1\n");
	expect("0.1", DFG_BF16, "x: bf16[] 0.1\n");
	expect("1e-45", DFG_F32, "x: f32[] 1e-45\n");
	expect("nan", DFG_F64, "x: f64[] nan\n");
	expect("-inf", DFG_F32, "x: f32[] -inf\n");
	expect("-7", DFG_I8, "x: i8[] -7\n");
	expect("18446744073709551615", DFG_U64, "x: u64[] 18446744073709551615\n");
	expect("true", DFG_BOOL, "x: bool[] true\n");
	expect("hello", DFG_STRING, "x: string[] \"hello\"\n");
	expect("f32[1]:2", DFG_STRING, "x: string[] \"f32[1]:2\"\n");
	expect("", DFG_STRING, "x: string[] \"\"\n");
}

static void refuses_what_the_dtype_cannot_hold(void **state)
{
	(void)state;
	expect("300", DFG_U8, "u8 cannot hold '300'");
	expect("-1", DFG_U8, "u8 cannot hold '-1'");
	expect("128", DFG_I8, "i8 cannot hold '128'");
	expect("9223372036854775808", DFG_I64, "i64 cannot hold '9223372036854775808'");
	expect("3.5", DFG_I32, "i32 cannot hold '3.5'");
	expect("1e39", DFG_F32, "f32 cannot hold '1e39'");
	expect("70000", DFG_F16, "f16 cannot hold '70000'");
	expect("0x10", DFG_F32, "f32 cannot hold '0x10'");
	expect("true", DFG_F32, "f32 cannot hold 'true'");
	expect("yes", DFG_BOOL, "bool cannot hold 'yes'");
	expect("", DFG_F32, "f32 cannot hold ''");
	expect("hello", DFG_I32, "i32 cannot hold 'hello'");
}

static void takes_elements_with_their_type(void **state)
{
	(void)state;
	expect("f32[2,3]:1,2,3,4,5,6", DFG_F32, "x: f32[2,3]\n1 2 3\n4 5 6\n");
	expect("i64[2]:-1, 7", DFG_F32, "x: i64[2]\n-1 7\n");
	expect("f64[]:0.5", DFG_F64, "x: f64[] 0.5\n");
	expect("f32[0]:", DFG_F32, "x: f32[0]\n");
	expect("string[2]:a,b c", DFG_STRING, "x: string[2]\n\"a\" \"b c\"\n");
	expect("bool[2]:true,false", DFG_BOOL, "x: bool[2]\ntrue false\n");
	expect("f32[2]:1", DFG_F32, "f32[2] has 2 elements, but 1 are given");
	expect("f32[2]:1,2,3", DFG_F32, "f32[2] has 2 elements, but 3 are given");
	expect("f32[2]:1,", DFG_F32, "f32 cannot hold ''");
	expect("i32[2]:1,2.5", DFG_I32, "i32 cannot hold '2.5'");
	expect("f32[2,x]:1", DFG_F32,
		"f32 cannot hold 'f32[2,x]:1': a list requires its type and shape before it, as in f32[2]:...");
}

static void prints_halves_short_and_without_needless_exponents(void **state)
{
	(void)state;
	expect("f16[4]:100,1000,0.1,65504", DFG_F16, "x: f16[4]\n100 1000 0.1 65504\n");
	expect("bf16[3]:-20,1e20,0.00001", DFG_BF16, "x: bf16[3]\n-20 1e+20 1e-05\n");
}

static void makes_whole_tensors(void **state)
{
	(void)state;
	expect("zeros:i32[2,2]", DFG_I32, "x: i32[2,2]\n0 0\n0 0\n");
	expect("ones:f16[2]", DFG_F16, "x: f16[2]\n1 1\n");
	expect("ones:i64[3]", DFG_I64, "x: i64[3]\n1 1 1\n");
	expect("zeros:c64[2]", DFG_C64, "x: c64[2]\n0+0j 0+0j\n");
	expect("zeros:string[1]", DFG_STRING, "x: string[1]\n\"\"\n");
	expect("normal:i32[2]", DFG_I32, "random values are floats, but the type is i32");
	expect("normal:f32[2]:sead=1", DFG_F32, "'sead=1' is not seed=N");
	expect("zeros:f32", DFG_F32, "'f32' is not a type and shape such as f32[2,3]");
}

static void random_values_are_the_seed_s_alone_and_normal(void **state)
{
	(void)state;
	struct dfg_inferred fact = {.dtype = DFG_F64, .shape = DFG_SHAPE_UNKNOWN};
	struct dfg_tensor a, b, c;
	assert_null(dfg_feed_value("normal:f64[10000]:seed=1", &fact, &a));
	assert_null(dfg_feed_value("normal:f64[10000]:seed=1", &fact, &b));
	assert_null(dfg_feed_value("normal:f64[10000]:seed=2", &fact, &c));
	assert_memory_equal(a.data, b.data, dfg_tensor_bytes(&a));
	assert_memory_not_equal(a.data, c.data, dfg_tensor_bytes(&a));
	double sum = 0, squares = 0;
	for (int i = 0; i < 10000; i++) {
		double value = ((double *)a.data)[i];
		sum += value;
		squares += value * value;
	}
	assert_true(sum / 10000 > -0.05 && sum / 10000 < 0.05);
	assert_true(squares / 10000 > 0.95 && squares / 10000 < 1.05);
	dfg_tensor_release(&a);
	dfg_tensor_release(&b);
	dfg_tensor_release(&c);
}

static void expect_json(const char *value, enum dfg_dtype dtype, const char *json)
{
	struct dfg_inferred fact = {.dtype = dtype, .shape = DFG_SHAPE_UNKNOWN};
	struct dfg_tensor tensor;
	struct dfg_json_out out = {0};
	assert_null(dfg_feed_value(value, &fact, &tensor));
	dfg_json_tensor(&out, &tensor);
	assert_string_equal(out.text.s, json);
	dfg_text_release(&out.text);
	dfg_tensor_release(&tensor);
}

static void prints_json_nested_by_the_shape(void **state)
{
	(void)state;
	expect_json("f32[2,3]:1,2,3,4,5,0.1", DFG_F32, "{\"dtype\":\"f32\",\"shape\":[2,3],\"value\":[[1,2,3],[4,5,0.1]]}");
	expect_json("f32[1,2,1]:nan,-inf", DFG_F32,
		"{\"dtype\":\"f32\",\"shape\":[1,2,1],\"value\":[[[\"NaN\"],[\"-Infinity\"]]]}");
	expect_json("7", DFG_I32, "{\"dtype\":\"i32\",\"shape\":[],\"value\":7}");
	expect_json("0.1", DFG_BF16, "{\"dtype\":\"bf16\",\"shape\":[],\"value\":0.1}");
	expect_json("zeros:f32[2,0,3]", DFG_F32, "{\"dtype\":\"f32\",\"shape\":[2,0,3],\"value\":[[],[]]}");
	expect_json("zeros:f32[0,2]", DFG_F32, "{\"dtype\":\"f32\",\"shape\":[0,2],\"value\":[]}");
	expect_json("true", DFG_BOOL, "{\"dtype\":\"bool\",\"shape\":[],\"value\":true}");
	expect_json("a\"b", DFG_STRING, "{\"dtype\":\"string\",\"shape\":[],\"value\":\"a\\\"b\"}");
}

static void abbreviates_only_when_asked(void **state)
{
	(void)state;
	struct dfg_text text = {0};
	int32_t numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct dfg_tensor tensor = {.dtype = DFG_I32, .shape = {2, {2, 6}}, .data = numbers};
	dfg_tensor_text(&text, "x", &tensor, 4);
	assert_string_equal(text.s, "x: i32[2,6]\n0 1 ... 4 5\n6 7 ... 10 11\n");
	text.length = 0;
	tensor.shape = (struct dfg_shape){2, {6, 2}};
	dfg_tensor_text(&text, "x", &tensor, 3);
	assert_string_equal(text.s, "x: i32[6,2]\n0 1\n2 3\n...\n10 11\n");
	dfg_text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_scalars_in_the_dtype_of_the_tensor),
		cmocka_unit_test(refuses_what_the_dtype_cannot_hold),
		cmocka_unit_test(takes_elements_with_their_type),
		cmocka_unit_test(prints_halves_short_and_without_needless_exponents),
		cmocka_unit_test(makes_whole_tensors),
		cmocka_unit_test(random_values_are_the_seed_s_alone_and_normal),
		cmocka_unit_test(prints_json_nested_by_the_shape),
		cmocka_unit_test(abbreviates_only_when_asked),
	};
	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
