#include "tests/unit/arrays.h"

#include "tests/unit/test.h"

/* Classic NetCDF against npz of the same values, and damaged files: tests/arrays/record_scientific.py recorded them. */
#define RECORDED "tests/arrays/"

static void expect_equal(const char *path, const char *npz)
{
	struct dfg_arrays wanted;
	dfg_arrays_release(&arrays);
	expect_read(dfg_arrays_read(path, &arrays));
	expect_read(dfg_arrays_read(npz, &wanted));
	assert_int_equal(arrays.count, wanted.count);
	for (size_t i = 0; i < wanted.count; i++) {
		const struct dfg_tensor *want = &wanted.array[i].tensor, *got = &arrays.array[i].tensor;
		assert_string_equal(arrays.array[i].name, wanted.array[i].name);
		expect_type(i, dfg_type_words(want->dtype, &want->shape).s);
		const struct dfg_string *a = got->data, *b = want->data;
		for (int64_t k = 0; want->dtype == DFG_STRING && k < dfg_shape_count(&want->shape); k++)
			assert_true(a[k].length == b[k].length && !memcmp(a[k].s, b[k].s, b[k].length));
		if (want->dtype != DFG_STRING && dfg_tensor_bytes(want))
			assert_memory_equal(got->data, want->data, dfg_tensor_bytes(want));
	}
	dfg_arrays_release(&wanted);
}

static void reads_what_netcdf_wrote(void **state)
{
	(void)state;
	expect_equal(RECORDED "classic.nc", RECORDED "classic.npz");
	expect_equal(RECORDED "offset64.nc", RECORDED "offset64.npz");
	expect_equal(RECORDED "data64.nc", RECORDED "data64.npz");
	expect_equal(RECORDED "no-records.nc", RECORDED "no-records.npz");
	expect_equal(RECORDED "unpadded.nc", RECORDED "unpadded.npz");
	expect_equal(RECORDED "streamed.nc", RECORDED "unpadded.npz");
}

static void names_choose_a_variable(void **state)
{
	(void)state;
	struct dfg_tensor tensor;
	expect_read(dfg_array_read_one(RECORDED "classic.nc[scalar_f64]", &tensor));
	assert_string_equal(dfg_type_words(tensor.dtype, &tensor.shape).s, "f64[]");
	dfg_tensor_release(&tensor);
	expect_read(dfg_array_read_one(RECORDED "unpadded.nc", &tensor));
	dfg_tensor_release(&tensor);
	dfg_arrays_release(&arrays);
	expect_refused(dfg_array_read_one(RECORDED "classic.nc[fixed_i32x]", &tensor),
		"classic.nc: no array 'fixed_i32x'; did you mean 'fixed_i32'?");
	expect_refused(dfg_array_read_one(RECORDED "classic.nc", &tensor), "holds 17 arrays: choose one");
}

/* The bytes of a recorded file; the caller frees them. */
static uint8_t *bytes_of(const char *path, size_t *out_size)
{
	struct dfg_blob blob;
	expect_read(dfg_blob_open(path, 0, &blob));
	uint8_t *bytes = malloc(blob.size);
	memcpy(bytes, blob.bytes, blob.size);
	*out_size = blob.size;
	dfg_blob_close(&blob);
	return bytes;
}

/* Only the padding after the last record may be missing. */
static void truncated_files_are_refused(void **state)
{
	(void)state;
	size_t size;
	uint8_t *bytes = bytes_of(RECORDED "classic.nc", &size);
	for (size_t n = 1; n <= size; n++) {
		struct dfg_err *err = read_bytes("cut.nc", bytes, n);
		if (n < size - 2)
			expect_refused(err, "cut.nc: ");
		else
			expect_read(err);
	}
	free(bytes);
}

/* Each word of the header as an extreme number: an error of the data, or arrays that are in the file. */
static void hostile(const char *path, size_t header)
{
	static const uint8_t extreme[][4] = {{0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0},
		{0, 0, 0, 0}, {0x20, 0, 0, 1}, {0, 0, 0, 9}};
	size_t size;
	uint8_t *bytes = bytes_of(path, &size);
	for (size_t at = 4; at < header; at += 4)
		for (size_t i = 0; i < sizeof extreme / sizeof *extreme; i++) {
			uint8_t kept[4];
			memcpy(kept, bytes + at, 4);
			memcpy(bytes + at, extreme[i], 4);
			struct dfg_err *err = read_bytes("hostile.nc", bytes, size);
			if (err)
				assert_int_equal(err->code, DFG_DATA);
			dfg_err_free(err);
			for (size_t k = 0; k < arrays.count; k++)
				assert_true(dfg_shape_count(&arrays.array[k].tensor.shape) <= (int64_t)size);
			memcpy(bytes + at, kept, 4);
		}
	free(bytes);
}

static void hostile_headers_are_refused(void **state)
{
	(void)state;
	hostile(RECORDED "classic.nc", 1000);
	hostile(RECORDED "data64.nc", 2000);
	hostile(RECORDED "streamed.nc", 100);
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	size_t size;
	uint8_t *bytes = bytes_of(RECORDED "unpadded.nc", &size);
	expect_read(read_bytes("good.nc", bytes, size));
	bytes[7] = 200; /* records */
	expect_refused(read_bytes("long.nc", bytes, size), "variable 'x' is truncated: it has 1200 bytes from offset 100,");
	bytes[7] = 4;
	bytes[11] = 12; /* the tag of the dimensions */
	expect_refused(
		read_bytes("tag.nc", bytes, size), "a list in the header has tag 12, expected 10, or 0 for an empty list");
	bytes[11] = 10;
	expect_refused(read_bytes("text.nc", "x,y\n1,2\n", 8), "text.nc: is text, not a netcdf file");
	free(bytes);
	expect_read(dfg_arrays_read(RECORDED "unpadded.nc", &arrays));
	struct dfg_err *err = dfg_arrays_write("out.nc", NULL, false, &arrays);
	assert_non_null(err);
	assert_int_equal(err->code, DFG_USAGE);
	assert_non_null(strstr(err->text, "netcdf is a format that dfg only reads"));
	dfg_err_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_netcdf_wrote),
		cmocka_unit_test(names_choose_a_variable),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(hostile_headers_are_refused),
		cmocka_unit_test(says_what_is_wrong),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
