#pragma once

#include "lib/lang/datum_private.h"

/* Arithmetic on values that are known while building. */

/*
 * a OPERATION b, of numbers without a dtype: an int if both are ints and the result is one that fits i64, a bool for
 * comparisons, else a float. DFG_DATA: `and`, `or`, `@`, or a division by zero by `//` or `%`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_number_binary(
	enum dfg_operator operation, struct dfg_number a, struct dfg_number b, struct dfg_datum *out_datum);

/*
 * The literal of a number, bool, string or nested list of these; a list's shape is that of the nesting. dtype
 * DFG_NO_DTYPE: the natural one. DFG_DATA: a ragged list, or an item that the dtype cannot hold.
 */
DFG_MUST_CHECK struct dfg_err *dfg_literal_new(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum);

/* The literal's elements converted to dtype. Neither dtype may be string. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_cast(
	struct dfg_eval *eval, const struct dfg_tensor *literal, enum dfg_dtype dtype, struct dfg_datum *out_datum);
