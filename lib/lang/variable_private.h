#pragma once

#include "lib/lang/history_private.h"
#include "lib/lang/statement_private.h"

/*
 * A param or state: VarHandleOp, its read, its initialisation. With an empty path: an end of a queue, or another state
 * that a program holds by a handle; it has no read, and its handle is a boolean that only carries the order.
 */
struct dfg_cell {
	const char *path; /* the name of the variable; unique unless empty */
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	struct dfg_edge handle, read; /* .node DFG_NONE: none; a boolean handle is made when a loop or branch needs it */
	struct dfg_history now;       /* accesses in the root */
	bool trainable;
	bool by_rule; /* the state of a rule (lib/lang/rule_private.h): the rule reads and writes its rows alone */
	bool by_rows; /* only the rows of the optimizer that declares it are read and written */
};

/* The changes of a target, undone at its end, because only a run of the target makes them. */
struct dfg_target {
	struct dfg_cell_before {
		struct dfg_cell_before *older;
		struct dfg_cell *cell;
		struct dfg_history now; /* before the write */
	} * written;                /* the newest */
};

/* Makes a variable with the path, dtype, shape and trainable of `like`, and its initial value, in the root. */
DFG_MUST_CHECK struct dfg_err *dfg_cell_new(
	struct dfg_eval *eval, const struct dfg_cell *like, const struct dfg_datum *initial, struct dfg_cell **out_cell);

/* The variable with this path, or NULL. */
struct dfg_cell *dfg_cell_find(struct dfg_eval *eval, const char *path);

/* Adds a cell to the evaluator's list. The cell is in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_cell_add(struct dfg_eval *eval, struct dfg_cell *cell);

/* To be called before cell->now changes: within a target, saves it for the end of the target. */
DFG_MUST_CHECK struct dfg_err *dfg_cell_touch(struct dfg_eval *eval, struct dfg_cell *cell);

/* Sets cell->now to the history without any access. */
void dfg_cell_forget(struct dfg_cell *cell);

/* Evaluate `param` and `state`, and `set`. */
dfg_statement_fn dfg_eval_cell, dfg_eval_set;
