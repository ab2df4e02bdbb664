#pragma once

#include "lib/lang/statement_private.h"

/*
 * Rows of params and states by number: `w[ids]` reads them with a ResourceGather, and `set w[ids] += x` updates them in
 * place with a ResourceScatterAdd. Several subscripts select slices: `d[i, j]` is a ResourceGatherNd.
 */

/* Whether the index is one of rows: an integer tensor with axes or, in the body of `parallel for`, any integer. */
bool dfg_rows_are_meant(struct dfg_eval *eval, const struct dfg_datum *index);

/*
 * Reads rows of the variable. tree: the INDEX, whose first subscript has the value `first`. *out_kid: the kid after the
 * last subscript that selects rows; a slice follows there, or it is tree->n.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rows_gather(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *tree, struct dfg_cell *cell, const struct dfg_datum *first, uint32_t *out_kid,
	struct dfg_datum *out_datum);

/* Updates the variable in place as the SET tree says: all of it, or rows. value: of the variable's dtype. */
DFG_MUST_CHECK struct dfg_err *dfg_rows_update(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *tree, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node);

/*
 * Evaluates the leading subscripts among n trees, *out_n of them, to a tensor of indices or of index vectors; the first one has
 * the value `first` unless it is NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rows_subscripts(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	struct dfg_tree *const *tree, uint32_t n, const struct dfg_datum *first, uint32_t *out_n,
	struct dfg_edge *out_edge);
