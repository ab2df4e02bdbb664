#pragma once

#include "lib/lang/datum_private.h"

/* Evaluates an INDEX expression: an item or slice of a list while building, else a StridedSlice. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_index(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);
