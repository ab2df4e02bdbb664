#include "tests/unit/arrays.h"

#include "formats/bytes.h"

#define RECORDED "tests/arrays/"

static const float grid[] = {0, 1, 2, 3, 4, 5};

static void reads_what_numpy_stores_and_compresses(void **state)
{
	(void)state;
	static const char *const files[] = {RECORDED "stored.npz", RECORDED "deflated.npz"};
	for (int i = 0; i < 2; i++) {
		dfg_arrays_release(&arrays);
		expect_read(dfg_arrays_read(files[i], &arrays));
		assert_int_equal(arrays.count, 2);
		assert_string_equal(arrays.array[0].name, "x:0");
		expect_type(0, "f32[2,3]");
		assert_memory_equal(arrays.array[0].tensor.data, grid, sizeof grid);
		assert_string_equal(arrays.array[1].name, "y");
		expect_type(1, "i64[3]");
		assert_int_equal(((int64_t *)arrays.array[1].tensor.data)[2], 2);
	}
}

static void refuses_what_unpacks_to_a_thousandfold(void **state)
{
	(void)state;
	dfg_arrays_release(&arrays);
	expect_refused(dfg_arrays_read(RECORDED "thousandfold.npz", &arrays),
		"thousandfold.npz: zeros.npy: unpacks to 83886208 bytes, but only");
}

static void fill(void)
{
	static const int64_t numbers[] = {7, -8};
	dfg_arrays_release(&arrays);
	add_array("x:0", DFG_F32, (struct dfg_shape){2, {2, 3}}, grid);
	add_array("a/b", DFG_I64, DFG_SHAPE_VECTOR(2), numbers);
	add_array("none", DFG_F32, (struct dfg_shape){2, {0, 3}}, NULL);
}

static void writes_what_it_reads_aligned_and_without_a_date(void **state)
{
	(void)state;
	size_t size, again;
	fill();
	uint8_t *bytes = written("a.npz", &size), *second = written("b.npz", &again);
	assert_int_equal(size, again);
	assert_memory_equal(bytes, second, size);
	assert_int_equal(dfg_le16(bytes + 12), 0x21);
	assert_int_equal((dfg_le16(bytes + 26) + dfg_le16(bytes + 28) + 30) % 64, 0);
	expect_read(read_bytes("a.npz", bytes, size));
	assert_int_equal(arrays.count, 3);
	assert_memory_equal(arrays.array[0].tensor.data, grid, sizeof grid);
	assert_int_equal((uintptr_t)arrays.array[0].tensor.data % 64, 0);
	assert_string_equal(arrays.array[1].name, "a/b");
	assert_int_equal(((int64_t *)arrays.array[1].tensor.data)[1], -8);
	expect_type(2, "f32[0,3]");
	free(bytes);
	free(second);
}

static void writes_an_empty_archive(void **state)
{
	(void)state;
	size_t size;
	dfg_arrays_release(&arrays);
	uint8_t *bytes = written("a.npz", &size);
	assert_int_equal(size, 22);
	expect_read(read_bytes("a.npz", bytes, size));
	assert_int_equal(arrays.count, 0);
	free(bytes);
}

static void refuses_every_cut_and_every_flipped_bit_that_matters(void **state)
{
	(void)state;
	size_t size;
	fill();
	uint8_t *bytes = written("a.npz", &size);
	for (size_t n = 0; n < size; n++)
		expect_refused(read_bytes("a.npz", bytes, n), "a.npz: ");
	for (size_t i = 0; i < size; i++) { /* not all bytes mean something, but none may break the reader */
		bytes[i] ^= 1 << i % 8;
		struct dfg_err *err = read_bytes("a.npz", bytes, size);
		if (err)
			assert_int_equal(err->code, DFG_DATA);
		dfg_err_free(err);
		bytes[i] ^= 1 << i % 8;
	}
	free(bytes);
}

/* Offsets in the archive of two members "a" and "b", each i64[1]: made once, broken in one place per row. */
static void refuses_archives_that_lie(void **state)
{
	(void)state;
	static const int64_t one = 1;
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("a", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	add_array("b", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	uint8_t *bytes = written("a.npz", &size);
	size_t first = dfg_le32(bytes + size - 6), second = first + 46 + 5;
	const struct {
		size_t at;
		uint8_t value;
		const char *words;
	} lies[] = {
		{first + 8, 1, "zip: a member is encrypted"},
		{first + 10, 9, "compression method 9 is not supported; 0 (stored) and 8 (deflated) are"},
		{first + 16, (uint8_t)(bytes[first + 16] + 1), "a.npy: its checksum is wrong"},
		{first + 20, (uint8_t)(bytes[first + 20] + 1), "a.npy: is stored without compression, but its sizes differ"},
		{first + 46, 'b', "the local header has a different name"},
		{first + 48, 'x', "the local header has a different name"},
		{first + 43, 0x7f, "gives an offset at which there is no member"},
		{second + 42, 1, "gives an offset at which there is no member"},
		{size - 22 + 10, 3, "the directory is too short"},
		{size - 22 + 16, 0, "the directory is damaged"},
		{size - 22 + 19, 0x7f, "the directory is outside the file"},
		{size - 22 + 20, 1, "no directory at the end"},
	};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		uint8_t before = bytes[lies[i].at];
		bytes[lies[i].at] = lies[i].value;

		expect_refused(read_bytes("a.npz", bytes, size), lies[i].words);
		bytes[lies[i].at] = before;
	}
	free(bytes);
}

static void refuses_members_that_overlap_or_repeat(void **state)
{
	(void)state;
	static const int64_t one = 1;
	size_t size;
	dfg_arrays_release(&arrays);
	add_array("a", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	add_array("b", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	uint8_t *bytes = written("a.npz", &size);
	size_t first = dfg_le32(bytes + size - 6), second = first + 46 + 5;
	memcpy(bytes + second, bytes + first, 46 + 5); /* the second entry is the first again */
	expect_refused(read_bytes("a.npz", bytes, size), "zip: members overlap");
	free(bytes);

	/* More bytes than the file has: nothing of the second is read, so that its wrong checksum is not found. */
	static const int64_t many[1000];
	dfg_arrays_release(&arrays);
	add_array("a", DFG_I64, DFG_SHAPE_VECTOR(1000), many);
	add_array("b", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	bytes = written("a.npz", &size);
	first = dfg_le32(bytes + size - 6), second = first + 46 + 5;
	memcpy(bytes + second, bytes + first, 46 + 5);
	bytes[second + 16]++;
	expect_refused(read_bytes("a.npz", bytes, size), "zip: members overlap");
	free(bytes);

	dfg_arrays_release(&arrays);
	add_array("a", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	add_array("a", DFG_I64, DFG_SHAPE_VECTOR(1), &one);
	struct dfg_err *err = dfg_arrays_write("/nonexistent/a.npz", NULL, false, &arrays);
	assert_string_equal(err->text, "/nonexistent/a.npz: two arrays have the name 'a'");
	dfg_err_free(err);
}

static void picks_an_array_by_its_key(void **state)
{
	(void)state;
	struct dfg_tensor tensor;
	assert_null(dfg_array_read_one(RECORDED "stored.npz[y]", &tensor));
	assert_int_equal(tensor.dtype, DFG_I64);
	dfg_tensor_release(&tensor);
	assert_null(dfg_array_read_one(RECORDED "scalar.npy", &tensor));
	dfg_tensor_release(&tensor);
	dfg_arrays_release(&arrays);
	expect_refused(
		dfg_array_read_one(RECORDED "stored.npz", &tensor), "stored.npz: holds 2 arrays: choose one, as in FILE[x:0]");
	expect_refused(dfg_array_read_one(RECORDED "stored.npz[x:1]", &tensor), "no array 'x:1'; did you mean 'x:0'?");
	struct dfg_err *err = dfg_array_read_one("missing.npz[y]", &tensor);
	assert_int_equal(err->code, DFG_NO_INPUT);
	dfg_err_free(err);
}

static void tells_formats_of_output_by_suffix_or_name(void **state)
{
	(void)state;
	fill();
	struct dfg_err *err = dfg_arrays_write("a.txt", NULL, false, &arrays);
	assert_int_equal(err->code, DFG_USAGE);
	dfg_err_free(err);
	err = dfg_arrays_write("-", "npx", false, &arrays);
	assert_string_equal(err->text, "unknown array format 'npx'; did you mean 'npy'?");
	dfg_err_free(err);
	err = dfg_arrays_write("a.npy", NULL, false, &arrays);
	assert_string_equal(err->text, "a.npy: npy holds one array, not 3");
	dfg_err_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_numpy_stores_and_compresses),
		cmocka_unit_test(refuses_what_unpacks_to_a_thousandfold),
		cmocka_unit_test(writes_what_it_reads_aligned_and_without_a_date),
		cmocka_unit_test(writes_an_empty_archive),
		cmocka_unit_test(refuses_every_cut_and_every_flipped_bit_that_matters),
		cmocka_unit_test(refuses_archives_that_lie),
		cmocka_unit_test(refuses_members_that_overlap_or_repeat),
		cmocka_unit_test(picks_an_array_by_its_key),
		cmocka_unit_test(tells_formats_of_output_by_suffix_or_name),
	};
	return cmocka_run_group_tests_name("npz", tests, make_dir, remove_dir);
}
