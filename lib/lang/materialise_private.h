#pragma once

#include "lib/lang/datum_private.h"

/* From values to outputs of nodes. */

/* A dimension that only a run knows. Its nodes are made when it is first read. */
struct dfg_dim {
	const char *path;   /* the name of its node */
	struct dfg_edge of; /* the tensor that has the dimension */
	int axis;           /* counted from the front, or from the back if negative */
	bool is_made;
	struct dfg_edge edge; /* an i32 scalar; valid if is_made */
};

/*
 * The datum as an output of a node; makes a Const, a Pack or the nodes of a dimension if it has no node yet. dtype is
 * the dtype of untyped numbers, DFG_NO_DTYPE for their natural one; DFG_RESOURCE gives the handle of a variable instead
 * of its value. Values that have a dtype keep it. DFG_DATA: the datum cannot be a tensor.
 */
DFG_MUST_CHECK struct dfg_err *dfg_to_edge(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_edge *out_edge);

/* The datum as an int. DFG_DATA: it is not one that is known while building; `what` names it in the message. */
DFG_MUST_CHECK struct dfg_err *dfg_to_int(
	struct dfg_eval *eval, const struct dfg_datum *datum, const char *what, int64_t *out_value);

/* The datum converted to dtype: while building if it is known, else by a Cast. */
DFG_MUST_CHECK struct dfg_err *dfg_cast(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum);
