#include "app/program.h"

#include "app/graph_input.h"
#include "lib/base/io.h"
#include "lib/pass/rewrite/variants.h"

#include <string.h>

static size_t count_defines(const struct dfg_lang_options *options)
{
	size_t n = 0;
	while (options->define && options->define[n])
		n++;
	return n;
}

static bool sets_training(const struct dfg_lang_options *options)
{
	for (size_t i = count_defines(options); i--;)
		if (!strncmp(options->define[i], "training=", strlen("training=")))
			return true;
	return false;
}

/* The same program where `training` is true. What it reads and warns of is known from the first build. */
static struct dfg_err *build_training(
	const char *path, const struct dfg_lang_options *options, struct dfg_arena *scratch, struct dfg_graph *out_graph)
{
	struct dfg_lang_options lang = *options;
	const size_t n = count_defines(options);
	const char **define = dfg_arena_zeros(scratch, n + 2, sizeof *define);
	if (!define)
		return dfg_no_memory("the build");
	if (n)
		memcpy(define, options->define, n * sizeof *define);
	define[n] = "training=true";
	lang.define = define;
	lang.read = NULL;
	lang.warn = NULL;
	return dfg_err_note(dfg_lang_build(path, &lang, out_graph),
		"where `training` is true, as dfg grad trains it (-D training=false builds the other variant alone)");
}

static struct dfg_err *warn_of(
	const char *path, const char *obstacle, const struct dfg_lang_options *options, struct dfg_arena *scratch)
{
	const char *words = dfg_arena_print(scratch,
		"%s: warning: '%s' depends on `training`, so that this graph is for inference alone; -D training=true builds "
		"the one to be trained, -D training=false this one without a warning",
		path, obstacle);
	if (!words)
		return dfg_no_memory("the build");
	if (options->warn)
		options->warn(options->warn_arg, words);
	return NULL;
}

static struct dfg_err *add_training(
	const char *path, const struct dfg_lang_options *options, struct dfg_arena *scratch, struct dfg_graph *graph)
{
	struct dfg_graph training;
	const char *obstacle = NULL;
	dfg_graph_init(&training, graph->arena);
	struct dfg_err *err = build_training(path, options, scratch, &training);
	if (!err)
		err = dfg_variants_join(graph, &training, scratch, &obstacle);
	if (!err && obstacle)
		err = warn_of(path, obstacle, options, scratch);
	dfg_graph_release(&training);
	return err;
}

static struct dfg_err *build_text(const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph)
{
	struct dfg_arena scratch = {0};
	struct dfg_err *err = dfg_lang_build(path, options, graph);
	if (!err && dfg_graph_training(graph) == 0 && !sets_training(options))
		err = add_training(path, options, &scratch, graph);
	dfg_arena_release(&scratch);
	return err;
}

struct dfg_err *dfg_program_build(const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph)
{
	struct dfg_lang_options lang = *options;
	struct dfg_blob blob;
	if (lang.text)
		return build_text(path, &lang, graph);
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	lang.text = (const char *)blob.bytes;
	lang.length = blob.size;
	void (*tell)(void *arg, const char *path) = lang.read;
	if (tell)
		tell(lang.read_arg, path);
	struct dfg_err *err = build_text(path, &lang, graph);
	dfg_blob_close(&blob);
	return err;
}
