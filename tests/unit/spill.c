#include "tests/unit/test.h"

#include "lib/base/io.h"
#include "lib/exec/state/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Tensors that wait in a file: which, what comes back, and what is left. */

static char folder[] = "/tmp/spill-XXXXXX";
static struct dfg_mem_limit limit;
static struct buffer_pool *buffers;
static struct dfg_spill *spill;
static struct dfg_fs faulty;

static int begin(void **state)
{
	(void)state;
	dfg_mem_limit_init(&limit, dfg_mem, 1000000);
	dfg_mem = &limit.base;
	return dfg_buffer_pool_new(&buffers) || dfg_spill_new(folder, &limit, buffers, &spill);
}

static int end(void **state)
{
	(void)state;
	dfg_spill_free(spill);
	dfg_buffer_pool_free(buffers);
	dfg_mem = limit.inner;
	return atomic_load(&limit.used) != 0; /* nothing is lost */
}

static struct dfg_tensor tensor(enum dfg_dtype dtype, int64_t count, int fill)
{
	struct dfg_shape shape = DFG_SHAPE_VECTOR(count);
	struct dfg_buffer *buffer;
	size_t bytes = (size_t)count * dfg_dtype_size(dtype);
	succeeds(dfg_buffer_pool_take(buffers, dtype, bytes, &buffer));
	if (dtype == DFG_U8)
		memset(buffer->data, fill, bytes);
	return (struct dfg_tensor){dtype, shape, buffer->data, bytes, buffer};
}

static struct dfg_tensor away(int64_t count, int fill)
{
	struct dfg_tensor value = tensor(DFG_U8, count, fill), out;
	succeeds(dfg_spill_write(spill, &value, &out));
	dfg_tensor_release(&value);
	assert_null(out.data);
	assert_true(dfg_spill_has(&out));
	return out;
}

static void comes_back(struct dfg_tensor *value, int64_t count, int fill)
{
	succeeds(dfg_spill_read(spill, value));
	assert_false(dfg_spill_has(value));
	assert_int_equal(value->shape.dim[0], count);
	for (int64_t i = 0; i < count; i++)
		assert_int_equal(((const uint8_t *)value->data)[i], fill);
	dfg_tensor_release(value);
}

static void only_more_than_2048_bytes_fit(void **state)
{
	(void)state;
	for (int64_t bytes = 2047; bytes <= 2049; bytes++) {
		struct dfg_tensor value = tensor(DFG_U8, bytes, 1);
		assert_int_equal(dfg_spill_fits(&value), bytes > 2048);
		dfg_tensor_release(&value);
	}
}

static void a_buffer_that_others_have_does_not_fit(void **state)
{
	(void)state;
	struct dfg_tensor value = tensor(DFG_U8, 5000, 1), other;
	succeeds(dfg_tensor_share(&value, &other));
	assert_false(dfg_spill_fits(&value));
	dfg_tensor_release(&other);
	assert_true(dfg_spill_fits(&value));
	struct dfg_tensor borrowed = {value.dtype, value.shape, value.data, value.capacity, NULL};
	assert_false(dfg_spill_fits(&borrowed));
	dfg_tensor_release(&value);
}

static void objects_and_what_is_away_do_not_fit(void **state)
{
	(void)state;
	const enum dfg_dtype objects[] = {DFG_STRING, DFG_RESOURCE, DFG_VARIANT};
	for (int i = 0; i < 3; i++) {
		struct dfg_tensor value = tensor(objects[i], 1000, 0);
		assert_false(dfg_spill_fits(&value));
		dfg_tensor_release(&value);
	}
	struct dfg_tensor value = away(5000, 3);
	assert_false(dfg_spill_fits(&value));
	dfg_tensor_release(&value);
}

static void memory_is_short_above_70_percent(void **state)
{
	(void)state;
	assert_false(dfg_spill_wants(spill));
	struct dfg_tensor most = tensor(DFG_U8, 655360, 1), more;
	assert_false(dfg_spill_wants(spill));
	more = tensor(DFG_U8, 65536, 1);
	assert_true(dfg_spill_wants(spill));
	dfg_tensor_release(&more);
	assert_false(dfg_spill_wants(spill)); /* it lies idle, but is there */
	dfg_tensor_release(&most);
}

static void values_come_back_in_any_order_and_places_are_used_again(void **state)
{
	(void)state;
	enum { COUNT = 40 };
	struct dfg_tensor value[COUNT];
	struct dfg_spilled told;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT; i++)
			value[i] = away(3000 + 1000 * (i % 5), i + 1);
		for (int i = 0; i < COUNT; i += 2)
			comes_back(&value[i], 3000 + 1000 * (i % 5), i + 1);
		for (int i = 0; i < COUNT; i += 2)
			value[i] = away(3000 + 1000 * (i % 3), i + 101);
		for (int i = COUNT - 1; i >= 0; i--)
			comes_back(&value[i], 3000 + 1000 * (i % 2 ? i % 5 : i % 3), i % 2 ? i + 1 : i + 101);
	}
	dfg_spill_tell(spill, &told);
	assert_int_equal(told.out, 3 * 60);
	assert_int_equal(told.in, 3 * 60);
	assert_int_equal(told.in_bytes, told.out_bytes);
}

static void what_was_shared_away_is_read_by_each(void **state)
{
	(void)state;
	struct dfg_tensor value = away(9000, 7), other;
	succeeds(dfg_tensor_share(&value, &other));
	comes_back(&value, 9000, 7);
	struct dfg_tensor next = away(9000, 8);
	comes_back(&other, 9000, 7);
	comes_back(&next, 9000, 8);
}

static off_t furthest;
static ssize_t seen_write(int fd, const void *from, size_t count, off_t offset)
{
	furthest = offset > furthest ? offset : furthest;
	return pwrite(fd, from, count > 1000 ? 1000 : count, offset); /* short writes are the rule */
}

static void the_file_grows_no_further_than_what_is_in_it(void **state)
{
	(void)state;
	const struct dfg_fs *system = dfg_fs;
	faulty = *system;
	faulty.write_at = seen_write;
	dfg_fs = &faulty;
	struct dfg_tensor first = away(5000, 1);
	for (int i = 0; i < 100; i++) {
		struct dfg_tensor value = away(6000, i);
		comes_back(&value, 6000, i);
	}
	comes_back(&first, 5000, 1);
	dfg_fs = system;
	assert_true(furthest < 4 * 4096);
}

static ssize_t full_write(int fd, const void *from, size_t count, off_t offset)
{
	(void)fd, (void)from, (void)count, (void)offset;
	errno = ENOSPC;
	return -1;
}
static ssize_t broken_read(int fd, void *to, size_t count, off_t offset)
{
	(void)fd, (void)to, (void)count, (void)offset;
	errno = EIO;
	return -1;
}

static void a_full_disk_and_a_broken_one_are_told(void **state)
{
	(void)state;
	const struct dfg_fs *system = dfg_fs;
	struct dfg_tensor value = tensor(DFG_U8, 5000, 1), out, kept = away(5000, 2);
	faulty = *system;
	faulty.write_at = full_write;
	faulty.read_at = broken_read;
	dfg_fs = &faulty;
	fails(dfg_spill_write(spill, &value, &out), DFG_IO, "No space left");
	fails(dfg_spill_read(spill, &kept), DFG_IO, "Input/output error");
	dfg_fs = system;
	assert_int_equal(((const uint8_t *)value.data)[4999], 1);
	dfg_tensor_release(&value);
	comes_back(&kept, 5000, 2);
}

static int refuse_nameless(const char *path, int flags, mode_t mode)
{
	if (!strcmp(path, folder)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return open(path, flags, mode);
}

static int entries(void)
{
	int count = 0;
	DIR *list = opendir(folder);
	assert_non_null(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count - 2;
}

static void the_file_has_no_name(void **state)
{
	(void)state;
	const struct dfg_fs *system = dfg_fs;
	struct dfg_spill *named;
	assert_int_equal(entries(), 0);
	faulty = *system;
	faulty.open = refuse_nameless;
	dfg_fs = &faulty;
	succeeds(dfg_spill_new(folder, &limit, buffers, &named));
	assert_int_equal(entries(), 0);
	dfg_spill_free(named);
	dfg_fs = system;
	fails(dfg_spill_new("/nowhere/at/all", &limit, buffers, &named), DFG_NO_OUTPUT, "/nowhere/at/all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_more_than_2048_bytes_fit, begin, end),
		cmocka_unit_test_setup_teardown(a_buffer_that_others_have_does_not_fit, begin, end),
		cmocka_unit_test_setup_teardown(objects_and_what_is_away_do_not_fit, begin, end),
		cmocka_unit_test_setup_teardown(memory_is_short_above_70_percent, begin, end),
		cmocka_unit_test_setup_teardown(values_come_back_in_any_order_and_places_are_used_again, begin, end),
		cmocka_unit_test_setup_teardown(what_was_shared_away_is_read_by_each, begin, end),
		cmocka_unit_test_setup_teardown(the_file_grows_no_further_than_what_is_in_it, begin, end),
		cmocka_unit_test_setup_teardown(a_full_disk_and_a_broken_one_are_told, begin, end),
		cmocka_unit_test_setup_teardown(the_file_has_no_name, begin, end),
	};
	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
