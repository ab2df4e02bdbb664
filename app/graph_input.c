#include "app/graph_input.h"

#include "formats/array.h"
#include "formats/plan.h"
#include "lib/base/path.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

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

/* Builds the program as `dfg build` does without options. */
static struct dfg_err *build(const char *path, const struct dfg_blob *blob, struct dfg_graph_file *out_file)
{
	const struct dfg_lang_options lang = {
		.grad = dfg_grad_edges, .text = (const char *)blob->bytes, .length = blob->size};
	const char *shown = strcmp(path, "-") ? path : "stdin";
	*out_file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
	dfg_graph_init(&out_file->graph, &out_file->arena);
	struct dfg_err *err = dfg_lang_build(path, &lang, &out_file->graph);
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
