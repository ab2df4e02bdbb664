#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All file work of the program goes through dfg_fs, so that a test can stop, starve or break it at any operation. The
 * functions have the arguments and results of the system calls of the same names (-1 and errno).
 */
struct dfg_fs {
	int (*open)(const char *path, int flags, mode_t mode);
	ssize_t (*read)(int fd, void *to, size_t count);
	ssize_t (*write)(int fd, const void *from, size_t count);
	int (*sync)(int fd);
	int (*close)(int fd);
	int (*rename)(const char *from, const char *to);
	int (*exchange)(const char *a, const char *b); /* both names at once; EINVAL where the file system cannot */
	int (*unlink)(const char *path);
	int (*mkdir)(const char *path, mode_t mode);
	int (*rmdir)(const char *path);
	ssize_t (*read_at)(int fd, void *to, size_t count, off_t offset);
	ssize_t (*write_at)(int fd, const void *from, size_t count, off_t offset);
};
extern const struct dfg_fs *dfg_fs; /* the system's own, unless a test has replaced it */

/*
 * A whole file to read: mapped where it is a regular file, read into memory where it is a pipe or stdin ("-"). Bytes
 * after the end are never touched. limit is in bytes, 0 means none; a longer file is DFG_DATA. A path that does not exist,
 * or is neither file, pipe nor character device, is DFG_NO_INPUT. A zeroed struct is closed.
 */
struct dfg_blob {
	const uint8_t *bytes;
	size_t size;
	bool mapped;
};
DFG_MUST_CHECK struct dfg_err *dfg_blob_open(const char *path, size_t limit, struct dfg_blob *out_blob);

/*
 * The same for a file whose name comes from an untrusted file: it must be a regular file, not a symbolic link, and have
 * no other name (a hard link may lead anywhere); else DFG_DATA.
 */
DFG_MUST_CHECK struct dfg_err *dfg_blob_open_plain(const char *path, size_t limit, struct dfg_blob *out_blob);
void dfg_blob_close(struct dfg_blob *blob);

/*
 * A file to write, whole or not at all: the bytes go to a temporary file beside it, commit() syncs, renames and syncs the
 * directory. The new file takes the permissions of the one it replaces, and its owner where the system allows; a
 * symbolic link stays, and its target is replaced. "-" is stdout; an existing file that is not regular (a FIFO, a device)
 * is written directly. With if_changed, a file that holds the same bytes keeps its time. release() without commit()
 * leaves no file; it may be called in any state, also on a zeroed struct. A file that cannot be created is DFG_NO_OUTPUT,
 * one that cannot be written DFG_IO.
 */
struct dfg_sha256;
struct dfg_text;
struct dfg_out {
	char *path, *temporary;
	int fd;
	bool open, direct, if_changed;
	struct dfg_text *memory; /* gets the bytes instead of a file; NULL: there is a file */
	bool is_terminal;        /* gets text in which nothing steers a terminal */
	uint8_t *buffer;
	size_t used;
	struct dfg_sha256 *sha; /* hash of the bytes written, if the caller has set it; final after commit() */
	struct dfg_out *next;   /* the next in the list of files that a signal must remove */
};
DFG_MUST_CHECK struct dfg_err *dfg_out_open(const char *path, bool if_changed, struct dfg_out *out);
/* The same calls write to the text, which is borrowed and has the bytes after commit(). */
DFG_MUST_CHECK struct dfg_err *dfg_out_open_memory(struct dfg_text *text, struct dfg_out *out);
DFG_MUST_CHECK struct dfg_err *dfg_out_write(struct dfg_out *out, const void *bytes, size_t count);
DFG_MUST_CHECK struct dfg_err *dfg_out_commit(struct dfg_out *out);
void dfg_out_release(struct dfg_out *out);

/* Opens, writes and commits a file that holds the text; the error of the text, if building it ran out of memory. */
DFG_MUST_CHECK struct dfg_err *dfg_out_text(const char *path, bool if_changed, const struct dfg_text *text);

/*
 * Several files that belong together, all or none: a file committed between begin and end keeps its temporary name until
 * end renames all of them, in the order of the commits. If end is handed an error, or a rename fails, the files are
 * removed, except that files which an earlier rename replaced stay replaced. Calls may be nested: the outermost counts.
 */
void dfg_out_begin(void);
DFG_MUST_CHECK struct dfg_err *dfg_out_end(struct dfg_err *err);

/* Whether a file could be written there, to be asked before long work. Leaves no file. */
DFG_MUST_CHECK struct dfg_err *dfg_out_try(const char *path);

/* Removes the temporary files of all open dfg_out. Safe in a signal handler. */
void dfg_out_remove_all(void);

/* Writes all bytes, through short writes and EINTR. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_write_all(int fd, const char *path, const void *bytes, size_t count);

/* A new nameless file in the folder, to write and read, which ends with the process. DFG_NO_OUTPUT if it cannot be made. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_open_scratch(const char *folder, int *out_fd);

/* Writes or reads all bytes at an offset of such a file. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_write_at(
	int fd, const char *folder, const void *bytes, size_t count, uint64_t offset);
DFG_MUST_CHECK struct dfg_err *dfg_fs_read_at(int fd, const char *folder, void *bytes, size_t count, uint64_t offset);

/* Whether both files exist and hold the same bytes; false for a file that cannot be read. */
bool dfg_fs_same_bytes(const char *a, const char *b);

/* Syncs a directory, or the one that holds path, so that a rename in it survives a power failure. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_sync_folder(const char *folder);
DFG_MUST_CHECK struct dfg_err *dfg_fs_sync_parent(const char *path);

/* Removes FOLDER/NAME without allocating, because files are removed when memory is short, too. -1 and errno on failure. */
int dfg_fs_unlink_in(const char *folder, const char *name);
