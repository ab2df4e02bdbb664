#define _GNU_SOURCE
#include "tests/unit/test.h"

#include "lib/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The system's file system, of which single operations fail. */
static struct dfg_fs faulty;
static const struct dfg_fs *system_fs;
static int error, renames;

static int no_exchange(const char *a, const char *b)
{
	(void)a, (void)b;
	errno = error;
	return -1;
}

static int second_rename_fails(const char *from, const char *to)
{
	bool is_folder = !strcmp(to, "plan") || !!strstr(to, "/plan");
	if (!is_folder || !renames--)
		return system_fs->rename(from, to);
	errno = EIO;
	return -1;
}

static int make_folder(void **state)
{
	static char folder[] = "/tmp/dfg-folder-XXXXXX";
	*state = mkdtemp(folder);
	system_fs = dfg_fs;
	return chdir(folder);
}

static int drop_folder(void **state)
{
	return chdir("/") || rmdir(*state);
}

static int start(void **state)
{
	(void)state;
	faulty = *system_fs;
	dfg_fs = &faulty;
	return 0;
}

static int clear(void **state)
{
	(void)state;
	dfg_fs = system_fs;
	return system("rm -rf plan other link other.pb");
}

static bool ours(const char *name)
{
	return strstr(name, ".pb") != NULL;
}

static void write_text(const char *path, const char *text)
{
	struct dfg_out out;
	succeeds(dfg_out_open(path, false, &out));
	succeeds(dfg_out_write(&out, text, strlen(text)));
	succeeds(dfg_out_commit(&out));
	dfg_out_release(&out);
}

/* A folder of `files` files a.pb, b.pb, ... that all hold the text. */
static struct dfg_err *fill(const char *path, bool if_changed, int files, const char *text)
{
	struct dfg_folder folder;
	DFG_TRY(dfg_folder_open(path, if_changed, ours, &folder));
	for (int i = 0; i < files; i++) {
		const char *file, name[] = {(char)('a' + i), '.', 'p', 'b', 0};
		succeeds(dfg_folder_file(&folder, name, &file));
		write_text(file, text);
	}
	struct dfg_err *err = dfg_folder_commit(&folder);
	dfg_folder_release(&folder);
	return err;
}

static struct dfg_err *count_name(void *arg, const char *name)
{
	(void)name;
	++*(int *)arg;
	return NULL;
}

/* The folder plan has these files and that text, and nothing is beside it. */
static void expect(int files, const char *text)
{
	int there = 0, beside = 0;
	succeeds(dfg_folder_each("plan", count_name, &there));
	succeeds(dfg_folder_each(".", count_name, &beside));
	assert_int_equal(there, files);
	assert_int_equal(beside, 1);
	for (int i = 0; i < files; i++) {
		char name[16];
		struct dfg_blob blob;
		snprintf(name, sizeof name, "plan/%c.pb", 'a' + i);
		succeeds(dfg_blob_open(name, 0, &blob));
		assert_int_equal(blob.size, strlen(text));
		assert_memory_equal(blob.bytes, text, blob.size);
		dfg_blob_close(&blob);
	}
}

static void replaces_what_was_there(void **state)
{
	(void)state;
	succeeds(fill("plan", false, 3, "old"));
	expect(3, "old");
	succeeds(fill("plan/", false, 2, "new"));
	expect(2, "new");
	succeeds(fill("./plan//", false, 1, "newer"));
	expect(1, "newer");
}

static void needs_no_exchange_of_names(void **state)
{
	(void)state;
	faulty.exchange = no_exchange;
	error = EINVAL;
	succeeds(fill("plan", false, 3, "old"));
	succeeds(fill("plan", false, 2, "new"));
	expect(2, "new");
}

static void keeps_the_old_where_the_new_cannot_come(void **state)
{
	(void)state;
	succeeds(fill("plan", false, 3, "old"));
	faulty.exchange = no_exchange;
	error = EACCES;
	fails(fill("plan", false, 2, "new"), DFG_NO_OUTPUT, "cannot replace");
	expect(3, "old");
	error = EINVAL;
	faulty.rename = second_rename_fails;
	renames = 1;
	fails(fill("plan", false, 2, "new"), DFG_NO_OUTPUT, "cannot replace");
	expect(3, "old");
}

static void leaves_nothing_without_commit(void **state)
{
	(void)state;
	struct dfg_folder folder;
	const char *file;
	succeeds(fill("plan", false, 1, "old"));
	succeeds(dfg_folder_open("plan", false, ours, &folder));
	succeeds(dfg_folder_file(&folder, "x.pb", &file));
	write_text(file, "new");
	dfg_folder_release(&folder);
	expect(1, "old");
	succeeds(dfg_folder_open("plan", false, ours, &folder));
	succeeds(dfg_folder_file(&folder, "x.pb", &file));
	write_text(file, "new");
	dfg_folder_remove_all();
	expect(1, "old");
	dfg_folder_release(&folder);
}

static void refuses_what_is_not_ours(void **state)
{
	(void)state;
	succeeds(fill("plan", false, 1, "old"));
	write_text("plan/notes.txt", "mine");
	fails(fill("plan", false, 1, "new"), DFG_NO_OUTPUT, "notes.txt");
	unlink("plan/notes.txt");
	mkdir("plan/sub.pb", 0777);
	fails(fill("plan", false, 1, "new"), DFG_NO_OUTPUT, "sub.pb");
	rmdir("plan/sub.pb");
	expect(1, "old");
	write_text("other.pb", "a file");
	fails(fill("other.pb", false, 1, "new"), DFG_NO_OUTPUT, "not a folder");
	unlink("other.pb");
	fails(fill("none/plan", false, 1, "new"), DFG_NO_OUTPUT, "none/plan");
	fails(fill(".", false, 1, "new"), DFG_NO_OUTPUT, "a path that ends in the folder");
	fails(fill("plan/..", false, 1, "new"), DFG_NO_OUTPUT, "a path that ends in the folder");
	fails(fill("/", false, 1, "new"), DFG_NO_OUTPUT, "a path that ends in the folder");
	fails(fill("", false, 1, "new"), DFG_NO_OUTPUT, "a path that ends in the folder");
}

static void goes_where_a_link_leads(void **state)
{
	(void)state;
	struct stat stat_;
	mkdir("plan", 0700);
	assert_int_equal(symlink("plan", "link"), 0);
	succeeds(fill("link", false, 1, "new"));
	assert_int_equal(lstat("link", &stat_), 0);
	assert_true(S_ISLNK(stat_.st_mode));
	unlink("link");
	assert_int_equal(stat("plan", &stat_), 0);
	assert_int_equal(stat_.st_mode & 0777, 0700);
	expect(1, "new");
}

static time_t time_of(const char *path)
{
	struct stat stat_;
	assert_int_equal(stat(path, &stat_), 0);
	return stat_.st_mtime;
}

static void what_is_the_same_keeps_its_time(void **state)
{
	(void)state;
	const struct timespec past[2] = {{1000, 0}, {1000, 0}};
	succeeds(fill("plan", false, 2, "old"));
	utimensat(AT_FDCWD, "plan/a.pb", past, 0);
	utimensat(AT_FDCWD, "plan", past, 0);
	succeeds(fill("plan", true, 2, "old"));
	assert_int_equal(time_of("plan"), 1000);
	assert_int_equal(time_of("plan/a.pb"), 1000);
	succeeds(fill("plan", true, 1, "old"));
	expect(1, "old");
	assert_int_not_equal(time_of("plan"), 1000);
	assert_int_equal(time_of("plan/a.pb"), 1000);
	succeeds(fill("plan", true, 1, "new"));
	assert_int_not_equal(time_of("plan/a.pb"), 1000);
	expect(1, "new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replaces_what_was_there, start, clear),
		cmocka_unit_test_setup_teardown(needs_no_exchange_of_names, start, clear),
		cmocka_unit_test_setup_teardown(keeps_the_old_where_the_new_cannot_come, start, clear),
		cmocka_unit_test_setup_teardown(leaves_nothing_without_commit, start, clear),
		cmocka_unit_test_setup_teardown(refuses_what_is_not_ours, start, clear),
		cmocka_unit_test_setup_teardown(goes_where_a_link_leads, start, clear),
		cmocka_unit_test_setup_teardown(what_is_the_same_keeps_its_time, start, clear),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
