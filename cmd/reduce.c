#include "app/child.h"
#include "app/reduce.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "cmd/run_command.h"
#include "cmd/screen.h"
#include "lib/base/plural.h"
#include "lib/base/pool.h"
#include "lib/base/text.h"
#include "lib/pass/lower/lower.h"

#include <string.h>

static double timeout;

static const struct dfg_opt options[] = {
	{"timeout", .takes = "SECONDS", .real = &timeout,
		.help = "End CMD after SECONDS, with status 124, so that a graph that never ends can be reduced, too."},
	{.rows = dfg_graph_in_options},
	{.rows = dfg_graph_out_options},
	{0},
};

/* Where the reduction is: a line that is updated on a terminal, else one every ten seconds. */
struct progress {
	bool terminal;
	uint32_t of;
	double last;
};

static bool show(void *arg, uint32_t nodes, uint32_t runs)
{
	struct progress *progress = arg;
	const double now = dfg_seconds();
	struct dfg_text text = {0};
	if (!dfg_globals.quiet && now - progress->last >= (progress->terminal ? 0.1 : 10)) {
		progress->last = now;
		dfg_text_add(&text, "%u of %u nodes after %u run%s", nodes, progress->of, runs, dfg_plural(runs));
		if (text.s && progress->terminal)
			dfg_screen_draw(text.s);
		else if (text.s)
			dfg_talk("%s", text.s);
		dfg_text_release(&text);
	}
	return !dfg_stop_signal();
}

/* The graph with its calls written out; not open if it has none, or a fault. */
static struct dfg_err *open_lowered(const char *path, const struct dfg_graph *graph, struct dfg_graph_file *out_file)
{
	if (!dfg_has_calls(graph) || !strcmp(path, "-"))
		return NULL;
	struct dfg_err *err = dfg_cmd_open_graph(path, out_file);
	if (!err)
		err = dfg_lower_whole(&out_file->graph);
	if (!err || err->code == DFG_MEMORY)
		return err;
	dfg_err_free(err);
	dfg_graph_close(out_file);
	return NULL;
}

/* An interrupt ends the search, and the smallest graph so far is the result. */
static struct dfg_err *reduce_file(
	const struct dfg_graph *graph, const struct dfg_graph *lowered, char **command, int *out_status)
{
	struct progress progress = {dfg_screen_is_there(), graph->count, dfg_seconds()};
	struct dfg_reduce_command how = {.word = (const char *const *)command,
		.talks = dfg_globals.verbose > 0,
		.lowered = lowered,
		.timeout = timeout,
		.goes_on = show,
		.arg = &progress};
	struct dfg_arena arena = {0};
	struct dfg_graph smallest = {.arena = NULL};
	dfg_stop_catch();
	struct dfg_err *err = dfg_reduce_by_command(graph, &how, &arena, &smallest);
	if (progress.terminal)
		dfg_screen_clear();
	const bool found = !err && how.status != DFG_CHILD_ENDED;
	if (found)
		err = dfg_cmd_save_graph(&smallest);
	if (found && !err)
		dfg_talk("%s: reduced %u node%s to %u in %u run%s of %s, which ends with status %d", graph->source,
			graph->count, dfg_plural(graph->count), smallest.count, how.runs, dfg_plural(how.runs), how.word[0],
			how.status);
	if (!err && dfg_stop_signal())
		*out_status = 128 + dfg_stop_signal();
	dfg_graph_release(&smallest);
	dfg_arena_release(&arena);
	return err;
}

static struct dfg_err *reduce(char **operands, int *out_status)
{
	struct dfg_graph_file file = {0}, lowered = {0};
	if (!(timeout >= 0))
		return DFG_ERR(DFG_USAGE, "--timeout must be at least 0");
	DFG_TRY(dfg_cmd_open_graph(operands[0], &file));
	struct dfg_err *err = open_lowered(operands[0], &file.graph, &lowered);
	if (!err)
		err = reduce_file(&file.graph, lowered.graph.count ? &lowered.graph : NULL, &operands[1], out_status);
	err = dfg_err_of_file(err, operands[0]);
	dfg_graph_close(&lowered);
	dfg_graph_close(&file);
	return err;
}

const struct dfg_cmd dfg_cmd_reduce = {
	.name = "reduce",
	.operands = "G -- CMD [ARG...]",
	.summary = "find the smallest graph for which a command still fails",
	.options = options,
	.least = 2,
	.most = -1,
	.run = reduce,
};
