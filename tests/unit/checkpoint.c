#include "formats/checkpoint.h"

#include "tests/unit/arrays.h"

#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>

static char folder[64];

/* The state after that many steps. */
static void fill(struct dfg_checkpoint *checkpoint, uint64_t step)
{
	float weights[3] = {(float)step, 0.5f, -1};
	int64_t count = (int64_t)step;
	dfg_arrays_release(&arrays);
	add_array("w", DFG_F32, DFG_SHAPE_VECTOR(3), weights);
	add_array("train/step", DFG_I64, DFG_SHAPE_SCALAR, &count);
	*checkpoint = (struct dfg_checkpoint){.step = step, .epoch = 2, .sample = 10 * step, .arrays = arrays};
	arrays = (struct dfg_arrays){0};
}

static struct dfg_err *save(uint64_t step, uint64_t keep, bool replace)
{
	struct dfg_checkpoints checkpoints;
	struct dfg_checkpoint checkpoint;
	DFG_TRY(dfg_checkpoints_open(folder, &checkpoints));
	checkpoints.keep = keep;
	checkpoints.replace = replace;
	fill(&checkpoint, step);
	struct dfg_err *err = dfg_checkpoints_save(&checkpoints, &checkpoint);
	dfg_checkpoint_release(&checkpoint);
	dfg_checkpoints_release(&checkpoints);
	return err;
}

static int notes;
static void count_note(void *arg, const char *text)
{
	(void)arg, (void)text;
	notes++;
}

/* Loads the newest, checks that it is exactly the state of one step, and says which. */
static uint64_t loaded(void)
{
	struct dfg_checkpoint checkpoint;
	struct dfg_notes note = {count_note, NULL};
	notes = 0;
	expect_read(dfg_checkpoint_load(folder, &note, &checkpoint));
	const struct dfg_array *w = dfg_arrays_find(&checkpoint.arrays, "w");
	const struct dfg_array *step = dfg_arrays_find(&checkpoint.arrays, "train/step");
	assert_int_equal(checkpoint.arrays.count, 2);
	assert_true(((float *)w->tensor.data)[0] == (float)checkpoint.step);
	assert_int_equal(*(int64_t *)step->tensor.data, checkpoint.step);
	assert_int_equal(checkpoint.sample, 10 * checkpoint.step);
	assert_int_equal(checkpoint.epoch, 2);
	dfg_checkpoint_release(&checkpoint);
	return checkpoint.step;
}

static bool is_there(unsigned step)
{
	char path[128];
	snprintf(path, sizeof path, "%s/step-%u", folder, step);
	return !access(path, F_OK);
}

/* Everything below the folder, and it. */
static void clear(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

/* A test kills processes, not machines: waiting for the disk would prove nothing. */
static int fs_no_sync(int fd)
{
	return fd < 0 ? -1 : 0;
}
static struct dfg_fs quick;

static int make_folder(void **state)
{
	quick = *dfg_fs;
	quick.sync = fs_no_sync;
	dfg_fs = &quick;
	int failed = make_dir(state);
	snprintf(folder, sizeof folder, "%s/ck", test_dir);
	return failed;
}

static void loads_what_it_saved_newest_first(void **state)
{
	(void)state;
	expect_read(save(9, 0, false));
	expect_read(save(10, 0, false));
	assert_int_equal(loaded(), 10);
	assert_int_equal(notes, 0);
	assert_true(is_there(9));
	clear();
}

static void keeps_the_newest_and_replaces_another_run_s(void **state)
{
	(void)state;
	for (unsigned step = 1; step <= 5; step++)
		expect_read(save(step, 2, false));
	assert_true(is_there(4) && is_there(5));
	assert_false(is_there(3) || is_there(1));
	expect_read(save(2, 0, true));
	assert_int_equal(loaded(), 2);
	assert_false(is_there(5));
	clear();
}

static void one_process_writes(void **state)
{
	(void)state;
	struct dfg_checkpoints one, two;
	expect_read(dfg_checkpoints_open(folder, &one));
	struct dfg_err *err = dfg_checkpoints_open(folder, &two);
	assert_int_equal(err->code, DFG_STOPPED);
	assert_non_null(strstr(err->text, "another process"));
	dfg_err_free(err);
	dfg_checkpoints_release(&one);
	expect_read(dfg_checkpoints_open(folder, &two));
	dfg_checkpoints_release(&two);
	clear();
}

static void knows_whether_there_are_any(void **state)
{
	(void)state;
	bool any = true;
	struct dfg_checkpoint checkpoint;
	expect_read(dfg_checkpoints_any(folder, &any));
	assert_false(any);
	struct dfg_err *err = dfg_checkpoint_load(folder, NULL, &checkpoint);
	assert_non_null(strstr(err->text, "holds no checkpoint"));
	assert_int_equal(err->code, DFG_DATA);
	dfg_err_free(err);
	expect_read(save(1, 0, false));
	expect_read(dfg_checkpoints_any(folder, &any));
	assert_true(any);
	clear();
}

/* Every flip and every cut of either file: it goes back to the one before, or the bit did not matter to any value. */
static void falls_back_from_every_damage(void **state)
{
	(void)state;
	static const char *const files[] = {"step-2/manifest.json", "step-2/data.safetensors"};
	expect_read(save(1, 0, false));
	expect_read(save(2, 0, false));
	for (int f = 0; f < 2; f++) {
		char path[128];
		struct dfg_blob blob;
		snprintf(path, sizeof path, "%s/%s", folder, files[f]);
		expect_read(dfg_blob_open(path, 0, &blob));
		size_t size = blob.size;
		uint8_t *bytes = malloc(size);
		memcpy(bytes, blob.bytes, size);
		dfg_blob_close(&blob);
		for (size_t i = 0; i < 2 * size; i++) {
			size_t n = i < size ? size : i - size;
			if (i < size)
				bytes[i] ^= 1 << i % 8;
			FILE *file = fopen(path, "wb");
			assert_int_equal(fwrite(bytes, 1, n, file), n);
			fclose(file);
			uint64_t step = loaded();
			assert_true(step == 1 || (step == 2 && f == 1 && i < size));
			assert_int_equal(notes, step == 1);
			if (i < size)
				bytes[i] ^= 1 << i % 8;
		}
		FILE *file = fopen(path, "wb");
		assert_int_equal(fwrite(bytes, 1, size, file), size);
		fclose(file);
		assert_int_equal(loaded(), 2);
		free(bytes);
	}
	clear();
}

static void refuses_the_data_of_another_step(void **state)
{
	(void)state;
	char command[256];
	expect_read(save(1, 0, false));
	expect_read(save(2, 0, false));
	snprintf(command, sizeof command, "cp '%s'/step-1/data.safetensors '%s'/step-2/", folder, folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(loaded(), 1);
	snprintf(command, sizeof command, "rm -r '%s'/step-2; cp -r '%s'/step-1 '%s'/step-3", folder, folder, folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(loaded(), 1);
	assert_int_equal(notes, 1);
	clear();
}

/* A file system that stops at one operation: the process ends there, or the operation fails. */
static const struct dfg_fs *real;
static long left;
static bool ends;

static bool stops(void)
{
	if (left-- != 0)
		return false;
	if (ends)
		_exit(3);
	errno = ENOSPC;
	return true;
}

static int fs_open(const char *path, int flags, mode_t mode)
{
	return stops() ? -1 : real->open(path, flags, mode);
}

static ssize_t fs_read(int fd, void *to, size_t count)
{
	return real->read(fd, to, count);
}

/* A write that stops has written half. */
static ssize_t fs_write(int fd, const void *from, size_t count)
{
	if (left == 0 && real->write(fd, from, count / 2) < 0)
		return -1;
	return stops() ? -1 : real->write(fd, from, count);
}

static int fs_sync(int fd)
{
	return stops() ? -1 : real->sync(fd);
}

static int fs_close(int fd)
{
	return real->close(fd);
}

static int fs_rename(const char *from, const char *to)
{
	return stops() ? -1 : real->rename(from, to);
}

static int fs_exchange(const char *a, const char *b)
{
	return stops() ? -1 : real->exchange(a, b);
}

static int fs_unlink(const char *path)
{
	return stops() ? -1 : real->unlink(path);
}

static int fs_mkdir(const char *path, mode_t mode)
{
	return stops() ? -1 : real->mkdir(path, mode);
}

static int fs_rmdir(const char *path)
{
	return stops() ? -1 : real->rmdir(path);
}

static const struct dfg_fs stopping = {fs_open, fs_read, fs_write, fs_sync, fs_close, fs_rename, fs_exchange, fs_unlink,
	fs_mkdir, fs_rmdir, pread, pwrite};

/* In a child, so that the end of the process takes the lock with it. True where the save came to its end. */
static bool save_until(long operation, bool dies, uint64_t step)
{
	int status;
	pid_t child = fork();
	if (!child) {
		real = dfg_fs;
		left = operation;
		ends = dies;
		dfg_fs = &stopping;
		struct dfg_err *err = save(step, 1, false);
		_exit(err ? 4 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 0;
}

static void a_kill_at_any_operation_loses_nothing_committed(void **state)
{
	(void)state;
	for (long operation = 0;; operation++) {
		expect_read(save(1, 0, false));
		bool done = save_until(operation, true, 2);
		uint64_t step = loaded();
		assert_true(step == 2 || (step == 1 && !done));
		assert_int_equal(notes, 0);
		/* Killed again while it continues: at the same operation of a run that then has more to clean up. */
		bool again = save_until(operation, true, 3);
		assert_true(loaded() >= step);
		expect_read(save(4, 1, false));
		assert_int_equal(loaded(), 4);
		assert_false(is_there(1) || is_there(2) || is_there(3));
		clear();
		if (done && again) {
			assert_true(operation > 15);
			return;
		}
	}
}

static bool leftovers(void)
{
	bool any = false;
	DIR *directory = opendir(folder);
	for (struct dirent *entry; (entry = readdir(directory));)
		any |= strstr(entry->d_name, ".tmp") != NULL;
	closedir(directory);
	return any;
}

static void a_full_disk_at_any_operation_leaves_the_old_one_and_nothing_else(void **state)
{
	(void)state;
	for (long operation = 0;; operation++) {
		expect_read(save(1, 0, false));
		bool done = save_until(operation, false, 2);
		uint64_t step = loaded();
		assert_true(step == 2 || (step == 1 && !done));
		assert_int_equal(notes, 0);
		if (step == 1 || done)
			assert_false(leftovers());
		clear();
		if (done && operation > 15)
			return;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_what_it_saved_newest_first),
		cmocka_unit_test(keeps_the_newest_and_replaces_another_run_s),
		cmocka_unit_test(one_process_writes),
		cmocka_unit_test(knows_whether_there_are_any),
		cmocka_unit_test(falls_back_from_every_damage),
		cmocka_unit_test(refuses_the_data_of_another_step),
		cmocka_unit_test(a_kill_at_any_operation_loses_nothing_committed),
		cmocka_unit_test(a_full_disk_at_any_operation_leaves_the_old_one_and_nothing_else),
	};
	return cmocka_run_group_tests_name("checkpoint", tests, make_folder, remove_dir);
}
