#include "app/files.h"

#include "formats/array.h"
#include "formats/graphdef.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"

#include <string.h>
#include <sys/stat.h>

static struct dfg_err *add(struct dfg_files *files, const char *what, const char *path, bool written)
{
	if (!path)
		return NULL;
	if (!dfg_reserve(&files->entry, &files->room, files->count + 1, sizeof *files->entry))
		return dfg_no_memory("the list of files");
	files->entry[files->count++] = (struct dfg_files_entry){what, path, written};
	return NULL;
}

struct dfg_err *dfg_files_add_read(struct dfg_files *files, const char *what, const char *path)
{
	return add(files, what, path, false);
}

struct dfg_err *dfg_files_add_written(struct dfg_files *files, const char *what, const char *path)
{
	return add(files, what, path, true);
}

/* The FILE of FILE[key], unless a file has the whole name. */
static const char *without_key(struct dfg_files *files, const char *spec)
{
	struct stat stat_;
	size_t length = strlen(spec);
	const char *bracket = strrchr(spec, '[');
	if (!bracket || spec[length - 1] != ']' || !stat(spec, &stat_))
		return spec;
	return dfg_arena_copy(&files->arena, spec, (size_t)(bracket - spec));
}

struct dfg_err *dfg_files_add_words(struct dfg_files *files, const char *what, const struct dfg_words_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *equals = strchr(words->word[i], '=');
		if (equals && equals[1] != '@')
			continue;
		const char *path = without_key(files, equals ? equals + 2 : words->word[i]);
		DFG_TRY(path ? dfg_files_add_read(files, what, path) : dfg_no_memory("the list of files"));
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
	return DFG_ERR(DFG_USAGE, "%s %s: the suffix is not one for %s", option, path, what);
}
