#pragma once

#include "lib/graph/tensor.h"

/*
 * A walk over the elements of an output in C order, whose operands broadcast to it. Neighbouring dims of the output are
 * merged where the steps of all operands allow it.
 */
struct dfg_operand {
	size_t size;                /* of an element */
	bool whole, constant;       /* has the layout of the output; is one element */
	int64_t step[DFG_RANK_MAX]; /* by dim of the walk; in elements; 0 where it is broadcast */
};
struct dfg_walk {
	struct dfg_operand *in;
	int n_in, rank;
	int64_t dim[DFG_RANK_MAX]; /* the innermost is last */
};

/* Sets the operands' steps, then merges dims. All shapes are known, and each broadcasts to `shape`. */
void dfg_walk_make(struct dfg_walk *walk, const struct dfg_shape *shape, const struct dfg_shape *const *in,
	const enum dfg_dtype *dtype);

/* Writes `count` copies of an element of `size` bytes. */
void dfg_repeat(void *out, int64_t count, const void *element, size_t size);

/*
 * The number of elements from `first` on that are computed at once: `most` or, if runs along the innermost dim are long,
 * the remainder of the run.
 */
int64_t dfg_walk_stretch(const struct dfg_walk *walk, int64_t first, int64_t last, int64_t most);

/*
 * Operand i's elements for output elements [first, first + n), given its own: in place if they are contiguous, else
 * gathered in `tile`, which for a constant operand must contain copies of its element.
 */
const void *dfg_walk_lend(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t n, void *tile);
