#pragma once

#include "lib/lang/datum_private.h"

/* Types of formals, inputs, variables and results. New names in a type are bound in `bindings`. */

/* Checks that the value has the type; gives an untyped number the type's dtype, and binds new dimensions and types. */
DFG_MUST_CHECK struct dfg_err *dfg_type_match(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *type, const char *name, struct dfg_datum *datum);

/* The dtype and shape of a declaration. A dimension that is not known while building is DFG_UNKNOWN. */
DFG_MUST_CHECK struct dfg_err *dfg_type_shape(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *type, enum dfg_dtype *out_dtype, struct dfg_shape *out_shape);

/* Checks the tensor's shape against the type and binds the dimensions that are new names. `name` is for messages. */
DFG_MUST_CHECK struct dfg_err *dfg_type_bind_dims(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *type, struct dfg_edge edge, const char *name);

/* The type that another language calls by this name ("float32": "f32"), or NULL. */
const char *dfg_type_called(const char *name);
