#include "lib/lang/std_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/lang.h"

#include <pthread.h>
#include <string.h>

/* Generated from lib/lang/std by the Makefile; the last has no name. */
extern const struct {
	const char *name, *text;
	unsigned long length;
} dfg_lang_std_files[];

const char *dfg_lang_std(const char *name, size_t *out_length)
{
	for (int i = 0; dfg_lang_std_files[i].name; i++)
		if (!strcmp(dfg_lang_std_files[i].name, name)) {
			*out_length = dfg_lang_std_files[i].length;
			return dfg_lang_std_files[i].text;
		}
	return NULL;
}

const char *dfg_lang_std_name(size_t i)
{
	return dfg_lang_std_files[i].name;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dfg_lang_library *library; /* parsed on first use, kept for the life of the process */

static struct dfg_err *add_callable(struct dfg_lang_library *made, struct dfg_arena *arena,
	const struct dfg_source *source, const struct dfg_tree *tree)
{
	struct dfg_callable *callable = dfg_arena_zeros(arena, 1, sizeof *callable);
	if (tree->kind != DFG_TREE_FN && tree->kind != DFG_TREE_LAYER)
		return dfg_source_err(source, tree->at, DFG_BUG, "a file of the library may contain only fn and layer");
	if (!callable)
		return dfg_no_memory("the standard library");
	if (dfg_name_scope_own(&made->bindings, tree->text))
		return dfg_source_err(source, tree->at, DFG_BUG, "the library already has this name");
	*callable = (struct dfg_callable){tree->text, tree, source, &made->bindings};
	return dfg_name_scope_put(arena, &made->bindings, tree->text,
		(struct dfg_datum){.kind = tree->kind == DFG_TREE_FN ? DFG_DATUM_FN : DFG_DATUM_LAYER, .callable = callable});
}

static struct dfg_err *add_file(struct dfg_lang_library *made, struct dfg_arena *arena, int i)
{
	struct dfg_source *source = dfg_arena_zeros(arena, 1, sizeof *source);
	struct dfg_tree *block;
	if (!source)
		return dfg_no_memory("the standard library");
	*source = (struct dfg_source){dfg_arena_print(arena, "std:%s", dfg_lang_std_files[i].name),
		dfg_lang_std_files[i].text, (uint32_t)dfg_lang_std_files[i].length, true};
	if (!source->path)
		return dfg_no_memory("the standard library");
	DFG_TRY(dfg_parse(source, arena, &block));
	for (uint32_t k = 0; k < block->n; k++)
		DFG_TRY(add_callable(made, arena, source, block->kid[k]));
	return NULL;
}

static struct dfg_err *make_library(struct dfg_lang_library **out_library)
{
	struct dfg_arena arena = {0};
	struct dfg_lang_library *made = dfg_arena_zeros(&arena, 1, sizeof *made);
	if (!made)
		return dfg_no_memory("the standard library");
	struct dfg_err *err = NULL;
	for (int i = 0; !err && dfg_lang_std_files[i].name; i++)
		err = add_file(made, &arena, i);
	if (err) {
		dfg_arena_release(&arena);
		return err;
	}
	made->arena = arena;
	*out_library = made;
	return NULL;
}

struct dfg_err *dfg_library_get(struct dfg_lang_library **out_library)
{
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&lock);
	if (!library)
		err = make_library(&library);
	*out_library = library;
	pthread_mutex_unlock(&lock);
	return err;
}
