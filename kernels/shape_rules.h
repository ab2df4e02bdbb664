#pragma once

#include "lib/graph/kernel.h"

/*
 * What shape functions share. A shape function sees the small integers that its inputs are known to hold; a kernel calls
 * the same function again with all of them known (dfg_shapes_now), so every rule of an op is written once.
 */

/* The axis counted from 0; -1 is the last. */
DFG_MUST_CHECK struct dfg_err *dfg_axis(int64_t axis, int rank, int *out_axis);

/* Element k of input i, or DFG_NOT_KNOWN. */
int64_t dfg_int_of(const struct dfg_infer *node, int i, int64_t k);

/* Elements of input i, a scalar or vector, or DFG_UNKNOWN. */
int64_t dfg_length_of(const struct dfg_infer *node, int i);

/* The shape that input i, a vector, spells: dims may be unknown, and -1 is one that is not known either. */
DFG_MUST_CHECK struct dfg_err *dfg_shape_of(const struct dfg_infer *node, int i, struct dfg_shape *out_shape);

/* Room for what is known of output i, all unknown; NULL, and nothing known, for what is large or not known in length. */
DFG_MUST_CHECK struct dfg_err *dfg_known_new(
	struct dfg_infer *node, int i, int rank, int64_t count, struct dfg_known_value **out_known);

/* Output 0 has the elements of input i, in the shape that out[0] has. */
DFG_MUST_CHECK struct dfg_err *dfg_known_same(struct dfg_infer *node, int i);

/* DFG_DATA, naming the input, unless it has that rank. */
DFG_MUST_CHECK struct dfg_err *dfg_need_rank(const struct dfg_infer *node, int i, int rank);

/* The outputs' shapes by the op's shape function, from what the inputs hold; one of the first `count` outputs each. */
DFG_MUST_CHECK struct dfg_err *dfg_shapes_now(struct dfg_kernel *ctx, int count, struct dfg_shape *out_shape);

/* The same for an op of one output: its tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_output_now(struct dfg_kernel *ctx, struct dfg_tensor **out_tensor);

/* a * b, DFG_UNKNOWN where one is; DFG_DATA where it overflows. */
DFG_MUST_CHECK struct dfg_err *dfg_dim_product(int64_t a, int64_t b, int64_t *out_product);

/* Elements of dims [from, to) of the shape, which is known. */
static inline int64_t dfg_count_between(const struct dfg_shape *shape, int from, int to)
{
	int64_t count = 1;
	for (int i = from; i < to; i++)
		count *= shape->dim[i];
	return count;
}
