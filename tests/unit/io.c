#define _GNU_SOURCE
#include "tests/unit/test.h"

#include "lib/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The system's file system with the n-th call of one kind failing. */
static struct dfg_fs faulty;
static const struct dfg_fs *system_fs;
static int until, error;

static bool fault(void)
{
	if (until-- != 0)
		return false;
	errno = error;
	return true;
}
static ssize_t faulty_write(int fd, const void *from, size_t count)
{
	return fault() ? -1 : system_fs->write(fd, from, count > 7 ? 7 : count); /* short writes are the rule */
}
static int faulty_sync(int fd)
{
	return fault() ? -1 : system_fs->sync(fd);
}
static int faulty_rename(const char *from, const char *to)
{
	return fault() ? -1 : system_fs->rename(from, to);
}

static int make_folder(void **state)
{
	static char folder[] = "/tmp/dfg-io-XXXXXX";
	*state = mkdtemp(folder);
	system_fs = dfg_fs;
	faulty = *dfg_fs;
	return chdir(folder);
}

static int drop_folder(void **state)
{
	dfg_fs = system_fs;
	unlink("out");
	return chdir("/") || rmdir(*state);
}

static void write_file(const char *text, bool if_changed)
{
	struct dfg_out out;
	succeeds(dfg_out_open("out", if_changed, &out));
	succeeds(dfg_out_write(&out, text, strlen(text)));
	succeeds(dfg_out_commit(&out));
	dfg_out_release(&out);
}

static void expect_file(const char *text)
{
	struct dfg_blob blob;
	succeeds(dfg_blob_open("out", 0, &blob));
	assert_int_equal(blob.size, strlen(text));
	assert_memory_equal(blob.bytes, text, blob.size);
	dfg_blob_close(&blob);
}

static void a_file_appears_whole_at_commit(void **state)
{
	(void)state;
	struct dfg_out out;
	succeeds(dfg_out_open("out", false, &out));
	succeeds(dfg_out_write(&out, "text", 4));
	assert_int_equal(access("out", F_OK), -1);
	succeeds(dfg_out_commit(&out));
	dfg_out_release(&out);
	expect_file("text");
}

static void what_is_not_committed_leaves_nothing(void **state)
{
	(void)state;
	write_file("old", false);
	struct dfg_out out;
	succeeds(dfg_out_open("out", false, &out));
	succeeds(dfg_out_write(&out, "new", 3));
	dfg_out_release(&out);
	expect_file("old");
}

static void the_same_bytes_keep_the_time(void **state)
{
	(void)state;
	write_file("same", false);
	const struct timespec past[2] = {{1000, 0}, {1000, 0}};
	struct stat stat_;
	utimensat(AT_FDCWD, "out", past, 0);
	write_file("same", true);
	stat("out", &stat_);
	assert_int_equal(stat_.st_mtime, 1000);
	write_file("more", true);
	stat("out", &stat_);
	assert_int_not_equal(stat_.st_mtime, 1000);
}

static struct dfg_err *try_write(void)
{
	struct dfg_out out;
	struct dfg_err *err = dfg_out_open("out", false, &out);
	if (!err)
		err = dfg_out_write(&out, "a longer text", 13);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

static void a_full_disk_keeps_the_old_file(void **state)
{
	(void)state;
	write_file("old", false);
	faulty.write = faulty_write;
	dfg_fs = &faulty;
	until = 1, error = ENOSPC;
	fails(try_write(), DFG_IO, "No space left");
	expect_file("old");
	dfg_fs = system_fs;
}

static void a_failing_sync_or_rename_keeps_the_old_file(void **state)
{
	(void)state;
	write_file("old", false);
	faulty = *system_fs;
	faulty.sync = faulty_sync;
	dfg_fs = &faulty;
	until = 0, error = EIO;
	fails(try_write(), DFG_IO, "cannot sync");
	expect_file("old");
	faulty = *system_fs;
	faulty.rename = faulty_rename;
	until = 0, error = EACCES;
	fails(try_write(), DFG_NO_OUTPUT, "Permission denied");
	expect_file("old");
	dfg_fs = system_fs;
}

static void interrupted_and_short_writes_go_on(void **state)
{
	(void)state;
	faulty = *system_fs;
	faulty.write = faulty_write;
	dfg_fs = &faulty;
	until = 1, error = EINTR;
	succeeds(try_write());
	dfg_fs = system_fs;
	expect_file("a longer text");
}

static void what_is_not_there_or_no_file_is_said(void **state)
{
	(void)state;
	struct dfg_blob blob;
	struct dfg_out out;
	fails(dfg_blob_open("nowhere", 0, &blob), DFG_NO_INPUT, "nowhere");
	fails(dfg_blob_open("/", 0, &blob), DFG_NO_INPUT, "directory");
	fails(dfg_out_open("nowhere/out", false, &out), DFG_NO_OUTPUT, "nowhere/out");
	write_file("12345", false);
	fails(dfg_blob_open("out", 4, &blob), DFG_DATA, "limit");
	fails(dfg_blob_open("/dev/zero", 1 << 20, &blob), DFG_DATA, "limit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_appears_whole_at_commit),
		cmocka_unit_test(what_is_not_committed_leaves_nothing),
		cmocka_unit_test(the_same_bytes_keep_the_time),
		cmocka_unit_test(a_full_disk_keeps_the_old_file),
		cmocka_unit_test(a_failing_sync_or_rename_keeps_the_old_file),
		cmocka_unit_test(interrupted_and_short_writes_go_on),
		cmocka_unit_test(what_is_not_there_or_no_file_is_said),
	};
	return cmocka_run_group_tests_name("io", tests, make_folder, drop_folder);
}
