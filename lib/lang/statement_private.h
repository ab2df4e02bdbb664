#pragma once

#include "lib/lang/datum_private.h"

/* Evaluates the statements of a block; *out_datum is the value of the last one, of kind NONE if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_block(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block, struct dfg_datum *out_datum);

/* Declares the functions and layers of a block, which may be used above their declarations. */
DFG_MUST_CHECK struct dfg_err *dfg_declare_all(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block);

/*
 * Records a node that changes something: as an effect of the present region, of the target or optimizer that is being
 * evaluated, or of the training step (_dfg_update).
 */
DFG_MUST_CHECK struct dfg_err *dfg_eval_effect(struct dfg_eval *eval, uint32_t node);

/* Evaluates a statement; each kind is evaluated in the file whose header declares it. */
typedef struct dfg_err *dfg_statement_fn(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree);
