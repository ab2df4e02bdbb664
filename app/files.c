#include "app/files.h"

#include "app/spread_samples.h"
#include "formats/array.h"
#include "formats/array_spec.h"
#include "formats/graphdef.h"
#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct dfg_err *add_file(struct dfg_files *files, const char *what, const char *path, bool written)
{
	if (!path)
		return NULL;
	if (!dfg_reserve(&files->entry, &files->capacity, files->count + 1, sizeof *files->entry))
		return dfg_no_memory("the list of files");
	files->entry[files->count++] = (struct dfg_files_entry){what, path, written};
	return NULL;
}

struct dfg_err *dfg_files_add_read(struct dfg_files *files, const char *what, const char *path)
{
	return add_file(files, what, path, false);
}

struct dfg_err *dfg_files_add_written(struct dfg_files *files, const char *what, const char *path)
{
	return add_file(files, what, path, true);
}

/* Records the FILE of the first `length` characters, unless a file has the whole name. */
static struct dfg_err *add_word(struct dfg_files *files, const char *what, const char *words, size_t length)
{
	struct stat stat_;
	char *path = dfg_arena_copy(&files->arena, words, length);
	if (!path)
		return dfg_no_memory("the list of files");
	if (stat(path, &stat_))
		path[dfg_array_spec_path(path)] = '\0';
	return dfg_files_add_read(files, what, path);
}

struct dfg_err *dfg_files_add_words(struct dfg_files *files, const char *what, const struct dfg_words_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *equals = strchr(words->word[i], '='), *copied = equals ? dfg_spread_copied(equals + 1) : NULL;
		if (copied) /* this machine may be one of the hosts, and is the only one of a local run */
			DFG_TRY(add_word(files, what, copied, strlen(copied)));
		if (!equals)
			DFG_TRY(add_word(files, what, words->word[i], strlen(words->word[i])));
		/* Files of other hosts, and words that are values, do not begin with @. */
		for (const char *s = equals ? equals + 1 : "", *next; *s == '@'; s = next) {
			size_t length = dfg_array_spec_length(s);
			next = s + length + (s[length] == ',');
			DFG_TRY(add_word(files, what, s + 1, length - 1));
		}
	}
	return NULL;
}

struct dfg_err *dfg_files_check(const struct dfg_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		for (size_t k = 0; k < files->count; k++) {
			const struct dfg_files_entry *one = &files->entry[i], *other = &files->entry[k];
			if (k == i || !one->written || (other->written && k > i) || !dfg_same_file(one->path, other->path))
				continue;
			return DFG_ERR(DFG_USAGE, "%s %s would replace %s %s", one->what, one->path, other->what, other->path);
		}
	return NULL;
}

void dfg_files_release(struct dfg_files *files)
{
	dfg_free(files->entry);
	dfg_arena_release(&files->arena);
	*files = (struct dfg_files){0};
}

struct dfg_err *dfg_check_text_path(const char *option, const char *path, const char *what)
{
	if (!path || !(dfg_array_codec_of(path, NULL) || dfg_graph_has_suffix(path)))
		return NULL;
	return DFG_ERR(
		DFG_USAGE, "%s %s: the file would hold %s, but the suffix is that of another format", option, path, what);
}

struct dfg_err *dfg_lines_open(const char *path, bool at_end, int *out_fd)
{
	*out_fd = dfg_fs->open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (at_end ? O_APPEND : O_TRUNC), 0666);
	return *out_fd >= 0
			   ? NULL
			   : DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: cannot create: %s", path, strerror(errno));
}
