#include "app/files.h"
#include "app/program.h"
#include "cmd/graph.h"
#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/pass/grad/grad.h"

#include <string.h>

static struct dfg_words_list define, include, target;
static uint64_t memory_limit;
static bool depend, phony;
static const char *depfile;

static const struct dfg_opt options[] = {
	{"define", 'D', .takes = "NAME=VALUE", .list = &define,
		.help = "Set a constant of the program, or `training` (by default the graph has both variants)."},
	{"include", 'I', .takes = "DIR", .list = &include, .help = "Also look for imports in DIR."},
	{.rows = dfg_graph_out_options},
	{"memory-limit", .takes = "SIZE", .size = &memory_limit, .least = 1,
		.help = "Fail if the build needs more memory than SIZE (4 GiB)."},
	{"-MD", .flag = &depend, .help = "Write a make rule that lists the files read."},
	{"-MF", .takes = "FILE", .text = &depfile, .help = "Write that rule to FILE instead of OUTPUT.d."},
	{"-MT", .takes = "TARGET", .list = &target, .help = "Name the rule's target TARGET instead of the output."},
	{"-MP", .flag = &phony, .help = "Add an empty rule for each import, so that make runs after one is removed."},
	{0},
};

/* Paths of the files read, copied to an arena: those of imports live only until the end of the build. */
struct reads {
	struct dfg_arena arena;
	const char **path;
	size_t count, capacity;
	bool short_of_memory;
};

static void remember(void *arg, const char *path)
{
	struct reads *reads = arg;
	char *copy = dfg_arena_copy(&reads->arena, path, strlen(path));
	if (!copy || !dfg_reserve(&reads->path, &reads->capacity, reads->count + 1, sizeof *reads->path))
		reads->short_of_memory = true;
	else
		reads->path[reads->count++] = copy;
}

/* Escapes the special characters of make. */
static void add_name(struct dfg_text *text, const char *name)
{
	for (; *name; name++)
		dfg_text_add(text, "%s%c", *name == ' ' || *name == '#' ? "\\" : *name == '$' ? "$" : "", *name);
}

static void add_rule(struct dfg_text *text, const struct reads *reads, const char *output)
{
	if (!target.count)
		add_name(text, output);
	for (size_t i = 0; i < target.count; i++)
		dfg_text_add(text, "%s%s", i ? " " : "", target.word[i]);
	dfg_text_add(text, ":");
	for (size_t i = 0; i < reads->count; i++) {
		dfg_text_add(text, " ");
		add_name(text, reads->path[i]);
	}
	dfg_text_add(text, "\n");
	for (size_t i = 1; phony && i < reads->count; i++) {
		add_name(text, reads->path[i]);
		dfg_text_add(text, ":\n");
	}
}

/* The output of -MD: -MF, or the output's name and .d; NULL if neither is given. Allocated in the arena. */
static struct dfg_err *find_rule(struct reads *reads, const char **out_path)
{
	const char *path = dfg_cmd_output().path;
	bool named = strcmp(path, "-") != 0;
	*out_path = depfile;
	if (!depend)
		return !depfile && !target.count && !phony ? NULL : DFG_ERR(DFG_USAGE, "-MF, -MT and -MP require -MD");
	if (!named && (!depfile || !strcmp(depfile, "-") || !target.count))
		return DFG_ERR(DFG_USAGE, "-MD without -o requires -MF and -MT");
	if (!depfile && !(*out_path = dfg_arena_print(&reads->arena, "%s.d", path)))
		return dfg_no_memory("the list of files read");
	return NULL;
}

static struct dfg_err *write_rule(const struct reads *reads, const char *path)
{
	struct dfg_text text = {0};
	add_rule(&text, reads, dfg_cmd_output().path);
	struct dfg_err *err = dfg_out_text(path, false, &text);
	dfg_text_release(&text);
	return err;
}

/* make has no way to write a path with a line break. */
static struct dfg_err *check_rule_paths(const struct reads *reads)
{
	const char *wrong = !target.count && strchr(dfg_cmd_output().path, '\n') ? dfg_cmd_output().path : NULL;
	for (size_t i = 0; !wrong && i < target.count; i++)
		wrong = strchr(target.word[i], '\n') ? target.word[i] : NULL;
	for (size_t i = 0; !wrong && i < reads->count; i++)
		wrong = strchr(reads->path[i], '\n') ? reads->path[i] : NULL;
	return wrong ? DFG_ERR(DFG_USAGE, "%s: a make rule cannot name a path with a line break", wrong) : NULL;
}

/* An output must not overwrite a source file. */
static struct dfg_err *check_outputs(const struct reads *reads, const char *rule)
{
	struct dfg_files files = {0};
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < reads->count; i++)
		err = dfg_files_add_read(&files, "the program", reads->path[i]);
	if (!err)
		err = dfg_files_add_written(&files, "-o", dfg_cmd_output().path);
	if (!err)
		err = dfg_files_add_written(&files, depfile ? "-MF" : "-MD", rule);
	if (!err)
		err = dfg_files_check(&files);
	if (!err)
		err = dfg_check_text_path("-MF", depfile, "a make rule");
	if (!err && rule)
		err = check_rule_paths(reads);
	if (!err && rule)
		err = dfg_out_try(rule);
	dfg_files_release(&files);
	return err;
}

/* Writes the rule first: a graph without its rule would stay up to date even if an import changes. */
static struct dfg_err *write_outputs(const struct reads *reads, const char *rule, const struct dfg_graph *graph)
{
	dfg_out_begin();
	struct dfg_err *err = rule ? write_rule(reads, rule) : NULL;
	if (!err)
		err = dfg_cmd_save_graph(graph);
	return dfg_out_end(err);
}

static void talk(void *arg, const char *words)
{
	(void)arg;
	dfg_talk("%s", words);
}

static struct dfg_err *build(char **operands, int *out_status)
{
	(void)out_status;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct reads reads = {0};
	const struct dfg_lang_options lang = {.include = include.word,
		.define = define.word,
		.grad = dfg_grad_edges,
		.graphs = &dfg_graph_imports,
		.read = remember,
		.read_arg = &reads,
		.warn = talk,
		.memory_limit = memory_limit};
	dfg_graph_init(&graph, &arena);
	const char *rule;
	struct dfg_err *err = dfg_cmd_check_output(*operands);
	if (!err)
		err = find_rule(&reads, &rule);
	if (!err)
		err = dfg_program_build(*operands, &lang, &graph);
	if (!err && reads.short_of_memory)
		err = dfg_no_memory("the list of files read");
	if (!err)
		err = check_outputs(&reads, rule);
	if (!err && !graph.count)
		err = DFG_ERR(DFG_DATA, "%s: the program has no nodes", *operands);
	if (!err)
		err = write_outputs(&reads, rule, &graph);
	dfg_free(reads.path);
	dfg_arena_release(&reads.arena);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return err;
}

const struct dfg_cmd dfg_cmd_build = {
	.name = "build",
	.operands = "PROGRAM.dfg",
	.summary = "build a graph from a text program",
	.options = options,
	.least = 1,
	.most = 1,
	.run = build,
};
