#pragma once

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

/*
 * A gradient written in the language, ready to be applied to nodes of one op. Parsed on first use and kept for the life
 * of the program; any thread.
 */
struct dfg_op_formula {
	const struct dfg_op *op;
	const char *text; /* a literal: told by its address */
	struct dfg_formula *formula;
	char d_in[DFG_PORT_MAX][34], d_out[DFG_PORT_MAX][34]; /* "dx", "dy" */
	bool reads[DFG_PORT_MAX];                             /* whether the text names d_out */
	bool is_alias;                                        /* "dx = dy", one each: rows pass as they are */
};
DFG_MUST_CHECK struct dfg_err *dfg_op_formula(
	const struct dfg_op *op, const char *text, const struct dfg_op_formula **out_formula);

/* Applies it to a node: sets the cotangents that are wanted and that the statements bind. */
DFG_MUST_CHECK struct dfg_err *dfg_op_formula_apply(const struct dfg_op_formula *formula, struct dfg_gradient *node);
