#pragma once

#include "formats/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Helpers of the tests of array formats: a directory of their own, and reading from bytes through a file. */
static char test_dir[] = "/tmp/dfg-arrays-XXXXXX", test_path[64];
static struct dfg_arrays arrays;

static inline int make_dir(void **state)
{
	(void)state;
	return !mkdtemp(test_dir);
}

static inline int remove_dir(void **state)
{
	(void)state;
	dfg_arrays_release(&arrays);
	return rmdir(test_dir);
}

static inline const char *write_file(const char *name, const void *bytes, size_t count)
{
	snprintf(test_path, sizeof test_path, "%s/%s", test_dir, name);
	FILE *file = fopen(test_path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
	return test_path;
}

static inline struct dfg_err *read_bytes(const char *name, const void *bytes, size_t count)
{
	dfg_arrays_release(&arrays);
	struct dfg_err *err = dfg_arrays_read(write_file(name, bytes, count), &arrays);
	unlink(test_path);
	return err;
}

/* The words are part of the message. */
static inline void expect_refused(struct dfg_err *err, const char *words)
{
	if (!err)
		fail_msg("accepted what should be refused: %s", words);
	if (!strstr(err->text, words))
		fail_msg("\"%s\" lacks \"%s\"", err->text, words);
	assert_int_equal(err->code, DFG_DATA);
	assert_int_equal(arrays.count, 0);
	dfg_err_free(err);
}

static inline void expect_read(struct dfg_err *err)
{
	if (err)
		fail_msg("%s", err->text);
}

/* "f32[2,3]" of the i-th array. */
static inline void expect_type(size_t i, const char *words)
{
	assert_true(i < arrays.count);
	assert_string_equal(dfg_type_words(arrays.array[i].tensor.dtype, &arrays.array[i].tensor.shape).s, words);
}

static inline void add_array(const char *name, enum dfg_dtype dtype, struct dfg_shape shape, const void *data)
{
	struct dfg_tensor tensor;
	assert_null(dfg_tensor_new(dtype, &shape, &tensor));
	if (data)
		memcpy(tensor.data, data, dfg_tensor_bytes(&tensor));
	assert_null(dfg_arrays_add(&arrays, name, &tensor));
}

/* Writes the arrays, and gives the bytes, which the caller frees. */
static inline uint8_t *written(const char *name, size_t *out_size)
{
	struct dfg_blob blob;
	snprintf(test_path, sizeof test_path, "%s/%s", test_dir, name);
	expect_read(dfg_arrays_write(test_path, NULL, false, &arrays));
	expect_read(dfg_blob_open(test_path, 0, &blob));
	uint8_t *bytes = malloc(blob.size + 1);
	memcpy(bytes, blob.bytes, blob.size);
	*out_size = blob.size;
	dfg_blob_close(&blob);
	unlink(test_path);
	return bytes;
}
