#define _GNU_SOURCE
#include "lib/base/folder.h"

#include "lib/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct dfg_err *no_output(const char *path)
{
	return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", path, strerror(errno));
}

/* "DIRECTORY/NAME" from the heap; NULL when memory is short. */
static char *join(const char *directory, const char *name)
{
	size_t capacity = strlen(directory) + strlen(name) + 2;
	char *path = dfg_zeros(capacity, 1);
	if (path)
		snprintf(path, capacity, "%s/%s", directory, name);
	return path;
}

struct dfg_err *dfg_folder_each(const char *path, struct dfg_err *(*see)(void *arg, const char *name), void *arg)
{
	DIR *directory = opendir(path);
	struct dfg_err *err = NULL;
	if (!directory)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "%s: %s", path, strerror(errno));
	for (struct dirent *entry; !err && (entry = readdir(directory));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = see(arg, entry->d_name);
	closedir(directory);
	return err;
}

/* Open folders, newest first; only the main thread opens and closes them. */
static struct dfg_folder *volatile open_folders;

void dfg_folder_remove_all(void)
{
	for (struct dfg_folder *folder = open_folders; folder; folder = folder->next) {
		for (size_t i = 0; i < folder->files; i++)
			unlink(folder->file[i]);
		if (folder->temporary)
			rmdir(folder->temporary);
	}
}

static struct dfg_err *check_ours(void *arg, const char *name)
{
	const struct dfg_folder *folder = arg;
	struct stat stat_;
	char *path = join(folder->path, name);
	if (!path)
		return dfg_no_memory("the paths of a folder");
	bool fine = folder->ours(name) && !lstat(path, &stat_) && !S_ISDIR(stat_.st_mode);
	dfg_free(path);
	return fine ? NULL
				: DFG_ERR(DFG_NO_OUTPUT,
					  "%s: contains '%s', which dfg did not write and does not remove; give another folder",
					  folder->path, name);
}

/* Without slashes at its end, and where a link leads: the folder is replaced, not the link. */
static struct dfg_err *take_path(const char *path, struct dfg_folder *folder)
{
	struct stat stat_;
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (!(folder->path = dfg_zeros(length + 1, 1)))
		return dfg_no_memory("the paths of a folder");
	memcpy(folder->path, path, length);
	const char *slash = strrchr(folder->path, '/'), *last = slash ? slash + 1 : folder->path;
	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return DFG_ERR(DFG_NO_OUTPUT,
			"%s: cannot replace a folder through this path: give a path that ends in the folder's name", path);
	if (lstat(folder->path, &stat_) && errno == ENOENT)
		return NULL;
	char resolved[PATH_MAX];
	if (!realpath(folder->path, resolved) || stat(resolved, &stat_))
		return no_output(path);
	if (!S_ISDIR(stat_.st_mode))
		return DFG_ERR(DFG_NO_OUTPUT, "%s: exists and is not a folder", path);
	folder->exists = true;
	dfg_free(folder->path);
	if (!(folder->path = dfg_zeros(strlen(resolved) + 1, 1)))
		return dfg_no_memory("the paths of a folder");
	memcpy(folder->path, resolved, strlen(resolved));
	return dfg_folder_each(folder->path, check_ours, folder);
}

static struct dfg_err *create_beside(struct dfg_folder *folder)
{
	static unsigned serial;
	struct stat stat_;
	size_t capacity = strlen(folder->path) + 48;
	const char *slash = strrchr(folder->path, '/');
	int parent = slash ? (int)(slash - folder->path) + 1 : 0;
	if (!(folder->temporary = dfg_zeros(capacity, 1)))
		return dfg_no_memory("the paths of a folder");
	int failed = -1;
	for (int tries = 0; tries < 100; tries++) {
		snprintf(folder->temporary, capacity, "%.*s.%s.%ld-%u.tmp", parent, folder->path, folder->path + parent,
			(long)getpid(), serial++);
		failed = dfg_fs->mkdir(folder->temporary, 0777);
		if (!failed || errno != EEXIST)
			break;
	}
	if (!failed) {
		bool keeps = folder->exists && !stat(folder->path, &stat_);
		return keeps && chmod(folder->temporary, stat_.st_mode & 07777) ? no_output(folder->path) : NULL;
	}
	struct dfg_err *err = no_output(folder->path);
	dfg_free(folder->temporary);
	folder->temporary = NULL;
	return err;
}

static void add_to_open(struct dfg_folder *folder)
{
	folder->next = open_folders;
	open_folders = folder;
}

struct dfg_err *dfg_folder_open(
	const char *path, bool if_changed, bool (*ours)(const char *name), struct dfg_folder *out_folder)
{
	*out_folder = (struct dfg_folder){.if_changed = if_changed, .ours = ours};
	struct dfg_err *err = take_path(path, out_folder);
	if (!err)
		err = create_beside(out_folder);
	if (err) {
		dfg_folder_release(out_folder);
		return err;
	}
	add_to_open(out_folder);
	return NULL;
}

struct dfg_err *dfg_folder_open_scratch(const char *what, struct dfg_folder *out_folder)
{
	const char *given = getenv("TMPDIR"), *parent = given && *given ? given : "/tmp";
	const size_t capacity = strlen(parent) + strlen(what) + 16;
	*out_folder = (struct dfg_folder){.path = NULL};
	char *path = dfg_zeros(capacity, 1);
	if (!path)
		return dfg_no_memory("the paths of a folder");
	snprintf(path, capacity, "%s/dfg-%s-XXXXXX", parent, what);
	if (!mkdtemp(path)) {
		struct dfg_err *err = no_output(path);
		dfg_free(path);
		return err;
	}
	out_folder->temporary = path;
	add_to_open(out_folder);
	return NULL;
}

struct dfg_err *dfg_folder_file(struct dfg_folder *folder, const char *name, const char **out_path)
{
	if (!dfg_reserve(&folder->file, &folder->capacity, folder->files + 1, sizeof *folder->file))
		return dfg_no_memory("the paths of a folder");
	if (!(folder->file[folder->files] = join(folder->temporary, name)))
		return dfg_no_memory("the paths of a folder");
	*out_path = folder->file[folder->files++];
	return NULL;
}

static struct dfg_err *count_entry(void *arg, const char *name)
{
	(void)name;
	++*(size_t *)arg;
	return NULL;
}

/* A file as it was before gets the time it had. */
static struct dfg_err *compare(const struct dfg_folder *folder, const char *file, bool *out_same)
{
	struct stat stat_;
	char *old = join(folder->path, strrchr(file, '/') + 1);
	if (!old)
		return dfg_no_memory("the paths of a folder");
	*out_same = dfg_fs_same_bytes(file, old);
	if (*out_same && !stat(old, &stat_)) {
		const struct timespec times[2] = {stat_.st_atim, stat_.st_mtim};
		*out_same = !utimensat(AT_FDCWD, file, times, 0);
	}
	dfg_free(old);
	return NULL;
}

static struct dfg_err *compare_all(const struct dfg_folder *folder, bool *out_same)
{
	size_t there = 0;
	bool all = true, same;
	for (size_t i = 0; i < folder->files; i++, all &= same)
		DFG_TRY(compare(folder, folder->file[i], &same));
	DFG_TRY(dfg_folder_each(folder->path, count_entry, &there));
	*out_same = all && there == folder->files;
	return NULL;
}

static struct dfg_err *cannot_replace(const struct dfg_folder *folder)
{
	return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot replace: %s", folder->path, strerror(errno));
}

/* For file systems that cannot exchange: there is a moment in which nothing has the name. */
static struct dfg_err *swap_by_steps(const struct dfg_folder *folder)
{
	struct dfg_err *err = NULL;
	size_t capacity = strlen(folder->temporary) + 5;
	char *aside = dfg_zeros(capacity, 1);
	if (!aside)
		return dfg_no_memory("the paths of a folder");
	snprintf(aside, capacity, "%s.old", folder->temporary);
	if (dfg_fs->rename(folder->path, aside)) {
		err = cannot_replace(folder);
	} else if (dfg_fs->rename(folder->temporary, folder->path)) {
		err = cannot_replace(folder);
		if (dfg_fs->rename(aside, folder->path))
			err = dfg_err_note(err, "the old folder is now %s", aside);
	} else if (dfg_fs->rename(aside, folder->temporary)) {
		err = DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot remove: %s", aside, strerror(errno));
	}
	dfg_free(aside);
	return err;
}

static struct dfg_err *put_in_place(const struct dfg_folder *folder)
{
	if (!folder->exists)
		return dfg_fs->rename(folder->temporary, folder->path) ? cannot_replace(folder) : NULL;
	if (!dfg_fs->exchange(folder->temporary, folder->path))
		return NULL;
	bool cannot = errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
	return cannot ? swap_by_steps(folder) : cannot_replace(folder);
}

static struct dfg_err *remove_one(void *arg, const char *name)
{
	const struct dfg_folder *folder = arg;
	if ((folder->ours && !folder->ours(name)) || !dfg_fs_unlink_in(folder->temporary, name))
		return NULL;
	return DFG_ERR(
		dfg_code_of_errno(errno, DFG_IO), "%s/%s: cannot remove: %s", folder->temporary, name, strerror(errno));
}

/* The temporary folder, whichever of the two that is by now. */
static struct dfg_err *remove_temporary(struct dfg_folder *folder)
{
	struct dfg_err *err = dfg_folder_each(folder->temporary, remove_one, folder);
	if (!err && dfg_fs->rmdir(folder->temporary))
		err = DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot remove: %s", folder->temporary, strerror(errno));
	dfg_free(folder->temporary);
	folder->temporary = NULL;
	return err;
}

struct dfg_err *dfg_folder_commit(struct dfg_folder *folder)
{
	bool same = false;
	if (folder->if_changed && folder->exists)
		DFG_TRY(compare_all(folder, &same));
	if (same)
		return NULL;
	DFG_TRY(put_in_place(folder));
	DFG_TRY(dfg_fs_sync_parent(folder->path));
	if (folder->exists)
		return remove_temporary(folder);
	dfg_free(folder->temporary);
	folder->temporary = NULL;
	return NULL;
}

void dfg_folder_release(struct dfg_folder *folder)
{
	for (struct dfg_folder *volatile *at = &open_folders; *at; at = &(*at)->next)
		if (*at == folder) {
			*at = folder->next;
			break;
		}
	if (folder->temporary)
		dfg_err_free(remove_temporary(folder));
	for (size_t i = 0; i < folder->files; i++)
		dfg_free(folder->file[i]);
	dfg_free(folder->file);
	dfg_free(folder->path);
	*folder = (struct dfg_folder){.path = NULL};
}

struct dfg_err *dfg_folder_end(struct dfg_folder *folder, struct dfg_err *err)
{
	if (folder->temporary && folder->path)
		dfg_err_rename(err, folder->temporary, folder->path);
	dfg_folder_release(folder);
	return err;
}

bool dfg_folder_holds(const char *path, const char *name)
{
	struct stat stat_;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	bool is = !fstatat(folder, name, &stat_, 0) && S_ISREG(stat_.st_mode);
	close(folder);
	return is;
}
