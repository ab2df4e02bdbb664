#include "formats/npy.h"

#include "formats/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDED "tests/arrays/"

static struct dfg_arrays arrays;

static const struct dfg_tensor *read_only(const char *path)
{
	dfg_arrays_release(&arrays);
	struct dfg_err *err = dfg_arrays_read(path, &arrays);
	if (err)
		fail_msg("%s", err->text);
	assert_int_equal(arrays.count, 1);
	return &arrays.array[0].tensor;
}

static void expect_type(const struct dfg_tensor *tensor, const char *words)
{
	assert_string_equal(dfg_type_words(tensor->dtype, &tensor->shape).s, words);
}

static void reads_every_dtype_that_numpy_writes(void **state)
{
	(void)state;
	static const struct {
		const char *file, *type;
	} files[] = {
		{"f2", "f16[2]"},
		{"f4", "f32[2]"},
		{"f8", "f64[2]"},
		{"i1", "i8[2]"},
		{"i2", "i16[2]"},
		{"i4", "i32[2]"},
		{"i8", "i64[2]"},
		{"u1", "u8[2]"},
		{"u2", "u16[2]"},
		{"u4", "u32[2]"},
		{"u8", "u64[2]"},
		{"b1", "bool[2]"},
		{"c8", "c64[2]"},
		{"c16", "c128[2]"},
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[64];
		snprintf(path, sizeof path, RECORDED "dtype-%s.npy", files[i].file);
		const struct dfg_tensor *tensor = read_only(path);
		expect_type(tensor, files[i].type);
		if (tensor->dtype == DFG_C64)
			assert_true(((float *)tensor->data)[2] == 1 && ((float *)tensor->data)[0] == 0);
		else if (tensor->dtype == DFG_C128)
			assert_true(((double *)tensor->data)[2] == 1 && ((double *)tensor->data)[0] == 0);
		else
			assert_true(dfg_tensor_float(tensor, 0) == 0 && dfg_tensor_float(tensor, 1) == 1);
	}
	dfg_arrays_release(&arrays);
}

static void turns_fortran_order_and_big_endian(void **state)
{
	(void)state;
	const struct dfg_tensor *tensor = read_only(RECORDED "fortran-big-endian.npy");
	expect_type(tensor, "i32[2,3]");
	for (int i = 0; i < 6; i++)
		assert_int_equal(((int32_t *)tensor->data)[i], i);
	tensor = read_only(RECORDED "cube-fortran.npy");
	expect_type(tensor, "i16[2,3,4]");
	for (int i = 0; i < 24; i++)
		assert_int_equal(((int16_t *)tensor->data)[i], i);
	tensor = read_only(RECORDED "complex-big-endian.npy");
	static const float parts[] = {1, 2, 3, -4};
	assert_memory_equal(tensor->data, parts, sizeof parts);
	dfg_arrays_release(&arrays);
}

static void reads_strings_scalars_empty_and_two_byte_void(void **state)
{
	(void)state;
	const struct dfg_tensor *tensor = read_only(RECORDED "strings.npy");
	expect_type(tensor, "string[2,2]");
	const struct dfg_string *element = tensor->data;
	assert_int_equal(element[0].length, 1);
	assert_memory_equal(element[1].s, "bcd", 3);
	assert_int_equal(element[2].length, 0);
	assert_int_equal(element[3].length, 3);
	assert_memory_equal(element[3].s, "x\0y", 3);
	tensor = read_only(RECORDED "scalar.npy");
	expect_type(tensor, "f64[]");
	assert_true(*(double *)tensor->data == 0.1);
	expect_type(read_only(RECORDED "empty.npy"), "f32[0,3]");
	tensor = read_only(RECORDED "raw-two-bytes.npy");
	expect_type(tensor, "bf16[2]");
	assert_true(dfg_tensor_float(tensor, 0) == 1 && dfg_tensor_float(tensor, 1) == 2);
	dfg_arrays_release(&arrays);
}

static void expect_refused(const char *path, const char *words)
{
	struct dfg_err *err = dfg_arrays_read(path, &arrays);
	if (!err)
		fail_msg("accepted: %s", path);
	if (!strstr(err->text, words))
		fail_msg("%s", err->text);
	assert_int_equal(err->code, DFG_DATA);
	dfg_err_free(err);
	assert_int_equal(arrays.count, 0);
}

static void refuses_what_is_no_plain_array(void **state)
{
	(void)state;
	expect_refused(RECORDED "object.npy", "object.npy: holds Python objects (a pickle)");
	expect_refused(RECORDED "structured.npy", "structured dtypes are not supported");
	expect_refused(RECORDED "unicode.npy", "save strings as bytes");
}

/* Header text, bytes after it, words of the refusal. */
static const struct {
	const char *header;
	size_t data;
	const char *words;
} bad[] = {
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, "truncated"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, "is followed by 1 more bytes"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8, ""},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4), }", 0, ""},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", 8, "shape is not a tuple"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 8, "shape is not a tuple"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }", 16, "shape is not a tuple"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': [2], }", 8, "shape is not a tuple"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, "more than 8 dimensions"},
	{"{'descr': '<f4', 'fortran_order': False}", 4, "is missing"},
	{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, "'descr' is unknown or repeated"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", 4, "'x' is unknown"},
	{"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4, "neither True nor False"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': ()} + 1", 4, "after the dictionary"},
	{"__import__('os')", 4, "is not a Python dictionary"},
	{"{'descr': '<f3', 'fortran_order': False, 'shape': ()}", 3, "'f3' is not supported"},
	{"{'descr': '<f16', 'fortran_order': False, 'shape': ()}", 16, "'f16' is not supported"},
	{"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': ()}", 8, "is not supported"},
	{"{'descr': '|S0', 'fortran_order': False, 'shape': (1099511627776,)}", 0, ""},
	{"{'descr': '|S0', 'fortran_order': False, 'shape': (2,)}", 0, "strings have width 0"},
	{"{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 2, "not a bool"},
	{"{'descr': '|b1', 'fortran_order': True, 'shape': (1, 2)}", 2, "not a bool"},
	{"", 4, "is not a Python dictionary"},
};

static uint8_t *make_npy(const char *header, size_t data, size_t *out_size)
{
	size_t length = strlen(header);
	uint8_t *bytes = malloc(10 + length + data + 1);
	memcpy(bytes, "\x93NUMPY\1\0", 8);
	dfg_put_le(bytes + 8, length, 2);
	memcpy(bytes + 10, header, length);
	memset(bytes + 10 + length, 7, data);
	*out_size = 10 + length + data;
	return bytes;
}

static void refuses_headers_that_lie(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		size_t size;
		struct dfg_tensor tensor;
		uint8_t *bytes = make_npy(bad[i].header, bad[i].data, &size);
		struct dfg_err *err = dfg_npy_tensor(bytes, size, NULL, &tensor);
		if (!err)
			fail_msg("accepted: %s", bad[i].header);
		if (!strstr(err->text, bad[i].words))
			fail_msg("%s: %s", bad[i].header, err->text);
		dfg_err_free(err);
		assert_null(tensor.buffer);
		free(bytes);
	}
}

static void refuses_other_versions_and_long_headers(void **state)
{
	(void)state;
	struct dfg_tensor tensor;
	uint8_t bytes[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 4, 0, 0x11, 0x27, 0, 0};
	struct dfg_err *err = dfg_npy_tensor(bytes, sizeof bytes, NULL, &tensor);
	assert_string_equal(err->text, "npy version 4.0 is not supported; 1.0, 2.0 and 3.0 are");
	dfg_err_free(err);
	bytes[6] = 2;
	err = dfg_npy_tensor(bytes, sizeof bytes, NULL, &tensor);
	assert_string_equal(err->text, "the npy header has 10001 bytes, the limit is 10000");
	dfg_err_free(err);
}

static void reads_no_byte_behind_a_cut(void **state)
{
	(void)state;
	size_t size;
	uint8_t *bytes = make_npy("{'descr': '>i4', 'fortran_order': True, 'shape': (2, 2), }", 16, &size);
	for (size_t n = 0; n < size; n++) {
		struct dfg_tensor tensor;
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, bytes, n);
		struct dfg_err *err = dfg_npy_tensor(exact, n, NULL, &tensor);
		assert_non_null(err);
		assert_int_equal(err->code, DFG_DATA);
		dfg_err_free(err);
		free(exact);
	}
	free(bytes);
}

static bool same_file(const char *a, const char *b)
{
	struct dfg_blob one, two;
	assert_null(dfg_blob_open(a, 0, &one));
	assert_null(dfg_blob_open(b, 0, &two));
	bool same = one.size == two.size && !memcmp(one.bytes, two.bytes, one.size);
	dfg_blob_close(&one);
	dfg_blob_close(&two);
	return same;
}

static void writes_the_bytes_that_numpy_writes(void **state)
{
	(void)state;
	static const char *const files[] = {"c-order", "dtype-f2", "dtype-f4", "dtype-f8", "dtype-i1", "dtype-i2",
		"dtype-i4", "dtype-i8", "dtype-u1", "dtype-u2", "dtype-u4", "dtype-u8", "dtype-b1", "dtype-c8", "dtype-c16",
		"strings", "scalar", "empty", "raw-two-bytes"};
	char dir[] = "/tmp/dfg-npy-XXXXXX", path[64], to[64];
	assert_non_null(mkdtemp(dir));
	snprintf(to, sizeof to, "%s/a.npy", dir);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, RECORDED "%s.npy", files[i]);
		read_only(path);
		assert_null(dfg_arrays_write(to, NULL, false, &arrays));
		if (!same_file(path, to))
			fail_msg("%s: other bytes", path);
	}
	dfg_arrays_release(&arrays);
	unlink(to);
	rmdir(dir);
}

static struct dfg_err *put_nowhere(void *arg, const void *bytes, size_t count)
{
	(void)arg, (void)bytes, (void)count;
	return NULL;
}

static void refuses_to_write_what_would_be_lost(void **state)
{
	(void)state;
	struct dfg_sink sink = {put_nowhere, NULL};
	struct dfg_string zero = {"a\0", 2};
	struct dfg_tensor tensor = {
		.dtype = DFG_STRING, .shape = DFG_SHAPE_VECTOR(1), .data = &zero, .capacity = sizeof zero};
	struct dfg_err *err = dfg_npy_put(&tensor, &sink);
	assert_string_equal(err->text, "string 0 ends in a zero byte, which npy cannot represent");
	dfg_err_free(err);
	tensor.dtype = DFG_QI8;
	err = dfg_npy_put(&tensor, &sink);
	assert_string_equal(err->text, "npy has no dtype for qi8");
	dfg_err_free(err);
}

static void says_how_many_bytes_a_stream_still_needs(void **state)
{
	(void)state;
	struct dfg_npy_header header;
	size_t size, whole;
	uint8_t *bytes = make_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", 8, &size);
	assert_null(dfg_npy_header(bytes, 0, &whole, &header));
	assert_true(whole > 0 && whole <= size);
	assert_null(dfg_npy_header(bytes, whole, &whole, &header));
	assert_int_equal(whole, size - 8);
	assert_null(dfg_npy_header(bytes, whole, &whole, &header));
	assert_int_equal(whole, size);
	assert_int_equal(header.offset, size - 8);
	free(bytes);
}

/* Rows without elements can be as many as the file says. */
static void refuses_to_join_more_rows_than_fit(void **state)
{
	(void)state;
	struct dfg_tensor part[2], all;
	const struct dfg_shape shape = {.rank = 2, .dim = {INT64_MAX, 0}};
	for (int i = 0; i < 2; i++)
		assert_null(dfg_tensor_new(DFG_I8, &shape, &part[i]));
	struct dfg_err *err = dfg_tensor_concatenate(part, 2, &all);
	assert_non_null(err);
	assert_int_equal(err->code, DFG_DATA);
	dfg_err_free(err);
	for (int i = 0; i < 2; i++)
		dfg_tensor_release(&part[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_dtype_that_numpy_writes),
		cmocka_unit_test(turns_fortran_order_and_big_endian),
		cmocka_unit_test(reads_strings_scalars_empty_and_two_byte_void),
		cmocka_unit_test(refuses_what_is_no_plain_array),
		cmocka_unit_test(refuses_headers_that_lie),
		cmocka_unit_test(refuses_other_versions_and_long_headers),
		cmocka_unit_test(reads_no_byte_behind_a_cut),
		cmocka_unit_test(writes_the_bytes_that_numpy_writes),
		cmocka_unit_test(refuses_to_write_what_would_be_lost),
		cmocka_unit_test(says_how_many_bytes_a_stream_still_needs),
		cmocka_unit_test(refuses_to_join_more_rows_than_fit),
	};
	return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
