#include "app/surgery.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "lib/pass/pass.h"
#include "lib/pass/rewrite/surgery.h"
#include "lib/pass/rewrite/variants.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

static struct dfg_words_list fetch, target, passes;
static struct dfg_surgery surgery;
static bool obfuscate;

static const struct dfg_opt options[] = {
	{"fetch", 'f', .takes = "T", .list = &fetch, .help = "Keep tensor T, its name and value; may be a list."},
	{"target", .takes = "N", .list = &target, .help = "Keep node N, run for its effect."},
	{"passes", .takes = "P", .list = &passes,
		.help = "Run only these: lower, tensorflow, fuse, fold, batch-norm, strip, cse, prune; the order is fixed."},
	{"freeze", .flag = &surgery.freeze, .help = "Turn the variables into constants, with the values of --load."},
	{"load", .takes = "SRC", .list = &surgery.load,
		.help = "Take values from a checkpoint, the newest of a directory, or an array file; the last one counts."},
	{"map", .takes = "OLD=NEW", .list = &surgery.map, .help = "Take the arrays of SRC that match pattern OLD as NEW."},
	{"thaw", .takes = "PATTERN", .list = &surgery.thaw,
		.help = "Turn the constants of floats that match PATTERN into trainable variables."},
	{"replace", .takes = "OLD=NEW", .list = &surgery.replace,
		.help = "Let all readers of tensor OLD read tensor NEW, except those that NEW depends on."},
	{"remove", .takes = "PATTERN", .list = &surgery.remove,
		.help = "Remove the nodes that match PATTERN, which no other node may read."},
	{"rename", .takes = "OLD=NEW", .list = &surgery.rename, .help = "Rename the nodes that match pattern OLD."},
	{"set", .takes = "PATTERN:A=VALUE", .list = &surgery.set,
		.help = "Set attribute A of the nodes that match PATTERN; without VALUE, remove it."},
	{"set-device", .takes = "PATTERN=DEVICE", .list = &surgery.device,
		.help = "Request DEVICE, or none, for the nodes that match PATTERN."},
	{"obfuscate", .flag = &obfuscate,
		.help = "Replace the names of nodes and loops by numbers, except inputs, outputs and variables."},
	{.rows = dfg_graph_in_options},
	{.rows = dfg_graph_out_options},
	{0},
};

static struct dfg_err *check_pass(const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (const struct dfg_pass *pass = dfg_passes; pass->name; pass++) {
		if (!strcmp(pass->name, name))
			return NULL;
		dfg_nearest_offer(&nearest, pass->name);
	}
	return DFG_ERR(DFG_USAGE, "--passes: unknown pass '%s'%s%s%s", name, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static bool is_named(const char *pass, const char **word, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(word[i], pass))
			return true;
	return false;
}

static bool is_asked_for(const struct dfg_pass *pass, const char **word, uint32_t count)
{
	if (is_named(pass->name, word, count))
		return true;
	return !count && pass->standard && !dfg_surgery_any(&surgery) && !obfuscate;
}

static bool leaves_all(const char **word, uint32_t count)
{
	for (const struct dfg_pass *pass = dfg_passes; pass->name; pass++)
		if (is_asked_for(pass, word, count) && !pass->whole)
			return false;
	return true;
}

/* Keeps the declared outputs if no output is requested. */
static struct dfg_err *keep_declared(const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_keep *keep)
{
	if (!(keep->fetch = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *keep->fetch)))
		return dfg_no_memory("the outputs");
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_output", NULL))
			keep->fetch[keep->n_fetch++] = (struct dfg_edge){n, 0};
	return NULL;
}

/* The options that contradict each other. */
static struct dfg_err *check_options(void)
{
	if (surgery.freeze && !surgery.load.count)
		return DFG_ERR(DFG_USAGE, "--freeze requires --load SRC, which has the values");
	if (!surgery.freeze && (surgery.load.count || surgery.map.count))
		return DFG_ERR(DFG_USAGE, "%s requires --freeze", surgery.load.count ? "--load" : "--map");
	return NULL;
}

static struct dfg_err *run_passes(const char **word, uint32_t count, struct dfg_graph *graph, struct dfg_keep *keep,
	struct dfg_arena *arena, struct dfg_text *report)
{
	for (const struct dfg_pass *pass = dfg_passes; pass->name; pass++)
		if (is_asked_for(pass, word, count))
			DFG_TRY(dfg_err_note(pass->run(graph, keep, arena, report), "%s", pass->name));
	return NULL;
}

/* Surgery, then passes, then other names. A graph that was changed by name is checked again. */
static struct dfg_err *rewrite(struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_text *report)
{
	struct dfg_keep keep = {0};
	const char **word;
	uint32_t count;
	DFG_TRY(dfg_words_split(&passes, arena, &word, &count));
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(check_pass(word[i]));
	DFG_TRY(fetch.count || target.count ? dfg_find_kept(graph, &fetch, &target, arena, &keep)
										: keep_declared(graph, arena, &keep));
	if (!keep.n_fetch && !keep.n_target && (surgery.freeze || !leaves_all(word, count)))
		return DFG_ERR(DFG_USAGE, "the graph declares no outputs: name some with --fetch or --target");
	if (!surgery.freeze && !is_named("strip", word, count)) /* these are for inference alone */
		DFG_TRY(dfg_variants_keep(graph, !fetch.count && !target.count, arena, &keep));
	DFG_TRY(dfg_verify(graph, NULL, NULL));
	if (dfg_surgery_any(&surgery)) {
		DFG_TRY(dfg_surgery_apply(&surgery, graph, &keep, arena, &dfg_stderr, report));
		DFG_TRY(dfg_err_note(dfg_verify(graph, NULL, NULL), "after these changes"));
	}
	DFG_TRY(run_passes(word, count, graph, &keep, arena, report));
	if (obfuscate)
		DFG_TRY(dfg_obfuscate(graph, &keep, arena, report));
	return dfg_text_check(report);
}

static struct dfg_err *opt(char **operands, int *out_status)
{
	(void)out_status;
	struct dfg_graph_file file = {0};
	struct dfg_arena arena = {0};
	struct dfg_text report = {0};
	DFG_TRY(check_options());
	DFG_TRY(dfg_cmd_open_graph(*operands, &file));
	struct dfg_err *err = dfg_err_note(rewrite(&file.graph, &arena, &report), "%s", *operands);
	if (!err)
		err = dfg_cmd_save_graph(&file.graph);
	if (!err)
		dfg_talk_lines(&report);
	dfg_text_release(&report);
	dfg_arena_release(&arena);
	dfg_graph_close(&file);
	return err;
}

const struct dfg_cmd dfg_cmd_opt = {
	.name = "opt",
	.operands = "G",
	.summary = "optimize a graph, change it by name, or rewrite it for TensorFlow",
	.options = options,
	.least = 1,
	.most = 1,
	.run = opt,
};
