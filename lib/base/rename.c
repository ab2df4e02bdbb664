#include "lib/base/rename.h"

#include <fnmatch.h>
#include <string.h>

static struct dfg_err *read_word(
	const char *option, const char *word, struct dfg_arena *arena, struct dfg_rename *out_rename)
{
	const char *equals = strchr(word, '=');
	if (!equals || equals == word)
		return DFG_ERR(DFG_USAGE, "%s must be OLD=NEW, not '%s'", option, word);
	const char *old = out_rename->old = dfg_arena_copy(arena, word, (size_t)(equals - word));
	out_rename->new = equals + 1;
	if (!old)
		return dfg_no_memory("the names");
	const char *star = strchr(old, '*');
	const bool simple = star && !strchr(star + 1, '*') && !strpbrk(old, "?[\\");
	if (strchr(out_rename->new, '*') && !simple)
		return DFG_ERR(
			DFG_USAGE, "%s %s: if NEW has a '*', OLD must have exactly one '*' and no other wildcard", option, word);
	return NULL;
}

struct dfg_err *dfg_renames_read(
	const char *option, const char *const *word, size_t count, struct dfg_arena *arena, struct dfg_rename **out_rename)
{
	struct dfg_rename *rename = *out_rename = dfg_arena_zeros(arena, count + 1, sizeof *rename);
	if (!rename)
		return dfg_no_memory("the names");
	for (size_t i = 0; i < count; i++)
		DFG_TRY(read_word(option, word[i], arena, &rename[i]));
	return NULL;
}

/* NEW with its '*' replaced by the text that OLD's '*' matched. */
static const char *apply(const struct dfg_rename *rename, const char *name, struct dfg_arena *arena)
{
	const char *star = strchr(rename->new, '*');
	if (!star)
		return rename->new;
	const size_t before = strcspn(rename->old, "*"), after = strlen(rename->old) - before - 1;
	return dfg_arena_print(arena, "%.*s%.*s%s", (int)(star - rename->new), rename->new,
		(int)(strlen(name) - before - after), name + before, star + 1);
}

const char *dfg_rename_name(const struct dfg_rename *rename, size_t count, const char *name, struct dfg_arena *arena)
{
	while (count--)
		if (!fnmatch(rename[count].old, name, 0))
			return apply(&rename[count], name, arena);
	return name;
}
