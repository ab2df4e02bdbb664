#include "lib/lang/program_private.h"

#include "lib/lang/declare_private.h"
#include "lib/lang/graph_import_private.h"
#include "lib/lang/std_private.h"

#include "lib/base/io.h"

#include <string.h>

static struct dfg_err *new_source(
	struct dfg_arena *arena, const char *path, const void *bytes, size_t size, struct dfg_source **out_source)
{
	struct dfg_source *source = dfg_arena_zeros(arena, 1, sizeof *source);
	*out_source = source;
	if (!source)
		return dfg_no_memory("the build");
	*source = (struct dfg_source){
		.path = dfg_arena_copy(arena, path, strlen(path)),
		.text = dfg_arena_copy(arena, bytes, size),
		.length = (uint32_t)size,
	};
	return source->path && source->text ? NULL : dfg_no_memory("the build");
}

static struct dfg_err *read_source(struct dfg_arena *arena, const char *path, struct dfg_source **out_source)
{
	struct dfg_blob blob = {0};
	DFG_TRY(dfg_blob_open(path, DFG_SOURCE_MAX, &blob));
	struct dfg_err *err = new_source(arena, path, blob.bytes, blob.size, out_source);
	dfg_blob_close(&blob);
	return err;
}

static struct dfg_err *open_source(struct dfg_eval *eval, const char *path, struct dfg_source **out_source)
{
	DFG_TRY(read_source(eval->arena, path, out_source));
	if (!strcmp(path, "-"))
		(*out_source)->path = "stdin";
	void (*tell)(void *arg, const char *path) = eval->options ? eval->options->read : NULL;
	if (tell)
		tell(eval->options->read_arg, path);
	return NULL;
}

/*
 * Evaluates the declarations of an imported file: functions, layers, constants and further imports, which make no
 * nodes.
 */
static struct dfg_err *run_module(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block)
{
	DFG_TRY(dfg_declare_all(eval, bindings, block));
	for (uint32_t i = 0; i < block->n; i++) {
		const struct dfg_tree *tree = block->kid[i];
		struct dfg_err *err = NULL;
		if (tree->kind == DFG_TREE_CONST)
			err = dfg_eval_const_declaration(eval, bindings, tree);
		else if (tree->kind == DFG_TREE_IMPORT)
			err = dfg_eval_import(eval, bindings, tree);
		else if (tree->kind != DFG_TREE_FN && tree->kind != DFG_TREE_LAYER)
			err = DFG_ERR(DFG_DATA, "an imported file may contain only fn, layer, const and import");
		DFG_TRY(dfg_eval_at(eval, tree, err));
	}
	return NULL;
}

static struct dfg_err *read_module(struct dfg_eval *eval, const char *path, struct dfg_name_scope *bindings)
{
	struct dfg_source *source;
	struct dfg_tree *block;
	const struct dfg_source *outer = eval->source;
	DFG_TRY(open_source(eval, path, &source));
	DFG_TRY(dfg_parse(source, eval->arena, &block));
	eval->source = source;
	struct dfg_err *err = run_module(eval, bindings, block);
	eval->source = outer;
	return err;
}

struct dfg_err *dfg_load_module(struct dfg_eval *eval, const char *path, struct dfg_name_scope **out_bindings)
{
	struct dfg_lang_library *library;
	struct dfg_import *import = eval->program->imports;
	for (; import; import = import->older)
		if (!strcmp(import->path, path)) {
			*out_bindings = import->bindings;
			return import->bindings ? NULL : DFG_ERR(DFG_DATA, "'%s' imports itself", path);
		}
	DFG_TRY(dfg_library_get(&library));
	import = dfg_arena_zeros(eval->arena, 1, sizeof *import);
	if (!import)
		return dfg_no_memory("the build");
	*import = (struct dfg_import){.path = path, .older = eval->program->imports};
	eval->program->imports = import;
	DFG_TRY(dfg_name_scope_new(eval, &library->bindings, out_bindings));
	DFG_TRY(read_module(eval, path, *out_bindings));
	import->bindings = *out_bindings;
	return NULL;
}

/* Makes the NoOp `init` after all initialisers, as programs for TensorFlow expect it. */
static struct dfg_err *make_init(struct dfg_eval *eval)
{
	const struct dfg_graph *graph = eval->builder->graph;
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, graph->count, sizeof *in);
	uint32_t n = 0, node;
	if (!in)
		return dfg_no_memory("the build");
	for (uint32_t i = 0; i < graph->count; i++)
		if (dfg_node_mark(&graph->node[i], "_dfg_init", NULL))
			in[n++] = (struct dfg_edge){i, DFG_CONTROL};
	struct dfg_new_node want = {.op = "NoOp", .name = "init", .exact = true, .in = in, .n_control = n};
	eval->builder->n_control = 0;
	return n ? dfg_eval_build(eval, &want, DFG_NAME_EXACT, &node) : NULL;
}

static struct dfg_err *take_training(struct dfg_eval *eval, size_t i)
{
	const char *value = eval->options->define[i] + strlen("training=");
	eval->training = !strcmp(value, "true");
	eval->program->defined[i] = true;
	if (!eval->training && strcmp(value, "false") != 0)
		return DFG_ERR(DFG_DATA, "-D training=%s: the value must be true or false", value);
	return NULL;
}

static struct dfg_err *take_defines(struct dfg_eval *eval)
{
	const char *const *define = eval->options ? eval->options->define : NULL;
	size_t n = 0;
	while (define && define[n])
		n++;
	eval->program->defined = dfg_arena_zeros(eval->arena, n, sizeof(bool));
	if (!eval->program->defined)
		return dfg_no_memory("the build");
	for (size_t i = 0; i < n; i++)
		if (!strncmp(define[i], "training=", strlen("training=")))
			DFG_TRY(take_training(eval, i));
	return NULL;
}

static struct dfg_err *refuse_unused(struct dfg_eval *eval, const struct dfg_tree *block)
{
	const char *const *define = eval->options ? eval->options->define : NULL;
	for (size_t i = 0; define && define[i]; i++) {
		const char *name = dfg_arena_copy(eval->arena, define[i], strcspn(define[i], "="));
		struct dfg_nearest nearest = {.word = name};
		if (eval->program->defined[i])
			continue;
		if (!name)
			return dfg_no_memory("the build");
		if (!strchr(define[i], '='))
			return DFG_ERR(DFG_DATA, "-D %s: expected NAME=VALUE", define[i]);
		for (uint32_t k = 0; k < block->n; k++)
			if (block->kid[k]->kind == DFG_TREE_CONST)
				dfg_nearest_offer(&nearest, block->kid[k]->text);
		dfg_nearest_offer(&nearest, "training");
		return DFG_ERR(DFG_DATA, "%s: the program has no const '%s' for -D %s%s%s%s", eval->source->path, name,
			define[i], nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
			nearest.best ? "'?" : "");
	}
	return NULL;
}

/* Opens the text of the program, which the caller may have read already. */
static struct dfg_err *open_program(struct dfg_eval *eval, const char *path, struct dfg_source **out_source)
{
	const struct dfg_lang_options *options = eval->options;
	if (!options || !options->text)
		return open_source(eval, path, out_source);
	if (options->length > DFG_SOURCE_MAX)
		return DFG_ERR(DFG_DATA, "%s: larger than the limit of %d bytes", path, DFG_SOURCE_MAX);
	return new_source(eval->arena, strcmp(path, "-") ? path : "stdin", options->text, options->length, out_source);
}

static struct dfg_err *evaluate_program(struct dfg_eval *eval, const char *path)
{
	struct dfg_lang_library *library;
	struct dfg_source *source;
	struct dfg_tree *block;
	struct dfg_datum last;
	DFG_TRY(open_program(eval, path, &source));
	DFG_TRY(dfg_parse(source, eval->arena, &block));
	DFG_TRY(dfg_library_get(&library));
	DFG_TRY(dfg_name_scope_new(eval, &library->bindings, &eval->program->bindings));
	eval->source = source;
	DFG_TRY(take_defines(eval));
	DFG_TRY(dfg_eval_block(eval, eval->program->bindings, block, &last));
	if (block->n && block->kid[block->n - 1]->kind == DFG_TREE_DO && last.kind != DFG_DATUM_NONE)
		return dfg_eval_at(eval, block->kid[block->n - 1],
			DFG_ERR(DFG_DATA, "this expression has no effect: to make it a result, write `output name = ...`"));
	DFG_TRY(refuse_unused(eval, block));
	return make_init(eval);
}

/* Marks the outputs with the value of `training`, which decides about dropout and the like. */
static struct dfg_err *mark_training(struct dfg_eval *eval)
{
	struct dfg_graph *graph = eval->builder->graph;
	const union dfg_value value = {.i = eval->training};
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_output", NULL))
			DFG_TRY(dfg_node_set_attr(graph, n, "_dfg_training", DFG_ATTR_INT, value));
	return NULL;
}

static struct dfg_err *build(struct dfg_eval *eval, const char *path, struct dfg_graph *graph)
{
	struct dfg_graph draft;
	struct dfg_builder builder;
	struct dfg_name_counter instances = {0};
	dfg_graph_init(&draft, graph->arena);
	struct dfg_err *err = dfg_builder_init(&builder, &draft);
	eval->builder = &builder;
	eval->instances = &instances;
	if (!err)
		err = evaluate_program(eval, path);
	err = dfg_eval_finish(eval, err);
	if (!err && eval->program->asks_training)
		err = mark_training(eval);
	if (!err)
		err = dfg_name_nodes(eval, graph);
	dfg_counter_release(&instances);
	dfg_builder_release(&builder);
	dfg_graph_release(&draft);
	return err;
}

struct dfg_err *dfg_lang_build(const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph)
{
	uint64_t limit = options && options->memory_limit ? options->memory_limit : DFG_LANG_MEMORY;
	struct dfg_arena arena = {.limit = limit};
	struct dfg_program program = {0};
	struct dfg_eval eval = {
		.options = options, .arena = &arena, .memory_limit = limit, .program = &program, .scope = ""};
	struct dfg_err *err = build(&eval, path, graph);
	if (!err)
		err = dfg_graph_imports_lend(&eval, graph->arena);
	if (err && err->code == DFG_MEMORY && !eval.is_full && arena.total > limit / 2) {
		dfg_err_free(err);
		err = DFG_ERR(DFG_MEMORY, "%s: the build needs more than %llu MiB (--memory-limit)", path,
			(unsigned long long)(limit >> 20));
	}
	dfg_graph_imports_close(&eval);
	dfg_eval_release(&eval);
	dfg_arena_release(&arena);
	return err;
}
