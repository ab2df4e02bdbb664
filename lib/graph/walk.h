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
	int64_t tile;              /* most elements that are computed at once */
	int64_t plane;             /* elements of the two innermost dims, where tiles are whole runs; else 0 */
};

/*
 * Sets the operands' steps, then merges dims; there are no tiles of whole runs until dfg_walk_set_tile(). All shapes are
 * known, and each broadcasts to `shape`.
 */
void dfg_walk_make(struct dfg_walk *walk, const struct dfg_shape *shape, const struct dfg_shape *const *in,
	const enum dfg_dtype *dtype);

/* Writes `count` copies of an element of `size` bytes. */
void dfg_repeat(void *out, int64_t count, const void *element, size_t size);

/*
 * Sets the most elements that are computed at once. If they are several runs along the innermost dim, tiles are whole
 * runs of a plane, so that what is the same in each of its runs is written to a tile once for the plane.
 */
void dfg_walk_set_tile(struct dfg_walk *walk, int64_t most);

/* The end of the elements from `first` on for which dfg_walk_fill() is called once, before any are computed; `last` at most. */
int64_t dfg_walk_filled_end(const struct dfg_walk *walk, int64_t first, int64_t last);
void dfg_walk_fill(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t last, void *tile);

/*
 * The number of elements from `first` on that are computed at once: a tile or, if runs along the innermost dim are long,
 * the remainder of the run.
 */
int64_t dfg_walk_stretch(const struct dfg_walk *walk, int64_t first, int64_t last);

/*
 * Operand i's elements for output elements [first, first + n), given its own: in place if they are contiguous, else
 * gathered in `tile`, unless dfg_walk_fill() has written them there.
 */
const void *dfg_walk_lend(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t n, void *tile);
