#pragma once

#include "lib/graph/op.h"

/*
 * Rules for the field `rows` of an op (lib/graph/op.h): each returns NULL if the rows of a batch are independent, and
 * otherwise the reason, which follows "node 'x' (Op): ".
 */

/* Input 0 has rows; all others are the same for every row. */
const char *dfg_rows_first(const struct dfg_infer *node, uint64_t by_row);

/* The same, and what is computed runs along the last axis, so that input 0 has at least two. */
const char *dfg_rows_matrix(const struct dfg_infer *node, uint64_t by_row);

/* All inputs have rows. */
const char *dfg_rows_all(const struct dfg_infer *node, uint64_t by_row);

/* The axis must not be the first of `rank`. DFG_NOT_KNOWN, or a rank that is not known, is refused. */
const char *dfg_rows_axis(int64_t axis, int rank);

/* Input `first` has rows, and the axis in input `axis` is not its first. */
const char *dfg_rows_along(const struct dfg_infer *node, uint64_t by_row, int first, int axis);
