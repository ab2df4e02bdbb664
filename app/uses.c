#include "app/uses.h"

#include "formats/array.h"
#include "formats/graphdef.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"

#include <string.h>
#include <sys/stat.h>

static struct dfg_err *add(struct dfg_uses *uses, const char *what, const char *path, bool written)
{
	if (!path)
		return NULL;
	if (!dfg_reserve(&uses->use, &uses->room, uses->count + 1, sizeof *uses->use))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	uses->use[uses->count++] = (struct dfg_use){what, path, written};
	return NULL;
}

struct dfg_err *dfg_uses_read(struct dfg_uses *uses, const char *what, const char *path)
{
	return add(uses, what, path, false);
}

struct dfg_err *dfg_uses_write(struct dfg_uses *uses, const char *what, const char *path)
{
	return add(uses, what, path, true);
}

/* The FILE of FILE[key], unless a file has the whole name. */
static const char *without_key(struct dfg_uses *uses, const char *spec)
{
	struct stat stat_;
	size_t length = strlen(spec);
	const char *bracket = strrchr(spec, '[');
	if (!bracket || spec[length - 1] != ']' || !stat(spec, &stat_))
		return spec;
	return dfg_arena_copy(&uses->arena, spec, (size_t)(bracket - spec));
}

struct dfg_err *dfg_uses_words(struct dfg_uses *uses, const char *what, const struct dfg_words_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *equals = strchr(words->word[i], '=');
		if (equals && equals[1] != '@')
			continue;
		const char *path = without_key(uses, equals ? equals + 2 : words->word[i]);
		DFG_TRY(path ? dfg_uses_read(uses, what, path) : DFG_ERR(DFG_MEMORY, "out of memory"));
	}
	return NULL;
}

struct dfg_err *dfg_uses_check(const struct dfg_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++)
		for (size_t k = 0; k < uses->count; k++) {
			const struct dfg_use *one = &uses->use[i], *other = &uses->use[k];
			if (k == i || !one->written || (other->written && k > i) || !dfg_same_file(one->path, other->path))
				continue;
			return DFG_ERR(DFG_USAGE, "%s %s would replace %s %s", one->what, one->path, other->what, other->path);
		}
	return NULL;
}

void dfg_uses_release(struct dfg_uses *uses)
{
	dfg_free(uses->use);
	dfg_arena_release(&uses->arena);
	*uses = (struct dfg_uses){0};
}

struct dfg_err *dfg_check_text_path(const char *option, const char *path, const char *what)
{
	if (!path || !(dfg_array_codec_of(path, NULL) || dfg_graph_has_suffix(path)))
		return NULL;
	return DFG_ERR(DFG_USAGE, "%s %s: the suffix is not one for %s", option, path, what);
}
