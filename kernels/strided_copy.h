#pragma once

#include "lib/graph/kernel.h"
#include "lib/graph/walk.h"

enum { DFG_BOX_MAX = 2 * DFG_RANK_MAX };

/*
 * A strided copy: dim[i] elements along axis i, with steps in elements in the source (from) and in the target (to). A
 * step may be 0 (an element repeated) or negative (read backwards). Transposing, slicing, tiling, reversing and joining
 * are strided copies.
 */
struct dfg_strided_box {
	int rank;
	int64_t dim[DFG_BOX_MAX], from[DFG_BOX_MAX], to[DFG_BOX_MAX];
};

/* Adds an innermost axis. */
static inline void dfg_box_axis(struct dfg_strided_box *box, int64_t dim, int64_t from, int64_t to)
{
	box->dim[box->rank] = dim;
	box->from[box->rank] = from;
	box->to[box->rank++] = to;
}

/*
 * Copies elements of size bytes. in and out are source and target of the box's first element; targets must not overlap.
 */
void dfg_box_copy(struct dfg_kernel *ctx, size_t size, struct dfg_strided_box box, const void *in, void *out);

/* The steps, in elements, along each axis of a tensor in C order. */
void dfg_steps(const struct dfg_shape *shape, int64_t *out_step);

/*
 * To be called directly after the elements of output i were copied as bytes: copies the bytes of strings, and takes
 * references to objects.
 */
DFG_MUST_CHECK struct dfg_err *dfg_moved(struct dfg_kernel *ctx, int i);
