#pragma once

#include "cmd/cmd.h"
#include "lib/base/arena.h"

/* The files that a command reads and those it writes, as the command line names them. A zeroed one is empty. */
struct dfg_uses {
	struct dfg_use {
		const char *what, *path; /* "--data", "x.npy" */
		bool written;
	} * use;
	size_t count, room;
	struct dfg_arena arena;
};

/* A path that is NULL, "-" or no regular file stands for nothing that could be lost. The words are borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_uses_read(struct dfg_uses *uses, const char *what, const char *path);
DFG_MUST_CHECK struct dfg_err *dfg_uses_write(struct dfg_uses *uses, const char *what, const char *path);

/* Of NAME=@FILE, NAME=@FILE[key] or FILE each; other words name no file. */
DFG_MUST_CHECK struct dfg_err *dfg_uses_words(
	struct dfg_uses *uses, const char *what, const struct dfg_words_list *words);

/* DFG_USAGE where a file that is written is another of them: asked before anything is opened for writing. */
DFG_MUST_CHECK struct dfg_err *dfg_uses_check(const struct dfg_uses *uses);
void dfg_uses_release(struct dfg_uses *uses);

/* Writes a file that is such a text, whole or not at all; DFG_MEMORY where the text is short of it. */
struct dfg_text;
DFG_MUST_CHECK struct dfg_err *dfg_cmd_write_text(const char *path, bool if_changed, const struct dfg_text *text);

/* By device and inode; of what does not exist yet, by its folder's and its name. */
bool dfg_same_file(const char *a, const char *b);
