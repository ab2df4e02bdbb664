#include "app/graph_input.h"

#include "app/program.h"
#include "formats/array.h"
#include "formats/plan.h"
#include "lib/base/deferred.h"
#include "lib/base/path.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/variables.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/variants.h"
#include "lib/pass/verify/verify.h"

#include <string.h>
#include <sys/stat.h>

struct noting {
	const struct dfg_report *report;
	const char *path;
};

static void note(void *arg, const char *text)
{
	const struct noting *noting = arg;
	dfg_report_note(noting->report, "%s: warning: %s", noting->path, text);
}

static bool is_program(const char *path, const struct dfg_blob *blob)
{
	static const char suffix[] = ".dfg";
	size_t length = strlen(path), n = sizeof suffix - 1;
	return (length > n && !strcmp(path + length - n, suffix)) || dfg_graph_is_program(blob);
}

/* A graph that a program imports. */
struct import {
	struct dfg_graph_file file;
	struct dfg_facts facts;
};

/* Marks the variables that would be trained by default, which a graph of another program does not mark. */
static struct dfg_err *mark_trainable(struct dfg_graph *graph)
{
	struct dfg_builder builder;
	struct dfg_numbers variables = {0};
	bool guessed, any = false;
	for (uint32_t n = 0; n < graph->count; n++)
		any |= graph->node[n].op && graph->node[n].op->role == DFG_VARIABLE;
	if (!any)
		return NULL;
	DFG_TRY(dfg_builder_init(&builder, graph));
	struct dfg_err *err = dfg_trainable(&builder, &variables, &guessed);
	dfg_builder_release(&builder);
	const union dfg_value yes = {.b = true};
	for (size_t i = 0; !err && guessed && i < variables.count; i++)
		err = dfg_node_set_attr(graph, variables.number[i], "_dfg_trainable", DFG_ATTR_BOOL, yes);
	dfg_numbers_release(&variables);
	return err;
}

static struct dfg_err *verify_import(struct import *import, bool training)
{
	struct dfg_graph *graph = &import->file.graph;
	struct dfg_arena scratch = {0};
	struct dfg_err *err = dfg_variants_use(graph, training, &scratch);
	dfg_arena_release(&scratch);
	DFG_TRY(err);
	DFG_TRY(dfg_lower_whole(graph));
	DFG_TRY(dfg_verify(graph, NULL, &import->facts));
	return mark_trainable(graph);
}

static void note_import(void *arg, const char *text)
{
	const struct dfg_lang_options *lang = arg;
	if (lang->warn)
		lang->warn(lang->warn_arg, text);
}

static void close_import(struct dfg_lang_graph *graph)
{
	struct import *import = graph->file;
	if (!import)
		return;
	dfg_facts_release(&import->facts);
	dfg_graph_close(&import->file);
	dfg_free(import);
}

static void close_lent(void *owner)
{
	struct import *import = owner;
	dfg_graph_close(&import->file);
	dfg_free(import);
}

static struct dfg_err *lend_import(struct dfg_lang_graph *graph, struct dfg_arena *arena)
{
	struct import *import = graph->file;
	if (!dfg_arena_defer(arena, close_lent, import))
		return dfg_no_memory("an imported graph");
	dfg_facts_release(&import->facts);
	dfg_graph_release(&import->file.graph);
	*graph = (struct dfg_lang_graph){0};
	return NULL;
}

static struct dfg_err *open_import(
	const char *path, const struct dfg_lang_options *lang, bool training, struct dfg_lang_graph *out_graph)
{
	const struct dfg_graph_options options = {.notes = {note_import, (void *)lang}};
	struct dfg_blob blob;
	*out_graph = (struct dfg_lang_graph){0};
	if (dfg_plan_folder_is(path))
		return DFG_ERR(DFG_DATA, "%s: is a plan: import the graph that it was made from", path);
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	if (is_program(path, &blob)) {
		dfg_blob_close(&blob);
		return NULL;
	}
	struct import *import = dfg_zeros(1, sizeof *import);
	if (!import) {
		dfg_blob_close(&blob);
		return dfg_no_memory("an imported graph");
	}
	struct dfg_err *err = dfg_graph_open_blob(&blob, path, &options, &import->file);
	if (!err)
		err = dfg_err_of_file(verify_import(import, training), path);
	*out_graph = (struct dfg_lang_graph){&import->file.graph, &import->facts, import,
		dfg_variants_are_two(&import->file.graph), dfg_variant_prefix(!training)};
	if (err)
		close_import(out_graph);
	return err;
}

const struct dfg_lang_graphs dfg_graph_imports = {open_import, close_import, lend_import};

/* Builds the program as `dfg build` does without options. */
static struct dfg_err *build(const char *path, const struct dfg_blob *blob, struct dfg_graph_file *out_file)
{
	const struct dfg_lang_options lang = {
		.grad = dfg_grad_edges, .graphs = &dfg_graph_imports, .text = (const char *)blob->bytes, .length = blob->size};
	const char *shown = strcmp(path, "-") ? path : "stdin";
	*out_file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
	dfg_graph_init(&out_file->graph, &out_file->arena);
	struct dfg_err *err = dfg_program_build(path, &lang, &out_file->graph);
	if (!err && !(out_file->graph.source = dfg_arena_copy(&out_file->arena, shown, strlen(shown))))
		err = dfg_no_memory("the name of the graph");
	if (err)
		dfg_graph_close(out_file);
	return err;
}

struct dfg_err *dfg_graph_input_open(
	const char *path, const struct dfg_graph_input *input, struct dfg_graph_file *out_file)
{
	struct noting noting = {input->report, path};
	const struct dfg_graph_options options = {
		.strict = input->strict, .thorough = input->thorough, .notes = {note, &noting}};
	struct dfg_blob blob;
	if (dfg_plan_folder_is(path))
		return DFG_ERR(
			DFG_DATA, "%s: is a plan, not a graph: give one of its parts, or the graph it was made from", path);
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	if (!is_program(path, &blob))
		return dfg_graph_open_blob(&blob, path, &options, out_file);
	struct dfg_err *err = NULL;
	if (input->output && dfg_same_file(input->output, path))
		err = DFG_ERR(DFG_USAGE, "-o %s would replace the program %s", input->output, path);
	if (!err)
		err = build(path, &blob, out_file);
	dfg_blob_close(&blob);
	return err;
}

struct dfg_err *dfg_graph_input_plan(
	const char *path, const struct dfg_graph_input *input, struct dfg_faults *faults, struct dfg_plan_folder *out_plan)
{
	struct noting noting = {input->report, path};
	const struct dfg_graph_options options = {.strict = input->strict, .notes = {note, &noting}};
	return dfg_plan_folder_open(path, &options, faults, out_plan);
}

struct dfg_err *dfg_holds_arrays(const char *path, bool *out_arrays)
{
	struct dfg_blob blob;
	struct stat stat_;
	*out_arrays = dfg_array_codec_of(path, NULL); /* damaged files too */
	if (!stat(path, &stat_) && !S_ISREG(stat_.st_mode))
		return NULL;
	if (*out_arrays || !strcmp(path, "-"))
		return NULL;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	*out_arrays = dfg_is_arrays(blob.bytes, blob.size);
	dfg_blob_close(&blob);
	return NULL;
}

int dfg_graph_training(const struct dfg_graph *graph)
{
	int64_t training;
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_training", &training))
			return training != 0;
	return -1;
}

bool dfg_graph_has_loss(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_loss", NULL))
			return true;
	return false;
}
