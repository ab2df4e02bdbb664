#include "app/child.h"
#include "app/compare_runs.h"
#include "app/other_program.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "cmd/shared_options.h"
#include "lib/base/arena.h"
#include "lib/base/folder.h"
#include "lib/pass/pass.h"

#include <string.h>
#include <unistd.h>

static struct dfg_differ tolerance;
static int64_t batch = -1;
static const char *with, *hosts;
static struct dfg_words_list passes;
static struct dfg_run_options run_options = DFG_RUN_DEFAULTS;

static const struct dfg_opt options[] = {
	{"with", .takes = "PROGRAM", .text = &with, .help = "Compare with the dfg PROGRAM, another build or version."},
	{"hosts", .takes = "H", .text = &hosts,
		.help = "Compare with a run on the first host of H, a file or list as for dfg run."},
	{"passes", .takes = "P", .list = &passes,
		.help = "Apply these passes of dfg opt one by one, and find the first that changes the results; all: the "
				"standard ones."},
	{"feed", .takes = "NAME=VALUE", .list = &run_options.feed,
		.help = "Give tensor NAME a value, as for dfg run; other inputs are made up from --seed."},
	{"fetch", 'f', .takes = "NAME", .list = &run_options.fetch,
		.help = "Compare tensor NAME; may be a list with commas (the outputs that G declares)."},
	{"batch", .takes = "N", .number = &batch, .least = 1,
		.help = "Size of the unknown dimensions of made-up inputs (that of an input that is fed, else 4)."},
	{"load", .takes = "SRC", .list = &run_options.load, .help = "Set the variables from a checkpoint or array file."},
	{"map", .takes = "OLD=NEW", .list = &run_options.map,
		.help = "Take the arrays of SRC that match pattern OLD as NEW."},
	{"partial", .flag = &run_options.partial, .help = "Initialise variables that SRC lacks."},
	{"init", .takes = "NODE", .text = &run_options.init, .help = "Run NODE first to set the variables."},
	{"rtol", .takes = "R", .real = &tolerance.rtol,
		.help = "Allow floats to differ by R times the magnitude of the second (0)."},
	{"atol", .takes = "A", .real = &tolerance.atol, .help = "Allow floats to differ by A (0)."},
	{.rows = dfg_execution_options},
	{.rows = dfg_graph_in_options},
	{0},
};

static struct dfg_compared_runs runs_of(const char *a, const char *b, const struct dfg_other_program *other)
{
	return (struct dfg_compared_runs){.path = {a, b},
		.options = &run_options,
		.execution = &dfg_shared.execution,
		.input = dfg_cmd_graph_input(),
		.batch = batch,
		.other = other};
}

/* Compares, and prints the lines after "what: "; *out_status tells whether something differs. */
static struct dfg_err *compare(
	const char *a, const char *b, const struct dfg_other_program *other, const char *what, int *out_status)
{
	struct dfg_differ differ = tolerance;
	struct dfg_arena arena = {0};
	const char *first;
	const struct dfg_compared_runs runs = runs_of(a, b, other);
	struct dfg_err *err = dfg_compare_runs(&runs, &arena, &differ, &first);
	if (!err && differ.count) {
		*out_status = DFG_NEGATIVE;
		dfg_printf("%s\n", what);
		dfg_print(&differ.text);
		if (!first)
			dfg_printf("no node differs when all are fetched: the difference depends on what is computed together\n");
	}
	dfg_text_release(&differ.text);
	dfg_arena_release(&arena);
	return err;
}

/* Applies one pass to a file, by this program. */
static struct dfg_err *apply(const char *from, const char *pass, const char *to, struct dfg_arena *arena)
{
	const struct dfg_words_list *fetch = &run_options.fetch;
	const char **word = dfg_arena_zeros(arena, 11 + 2 * fetch->count, sizeof *word);
	size_t count = 0;
	int status;
	if (!word)
		return dfg_no_memory("the arguments of a program");
	const char *const first[] = {"/proc/self/exe", "opt", "-q", from, "--passes", pass, "-o", to};
	for (; count < sizeof first / sizeof *first; count++)
		word[count] = first[count];
	for (size_t i = 0; i < fetch->count; i++) {
		word[count++] = "--fetch";
		word[count++] = fetch->word[i];
	}
	if (run_options.init) {
		word[count++] = "--target";
		word[count++] = run_options.init;
	}
	DFG_TRY(dfg_child_run(word, true, 0, &status));
	return status ? DFG_ERR((enum dfg_code)status, "pass '%s': ended with status %d", pass, status) : NULL;
}

static bool is_asked_for(const struct dfg_pass *pass, const char **word, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(word[i], pass->name) || (!strcmp(word[i], "all") && pass->standard))
			return true;
	return false;
}

static struct dfg_err *check_passes(const char **word, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool known = !strcmp(word[i], "all");
		for (const struct dfg_pass *pass = dfg_passes; pass->name && !known; pass++)
			known = !strcmp(word[i], pass->name);
		if (!known)
			return DFG_ERR(DFG_USAGE, "--passes: unknown pass '%s'; see dfg help opt", word[i]);
	}
	return NULL;
}

/* Names the results as if they were given by --fetch. */
static struct dfg_err *keep_results(const char *graph, struct dfg_arena *arena)
{
	const struct dfg_compared_runs runs = runs_of(graph, graph, NULL);
	struct dfg_words_list results;
	DFG_TRY(dfg_compared_results(&runs, arena, &results));
	run_options.fetch = results;
	return NULL;
}

/* Each pass gets the graph that the one before has made, and is compared with it. */
static struct dfg_err *bisect_passes(
	const char *graph, struct dfg_folder *folder, struct dfg_arena *arena, int *out_status)
{
	const char **word, *from = graph, *to;
	uint32_t count;
	struct dfg_err *err = NULL;
	DFG_TRY(dfg_words_split(&passes, arena, &word, &count));
	DFG_TRY(check_passes(word, count));
	if (run_options.init) /* which dfg opt must keep: it then keeps no output by itself */
		DFG_TRY(keep_results(graph, arena));
	for (const struct dfg_pass *pass = dfg_passes; pass->name && !err && !*out_status; pass++) {
		if (!is_asked_for(pass, word, count))
			continue;
		const char *file = dfg_arena_print(arena, "%s.pb", pass->name);
		const char *what = dfg_arena_print(arena, "pass '%s' changes the results", pass->name);
		if (!file || !what)
			return dfg_no_memory("the passes");
		DFG_TRY(dfg_folder_file(folder, file, &to));
		err = apply(from, pass->name, to, arena);
		if (!err)
			err = compare(from, to, NULL, what, out_status);
		if (from != graph)
			unlink(from);
		from = to;
	}
	return err;
}

static struct dfg_err *bisect_in_folder(const char *graph, int *out_status)
{
	struct dfg_arena arena = {0};
	struct dfg_folder folder;
	struct dfg_err *err = dfg_folder_open_scratch("bisect", &folder);
	if (!err)
		err = bisect_passes(graph, &folder, &arena, out_status);
	dfg_folder_release(&folder);
	dfg_arena_release(&arena);
	return err;
}

static struct dfg_err *bisect(char **operands, int *out_status)
{
	const struct dfg_other_program other = {with, hosts};
	if (!(tolerance.rtol >= 0) || !(tolerance.atol >= 0))
		return DFG_ERR(DFG_USAGE, "--rtol and --atol must be at least 0");
	if (!!with + !!hosts + !!passes.count != 1)
		return DFG_ERR(
			DFG_USAGE, "give exactly one of --with, --hosts and --passes, to say what the graph is compared with");
	if ((run_options.map.count || run_options.partial) && !run_options.load.count)
		return DFG_ERR(DFG_USAGE, "--%s requires --load", run_options.map.count ? "map" : "partial");
	if (!strcmp(operands[0], "-"))
		return DFG_ERR(DFG_USAGE, "the graph is read several times, so it cannot be stdin");
	dfg_limit_memory();
	return dfg_name_memory_limit(passes.count ? bisect_in_folder(operands[0], out_status)
											  : compare(operands[0], operands[0], &other,
													with ? "the programs differ" : "the hosts differ", out_status),
		operands[0]);
}

const struct dfg_cmd dfg_cmd_bisect = {
	.name = "bisect",
	.operands = "G",
	.summary = "find the node at which two builds, machines or passes differ",
	.options = options,
	.least = 1,
	.most = 1,
	.run = bisect,
};
