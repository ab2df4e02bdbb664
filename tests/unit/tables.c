#include "tests/unit/arrays.h"

/* 2 pictures of 2 by 3 bytes. */
static const uint8_t idx[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/* The same, by gzip -n. */
static const uint8_t idx_gz[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63, 0x60, 0xe0, 0x60,
	0x66, 0x60, 0x60, 0x60, 0x82, 0x62, 0x66, 0x46, 0x26, 0x66, 0x16, 0x56, 0x36, 0x76, 0x0e, 0x4e, 0x2e, 0x6e, 0x1e,
	0x00, 0x48, 0x11, 0x0c, 0x84, 0x1c, 0x00, 0x00, 0x00};

static void reads_idx_plain_and_compressed(void **state)
{
	(void)state;
	expect_read(read_bytes("train-images", idx, sizeof idx));
	expect_type(0, "u8[2,2,3]");
	assert_memory_equal(arrays.array[0].tensor.data, idx + 16, 12);
	expect_read(read_bytes("train-images.gz", idx_gz, sizeof idx_gz));
	expect_type(0, "u8[2,2,3]");
	assert_memory_equal(arrays.array[0].tensor.data, idx + 16, 12);
}

static void refuses_idx_and_gzip_that_are_cut_or_too_long(void **state)
{
	(void)state;
	uint8_t longer[sizeof idx + 1] = {0};
	memcpy(longer, idx, sizeof idx);
	expect_refused(read_bytes("a.idx", longer, sizeof longer), "u8[2,2,3] has 12 bytes of elements, the file 13");
	for (size_t n = 0; n < sizeof idx; n++)
		expect_refused(read_bytes("a.idx", idx, n), "a.idx: ");
	for (size_t n = 0; n < sizeof idx_gz; n++)
		expect_refused(read_bytes("a.gz", idx_gz, n), "a.gz: ");
	longer[3] = 9;
	expect_refused(read_bytes("a.idx", longer, sizeof longer), "9 dimensions, more than 8");
	longer[3] = 8;
	expect_refused(read_bytes("a.idx", longer, sizeof longer), "the header is cut off");
}

static void refuses_dims_of_idx_that_overflow(void **state)
{
	(void)state;
	uint8_t bytes[4 + 32] = {0, 0, 0x0e, 8};
	memset(bytes + 4, 0xff, 32);
	struct dfg_err *err = read_bytes("a.idx", bytes, sizeof bytes);
	assert_non_null(err);
	dfg_err_free(err);
}

static void writes_idx_that_it_reads(void **state)
{
	(void)state;
	static const float values[] = {1, -2.5f, 3e10f, 0};
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, (struct dfg_shape){2, {2, 2}}, values);
	uint8_t *bytes = written("a.idx", &size);
	assert_int_equal(size, 4 + 8 + 16);
	assert_int_equal(bytes[12], 0x3f);
	expect_read(read_bytes("a.idx", bytes, size));
	expect_type(0, "f32[2,2]");
	assert_memory_equal(arrays.array[0].tensor.data, values, sizeof values);
	free(bytes);
}

static struct dfg_err *read_csv(const char *text)
{
	return read_bytes("a.csv", text, strlen(text));
}

static void reads_csv_as_a_matrix_of_numbers(void **state)
{
	(void)state;
	expect_read(read_csv("1,2,3\n4,5,6\n"));
	expect_type(0, "i64[2,3]");
	assert_int_equal(((int64_t *)arrays.array[0].tensor.data)[5], 6);
	expect_read(read_csv("\xef\xbb\xbfx,y\r\n1,2\r\n3.5,-4e2\r\n\r\n"));
	expect_type(0, "f64[2,2]");
	assert_true(((double *)arrays.array[0].tensor.data)[3] == -400);
	expect_read(read_csv("7\n8\n9"));
	expect_type(0, "i64[3]");
	expect_read(read_csv(" 1 ,\"2\"\nnan,-inf\n"));
	expect_type(0, "f64[2,2]");
	expect_read(read_csv("9223372036854775808,1\n"));
	expect_type(0, "f64[1,2]");
	expect_read(read_csv("x,y\n"));
	expect_type(0, "i64[0,2]");
}

static void takes_a_column_of_csv_by_name_or_number(void **state)
{
	(void)state;
	static const char text[] = "size,\"kind\"\n1.5,cat\n2,\"a \"\"big\"\", dog\"\n";
	struct dfg_tensor tensor;
	char spec[96];
	write_file("a.csv", text, sizeof text - 1);
	snprintf(spec, sizeof spec, "%s[kind]", test_path);
	expect_read(dfg_array_read_one(spec, &tensor));
	const struct dfg_string *kind = tensor.data;
	assert_int_equal(tensor.dtype, DFG_STRING);
	assert_int_equal(kind[1].length, 12);
	assert_memory_equal(kind[1].s, "a \"big\", dog", 12);
	dfg_tensor_release(&tensor);
	snprintf(spec, sizeof spec, "%s[0]", test_path);
	expect_read(dfg_array_read_one(spec, &tensor));
	assert_int_equal(tensor.dtype, DFG_F64);
	assert_int_equal(tensor.shape.rank, 1);
	dfg_tensor_release(&tensor);
	dfg_arrays_release(&arrays);
	snprintf(spec, sizeof spec, "%s[2]", test_path);
	expect_refused(dfg_array_read_one(spec, &tensor), "no column '2' among 2");
	unlink(test_path);
}

/* Text that looks like a number, a name or nothing comes back as text. */
static void writes_strings_to_csv_that_it_reads(void **state)
{
	(void)state;
	static const char *const words[] = {"a", "1", "", "b,c", "say \"no\"", "two\nlines"};
	struct dfg_tensor tensor;
	size_t size;
	dfg_arrays_release(&arrays);
	assert_null(dfg_tensor_new(DFG_STRING, &(struct dfg_shape){2, {3, 2}}, &tensor));
	for (size_t i = 0; i < 6; i++)
		assert_null(dfg_buffer_string(tensor.buffer, words[i], strlen(words[i]), (struct dfg_string *)tensor.data + i));
	assert_null(dfg_arrays_add(&arrays, "w", &tensor));
	uint8_t *bytes = written("a.csv", &size);
	expect_read(read_bytes("a.csv", bytes, size));
	expect_type(0, "string[3,2]");
	const struct dfg_string *read = arrays.array[0].tensor.data;
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(read[i].length, strlen(words[i]));
		assert_memory_equal(read[i].s, words[i], read[i].length);
	}
	free(bytes);
}

static void refuses_tables_that_are_none(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"1,2\n3\n", "line 2: 1 values, but 2 in the first line"},
		{"1,2\n3,\n", "line 2: '' is no number"},
		{"1,2\n\n3,x\n", "line 3: 'x' is no number (FILE[COLUMN] takes one column)"},
		{"1,0x10\n", "line 1: '0x10' is no number"},
		{"1,\"2\n3,4\n", "line 1: the quote does not end"},
		{"1,\"2\"3\n", "line 1: text behind a closing quote"},
		{"\n\n", "is empty"},
		{"", "is empty"},
		{"1,2\x1b\n", "is no file of arrays"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_refused(read_csv(bad[i].text), bad[i].words);
}

static void writes_csv_with_the_shortest_numbers(void **state)
{
	(void)state;
	static const float values[] = {0.1f, -2, 3e10f, 1e-8f};
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, (struct dfg_shape){2, {2, 2}}, values);
	uint8_t *bytes = written("a.csv", &size);
	bytes[size] = '\0';
	assert_string_equal((char *)bytes, "0.1,-2\n3e+10,1e-08\n");
	free(bytes);
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, (struct dfg_shape){3, {1, 2, 2}}, values);
	struct dfg_err *err = dfg_arrays_write("-", "csv", false, &arrays);
	assert_string_equal(err->text, "-: csv holds at most 2 dimensions, not [1,2,2]");
	dfg_err_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_idx_plain_and_compressed),
		cmocka_unit_test(refuses_idx_and_gzip_that_are_cut_or_too_long),
		cmocka_unit_test(refuses_dims_of_idx_that_overflow),
		cmocka_unit_test(writes_idx_that_it_reads),
		cmocka_unit_test(reads_csv_as_a_matrix_of_numbers),
		cmocka_unit_test(takes_a_column_of_csv_by_name_or_number),
		cmocka_unit_test(writes_strings_to_csv_that_it_reads),
		cmocka_unit_test(refuses_tables_that_are_none),
		cmocka_unit_test(writes_csv_with_the_shortest_numbers),
	};
	return cmocka_run_group_tests_name("tables", tests, make_dir, remove_dir);
}
