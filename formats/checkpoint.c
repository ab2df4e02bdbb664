#define _GNU_SOURCE
#include "formats/checkpoint.h"

#include "formats/manifest.h"
#include "lib/base/folder.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char data_name[] = "data.safetensors", manifest_name[] = "manifest.json";

/* Joins parts to a path; the caller frees it with dfg_text_release. */
static struct dfg_err *join(struct dfg_text *out, const char *directory, const char *name)
{
	out->length = 0;
	dfg_text_add(out, "%s/%s", directory, name);
	return dfg_text_check(out);
}

/* The existing folders in order of their steps; the caller frees them. */
struct steps {
	struct folder {
		char name[32]; /* such as "step-60", or "step-00000060" */
		uint64_t step;
	} * folder;
	size_t count, capacity;
};

static int by_step(const void *a, const void *b)
{
	const struct folder *one = a, *two = b;
	int order = (one->step > two->step) - (one->step < two->step);
	return order ? order : strcmp(one->name, two->name);
}

static bool step_of(const char *name, uint64_t *out_step)
{
	char *end;
	if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9')
		return false;
	errno = 0;
	*out_step = strtoull(name + 5, &end, 10);
	return !*end && !errno;
}

static bool is_leftover(const char *name)
{
	const char *tail = strstr(name, ".tmp-");
	return !strncmp(name, "step-", 5) && tail;
}

/* Calls `see` for each entry of the directory; a missing directory is empty. */
static struct dfg_err *each_entry(const char *path, struct dfg_err *(*see)(void *arg, const char *name), void *arg)
{
	DIR *directory = opendir(path);
	struct dfg_err *err = NULL;
	if (!directory && errno == ENOENT)
		return NULL;
	if (!directory)
		return DFG_ERR(
			dfg_code_of_errno(errno, errno == ENOTDIR ? DFG_NO_OUTPUT : DFG_IO), "%s: %s", path, strerror(errno));
	for (struct dirent *entry; !err && (entry = readdir(directory));)
		err = see(arg, entry->d_name);
	closedir(directory);
	return err;
}

static struct dfg_err *add_step(void *arg, const char *name)
{
	struct steps *steps = arg;
	struct folder folder = {.step = 0};
	if (strlen(name) >= sizeof folder.name || !step_of(name, &folder.step))
		return NULL;
	if (!dfg_reserve(&steps->folder, &steps->capacity, steps->count + 1, sizeof *steps->folder))
		return dfg_no_memory("the list of checkpoints");
	memcpy(folder.name, name, strlen(name) + 1);
	steps->folder[steps->count++] = folder;
	return NULL;
}

static struct dfg_err *list(const char *path, struct steps *out_steps)
{
	*out_steps = (struct steps){0};
	struct dfg_err *err = each_entry(path, add_step, out_steps);
	if (err) {
		dfg_free(out_steps->folder);
		return err;
	}
	if (out_steps->count)
		qsort(out_steps->folder, out_steps->count, sizeof *out_steps->folder, by_step);
	return NULL;
}

struct dfg_err *dfg_checkpoints_any(const char *path, bool *out_any)
{
	struct steps steps;
	DFG_TRY(list(path, &steps));
	*out_any = steps.count > 0;
	dfg_free(steps.folder);
	return NULL;
}

struct dfg_err *dfg_checkpoints_newest(const char *path, uint64_t *out_step)
{
	struct steps steps;
	*out_step = 0;
	DFG_TRY(list(path, &steps));
	for (size_t i = 0; i < steps.count; i++)
		if (steps.folder[i].step > *out_step)
			*out_step = steps.folder[i].step;
	dfg_free(steps.folder);
	return NULL;
}

/* Whether the file is part of a checkpoint, possibly a partial one of a killed writer. */
static bool is_ours(const char *name)
{
	static const char *const file[] = {data_name, manifest_name};
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
		size_t stem = strlen(file[i]);
		if (!strcmp(name, file[i]))
			return true;
		if (*name == '.' && !strncmp(name + 1, file[i], stem) && name[1 + stem] == '.' &&
			!strcmp(name + length - strlen(".tmp"), ".tmp"))
			return true;
	}
	return false;
}

static struct dfg_err *check_entry(void *arg, const char *name)
{
	const char *folder = arg;
	if (is_ours(name) || !strcmp(name, ".") || !strcmp(name, ".."))
		return NULL;
	return DFG_ERR(DFG_NO_OUTPUT,
		"%s: holds '%s', which is not part of a checkpoint and is not removed; give another folder", folder, name);
}

static struct dfg_err *check_folder(void *arg, const char *name)
{
	struct dfg_text path = {0};
	uint64_t step;
	if (!step_of(name, &step) && !is_leftover(name))
		return NULL;
	struct dfg_err *err = join(&path, arg, name);
	if (!err)
		err = each_entry(path.s, check_entry, path.s);
	dfg_text_release(&path);
	return err;
}

struct dfg_err *dfg_checkpoints_check(const char *path)
{
	return each_entry(path, check_folder, (void *)path);
}

static struct dfg_err *remove_entry(void *arg, const char *name)
{
	if (is_ours(name))
		dfg_fs_unlink_in(arg, name);
	return NULL;
}

/* Removes the manifest first, and syncs that: a folder without a manifest is not a checkpoint. */
static struct dfg_err *remove_folder(const char *folder)
{
	DFG_TRY(each_entry(folder, check_entry, (void *)folder));
	if (!dfg_fs_unlink_in(folder, manifest_name))
		DFG_TRY(dfg_fs_sync_folder(folder));
	DFG_TRY(each_entry(folder, remove_entry, (void *)folder));
	if (dfg_fs->rmdir(folder) && errno != ENOENT)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot remove: %s", folder, strerror(errno));
	return NULL;
}

static struct dfg_err *remove_leftover(void *arg, const char *name)
{
	struct dfg_text path = {0};
	if (!is_leftover(name))
		return NULL;
	struct dfg_err *err = join(&path, arg, name);
	if (!err)
		err = remove_folder(path.s);
	dfg_text_release(&path);
	return err;
}

static struct dfg_err *make_directory(const char *path)
{
	if (!dfg_fs->mkdir(path, 0777))
		return dfg_fs_sync_parent(path);
	struct stat stat_;
	int error = errno;
	if (error == EEXIST && !stat(path, &stat_) && S_ISDIR(stat_.st_mode))
		return NULL;
	return DFG_ERR(dfg_code_of_errno(error, DFG_NO_OUTPUT), "%s: cannot create: %s", path, strerror(error));
}

/* The lock ends with the process. */
static struct dfg_err *take_lock(struct dfg_checkpoints *checkpoints)
{
	struct dfg_text path = {0};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct dfg_err *err = join(&path, checkpoints->path, ".lock");
	if (!err) {
		checkpoints->lock = dfg_fs->open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		checkpoints->locked = checkpoints->lock >= 0;
		if (!checkpoints->locked)
			err = DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", path.s, strerror(errno));
		else if (fcntl(checkpoints->lock, F_OFD_SETLK, &whole))
			err = DFG_ERR(DFG_STOPPED, "%s: another process is writing checkpoints there", checkpoints->path);
	}
	dfg_text_release(&path);
	return err;
}

struct dfg_err *dfg_checkpoints_open(const char *path, struct dfg_checkpoints *out_checkpoints)
{
	size_t length = strlen(path);
	*out_checkpoints = (struct dfg_checkpoints){.path = dfg_zeros(length + 1, 1)};
	if (!out_checkpoints->path)
		return dfg_no_memory("the path of the checkpoints");
	memcpy(out_checkpoints->path, path, length);
	while (length > 1 && out_checkpoints->path[length - 1] == '/')
		out_checkpoints->path[--length] = '\0';
	struct dfg_err *err = make_directory(out_checkpoints->path);
	if (!err)
		err = take_lock(out_checkpoints);
	if (!err)
		err = each_entry(out_checkpoints->path, remove_leftover, out_checkpoints->path);
	if (err)
		dfg_checkpoints_release(out_checkpoints);
	return err;
}

void dfg_checkpoints_release(struct dfg_checkpoints *checkpoints)
{
	if (checkpoints->locked)
		dfg_fs->close(checkpoints->lock);
	dfg_free(checkpoints->path);
	dfg_free(checkpoints->spared);
	*checkpoints = (struct dfg_checkpoints){0};
}

static struct dfg_err *write_manifest(const char *path, const struct dfg_text *text)
{
	struct dfg_out out;
	DFG_TRY(dfg_out_open(path, false, &out));
	struct dfg_err *err = dfg_out_write(&out, text->s, text->length);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

/* Writes the data and then the manifest to a folder that is not yet a checkpoint. */
static struct dfg_err *write_folder(const char *folder, const struct dfg_checkpoint *checkpoint)
{
	struct dfg_text path = {0}, manifest = {0};
	struct dfg_err *err = join(&path, folder, data_name);
	if (!err)
		err = dfg_arrays_write(path.s, "safetensors", false, &checkpoint->arrays);
	if (!err)
		err = dfg_manifest_print(checkpoint, &manifest);
	if (!err)
		err = join(&path, folder, manifest_name);
	if (!err)
		err = write_manifest(path.s, &manifest);
	dfg_text_release(&manifest);
	dfg_text_release(&path);
	return err;
}

/* An existing folder of that name is damaged or of another run: the run would have continued from a complete one. */
static struct dfg_err *publish(const char *folder, const char *name)
{
	DFG_TRY(remove_folder(name));
	if (dfg_fs->rename(folder, name))
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot rename to %s: %s", folder, name, strerror(errno));
	return dfg_fs_sync_parent(name);
}

static struct dfg_err *remove_step(const char *path, const char *name)
{
	struct dfg_text folder = {0};
	struct dfg_err *err = join(&folder, path, name);
	if (!err)
		err = remove_folder(folder.s);
	dfg_text_release(&folder);
	return err;
}

/* The --keep limit of the run that wrote a checkpoint: 0: none, -1: not recorded, -2: the checkpoint is damaged. */
static struct dfg_err *limit_of(const char *path, const char *name, int64_t *out_limit)
{
	struct dfg_text file = {0};
	struct dfg_blob blob = {0};
	dfg_text_add(&file, "%s/%s/%s", path, name, manifest_name);
	struct dfg_err *err = dfg_text_check(&file);
	if (!err)
		err = dfg_blob_open(file.s, 0, &blob);
	if (!err)
		err = dfg_manifest_keep(&blob, out_limit);
	dfg_blob_close(&blob);
	dfg_text_release(&file);
	if (!err || err->code == DFG_MEMORY)
		return err;
	dfg_err_free(err);
	*out_limit = -2;
	return NULL;
}

static struct dfg_err *spare(struct dfg_checkpoints *checkpoints, const struct steps *steps, int64_t *limit)
{
	uint64_t unknown = 0;
	for (size_t i = 0; i < steps->count; i++) {
		DFG_TRY(limit_of(checkpoints->path, steps->folder[i].name, &limit[i]));
		unknown += limit[i] == -1;
	}
	for (size_t i = 0; i < steps->count; i++) {
		bool larger = limit[i] == 0 || limit[i] > (int64_t)checkpoints->keep;
		if (larger || (limit[i] == -1 && unknown > checkpoints->keep))
			checkpoints->spared[checkpoints->n_spared++] = steps->folder[i].step;
	}
	return NULL;
}

struct dfg_err *dfg_checkpoints_spare(struct dfg_checkpoints *checkpoints)
{
	struct steps steps;
	if (!checkpoints->keep)
		return NULL;
	DFG_TRY(list(checkpoints->path, &steps));
	int64_t *limit = dfg_zeros(steps.count + 1, sizeof *limit);
	checkpoints->spared = dfg_zeros(steps.count + 1, sizeof *checkpoints->spared);
	struct dfg_err *err =
		limit && checkpoints->spared ? spare(checkpoints, &steps, limit) : dfg_no_memory("a list of checkpoints");
	dfg_free(limit);
	dfg_free(steps.folder);
	return err;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;
	return (*one > *two) - (*one < *two);
}

static bool is_spared(const struct dfg_checkpoints *checkpoints, uint64_t step)
{
	return checkpoints->n_spared &&
		   bsearch(&step, checkpoints->spared, checkpoints->n_spared, sizeof step, by_number) != NULL;
}

/* Counts back from the checkpoint just saved: one with a larger number is damaged or of another run. */
static struct dfg_err *let_go(struct dfg_checkpoints *checkpoints, uint64_t saved)
{
	struct steps steps;
	struct dfg_err *err = NULL;
	uint64_t kept = 0;
	if (!checkpoints->keep && !checkpoints->replace)
		return NULL;
	DFG_TRY(list(checkpoints->path, &steps));
	for (size_t i = steps.count; !err && i-- > 0;) {
		bool foreign = checkpoints->replace && steps.folder[i].step != saved;
		if (is_spared(checkpoints, steps.folder[i].step))
			continue;
		if (steps.folder[i].step <= saved)
			kept++;
		if (foreign || (checkpoints->keep && kept > checkpoints->keep))
			err = remove_step(checkpoints->path, steps.folder[i].name);
	}
	dfg_free(steps.folder);
	checkpoints->replace = false;
	return err;
}

struct dfg_err *dfg_checkpoints_save(struct dfg_checkpoints *checkpoints, const struct dfg_checkpoint *checkpoint)
{
	struct dfg_text folder = {0}, name = {0};
	dfg_text_add(&name, "%s/step-%llu", checkpoints->path, (unsigned long long)checkpoint->step);
	dfg_text_add(&folder, "%s.tmp-%ld", name.s ? name.s : "", (long)getpid());
	struct dfg_err *err = dfg_err_join(dfg_text_check(&name), dfg_text_check(&folder));
	bool made = !err && !dfg_fs->mkdir(folder.s, 0777);
	if (!err && !made)
		err = DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", folder.s, strerror(errno));
	if (!err)
		err = write_folder(folder.s, checkpoint);
	if (!err)
		err = publish(folder.s, name.s);
	if (err && made)
		err = dfg_err_join(err, remove_folder(folder.s));
	dfg_text_release(&folder);
	dfg_text_release(&name);
	return err ? err : let_go(checkpoints, checkpoint->step);
}

/* Distinguishes the manifest from that of a plan by its first bytes. */
static bool begins_as_manifest(const char *folder)
{
	static const char begins[] = "{\"format\":\"dfg checkpoint\"";
	char have[sizeof begins - 1];
	int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int file = directory < 0 ? -1 : openat(directory, manifest_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = file >= 0 && read(file, have, sizeof have) == sizeof have && !memcmp(have, begins, sizeof have);
	if (file >= 0)
		close(file);
	if (directory >= 0)
		close(directory);
	return is;
}

bool dfg_checkpoint_is(const char *path)
{
	bool both = dfg_folder_holds(path, data_name) && dfg_folder_holds(path, manifest_name);
	return both || begins_as_manifest(path);
}

/* A missing file is damage of the checkpoint, which the user named. */
static struct dfg_err *not_whole(struct dfg_err *err, const char *folder, const char *file)
{
	if (!err || err->code != DFG_NO_INPUT)
		return err;
	dfg_err_free(err);
	return DFG_ERR(DFG_DATA, "%s: has no %s: the checkpoint is incomplete", folder, file);
}

static struct dfg_err *load_folder(const char *folder, struct dfg_checkpoint *out_checkpoint)
{
	struct dfg_text path = {0};
	struct dfg_blob blob = {0};
	struct dfg_err *err = join(&path, folder, manifest_name);
	if (!err)
		err = not_whole(dfg_blob_open(path.s, 0, &blob), folder, manifest_name);
	if (!err)
		err = join(&path, folder, data_name);
	if (!err)
		err = not_whole(dfg_arrays_read(path.s, &out_checkpoint->arrays), folder, data_name);
	if (!err)
		err = dfg_err_note(dfg_manifest_check(&blob, out_checkpoint), "%s/%s", folder, manifest_name);
	dfg_blob_close(&blob);
	dfg_text_release(&path);
	if (err)
		dfg_checkpoint_release(out_checkpoint);
	return err;
}

static struct dfg_err *load_step(const char *path, const struct folder *which, struct dfg_checkpoint *out_checkpoint)
{
	struct dfg_text folder = {0};
	struct dfg_err *err = join(&folder, path, which->name);
	if (!err)
		err = load_folder(folder.s, out_checkpoint);
	if (!err && out_checkpoint->step != which->step) {
		dfg_checkpoint_release(out_checkpoint);
		err = DFG_ERR(DFG_DATA, "%s: contains the checkpoint of another step", folder.s);
	}
	dfg_text_release(&folder);
	return err;
}

static struct dfg_err *load_newest(
	const char *path, const struct dfg_notes *notes, struct dfg_checkpoint *out_checkpoint)
{
	struct steps steps;
	struct dfg_err *err = NULL;
	bool found = false;
	DFG_TRY(list(path, &steps));
	for (size_t i = steps.count; !err && !found && i-- > 0;) {
		err = load_step(path, &steps.folder[i], out_checkpoint);
		found = !err;
		if (!err || err->code == DFG_MEMORY)
			continue;
		if (notes && notes->note)
			notes->note(notes->arg, err->text);
		dfg_err_free(err);
		err = NULL;
	}
	if (!err && !steps.count && dfg_folder_holds(path, data_name))
		err = load_folder(path, out_checkpoint);
	else if (!err && !found)
		err = DFG_ERR(DFG_DATA, "%s: holds no %scheckpoint", path, steps.count ? "complete " : "");
	dfg_free(steps.folder);
	return err;
}

struct dfg_err *dfg_checkpoint_load(
	const char *path, const struct dfg_notes *notes, struct dfg_checkpoint *out_checkpoint)
{
	*out_checkpoint = (struct dfg_checkpoint){0};
	if (dfg_checkpoint_is(path))
		return load_folder(path, out_checkpoint);
	return load_newest(path, notes, out_checkpoint);
}

void dfg_checkpoint_release(struct dfg_checkpoint *checkpoint)
{
	dfg_arrays_release(&checkpoint->arrays);
}
