#pragma once

#include "lib/base/io.h"

/*
 * A folder to write, whole or not at all: its files go into a temporary folder beside it, and commit() replaces the old
 * folder by it, atomically where the file system can exchange two names. The old contents are then removed, so open()
 * refuses (DFG_NO_OUTPUT) a folder with a file that is not `ours`, and a path that is not a folder.
 *
 * With if_changed, a folder with equal contents stays as it is; otherwise each file that is equal keeps its time.
 * release() without commit() leaves no files; it may be called in any state, also on a zeroed struct.
 */
struct dfg_folder {
	char *path, *temporary; /* path is NULL of a scratch folder */
	bool if_changed, exists;
	bool (*ours)(const char *name); /* NULL: every file is */
	char **file;                    /* paths in the temporary folder */
	size_t files, capacity;
	struct dfg_folder *next; /* the next in the list of folders that a signal must remove */
};
DFG_MUST_CHECK struct dfg_err *dfg_folder_open(
	const char *path, bool if_changed, bool (*ours)(const char *name), struct dfg_folder *out_folder);

/*
 * A folder under $TMPDIR, else /tmp, that only this user may enter, for files that another program reads or writes; `what` is
 * part of its name. release() removes it with all its files. DFG_NO_OUTPUT if it cannot be created.
 */
DFG_MUST_CHECK struct dfg_err *dfg_folder_open_scratch(const char *what, struct dfg_folder *out_folder);

/* The path at which to write the file of that name; it is valid while the folder is open. */
DFG_MUST_CHECK struct dfg_err *dfg_folder_file(struct dfg_folder *folder, const char *name, const char **out_path);
DFG_MUST_CHECK struct dfg_err *dfg_folder_commit(struct dfg_folder *folder);

/* Releases the folder after an error, whose texts then name files where they would have been. Returns err, which may be NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_folder_end(struct dfg_folder *folder, struct dfg_err *err);
void dfg_folder_release(struct dfg_folder *folder);

/* Calls see() for each name in the folder except "." and "..", in no particular order, until see() fails. DFG_NO_INPUT if the
 * folder does not exist. */
DFG_MUST_CHECK struct dfg_err *dfg_folder_each(
	const char *path, struct dfg_err *(*see)(void *arg, const char *name), void *arg);

/* Whether path is a folder with a regular file of that name in it. Allocates no memory, because a lack of memory would look like "no". */
bool dfg_folder_holds(const char *path, const char *name);

/* Removes the temporary folders of all open dfg_folder, after dfg_out_remove_all(). Safe in a signal handler. */
void dfg_folder_remove_all(void);
