#pragma once

#include "lib/lang/eval_private.h"

/*
 * The application of an optimizer to rows: `set w[ids] -= g by adagrad(lr = 0.1)`. The layer gets the rows of w as p, the sums of
 * g by row, and step(); its `state` of the shape of p has a row for each row of w, of which it reads and sets those at ids.
 */
struct dfg_row_rule {
	const struct dfg_tree *tree;     /* its call, for errors */
	struct dfg_edge indices;         /* a vector of distinct rows */
	struct dfg_shape whole;          /* of the variable */
	bool is_buffered;                /* its accesses get the mark `_dfg_rule` */
	const struct dfg_region *region; /* where it is applied */
	struct dfg_row_rule_state {
		const struct dfg_cell *cell;
		struct dfg_edge value; /* its present rows */
		bool is_set;           /* the rule has set them */
	} state[16];
	uint32_t n_state;
};

/* The update of a SET tree with a rule, by the slope g. */
DFG_MUST_CHECK struct dfg_err *dfg_rule_update(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *tree, struct dfg_cell *cell, struct dfg_edge slope, uint32_t *out_node);

/* The rows of a state of the rule that is being evaluated, and their new value. */
DFG_MUST_CHECK struct dfg_err *dfg_rule_read(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_rule_write(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node);

/* seen(s): the rows of a state as the read saw it from which the slope was computed. */
DFG_MUST_CHECK struct dfg_err *dfg_rule_seen(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge *out_edge);
