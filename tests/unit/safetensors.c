#include "tests/unit/arrays.h"

#include "formats/bytes.h"

/* A file of that header and `data` bytes of elements. */
static struct dfg_err *read_made(const char *header, uint64_t length, size_t data)
{
	uint8_t bytes[2048] = {0};
	size_t text = strlen(header);
	dfg_put_le(bytes, length == SIZE_MAX ? text : length, 8);
	memcpy(bytes + 8, header, text);
	return read_bytes("a.safetensors", bytes, 8 + text + data);
}

static void reads_what_others_write(void **state)
{
	(void)state;
	expect_read(
		read_made("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":"
				  "[2,10]},\"a\":{\"data_offsets\":[0,2],\"dtype\":\"BF16\",\"shape\":[]},"
				  "\"none\":{\"dtype\":\"I64\",\"shape\":[0,4],\"data_offsets\":[2,2]}}   ",
			SIZE_MAX, 10));
	assert_int_equal(arrays.count, 3);
	assert_string_equal(arrays.array[0].name, "b");
	expect_type(0, "f32[2]");
	expect_type(1, "bf16[]");
	expect_type(2, "i64[0,4]");
	expect_read(read_made("{}", SIZE_MAX, 0));
	assert_int_equal(arrays.count, 0);
}

#define ENTRY(dtype, shape, offsets) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void refuses_headers_that_lie(void **state)
{
	(void)state;
	static const struct {
		const char *header;
		size_t data;
		const char *words;
	} bad[] = {
		{"{\"a\":" ENTRY("F32", "[2]", "[0,8]") "}", 9, "the file has 9 bytes of elements, but the header declares 8"},
		{"{\"a\":" ENTRY("F32", "[2]", "[0,8]") "}", 7, "a: ends 1 bytes after"},
		{"{\"a\":" ENTRY("F32", "[2]", "[0,4]") "}", 8, "do not span the 8 bytes that f32[2] requires"},
		{"{\"a\":" ENTRY("F32", "[2]", "[8,0]") "}", 8, "do not span the 8 bytes"},
		{"{\"a\":" ENTRY("F32", "[2]", "[1,9]") "}", 9, "a hole at byte 0"},
		{"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[2]", "[3,5]") "}", 5, "a hole at byte 2"},
		{"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[2]", "[1,3]") "}", 3, "overlap at byte 2"},
		{"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[2]", "[0,2]") "}", 2, "overlap at byte 2"},
		{"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[0]", "[1,1]") "}", 2, "overlap at byte 2"},
		{"{\"a\":" ENTRY("U8", "[1]", "[0,1]") ",\"a\":" ENTRY("U8", "[1]", "[0,1]") "}", 1, "duplicate key"},
		{"{\"a\":" ENTRY("F31", "[2]", "[0,8]") "}", 8, "a: dtype 'F31' is unknown"},
		{"{\"a\":" ENTRY("F32", "[-2]", "[0,8]") "}", 8, "shape must contain integers of at least 0"},
		{"{\"a\":" ENTRY("F32", "[2.0]", "[0,8]") "}", 8, "shape must contain integers of at least 0"},
		{"{\"a\":" ENTRY("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "shape has 9 numbers, the limit is 8"},
		{"{\"a\":" ENTRY("F32", "[2]", "[0,8,9]") "}", 8, "data_offsets has 3 numbers"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "a: no \"data_offsets\""},
		{"{\"a\":[]}", 0, "a: is an array, not an object"},
		{"{\"a\":" ENTRY("BOOL", "[1]", "[0,1]") "}", 0, "after the end"},
		{"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: \"a\" is a number, not a string"},
		{"{\"__metadata__\":7}", 0, "__metadata__: is a number, not an object"},
		{"{\"a\\u001b[2J\":" ENTRY("U8", "[1]", "[0,1]") "}", 1, "control character in its name"},
		{"{\"a\":", 0, "header: line 1"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_refused(read_made(bad[i].header, SIZE_MAX, bad[i].data), bad[i].words);
}

static void checks_sizes_that_overflow(void **state)
{
	(void)state;
	static const char *const dims[] = {
		"4294967296,4294967296",
		"0,4611686018427387904,4",
		"9223372036854775807",
	};
	for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
		char header[200], words[100];
		snprintf(header, sizeof header, "{\"a\":" ENTRY("F32", "[%s]", "[0,0]") "}", dims[i]);
		snprintf(words, sizeof words, "a: f32[%s] is larger than any memory", dims[i]);
		expect_refused(read_made(header, SIZE_MAX, 0), words);
	}
}

static void bounds_the_header(void **state)
{
	(void)state;
	expect_refused(read_made("{}", 3, 0), "the header should have 3 bytes, but the whole file has 10");
	uint8_t *bytes = calloc(1, 100000001 + 8);
	dfg_put_le(bytes, 100000001, 8);
	bytes[8] = '{';
	expect_refused(read_bytes("a.safetensors", bytes, 100000001 + 8), "the limit is 100000000");
	free(bytes);
}

static void refuses_every_cut(void **state)
{
	(void)state;
	size_t size;
	static const float values[] = {1, 2, 3};
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, DFG_SHAPE_VECTOR(3), values);
	uint8_t *bytes = written("a.safetensors", &size);
	for (size_t n = 0; n < size; n++)
		expect_refused(read_bytes("a.safetensors", bytes, n), "a.safetensors: ");
	free(bytes);
}

static void writes_names_sorted_and_elements_aligned(void **state)
{
	(void)state;
	static const uint8_t bytes3[] = {1, 2, 3};
	static const double number = 0.5;
	static const float two[] = {1, 2};
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("z", DFG_F32, DFG_SHAPE_VECTOR(2), two);
	add_array("a", DFG_U8, DFG_SHAPE_VECTOR(3), bytes3);
	add_array("m", DFG_F64, DFG_SHAPE_SCALAR, &number);
	uint8_t *bytes = written("a.safetensors", &size);
	size_t header = dfg_le64(bytes);
	assert_int_equal((header + 8) % 64, 0);
	assert_int_equal(size, 8 + header + 8 + 8 + 3);
	static const char text[] =
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]},"
		"\"m\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
		"\"z\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}";
	assert_memory_equal(bytes + 8, text, sizeof text - 1);
	expect_read(read_bytes("a.safetensors", bytes, size));
	assert_string_equal(arrays.array[0].name, "a");
	assert_memory_equal(arrays.array[0].tensor.data, bytes3, 3);
	assert_true(*(double *)arrays.array[1].tensor.data == 0.5);
	assert_memory_equal(arrays.array[2].tensor.data, two, sizeof two);
	free(bytes);
}

static void refuses_to_write_what_it_has_no_name_for(void **state)
{
	(void)state;
	static const double zeros[2];
	char path[64];
	snprintf(path, sizeof path, "%s/a.safetensors", test_dir);
	dfg_arrays_release(&arrays);
	add_array("c", DFG_C128, DFG_SHAPE_SCALAR, zeros);
	struct dfg_err *err = dfg_arrays_write(path, NULL, false, &arrays);
	assert_non_null(strstr(err->text, "a.safetensors: c: safetensors has no dtype for c128"));
	dfg_err_free(err);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_others_write),
		cmocka_unit_test(refuses_headers_that_lie),
		cmocka_unit_test(checks_sizes_that_overflow),
		cmocka_unit_test(bounds_the_header),
		cmocka_unit_test(refuses_every_cut),
		cmocka_unit_test(writes_names_sorted_and_elements_aligned),
		cmocka_unit_test(refuses_to_write_what_it_has_no_name_for),
	};
	return cmocka_run_group_tests_name("safetensors", tests, make_dir, remove_dir);
}
