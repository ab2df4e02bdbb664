#define _GNU_SOURCE
#include "lib/base/io.h"

#include "lib/base/mem.h"
#include "lib/base/sha256.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int fs_open(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

static int fs_exchange(const char *a, const char *b)
{
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static const struct dfg_fs system_fs = {
	.open = fs_open,
	.read = read,
	.write = write,
	.sync = fsync,
	.close = close,
	.rename = rename,
	.exchange = fs_exchange,
	.unlink = unlink,
	.mkdir = mkdir,
	.rmdir = rmdir,
	.read_at = pread,
	.write_at = pwrite,
};
const struct dfg_fs *dfg_fs = &system_fs;

static struct dfg_err *no_input(const char *path)
{
	return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "%s: %s", path, strerror(errno));
}

enum { DEVICE_MOST = 16 * 1024 * 1024 };

/* A file that may never end must not use up the machine's memory. */
static size_t stream_most(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (size_t)pages / 2 * (size_t)size : SIZE_MAX / 2;
}

/* Pipes have no length: the capacity doubles. */
static struct dfg_err *read_all(int fd, const char *path, size_t limit, struct dfg_blob *blob)
{
	uint8_t *bytes = NULL;
	size_t capacity = 0, size = 0, most = stream_most();
	struct dfg_err *err = NULL;
	while (!err) {
		if (size > most) {
			err = DFG_ERR(DFG_MEMORY, "%s: has more than %zu bytes, half of this machine's memory", path, most);
			break;
		}
		if (size == capacity && !dfg_reserve(&bytes, &capacity, capacity ? 2 * capacity : 64 * 1024, 1)) {
			err = DFG_ERR(DFG_MEMORY, "%s: no memory to read more than %zu bytes", path, size);
			break;
		}
		ssize_t got = dfg_fs->read(fd, bytes + size, capacity - size);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			err = DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: %s", path, strerror(errno));
		size += got > 0 ? (size_t)got : 0;
		if (!err && limit && size > limit)
			err = DFG_ERR(DFG_DATA, "%s: is larger than the limit of %zu bytes", path, limit);
	}
	if (err) {
		dfg_free(bytes);
		return err;
	}
	*blob = (struct dfg_blob){bytes, size, false};
	return NULL;
}

static struct dfg_err *map_all(int fd, const char *path, size_t size, size_t limit, struct dfg_blob *blob)
{
	if (limit && size > limit)
		return DFG_ERR(DFG_DATA, "%s: has %zu bytes, the limit is %zu", path, size, limit);
	if (!size)
		return NULL;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return read_all(fd, path, limit, blob);
	*blob = (struct dfg_blob){bytes, size, true};
	return NULL;
}

/* Such as /dev/null, which is empty; not one that has no end. */
static struct dfg_err *read_device(int fd, const char *path, struct dfg_blob *blob)
{
	struct dfg_err *err = read_all(fd, path, DEVICE_MOST, blob);
	if (!err || err->code != DFG_DATA)
		return err;
	dfg_err_free(err);
	return DFG_ERR(DFG_NO_INPUT, "%s: is a device that still has data after %d MiB: give a file", path,
		DEVICE_MOST / (1024 * 1024));
}

struct dfg_err *dfg_blob_open(const char *path, size_t limit, struct dfg_blob *out_blob)
{
	*out_blob = (struct dfg_blob){0};
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : dfg_fs->open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return no_input(path);
	struct stat stat;
	struct dfg_err *err = NULL;
	if (fstat(fd, &stat))
		err = no_input(path);
	else if (S_ISDIR(stat.st_mode))
		err = DFG_ERR(DFG_NO_INPUT, "%s: is a directory", path);
	else if (S_ISREG(stat.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
		err = map_all(fd, path, (size_t)stat.st_size, limit, out_blob);
	else if (S_ISCHR(stat.st_mode) && !isatty(fd) && !limit)
		err = read_device(fd, path, out_blob);
	else
		err = read_all(fd, path, limit, out_blob);
	if (!is_stdin)
		dfg_fs->close(fd);
	return err;
}

struct dfg_err *dfg_blob_open_plain(const char *path, size_t limit, struct dfg_blob *out_blob)
{
	*out_blob = (struct dfg_blob){0};
	struct stat stat;
	int fd = dfg_fs->open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0 && errno == ELOOP)
		return DFG_ERR(DFG_DATA, "%s: is a symbolic link, which is not followed", path);
	if (fd < 0)
		return no_input(path);
	struct dfg_err *err = NULL;
	if (fstat(fd, &stat))
		err = no_input(path);
	else if (!S_ISREG(stat.st_mode))
		err = DFG_ERR(DFG_DATA, "%s: is not a regular file", path);
	else if (stat.st_nlink != 1)
		err = DFG_ERR(DFG_DATA, "%s: has %lu hard links, expected 1: a file with several names is not read", path,
			(unsigned long)stat.st_nlink);
	else
		err = map_all(fd, path, (size_t)stat.st_size, limit, out_blob);
	dfg_fs->close(fd);
	return err;
}

void dfg_blob_close(struct dfg_blob *blob)
{
	if (blob->mapped)
		munmap((void *)blob->bytes, blob->size);
	else
		dfg_free((void *)blob->bytes);
	*blob = (struct dfg_blob){0};
}

struct dfg_err *dfg_fs_write_all(int fd, const char *path, const void *bytes, size_t count)
{
	for (const char *from = bytes; count;) {
		ssize_t put = dfg_fs->write(fd, from, count);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot write: %s", path, strerror(errno));
		from += put;
		count -= (size_t)put;
	}
	return NULL;
}

static struct dfg_err *no_output(const char *path)
{
	return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", path, strerror(errno));
}

/* Bytes of the directory part, its slash included. */
static size_t parent_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) + 1 : 0;
}

struct dfg_err *dfg_fs_sync_folder(const char *folder)
{
	int fd = dfg_fs->open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: %s", folder, strerror(errno));
	int failed = dfg_fs->sync(fd) && errno != EINVAL;
	struct dfg_err *err =
		failed ? DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot sync: %s", folder, strerror(errno)) : NULL;
	dfg_fs->close(fd);
	return err;
}

struct dfg_err *dfg_fs_sync_parent(const char *path)
{
	char parent[PATH_MAX] = "./";
	size_t length = parent_length(path);
	if (length >= sizeof parent)
		return DFG_ERR(DFG_NO_OUTPUT, "%s: the path of its folder has %zu bytes, the limit is %zu", path, length,
			sizeof parent - 1);
	if (length)
		memcpy(parent, path, length), parent[length] = '\0';
	return dfg_fs_sync_folder(parent);
}

int dfg_fs_unlink_in(const char *folder, const char *name)
{
	char path[PATH_MAX];
	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
		return dfg_fs->unlink(path);
	errno = ENAMETOOLONG;
	return -1;
}

enum { BUFFER = 256 * 1024, NAME_SHOWN = 200 /* a name may have 255 bytes, a temporary one has more to say */ };

/* Open outputs, newest first; only the main thread opens and closes them. */
static struct dfg_out *volatile open_outs;

/* A file that is whole and waits for its name. */
struct waiting {
	char *path, *temporary;
	bool is_new;
	struct waiting *next;
};
static struct waiting *volatile waiting; /* in the order of the commits */
static int together;                     /* begun and not ended */

void dfg_out_remove_all(void)
{
	for (struct waiting *file = waiting; file; file = file->next)
		unlink(file->temporary);
	for (struct dfg_out *out = open_outs; out; out = out->next)
		if (out->temporary)
			unlink(out->temporary);
}

/* The new file is as open to others as the one it replaces; a bit that lends the owner's rights does not go to another owner. */
static struct dfg_err *keep_mode(int fd, const char *path, const struct stat *old)
{
	struct stat stat_;
	if (fstat(fd, &stat_))
		return no_output(path);
	bool same = stat_.st_uid == old->st_uid && stat_.st_gid == old->st_gid;
	bool kept = same || !fchown(fd, old->st_uid, old->st_gid);
	return fchmod(fd, old->st_mode & (kept ? 07777 : 0777)) ? no_output(path) : NULL;
}

static struct dfg_err *create_beside(const char *path, struct dfg_out *out)
{
	static unsigned serial;
	struct stat old;
	bool replaces = !stat(path, &old);
	size_t capacity = strlen(path) + 48;
	if (!(out->temporary = dfg_zeros(capacity, 1)))
		return dfg_no_memory("an output file");
	size_t parent = parent_length(path);
	for (int tries = 0; tries < 100; tries++) {
		snprintf(out->temporary, capacity, "%.*s.%.*s.%ld-%u.tmp", (int)parent, path, NAME_SHOWN, path + parent,
			(long)getpid(), serial++);
		out->fd = dfg_fs->open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
		if (out->fd >= 0 || errno != EEXIST)
			break;
	}
	if (out->fd >= 0) {
		out->open = true;
		return replaces ? keep_mode(out->fd, path, &old) : NULL;
	}
	struct dfg_err *err = no_output(path);
	dfg_free(out->temporary);
	out->temporary = NULL;
	return err;
}

enum { LINKS_MOST = 40 };

/* The name that the links at path lead to at last, whether there is something or not; from the heap. */
static struct dfg_err *follow(const char *path, char **out_path)
{
	char target[4096], *at = dfg_zeros(strlen(path) + 1, 1);
	if (at)
		memcpy(at, path, strlen(path));
	for (int links = 0; at; links++) {
		ssize_t length = readlink(at, target, sizeof target);
		if (length < 0) {
			*out_path = at;
			return NULL;
		}
		if (links == LINKS_MOST || (size_t)length == sizeof target) {
			dfg_free(at);
			errno = links == LINKS_MOST ? ELOOP : ENAMETOOLONG;
			return no_output(path);
		}
		size_t parent = *target == '/' ? 0 : parent_length(at);
		char *next = dfg_zeros(parent + (size_t)length + 1, 1);
		if (next) {
			memcpy(next, at, parent);
			memcpy(next + parent, target, (size_t)length);
		}
		dfg_free(at);
		at = next;
	}
	return dfg_no_memory("a path");
}

struct dfg_err *dfg_out_open(const char *path, bool if_changed, struct dfg_out *out)
{
	*out = (struct dfg_out){.fd = -1, .if_changed = if_changed};
	DFG_TRY(follow(path, &out->path));
	out->buffer = dfg_zeros(BUFFER, 1);
	if (!out->buffer) {
		dfg_out_release(out);
		return dfg_no_memory("an output file");
	}
	struct dfg_err *err = NULL;
	struct stat stat_;
	if (!strcmp(path, "-")) {
		out->direct = true;
		out->fd = STDOUT_FILENO;
		out->is_terminal = isatty(STDOUT_FILENO);
	} else if (!stat(path, &stat_) && !S_ISREG(stat_.st_mode)) {
		out->direct = true;
		out->fd = dfg_fs->open(path, O_WRONLY | O_CLOEXEC, 0);
		err = out->fd < 0 ? no_output(path) : NULL;
	} else {
		err = create_beside(out->path, out);
	}
	if (err) {
		dfg_out_release(out);
		return err;
	}
	out->open = true;
	out->next = open_outs;
	open_outs = out;
	return NULL;
}

struct dfg_err *dfg_out_try(const char *path)
{
	struct dfg_out out = {0};
	struct stat stat_;
	if (!strcmp(path, "-") || (!stat(path, &stat_) && !S_ISREG(stat_.st_mode)))
		return NULL;
	struct dfg_err *err = dfg_out_open(path, false, &out);
	dfg_out_release(&out);
	return err;
}

static struct dfg_err *put_bytes(struct dfg_out *out, const void *bytes, size_t count)
{
	if (out->sha)
		dfg_sha256_add(out->sha, bytes, count);
	if (out->memory) {
		dfg_text_put(out->memory, bytes, count);
		return dfg_text_check(out->memory);
	}
	if (!out->is_terminal)
		return dfg_fs_write_all(out->fd, out->path, bytes, count);
	struct dfg_text text = {0};
	dfg_text_printable(&text, bytes, count, "\n\t");
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		err = dfg_fs_write_all(out->fd, out->path, text.s, text.length);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *flush(struct dfg_out *out)
{
	size_t used = out->used;
	out->used = 0;
	return put_bytes(out, out->buffer, used);
}

struct dfg_err *dfg_out_write(struct dfg_out *out, const void *bytes, size_t count)
{
	if (count > BUFFER - out->used) {
		DFG_TRY(flush(out));
		if (count >= BUFFER)
			return put_bytes(out, bytes, count);
	}
	if (count)
		memcpy(out->buffer + out->used, bytes, count);
	out->used += count;
	return NULL;
}

bool dfg_fs_same_bytes(const char *a, const char *b)
{
	struct dfg_blob one = {0}, two = {0};
	struct dfg_err *err = dfg_err_join(dfg_blob_open(a, 0, &one), dfg_blob_open(b, 0, &two));
	bool same = !err && one.size == two.size && (!one.size || !memcmp(one.bytes, two.bytes, one.size));
	dfg_err_free(err);
	dfg_blob_close(&one);
	dfg_blob_close(&two);
	return same;
}

static struct dfg_err *close_file(struct dfg_out *out)
{
	int fd = out->fd;
	out->fd = -1;
	if (fd == STDOUT_FILENO || out->memory || !dfg_fs->close(fd))
		return NULL;
	return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot close: %s", out->path, strerror(errno));
}

static struct dfg_err *give_name(const char *temporary, const char *path)
{
	if (!dfg_fs->rename(temporary, path))
		return NULL;
	return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", path, strerror(errno));
}

/* Takes the names over from the output. */
static struct dfg_err *wait_for_the_others(struct dfg_out *out)
{
	struct waiting *file = dfg_zeros(1, sizeof *file), *volatile *last = &waiting;
	struct stat old;
	if (!file)
		return dfg_no_memory("an output file");
	*file = (struct waiting){out->path, out->temporary, lstat(out->path, &old) != 0, NULL};
	while (*last)
		last = (struct waiting *volatile *)&(*last)->next;
	*last = file;
	out->path = out->temporary = NULL;
	return NULL;
}

void dfg_out_begin(void)
{
	together++;
}

/* *out_unnamed is the first that got none, or NULL. */
static struct dfg_err *give_names(struct waiting **out_unnamed)
{
	struct dfg_err *err = NULL;
	struct waiting *file = waiting;
	for (; file && !(err = give_name(file->temporary, file->path)); file = file->next)
		continue;
	*out_unnamed = file;
	for (file = waiting; file && !err; file = file->next)
		err = dfg_fs_sync_parent(file->path);
	return err;
}

struct dfg_err *dfg_out_end(struct dfg_err *err)
{
	struct waiting *unnamed = waiting, *next;
	if (--together)
		return err;
	if (!err)
		err = give_names(&unnamed);
	bool has_name = true;
	for (struct waiting *file = waiting; file; file = next) {
		next = file->next;
		has_name &= file != unnamed;
		if (!has_name)
			dfg_fs->unlink(file->temporary);
		else if (unnamed && file->is_new)
			dfg_fs->unlink(file->path);
		waiting = next;
		dfg_free(file->path);
		dfg_free(file->temporary);
		dfg_free(file);
	}
	return err;
}

struct dfg_err *dfg_out_commit(struct dfg_out *out)
{
	DFG_TRY(flush(out));
	if (out->direct)
		return close_file(out);
	if (dfg_fs->sync(out->fd))
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot sync: %s", out->path, strerror(errno));
	DFG_TRY(close_file(out));
	if (out->if_changed && dfg_fs_same_bytes(out->temporary, out->path))
		return NULL;
	if (together)
		return wait_for_the_others(out);
	DFG_TRY(give_name(out->temporary, out->path));
	dfg_free(out->temporary);
	out->temporary = NULL;
	return dfg_fs_sync_parent(out->path);
}

void dfg_out_release(struct dfg_out *out)
{
	for (struct dfg_out *volatile *at = &open_outs; *at; at = &(*at)->next)
		if (*at == out) {
			*at = out->next;
			break;
		}
	if (out->open && out->fd >= 0 && out->fd != STDOUT_FILENO)
		dfg_fs->close(out->fd);
	if (out->temporary)
		dfg_fs->unlink(out->temporary);
	dfg_free(out->temporary);
	dfg_free(out->path);
	dfg_free(out->buffer);
	*out = (struct dfg_out){.fd = -1};
}

struct dfg_err *dfg_out_open_memory(struct dfg_text *text, struct dfg_out *out)
{
	*out = (struct dfg_out){.fd = -1, .direct = true, .memory = text, .buffer = dfg_zeros(BUFFER, 1)};
	return out->buffer ? NULL : dfg_no_memory("an output");
}

struct dfg_err *dfg_out_text(const char *path, bool if_changed, const struct dfg_text *text)
{
	struct dfg_out out = {0};
	struct dfg_err *err = dfg_text_check(text);
	if (!err)
		err = dfg_out_open(path, if_changed, &out);
	if (!err)
		err = dfg_out_write(&out, text->s ? text->s : "", text->length);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}
