#include "tests/unit/arrays.h"

#include <math.h>

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
	expect_refused(
		read_bytes("a.idx", longer, sizeof longer), "u8[2,2,3] requires 12 bytes of elements, but the file has 13");
	for (size_t n = 0; n < sizeof idx; n++)
		expect_refused(read_bytes("a.idx", idx, n), "a.idx: ");
	for (size_t n = 0; n < sizeof idx_gz; n++)
		expect_refused(read_bytes("a.gz", idx_gz, n), "a.gz: ");
	longer[3] = 9;
	expect_refused(read_bytes("a.idx", longer, sizeof longer), "9 dimensions, the limit is 8");
	longer[3] = 8;
	expect_refused(read_bytes("a.idx", longer, sizeof longer), "the header is truncated");
}

static void refuses_dims_of_idx_that_overflow(void **state)
{
	(void)state;
	uint8_t bytes[4 + 32] = {0, 0, 0x0e, 8};
	memset(bytes + 4, 0xff, 32);
	expect_refused(read_bytes("a.idx", bytes, sizeof bytes), "4294967295] is larger than any memory");
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
	expect_refused(dfg_array_read_one(spec, &tensor), "no column '2'; the first is 'size'");
	unlink(test_path);
}

/* One array of a file, by its key: "f64[2,3]", and its elements as numbers. NULL: it is text. */
static void expect_key(const char *text, const char *key, const char *type, const double *want)
{
	struct dfg_tensor tensor;
	char spec[96];
	write_file("a.csv", text, strlen(text));
	snprintf(spec, sizeof spec, *key ? "%s[%s]" : "%s", test_path, key);
	expect_read(dfg_array_read_one(spec, &tensor));
	assert_string_equal(dfg_type_words(tensor.dtype, &tensor.shape).s, type);
	for (int64_t i = 0; want && i < dfg_shape_count(&tensor.shape); i++) {
		double got = dfg_tensor_float(&tensor, i);
		if (got != want[i] && !(got != got && want[i] != want[i]))
			fail_msg("%s[%s]: element %lld is %g, not %g", text, key, (long long)i, got, want[i]);
	}
	dfg_tensor_release(&tensor);
	unlink(test_path);
}
#define VALUES(...)  \
	(const double[]) \
	{                \
		__VA_ARGS__  \
	}

static void takes_several_columns_of_csv(void **state)
{
	(void)state;
	static const char text[] = "a, b ,kind,c\n1,2.5,x,3\n4,5,y,6\n";
	expect_key(text, "a,c", "i64[2,2]", VALUES(1, 3, 4, 6));
	expect_key(text, "c,b,a", "f64[2,3]", VALUES(3, 2.5, 1, 6, 5, 4));
	expect_key(text, "0:2", "f64[2,2]", VALUES(1, 2.5, 4, 5));
	expect_key(text, "3:,a", "i64[2,2]", VALUES(3, 1, 6, 4));
	expect_key(text, ":1", "i64[2,1]", VALUES(1, 4));
	expect_key(text, "b", "f64[2]", VALUES(2.5, 5));
	expect_key(text, "kind,kind", "string[2,2]", NULL);
	expect_key("x,\"a,b\"\n1,2\n", "a,b", "i64[1]", VALUES(2));
}

static void knows_missing_values_in_csv(void **state)
{
	(void)state;
	static const char text[] = "a,b,c,d\n1,NA,,x\n,2,?,NA\n";
	expect_key(text, "a", "f64[2]", VALUES(1, NAN));
	expect_key(text, "a,b", "f64[2,2]", VALUES(1, NAN, NAN, 2));
	expect_key(text, "c", "string[2]", NULL);
	expect_key(text, "d", "string[2]", NULL);
	expect_key("1,2,\n3,4,\n", "", "f64[2,3]", VALUES(1, 2, NAN, 3, 4, NAN));
	expect_key("NA,NA\n3,4\n", "", "f64[2,2]", VALUES(NAN, NAN, 3, 4));
}

static void knows_first_lines_that_are_not_names(void **state)
{
	(void)state;
	expect_key("2,2,setosa,virginica\n5.1,3.5,0\n4.9,3,1\n", "", "f64[2,3]", VALUES(5.1, 3.5, 0, 4.9, 3, 1));
	expect_key("1,2,,\n\"ZN\",\"AGE\",\"MEDV\"\n7,8,9\n", "AGE", "i64[1]", VALUES(8));
	expect_key("# made by hand\n# x y\n1,2\n", "", "i64[1,2]", VALUES(1, 2));
	expect_key("# x,y\n1,2\n", "y", "i64[1]", VALUES(2));
	expect_key("#,x\n1,2\n", "#", "i64[1]", VALUES(1));
	/* The counts are wrong: these are values. */
	expect_key("3,2,a\n1,2,b\n", "0", "i64[2]", VALUES(3, 1));
	expect_key("1,2,a\n3,4,b\n", "0", "i64[2]", VALUES(1, 3));
	expect_key("1,2,\n3,4,\n", "0", "i64[2]", VALUES(1, 3));
	expect_key("2,3,a\n1,2,b\n", "0", "i64[2]", VALUES(2, 1));
}

static void reads_each_column_of_a_csv_of_numbers_and_text(void **state)
{
	(void)state;
	expect_read(read_csv("size,kind,\n1.5,cat,7\n2,dog,8\n"));
	assert_int_equal(arrays.count, 3);
	expect_type(0, "f64[2]");
	expect_type(1, "string[2]");
	expect_type(2, "i64[2]");
	assert_string_equal(arrays.array[1].name, "kind");
	assert_string_equal(arrays.array[2].name, "2");
	assert_int_equal(((int64_t *)arrays.array[2].tensor.data)[1], 8);
	assert_memory_equal(((struct dfg_string *)arrays.array[1].tensor.data)[1].s, "dog", 3);
	dfg_arrays_release(&arrays);
	struct dfg_tensor tensor;
	static const char text[] = "1,2\n\n3,x\n";
	write_file("a.csv", text, sizeof text - 1);
	expect_refused(
		dfg_array_read_one(test_path, &tensor), "line 3: 'x' in column '1' is not a number: FILE[COLUMN,...]");
	write_file("a.csv", "1,2\n3,?\n5,?\n", 12);
	expect_read(dfg_arrays_read(test_path, &arrays));
	expect_type(0, "f64[3,2]");
	dfg_arrays_release(&arrays);
	write_file("a.csv", "a,b\n3,?\n5,?\n", 12);
	expect_refused(dfg_array_read_one(test_path, &tensor), "line 2: '?' in column 'b' is not a number");
	write_file("a.csv", "1,0x10\n", 7);
	expect_refused(dfg_array_read_one(test_path, &tensor), "line 1: '0x10' in column '1' is not a number");
	unlink(test_path);
}

/* Reads a column as an input of the type: its values, or the words of the error. */
static void expect_fit(const char *text, enum dfg_dtype dtype, const double *want, const char *words)
{
	struct dfg_tensor tensor;
	struct dfg_err *unfit;
	const struct dfg_array_input input = {dtype, DFG_SHAPE_VECTOR(DFG_UNKNOWN)};
	write_file("a.csv", text, strlen(text));
	expect_read(dfg_array_read_for(test_path, &input, false, &tensor, &unfit));
	unlink(test_path);
	if (words) {
		assert_non_null(unfit);
		if (!strstr(unfit->text, words))
			fail_msg("\"%s\" lacks \"%s\"", unfit->text, words);
	} else {
		expect_read(unfit);
		assert_int_equal(tensor.dtype, dtype);
		for (int64_t i = 0; i < dfg_shape_count(&tensor.shape); i++) {
			double got = dfg_tensor_float(&tensor, i);
			assert_true(got == want[i] || (got != got && want[i] != want[i]));
		}
	}
	dfg_err_free(unfit);
	dfg_tensor_release(&tensor);
}

static void numbers_of_csv_take_a_type_that_holds_them_exactly(void **state)
{
	(void)state;
	expect_fit("1\n-2\n", DFG_F64, VALUES(1, -2), NULL);
	expect_fit("1\n-2\n", DFG_F32, VALUES(1, -2), NULL);
	expect_fit("1\n-2\n", DFG_I8, VALUES(1, -2), NULL);
	expect_fit("1\n0\n", DFG_BOOL, VALUES(1, 0), NULL);
	expect_fit("255\n0\n", DFG_U8, VALUES(255, 0), NULL);
	expect_fit("2.0\n1e3\n", DFG_I32, VALUES(2, 1000), NULL);
	expect_fit("0.5\nnan\n\"\"\n-inf\n", DFG_F16, VALUES(0.5, NAN, NAN, -INFINITY), NULL);
	expect_fit("16777216\n", DFG_F32, VALUES(16777216), NULL);
	expect_fit("1\n16777217\n", DFG_F32, NULL, "row 1, column 0 is 16777217, which f32 cannot hold exactly");
	expect_fit("9007199254740993\n", DFG_F64, NULL, "cannot hold exactly");
	expect_fit("9223372036854775807\n", DFG_F32, NULL, "cannot hold exactly");
	expect_fit("9223372036854775807\n", DFG_U64, VALUES(9223372036854775807.), NULL);
	expect_fit("18446744073709551616\n", DFG_U64, NULL, "cannot hold exactly");
	expect_fit("0.1\n", DFG_F32, NULL, "is 0.1, which f32 cannot hold exactly");
	expect_fit("1e39\n", DFG_F32, NULL, "cannot hold exactly");
	expect_fit("2049\n", DFG_F16, NULL, "cannot hold exactly");
	expect_fit("70000\n", DFG_F16, NULL, "cannot hold exactly");
	expect_fit("257\n", DFG_BF16, NULL, "cannot hold exactly");
	expect_fit("-1\n", DFG_U64, NULL, "cannot hold exactly");
	expect_fit("-1.0\n0.5\n", DFG_U8, NULL, "row 0, column 0 is -1, which u8 cannot hold exactly");
	expect_fit("256\n", DFG_U8, NULL, "cannot hold exactly");
	expect_fit("-129\n", DFG_I8, NULL, "cannot hold exactly");
	expect_fit("2\n", DFG_BOOL, NULL, "cannot hold exactly");
	expect_fit("2.5\n", DFG_I64, NULL, "cannot hold exactly");
	expect_fit("1\nNA\n", DFG_I64, NULL, "row 1, column 0 has no value: it is nan, which i64 cannot hold");
}

static void a_column_of_csv_is_a_matrix_where_that_is_asked_for(void **state)
{
	(void)state;
	struct dfg_tensor tensor;
	struct dfg_array_input input = {DFG_F32, {2, {DFG_UNKNOWN, 1}}};
	write_file("a.csv", "7\n8\n", 4);
	expect_read(dfg_array_read_for(test_path, &input, true, &tensor, NULL));
	assert_string_equal(dfg_type_words(tensor.dtype, &tensor.shape).s, "f32[2,1]");
	dfg_tensor_release(&tensor);
	input.shape.dim[1] = 2;
	expect_read(dfg_array_read_for(test_path, &input, true, &tensor, NULL));
	assert_string_equal(dfg_type_words(tensor.dtype, &tensor.shape).s, "f32[2]");
	dfg_tensor_release(&tensor);
	unlink(test_path);
}

/* Columns beside each other, whose names are read as such, whatever they look like. */
static void writes_csv_with_names_that_it_reads(void **state)
{
	(void)state;
	static const int32_t two[] = {1, 2}, four[] = {3, 4, 5, 6};
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("7", DFG_I32, DFG_SHAPE_VECTOR(2), two);
	add_array("a,b", DFG_I32, (struct dfg_shape){2, {2, 2}}, four);
	add_array("NA", DFG_I32, (struct dfg_shape){2, {2, 1}}, two);
	uint8_t *bytes = written("a.csv", &size);
	bytes[size] = '\0';
	assert_string_equal((char *)bytes, "\"7\",\"a,b_0\",\"a,b_1\",\"NA\"\n1,3,4,1\n2,5,6,2\n");
	expect_key((char *)bytes, "a,b_1", "i64[2]", VALUES(4, 6));
	expect_key((char *)bytes, "NA", "i64[2]", VALUES(1, 2));
	expect_key((char *)bytes, "7", "i64[2]", VALUES(1, 2));
	free(bytes);
	add_array("", DFG_I32, DFG_SHAPE_VECTOR(2), two);
	bytes = written("a.csv", &size);
	bytes[size] = '\0';
	assert_string_equal((char *)bytes, "1,3,4,1,1\n2,5,6,2,2\n");
	free(bytes);
	add_array("s", DFG_I32, DFG_SHAPE_SCALAR, two);
	struct dfg_err *err = dfg_arrays_write("-", "csv", false, &arrays);
	assert_string_equal(err->text, "-: 's' has 1 rows, but '7' has 2: csv holds columns of one length");
	dfg_err_free(err);
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
		{"1,2\n3\n", "line 2: has 1 values, but the first line has 2"},
		{"1,\"2\n3,4\n", "line 1: the quote is not closed"},
		{"1,\"2\"3\n", "line 1: text after a closing quote"},
		{"\n\n", "is empty"},
		{"", "is empty"},
		{"1,2\x1b\n", "is not a file of arrays"},
		{"3,2,a,b\n1,2,3\n", "line 2: has 3 values, but the first line has 4"},
		{"# by hand\n", "contains only comments"},
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
	assert_string_equal((char *)bytes, "w_0,w_1\n0.1,-2\n3e+10,1e-08\n");
	free(bytes);
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, (struct dfg_shape){3, {1, 2, 2}}, values);
	struct dfg_err *err = dfg_arrays_write("-", "csv", false, &arrays);
	assert_string_equal(err->text, "-: csv can hold at most 2 dimensions, but the shape is [1,2,2]");
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
		cmocka_unit_test(takes_several_columns_of_csv),
		cmocka_unit_test(knows_missing_values_in_csv),
		cmocka_unit_test(knows_first_lines_that_are_not_names),
		cmocka_unit_test(reads_each_column_of_a_csv_of_numbers_and_text),
		cmocka_unit_test(numbers_of_csv_take_a_type_that_holds_them_exactly),
		cmocka_unit_test(a_column_of_csv_is_a_matrix_where_that_is_asked_for),
		cmocka_unit_test(writes_csv_with_names_that_it_reads),
		cmocka_unit_test(writes_strings_to_csv_that_it_reads),
		cmocka_unit_test(refuses_tables_that_are_none),
		cmocka_unit_test(writes_csv_with_the_shortest_numbers),
	};
	return cmocka_run_group_tests_name("tables", tests, make_dir, remove_dir);
}
