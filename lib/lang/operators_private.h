#pragma once

#include "lib/lang/datum_private.h"

/* Evaluates a BINARY expression. Chains such as a + b + c may have any length. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_binary(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);

/* Evaluates a UNARY expression. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_unary(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);
