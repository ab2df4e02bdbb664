#pragma once

#include "lib/lang/datum_private.h"

/* Evaluate an IF and a CASE expression. A condition that is known while building evaluates only its arm. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_if(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_case(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);
