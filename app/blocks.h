#pragma once

#include "app/model.h"
#include "lib/pass/parallel/blocks.h"

struct dfg_run;

/* Options by which parallel loops run in blocks. */
struct dfg_block_choice {
	int64_t blocks;             /* 0: loops run as they are */
	const char *balance;        /* "histogram", the default, or "range"; NULL: not given */
	struct dfg_words_list loop; /* "LOOP" or "LOOP=ordered": a loop without mark is taken for a parallel one */
	bool verify, no_slices;
	bool workers; /* several workers run the graph, and divide the blocks */
};

/* DFG_USAGE for options that do not fit each other. */
DFG_MUST_CHECK struct dfg_err *dfg_block_choice_check(const struct dfg_block_choice *choice);

/*
 * If the path is a plan, the number of blocks is that of the plan, for workers. DFG_DATA if it is given and differs; DFG_USAGE
 * for another option of blocks, which a plan has already.
 */
DFG_MUST_CHECK struct dfg_err *dfg_blocks_of_plan(const char *path, struct dfg_block_choice *choice);

/*
 * Cuts the parallel loops of an open graph, and infers its types again. The nodes get other numbers: names must be resolved
 * after it. Notes name the loops that run one iteration at a time or unchanged, and why. DFG_DATA: no loop is parallel.
 */
DFG_MUST_CHECK struct dfg_err *dfg_blocks_apply(
	const struct dfg_block_choice *choice, const struct dfg_report *report, struct dfg_model *model);
