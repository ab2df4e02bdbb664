#include "cmd/graph.h"

#include "formats/array.h"
#include "formats/plan.h"
#include "lib/base/path.h"
#include "lib/base/size.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/pass.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool dfg_cmd_strict;
static bool if_changed;
static const char *output, *format, *external;

const struct dfg_opt dfg_graph_in_options[] = {
	{"strict", .flag = &dfg_cmd_strict, .help = "Reject fields that this version does not know."},
	{0},
};
const struct dfg_opt dfg_graph_out_options[] = {
	{"output", 'o', .takes = "FILE", .text = &output, .help = "Write to FILE instead of stdout."},
	{"to", .takes = "FORMAT", .text = &format,
		.help = "Write this format (for a graph pb or pbtxt), whatever the suffix of FILE."},
	{"external-data", .takes = "SIZE", .text = &external,
		.help = "Store constants of SIZE bytes or more in FILE.safetensors."},
	{"if-changed", .flag = &if_changed, .help = "Do not touch FILE if its content would not change."},
	{0},
};

static void talk(void *arg, const char *text)
{
	dfg_talk("%s: warning: %s", (const char *)arg, text);
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
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (err)
		dfg_graph_close(out_file);
	return err;
}

static struct dfg_err *open_graph(const char *path, bool thorough, struct dfg_graph_file *out_file)
{
	const struct dfg_graph_options options = {
		.strict = dfg_cmd_strict, .thorough = thorough, .notes = {talk, (void *)path}};
	struct dfg_blob blob;
	DFG_TRY(dfg_cmd_check_output(path));
	if (dfg_plan_folder_is(path))
		return DFG_ERR(
			DFG_DATA, "%s: is a plan, not a graph: give one of its parts, or the graph it was made from", path);
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	if (!is_program(path, &blob))
		return dfg_graph_open_blob(&blob, path, &options, out_file);
	struct dfg_err *err = NULL;
	if (output && dfg_same_file(output, path))
		err = DFG_ERR(DFG_USAGE, "-o %s would replace the program %s", output, path);
	if (!err)
		err = build(path, &blob, out_file);
	dfg_blob_close(&blob);
	return err;
}

struct dfg_err *dfg_cmd_open_graph(const char *path, struct dfg_graph_file *out_file)
{
	return open_graph(path, false, out_file);
}

struct dfg_err *dfg_cmd_open_thorough(const char *path, struct dfg_graph_file *out_file)
{
	return open_graph(path, true, out_file);
}

struct dfg_err *dfg_cmd_open_plan(const char *path, struct dfg_faults *faults, struct dfg_plan_folder *out_plan)
{
	const struct dfg_graph_options options = {.strict = dfg_cmd_strict, .notes = {talk, (void *)path}};
	return dfg_plan_folder_open(path, &options, faults, out_plan);
}

struct dfg_err *dfg_cmd_holds_arrays(const char *path, bool *out_arrays)
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

struct dfg_err *dfg_cmd_check_output(const char *input)
{
	bool text;
	if (output && dfg_same_file(output, input))
		return NULL;
	return dfg_graph_format(&(struct dfg_graph_output){.path = output ? output : "-", .format = format}, &text);
}

struct dfg_err *dfg_cmd_check_text(const char *option, const char *path, const char *what)
{
	if (!path || !(dfg_array_codec_of(path, NULL) || dfg_graph_has_suffix(path)))
		return NULL;
	return DFG_ERR(DFG_USAGE, "%s %s: the suffix is not one for %s", option, path, what);
}

int dfg_cmd_training(const struct dfg_graph *graph)
{
	int64_t training;
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_training", &training))
			return training != 0;
	return -1;
}

struct dfg_cmd_output dfg_cmd_output(void)
{
	return (struct dfg_cmd_output){output ? output : "-", format, if_changed};
}

/* Fills the output's path and format from the options. */
static struct dfg_err *graph_output(struct dfg_graph_output *out_output)
{
	uint64_t least = 0;
	*out_output = (struct dfg_graph_output){output ? output : "-", format, if_changed, 0};
	bool to_stdout = !strcmp(out_output->path, "-");
	if (to_stdout && isatty(STDOUT_FILENO) && (!format || strcmp(format, "pbtxt")))
		return DFG_ERR(DFG_USAGE, "a binary graph is not written to a terminal: give -o FILE, or --to pbtxt");
	if (!external)
		return NULL;
	if (to_stdout)
		return DFG_ERR(DFG_USAGE, "--external-data requires -o FILE");
	DFG_TRY(dfg_err_note(dfg_parse_size(external, &least), "--external-data"));
	out_output->external = least ? least : 1;
	return NULL;
}

struct dfg_err *dfg_cmd_save_graph(const struct dfg_graph *graph)
{
	struct dfg_graph_output to;
	DFG_TRY(graph_output(&to));
	return dfg_graph_save(&to, graph);
}

static size_t count_words(const struct dfg_words_list *list)
{
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		count++;
		for (const char *s = list->word[i]; *s; s++)
			count += *s == ',';
	}
	return count;
}

struct dfg_err *dfg_cmd_words(
	const struct dfg_words_list *list, struct dfg_arena *arena, const char ***out_word, uint32_t *out_count)
{
	size_t room = count_words(list);
	*out_count = 0;
	*out_word = NULL;
	if (!room)
		return NULL;
	if (!(*out_word = dfg_arena_zeros(arena, room, sizeof **out_word)))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu names", room);
	for (size_t i = 0; i < list->count; i++)
		for (const char *s = list->word[i]; *s; s += *s == ',') {
			size_t length = strcspn(s, ",");
			if (!length || (s[length] && !s[length + 1]))
				return DFG_ERR(DFG_USAGE, "'%s' has an empty name", list->word[i]);
			if (!((*out_word)[(*out_count)++] = dfg_arena_copy(arena, s, length)))
				return DFG_ERR(DFG_MEMORY, "no memory for a name");
			s += length;
		}
	return NULL;
}

struct dfg_err *dfg_cmd_tensor(
	const struct dfg_graph *graph, const char *name, const char *what, struct dfg_edge *out_edge)
{
	struct dfg_err *err = dfg_graph_edge(graph, name, out_edge);
	if (!err && out_edge->port == DFG_CONTROL)
		err = DFG_ERR(DFG_DATA, "'%s' is not a tensor", name);
	return dfg_err_note(err, "%s", what);
}

struct dfg_err *dfg_cmd_kept(const struct dfg_graph *graph, const struct dfg_words_list *fetch,
	const struct dfg_words_list *target, struct dfg_arena *arena, struct dfg_keep *out_keep)
{
	const char **word;
	uint32_t count;
	*out_keep = (struct dfg_keep){.n_fetch = 0};
	DFG_TRY(dfg_cmd_words(fetch, arena, &word, &count));
	if (!(out_keep->fetch = dfg_arena_zeros(arena, (size_t)count + 1, sizeof *out_keep->fetch)))
		return DFG_ERR(DFG_MEMORY, "no memory for %u tensors", count);
	for (; out_keep->n_fetch < count; out_keep->n_fetch++)
		DFG_TRY(dfg_cmd_tensor(graph, word[out_keep->n_fetch], "--fetch", &out_keep->fetch[out_keep->n_fetch]));
	DFG_TRY(dfg_cmd_words(target, arena, &word, &count));
	if (!(out_keep->target = dfg_arena_zeros(arena, (size_t)count + 1, sizeof *out_keep->target)))
		return DFG_ERR(DFG_MEMORY, "no memory for %u nodes", count);
	for (; out_keep->n_target < count; out_keep->n_target++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_cmd_tensor(graph, word[out_keep->n_target], "--target", &edge));
		out_keep->target[out_keep->n_target] = edge.node;
	}
	return NULL;
}
