#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All file work of the program goes through dfg_fs, so that a test can stop, starve or break it at any operation. The
 * functions have the arguments and results of the system calls they stand for (-1 and errno).
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
extern const struct dfg_fs *dfg_fs; /* the system's, unless a test has put its own in front */

/*
 * A whole file to read: mapped where it is a regular file, read into memory where it is a pipe or stdin ("-"). Bytes
 * behind the end are never touched. limit 0 means none; a longer file is DFG_DATA. A path that is not there, or is
 * neither file, pipe nor character device, is DFG_NO_INPUT. A zeroed struct is closed.
 */
struct dfg_blob {
	const uint8_t *bytes;
	size_t size;
	bool mapped;
};
DFG_MUST_CHECK struct dfg_err *dfg_blob_open(const char *path, size_t limit, struct dfg_blob *out_blob);

/*
 * The same of a file whose name a stranger's file has chosen: a regular one, no symbolic link, with no other name
 * (a hard link could be anybody's); else DFG_DATA.
 */
DFG_MUST_CHECK struct dfg_err *dfg_blob_open_plain(const char *path, size_t limit, struct dfg_blob *out_blob);
void dfg_blob_close(struct dfg_blob *blob);

/*
 * A file to write, whole or not at all: the bytes go to a temporary file beside it, commit() syncs, renames and syncs the
 * directory. A file that is replaced leaves its permissions, and its owner where that may be, to the new one; a symbolic
 * link stays, and what it leads to is replaced. "-" is stdout; what is there already and is no regular file (a FIFO, a
 * device) is written straight. With if_changed, a file that holds the same bytes keeps its time. release() without
 * commit() leaves nothing behind; it may be called in any state, on a zeroed struct too. What cannot be created is
 * DFG_NO_OUTPUT, what cannot be written DFG_IO.
 */
struct dfg_sha256;
struct dfg_out {
	char *path, *temporary;
	int fd;
	bool open, direct, if_changed;
	uint8_t *buffer;
	size_t used;
	struct dfg_sha256 *sha; /* of what is written, where the caller has set it; whole after commit() */
	struct dfg_out *next;   /* of those that a signal must remove */
};
DFG_MUST_CHECK struct dfg_err *dfg_out_open(const char *path, bool if_changed, struct dfg_out *out);
DFG_MUST_CHECK struct dfg_err *dfg_out_write(struct dfg_out *out, const void *bytes, size_t count);
DFG_MUST_CHECK struct dfg_err *dfg_out_commit(struct dfg_out *out);
void dfg_out_release(struct dfg_out *out);

/*
 * Several files that belong together, all or none: what is committed between begin and end waits under its temporary name,
 * and end gives all their names, in the order of the commits; of an error that is handed to it nothing is left, nor where
 * one of the names cannot be given, but for files that were replaced before. Calls may be nested: the outermost counts.
 */
void dfg_out_begin(void);
DFG_MUST_CHECK struct dfg_err *dfg_out_end(struct dfg_err *err);

/* Whether a file could be written there: asked before long work whose result it is to hold. Leaves nothing behind. */
DFG_MUST_CHECK struct dfg_err *dfg_out_try(const char *path);

/* Removes the temporary files of all open dfg_out. Safe in a signal handler. */
void dfg_out_remove_all(void);

/* Writes all of it, over short writes and EINTR. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_write_all(int fd, const char *path, const void *bytes, size_t count);

/* A new file in the folder to write and read, without a name: it is gone with the process. DFG_NO_OUTPUT. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_open_scratch(const char *folder, int *out_fd);

/* All of it, at a place of such a file. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_write_at(
	int fd, const char *folder, const void *bytes, size_t count, uint64_t offset);
DFG_MUST_CHECK struct dfg_err *dfg_fs_read_at(int fd, const char *folder, void *bytes, size_t count, uint64_t offset);

/* True where both are there and hold the same bytes. A file that cannot be read is not the same. */
bool dfg_fs_same_bytes(const char *a, const char *b);

/* Syncs a directory, or the one that holds path, so that a rename in it survives a power failure. */
DFG_MUST_CHECK struct dfg_err *dfg_fs_sync_folder(const char *folder);
DFG_MUST_CHECK struct dfg_err *dfg_fs_sync_parent(const char *path);

/* Removes FOLDER/NAME without memory, as what is to go must go when there is none. -1 and errno where it cannot. */
int dfg_fs_unlink_in(const char *folder, const char *name);
