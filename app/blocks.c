#include "app/blocks.h"

#include "formats/plan.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

enum { BLOCKS_MOST = 65536 };

/* The first given option that changes how blocks run; NULL: there is none. */
static const char *option_of_blocks(const struct dfg_block_choice *choice)
{
	return choice->balance      ? "balance"
		   : choice->verify     ? "verify-plan"
		   : choice->no_slices  ? "no-slices"
		   : choice->loop.count ? "parallel"
								: NULL;
}

struct dfg_err *dfg_block_choice_check(const struct dfg_block_choice *choice)
{
	const char *balance = choice->balance;
	const char *idle = option_of_blocks(choice);
	if (choice->blocks > BLOCKS_MOST)
		return DFG_ERR(DFG_USAGE, "--blocks must be at most %d, not %lld", BLOCKS_MOST, (long long)choice->blocks);
	if (balance && strcmp(balance, "histogram") != 0 && strcmp(balance, "range") != 0)
		return DFG_ERR(DFG_USAGE, "--balance must be histogram or range, not '%s'", balance);
	return idle && !choice->blocks ? DFG_ERR(DFG_USAGE, "--%s requires --blocks", idle) : NULL;
}

struct dfg_err *dfg_blocks_of_plan(const char *path, struct dfg_block_choice *choice)
{
	uint32_t blocks;
	if (!dfg_plan_folder_is(path))
		return NULL;
	DFG_TRY(dfg_plan_folder_blocks(path, &blocks));
	if (choice->blocks && !blocks)
		return DFG_ERR(
			DFG_DATA, "%s: the plan has no blocks: partition with --blocks %lld", path, (long long)choice->blocks);
	if (choice->blocks && choice->blocks != blocks)
		return DFG_ERR(DFG_DATA, "%s: the plan is for --blocks %u, not %lld", path, blocks, (long long)choice->blocks);
	if (option_of_blocks(choice))
		return DFG_ERR(DFG_USAGE, "%s is a plan, whose parallel loops are already divided: give --%s to dfg partition",
			path, option_of_blocks(choice));
	choice->blocks = blocks;
	choice->workers = blocks != 0;
	return NULL;
}

static void report_loop(const struct dfg_report *report, const char *source, const struct dfg_blocked_loop *loop)
{
	if (!loop->schedule)
		dfg_report_note(report, "%s: parallel loop '%s' runs serially: %s", source, loop->name, loop->why);
	else if (loop->why)
		dfg_report_note(
			report, "%s: parallel loop '%s' runs one iteration at a time: %s", source, loop->name, loop->why);
	if (loop->schedule && loop->whole)
		dfg_report_note(
			report, "%s: parallel loop '%s' runs whole on each worker: %s", source, loop->name, loop->whole);
}

static struct dfg_err *cut(
	const struct dfg_block_choice *choice, const struct dfg_report *report, struct dfg_model *model)
{
	struct dfg_graph *graph = &model->file.graph;
	const struct dfg_block_options options = {.blocks = (uint32_t)choice->blocks,
		.by_range = choice->balance && !strcmp(choice->balance, "range"),
		.verify = choice->verify,
		.singly = choice->no_slices,
		.workers = choice->workers};
	struct dfg_arena scratch = {0};
	struct dfg_blocked blocked = {0};
	struct dfg_err *err = dfg_blocks_cut(graph, &options, &scratch, &blocked);
	for (uint32_t i = 0; !err && i < blocked.count; i++)
		report_loop(report, graph->source, &blocked.loop[i]);
	dfg_arena_release(&scratch);
	return err;
}

struct dfg_err *dfg_blocks_apply(
	const struct dfg_block_choice *choice, const struct dfg_report *report, struct dfg_model *model)
{
	struct dfg_graph *graph = &model->file.graph;
	struct dfg_err *err = NULL;
	if (!choice->blocks)
		return NULL;
	for (size_t i = 0; !err && i < choice->loop.count; i++)
		err = dfg_parallel_mark(graph, choice->loop.word[i]);
	if (!err && !dfg_parallel_is_marked(graph))
		err = DFG_ERR(DFG_DATA, "--blocks: the graph has no parallel loop; name a loop with --parallel");
	if (!err)
		err = cut(choice, report, model);
	if (!err) {
		dfg_facts_release(&model->facts);
		model->facts = (struct dfg_facts){0};
		err = dfg_verify(graph, NULL, &model->facts);
	}
	return dfg_err_of_file(err, graph->source);
}
