#pragma once

#include "lib/base/io.h"

/*
 * A folder to write, whole or not at all: its files go into a temporary one beside it, which commit() puts in the place
 * of what was there, at once where the file system can exchange two names. What the old one held is gone then, so open()
 * refuses (DFG_NO_OUTPUT) a folder with a file that is not `ours`, and whatever is no folder.
 *
 * With if_changed, a folder that would hold the same stays as it is, and of another one each file that is the same keeps
 * its time. release() without commit() leaves nothing behind; it may be called in any state, on a zeroed struct too.
 */
struct dfg_folder {
	char *path, *temporary;
	bool if_changed, exists;
	bool (*ours)(const char *name);
	char **file; /* paths in the temporary folder */
	size_t files, room;
	struct dfg_folder *next; /* of those that a signal must remove */
};
DFG_MUST_CHECK struct dfg_err *dfg_folder_open(
	const char *path, bool if_changed, bool (*ours)(const char *name), struct dfg_folder *out_folder);

/* Where to write the file of that name; the path lives as long as the folder is open. */
DFG_MUST_CHECK struct dfg_err *dfg_folder_file(struct dfg_folder *folder, const char *name, const char **out_path);
DFG_MUST_CHECK struct dfg_err *dfg_folder_commit(struct dfg_folder *folder);
void dfg_folder_release(struct dfg_folder *folder);

/* Calls see for each name in the folder, "." and ".." apart, in no order, until it fails. DFG_NO_INPUT where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_folder_each(
	const char *path, struct dfg_err *(*see)(void *arg, const char *name), void *arg);

/* Whether path is a folder with a regular file of that name in it. Needs no memory, whose lack would look like "no". */
bool dfg_folder_holds(const char *path, const char *name);

/* Removes the temporary folders of all open dfg_folder, after dfg_out_remove_all(). Safe in a signal handler. */
void dfg_folder_remove_all(void);
