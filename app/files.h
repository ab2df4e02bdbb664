#pragma once

#include "app/names.h"
#include "lib/base/arena.h"

/* The files that a command reads and writes, as named on the command line. Zero-initialised: empty. */
struct dfg_files {
	struct dfg_files_entry {
		const char *what, *path; /* such as "--data", "x.npy" */
		bool written;
	} * entry;
	size_t count, capacity;
	struct dfg_arena arena;
};

/*
 * Records a path. NULL, "-" and files that are not regular are ignored: nothing can be lost there. The strings are
 * borrowed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_files_add_read(struct dfg_files *files, const char *what, const char *path);
DFG_MUST_CHECK struct dfg_err *dfg_files_add_written(struct dfg_files *files, const char *what, const char *path);

/* Records each FILE of the words NAME=@FILE, NAME=@FILE[key], NAME=@F1,@F2 and FILE; other words name no file. */
DFG_MUST_CHECK struct dfg_err *dfg_files_add_words(
	struct dfg_files *files, const char *what, const struct dfg_words_list *words);

/* DFG_USAGE if a written file is also another file of the list. Called before a file is opened for writing. */
DFG_MUST_CHECK struct dfg_err *dfg_files_check(const struct dfg_files *files);
void dfg_files_release(struct dfg_files *files);

/* Opens a file of lines for writing: at its end, or empty. DFG_NO_OUTPUT. */
DFG_MUST_CHECK struct dfg_err *dfg_lines_open(const char *path, bool at_end, int *out_fd);

/*
 * DFG_USAGE if `path`, the value of `option`, has a suffix of arrays or graphs although it would hold text (`what`).
 * path may be NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_check_text_path(const char *option, const char *path, const char *what);
