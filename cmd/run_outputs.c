#include "cmd/graph.h"
#include "cmd/run.h"
#include "cmd/uses.h"
#include "lib/base/path.h"

#include <string.h>

#define O dfg_run_options

static struct dfg_err *add_uses(const char *graph, struct dfg_uses *uses)
{
	DFG_TRY(dfg_uses_read(uses, "the graph", graph));
	DFG_TRY(dfg_uses_read(uses, "--eval-graph", O.eval_graph));
	DFG_TRY(dfg_uses_words(uses, "--feed", &O.feed));
	DFG_TRY(dfg_uses_words(uses, "--data", &O.data));
	DFG_TRY(dfg_uses_words(uses, "--eval-data", &O.eval_data));
	for (size_t i = 0; i < O.load.count;
		 i++) /* loading from FILE and saving to it is safe: it is replaced atomically */
		if (!O.save || !dfg_same_file(O.load.word[i], O.save))
			DFG_TRY(dfg_uses_read(uses, "--load", O.load.word[i]));
	DFG_TRY(dfg_uses_write(uses, "-o", O.output));
	DFG_TRY(dfg_uses_write(uses, "--save", O.save));
	DFG_TRY(dfg_uses_write(uses, "--metrics", O.metrics));
	return dfg_uses_write(uses, "--trace", O.trace);
}

static struct dfg_err *check_files(const char *graph)
{
	struct dfg_uses uses = {0};
	struct dfg_err *err = add_uses(graph, &uses);
	if (!err)
		err = dfg_uses_check(&uses);
	dfg_uses_release(&uses);
	return err;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

static bool results_take_stdout(void)
{
	bool any = O.fetch.count || !O.target.count;
	return dfg_globals.json || O.each || is_stdout(O.output) || (!O.output && any);
}

static struct dfg_err *check_stdout(void)
{
	const char *wants = is_stdout(O.metrics) ? "metrics" : is_stdout(O.trace) ? "trace" : NULL;
	if (wants && results_take_stdout())
		return DFG_ERR(DFG_USAGE, "--%s - and the results both need stdout: write one of them to a file", wants);
	if (is_stdout(O.output) && dfg_globals.json)
		return DFG_ERR(DFG_USAGE, "--json and -o - both need stdout: give one of them");
	if (is_stdout(O.metrics) && is_stdout(O.trace))
		return DFG_ERR(DFG_USAGE, "--trace - and --metrics - both need stdout: write one of them to a file");
	return NULL;
}

/* Finds outputs that cannot be written before the work starts. */
static struct dfg_err *try_outputs(void)
{
	const char *const path[] = {O.output, O.save, O.trace};
	for (size_t i = 0; i < sizeof path / sizeof *path; i++)
		if (path[i])
			DFG_TRY(dfg_out_try(path[i]));
	return NULL;
}

struct dfg_err *dfg_run_check_outputs(const char *graph)
{
	const struct dfg_array_codec *codec = O.save ? dfg_array_codec_of(O.save, NULL) : NULL;
	if (O.save && (!codec || !codec->many || codec == &dfg_csv))
		return DFG_ERR(DFG_USAGE, "--save %s: variables are saved to a .safetensors or .npz file", O.save);
	DFG_TRY(check_stdout());
	DFG_TRY(check_files(graph));
	DFG_TRY(dfg_cmd_check_text("--metrics", O.metrics, "lines of JSON"));
	DFG_TRY(dfg_cmd_check_text("--trace", O.trace, "JSON"));
	return try_outputs();
}

struct dfg_err *dfg_run_check_results(const struct dfg_run *run)
{
	const struct dfg_array_codec *codec = O.output ? dfg_array_codec_of(O.output, NULL) : NULL;
	bool many = !O.output || (codec && codec->many);
	if (O.output && !run->fetch.count)
		return DFG_ERR(DFG_USAGE, "-o %s: no tensor is fetched", O.output);
	if (many || run->fetch.count < 2)
		return NULL;
	return DFG_ERR(
		DFG_USAGE, "-o %s holds one array, but %u are fetched: give -o FILE.npz", O.output, run->fetch.count);
}
