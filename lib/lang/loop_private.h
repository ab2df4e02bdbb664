#pragma once

#include "lib/base/index.h"
#include "lib/lang/loop_carried_private.h"
#include "lib/lang/statement_private.h"

/* A loop that runs, while it is evaluated. */
struct dfg_lang_loop {
	const struct dfg_tree *tree;
	struct dfg_region *frame, *body; /* body: NULL until the condition exists */
	struct dfg_edge condition;       /* the LoopCond; .node DFG_NONE until it exists */
	struct dfg_carried *carried;     /* the n values that the text carries */
	uint32_t n;
	struct dfg_carried counter; /* of iterations, from 0, or of a range's values; .merge.node DFG_NONE: none */
	struct dfg_counting *counting;
	struct dfg_parallel *parallel;          /* of a `parallel for`, or NULL */
	struct dfg_yield *yields, **last_yield; /* in the order of the text; last_yield: where the next one is linked */
	struct dfg_index yield_index;           /* the yields by their offset in the text */
	uint32_t n_yields;
	const struct dfg_tree *next; /* the `next` statement, or NULL */
	struct dfg_datum next_value;
};

/* Evaluates a LOOP expression: a TUPLE of the last values it carries, then its yields; a single one is not a TUPLE. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_loop(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);

dfg_statement_fn dfg_eval_yield, dfg_eval_next;
