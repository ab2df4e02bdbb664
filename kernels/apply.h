#pragma once

#include "kernels/variable.h"

/*
 * Updates of a variable by its gradient. Each optimizer has one rule, and its ops are derived from it: Apply... and
 * SparseApply... on refs, Resource... on handles. A sparse update applies the rule to the rows that are listed, in
 * order.
 */
struct dfg_rule {
	int slots; /* number of the variable and its slot variables */
	/* Updates n elements of each slot by those of grad; scalar are the hyperparameters, attr the op's attributes. */
	void (*f32)(int64_t n, void *const *slot, const void *grad, const double *scalar, const union dfg_value *attr);
	void (*f64)(int64_t n, void *const *slot, const void *grad, const double *scalar, const union dfg_value *attr);
};

enum { DFG_SLOTS_MOST = 5, DFG_SCALARS_MOST = 8 };

/*
 * Runs the rule. The inputs are the slots, then scalars with the gradient among them; in a sparse op the indices follow
 * the gradient.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rule_apply(struct dfg_kernel *ctx, const struct dfg_rule *rule);
struct dfg_err *dfg_rule_shape(struct dfg_infer *node);
