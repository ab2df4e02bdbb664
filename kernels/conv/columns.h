#pragma once

#include "kernels/conv/walk.h"

/*
 * A copy of the columns that a window reads along the last axis, with zeros for those outside of the image. Columns are
 * adjacent as in the image; or, where windows leave out most of them, each tap has its own column for each position.
 */
struct dfg_columns {
	int64_t count;
	int64_t position, tap; /* columns from a position, or a tap, to the next */
	bool apart;            /* each tap has its own columns */
};

struct dfg_columns dfg_columns_of(const struct dfg_conv_walk_axis *axis);

/* Whether the window reads columns outside of the image. */
bool dfg_columns_outside(const struct dfg_conv_walk_axis *axis);

/*
 * Copies `bytes` of each pixel of a row, whose pixels are `from_step` bytes apart; those of the copy are `to_step`. The
 * columns may be those of an axis with more positions.
 */
struct dfg_columns_bytes {
	size_t bytes;
	int64_t from_step, to_step;
};
void dfg_columns_copy(const struct dfg_columns *columns, const struct dfg_conv_walk_axis *axis,
	const struct dfg_columns_bytes *bytes, const void *row, void *out);

/* The taps [*out_low, *out_high) at a position that are in the image; 0 and 0 if there are none. */
void dfg_taps_inside(const struct dfg_conv_walk_axis *axis, int64_t position, int64_t *out_low, int64_t *out_high);

/* The positions [*out_begin, *out_end) at which all taps are in the image. */
void dfg_whole_positions(const struct dfg_conv_walk_axis *axis, int64_t *out_begin, int64_t *out_end);
