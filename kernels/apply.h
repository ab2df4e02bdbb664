#pragma once

#include "kernels/variable.h"

/*
 * Updates of a variable by its gradient: one rule an optimizer, from which its ops follow: Apply... and SparseApply... on
 * refs, Resource... on handles. A sparse update is the rule applied to rows by number, in order.
 */
struct dfg_rule {
	int slots; /* the variable and what belongs to it */
	/* Changes n elements of each slot by those of grad. attr are the op's. */
	void (*f32)(int64_t n, void *const *slot, const void *grad, const double *scalar, const union dfg_value *attr);
	void (*f64)(int64_t n, void *const *slot, const void *grad, const double *scalar, const union dfg_value *attr);
};

enum { DFG_SLOTS_MOST = 5, DFG_SCALARS_MOST = 8 };

/*
 * Runs it: the inputs are the slots, then scalars with the gradient among them; in a sparse op the indices stand behind
 * the gradient.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rule_apply(struct dfg_kernel *ctx, const struct dfg_rule *rule);
struct dfg_err *dfg_rule_shape(struct dfg_infer *node);
