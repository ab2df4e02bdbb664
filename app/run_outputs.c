#include "app/files.h"
#include "app/run_private.h"
#include "lib/base/path.h"

#include <string.h>

static struct dfg_err *add_files(const struct dfg_run_options *o, const char *graph, struct dfg_files *files)
{
	DFG_TRY(dfg_files_add_read(files, "the graph", graph));
	DFG_TRY(dfg_files_add_read(files, "--eval-graph", o->eval_graph));
	DFG_TRY(dfg_files_add_words(files, "--feed", &o->feed));
	DFG_TRY(dfg_files_add_words(files, "--data", &o->data));
	DFG_TRY(dfg_files_add_words(files, "--eval-data", &o->eval_data));
	DFG_TRY(dfg_files_add_read(files, "--replay", o->replay));
	DFG_TRY(dfg_files_add_written(files, "--record", o->record));
	for (size_t i = 0; i < o->load.count;
		 i++) /* loading from FILE and saving to it is safe: it is replaced atomically */
		if (!o->save || !dfg_same_file(o->load.word[i], o->save))
			DFG_TRY(dfg_files_add_read(files, "--load", o->load.word[i]));
	DFG_TRY(dfg_files_add_written(files, "-o", o->output));
	DFG_TRY(dfg_files_add_written(files, "--save", o->save));
	DFG_TRY(dfg_files_add_written(files, "--keep-best", o->keep_best));
	DFG_TRY(dfg_files_add_written(files, "--metrics", o->metrics));
	return dfg_files_add_written(files, "--trace", o->trace);
}

static struct dfg_err *check_files(const struct dfg_run_options *o, const char *graph)
{
	struct dfg_files files = {0};
	struct dfg_err *err = add_files(o, graph, &files);
	if (!err)
		err = dfg_files_check(&files);
	dfg_files_release(&files);
	return err;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

static bool results_take_stdout(const struct dfg_run_options *o, bool json)
{
	bool any = o->fetch.count || !o->target.count;
	return json || o->each || is_stdout(o->output) || (!o->output && any);
}

static struct dfg_err *check_stdout(const struct dfg_run_options *o, bool json)
{
	const char *wants = is_stdout(o->metrics) ? "metrics" : is_stdout(o->trace) ? "trace" : NULL;
	if (wants && results_take_stdout(o, json))
		return DFG_ERR(DFG_USAGE, "--%s - and the results both need stdout: write one of them to a file", wants);
	if (is_stdout(o->output) && json)
		return DFG_ERR(DFG_USAGE, "--json and -o - both need stdout: give one of them");
	if (is_stdout(o->metrics) && is_stdout(o->trace))
		return DFG_ERR(DFG_USAGE, "--trace - and --metrics - both need stdout: write one of them to a file");
	return NULL;
}

/* Finds outputs that cannot be written before the work starts. */
static struct dfg_err *try_outputs(const struct dfg_run_options *o)
{
	const char *const path[] = {o->output, o->save, o->keep_best, o->trace};
	for (size_t i = 0; i < sizeof path / sizeof *path; i++)
		if (path[i])
			DFG_TRY(dfg_out_try(path[i]));
	return NULL;
}

static struct dfg_err *check_variables_file(const char *option, const char *path)
{
	const struct dfg_array_codec *codec = path ? dfg_array_codec_of(path, NULL) : NULL;
	if (path && (!codec || !codec->many || codec == &dfg_csv))
		return DFG_ERR(DFG_USAGE, "%s %s: variables are saved to a .safetensors or .npz file", option, path);
	return NULL;
}

struct dfg_err *dfg_run_check_outputs(const struct dfg_run_options *o, const char *graph, bool json)
{
	DFG_TRY(check_variables_file("--save", o->save));
	DFG_TRY(check_variables_file("--keep-best", o->keep_best));
	DFG_TRY(check_stdout(o, json));
	DFG_TRY(check_files(o, graph));
	DFG_TRY(dfg_check_text_path("--metrics", o->metrics, "lines of JSON"));
	DFG_TRY(dfg_check_text_path("--trace", o->trace, "JSON"));
	DFG_TRY(dfg_check_text_path("--record", o->record, "lines of text"));
	return try_outputs(o);
}

struct dfg_err *dfg_run_check_results(const struct dfg_run *run)
{
	const struct dfg_run_options *o = run->options;
	const struct dfg_array_codec *codec = o->output ? dfg_array_codec_of(o->output, NULL) : NULL;
	bool many = !o->output || (codec && codec->many);
	if (o->output && !run->fetch.count)
		return DFG_ERR(DFG_USAGE, "-o %s: no tensor is fetched", o->output);
	if (many || run->fetch.count < 2)
		return NULL;
	return DFG_ERR(
		DFG_USAGE, "-o %s holds one array, but %u are fetched: give -o FILE.npz", o->output, run->fetch.count);
}
