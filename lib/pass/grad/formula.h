#pragma once

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

/* A gradient formula in the language, parsed on first use and kept until the program ends. Thread-safe. */
struct dfg_op_formula {
	const struct dfg_op *op;
	const char *text; /* a string literal, identified by its address */
	struct dfg_formula *formula;
	char d_in[DFG_PORT_MAX][34], d_out[DFG_PORT_MAX][34]; /* "dx", "dy" */
	bool reads[DFG_PORT_MAX];                             /* by output: the text uses d_out */
	bool is_alias; /* the text is "dx = dy" with one input and output: rows are passed unchanged */
};
DFG_MUST_CHECK struct dfg_err *dfg_op_formula(
	const struct dfg_op *op, const char *text, const struct dfg_op_formula **out_formula);

/* Applies the formula to a node: sets the cotangents that are wanted and that its statements bind. */
DFG_MUST_CHECK struct dfg_err *dfg_op_formula_apply(const struct dfg_op_formula *formula, struct dfg_gradient *node);
