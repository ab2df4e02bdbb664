#pragma once

#include "app/model.h"
#include "formats/array.h"
#include "lib/graph/liveness.h"

/*
 * The tensors of an open model that its results depend on and that have one value a step, so that they can be fetched: those
 * outside loops, in branches that are taken. Zero-initialised: closed. Must be released even after an error.
 */
struct dfg_observed {
	const struct dfg_model *model; /* borrowed */
	struct dfg_arena arena;
	uint32_t *order, count; /* all nodes, in topological order */
	bool *wanted;           /* by node: whether a result depends on it */
	bool *doubtful;         /* by node: whether it depends on a Merge that may have no live input */
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	bool *holds; /* by condition: whether the known values say that it holds */
	size_t n_holds;
};
DFG_MUST_CHECK struct dfg_err *dfg_observed_find(
	const struct dfg_model *model, const struct dfg_edges *results, struct dfg_observed *out_observed);
void dfg_observed_release(struct dfg_observed *observed);

/* Takes the sides of branches from values of predicates, which are found by the names of their tensors. */
DFG_MUST_CHECK struct dfg_err *dfg_observed_know(struct dfg_observed *observed, const struct dfg_arrays *values);

/* Whether the tensor is certain to have a value, by what is known of the branches. */
DFG_MUST_CHECK struct dfg_err *dfg_observed_has(struct dfg_observed *observed, struct dfg_edge edge, bool *out_has);
