#pragma once

#include "kernels/shape_rules.h"
#include "lib/graph/reduction.h"

/* The reducers of Sum and Max for f32 or f64. */
const struct dfg_reducer *dfg_sum_reducer(enum dfg_dtype dtype);
const struct dfg_reducer *dfg_max_reducer(enum dfg_dtype dtype);

/* Reduces input 0 over the axes that input 1 names, to output 0. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* Reduces all of input 0 to a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer);

/* The shape of a reduction: input 1 lists the axes, attribute 0 is keep_dims. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_shape(struct dfg_infer *node);
