#pragma once

#include "lib/graph/kernel.h"

/*
 * Helpers of shape functions. A shape function sees the values of small integer inputs as far as they are known; a
 * kernel calls the same function with all of them known (dfg_shapes_now), so each rule of an op is written once.
 */

/* The axis counted from 0, by one that may be negative: -1 is the last. DFG_DATA if it is out of range. */
DFG_MUST_CHECK struct dfg_err *dfg_axis(int64_t axis, int rank, int *out_axis);

/* Element k of input i, or DFG_NOT_KNOWN. */
int64_t dfg_int_of(const struct dfg_infer *node, int i, int64_t k);

/* The number of elements of input i, a scalar or vector, or DFG_UNKNOWN. */
int64_t dfg_length_of(const struct dfg_infer *node, int i);

/* The shape whose dimensions are the elements of input i, a vector. Those that are unknown, or -1, are DFG_UNKNOWN. */
DFG_MUST_CHECK struct dfg_err *dfg_shape_of(const struct dfg_infer *node, int i, struct dfg_shape *out_shape);

/* New known values of output i, all DFG_NOT_KNOWN; NULL if the output is large or its length is unknown. */
DFG_MUST_CHECK struct dfg_err *dfg_known_new(
	struct dfg_infer *node, int i, int rank, int64_t count, struct dfg_known_value **out_known);

/* The known values of output 0 are those of input i, in the shape of out[0]. */
DFG_MUST_CHECK struct dfg_err *dfg_known_same(struct dfg_infer *node, int i);

/* DFG_DATA if the rank of input i is known and another. */
DFG_MUST_CHECK struct dfg_err *dfg_need_rank(const struct dfg_infer *node, int i, int rank);

/* The shapes of the first `count` outputs by the op's shape function and the values of the inputs. */
DFG_MUST_CHECK struct dfg_err *dfg_shapes_now(struct dfg_kernel *ctx, int count, struct dfg_shape *out_shape);

/* Allocates output 0 in its shape by the same rule. */
DFG_MUST_CHECK struct dfg_err *dfg_output_now(struct dfg_kernel *ctx, struct dfg_tensor **out_tensor);

/* a * b; DFG_UNKNOWN if a factor is; DFG_DATA if the product overflows. */
DFG_MUST_CHECK struct dfg_err *dfg_dim_product(int64_t a, int64_t b, int64_t *out_product);

/* The product of dimensions [from, to) of a known shape. */
static inline int64_t dfg_count_between(const struct dfg_shape *shape, int from, int to)
{
	int64_t count = 1;
	for (int i = from; i < to; i++)
		count *= shape->dim[i];
	return count;
}
