#pragma once

#include "lib/graph/kernel.h"

enum { DFG_BOX_MAX = 2 * DFG_RANK_MAX };

/*
 * Elements to be copied, as a box: dim[i] of them along axis i, and how many elements lie from one to the next in the
 * source and in the target. A step may be 0 (a source that repeats) or negative (one read backwards). What transposes,
 * slices, tiles, reverses or joins is a box and a copy.
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

/* Copies elements of size bytes. in and out are where the box's first element is and goes; targets do not overlap. */
void dfg_box_copy(struct dfg_kernel *ctx, size_t size, struct dfg_strided_box box, const void *in, void *out);

/* Elements from one to the next along each axis of a tensor in C order. */
void dfg_steps(const struct dfg_shape *shape, int64_t *out_step);

/*
 * The elements of output i were copied as bytes: gives it bytes of its own where they are strings, and references where
 * they are handles. Nothing may come between the copy and this.
 */
DFG_MUST_CHECK struct dfg_err *dfg_moved(struct dfg_kernel *ctx, int i);

/* count copies of the element of `size` bytes. */
void dfg_repeat(void *out, int64_t count, const void *element, size_t size);
