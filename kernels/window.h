#pragma once

#include "lib/graph/kernel.h"

/*
 * A window that moves over an image: what convolutions and poolings share. There are always three axes, depth, height
 * and width; where an op has fewer, the first are of size 1 and do nothing.
 */
enum { DFG_AXES = 3 };

struct dfg_axis {
	int64_t in, out; /* elements of the image, places of the window; may be DFG_UNKNOWN before the graph runs */
	int64_t size;    /* of the window; may be DFG_UNKNOWN */
	int64_t stride, dilation;
	int64_t before; /* padding in front of the image; 0 while anything is unknown */
};

struct dfg_window {
	int axes; /* that the op has: 2 or 3 */
	bool channels_first;
	int64_t batch, channels; /* of the image */
	struct dfg_axis axis[DFG_AXES];
};

/* The attributes, or inputs, that say how a window moves, in the order of the image's dims. */
struct dfg_window_rule {
	int64_t stride[DFG_RANK_MAX], dilation[DFG_RANK_MAX], size[DFG_RANK_MAX];
	int64_t before[DFG_RANK_MAX], after[DFG_RANK_MAX]; /* of EXPLICIT padding */
	int rank;                                          /* that the image must have: 4 or 5 */
	enum { DFG_SAME, DFG_VALID, DFG_EXPLICIT } padding;
	bool channels_first;
};

/* The rule's image format and padding by their names. DFG_DATA for a padding unknown here. */
DFG_MUST_CHECK struct dfg_err *dfg_window_format(
	struct dfg_string format, struct dfg_string padding, struct dfg_window_rule *rule);

/* Copies a list of `rank` positive numbers, ones where list is NULL. `what` names it in messages. */
DFG_MUST_CHECK struct dfg_err *dfg_window_list(
	const struct dfg_list *list, const char *what, int rank, int64_t *out_numbers);

/* Copies "explicit_paddings", which must be there just where padding is EXPLICIT. */
DFG_MUST_CHECK struct dfg_err *dfg_window_paddings(const struct dfg_list *list, struct dfg_window_rule *rule);

/* Where the window goes in an image of the shape; the rule's size must be set. Refuses what has no place. */
DFG_MUST_CHECK struct dfg_err *dfg_window_fit(
	const struct dfg_window_rule *rule, const struct dfg_shape *image, struct dfg_window *out_window);

/* The shape of an image with these channels at the places of the window, or of the image itself. */
struct dfg_shape dfg_window_out(const struct dfg_window *window, int64_t channels);
struct dfg_shape dfg_window_in(const struct dfg_window *window);

/* Of all axes: places in an image, pixels of the image, elements of the window. All must be known. */
int64_t dfg_window_places(const struct dfg_window *window);
int64_t dfg_window_pixels(const struct dfg_window *window);
int64_t dfg_window_size(const struct dfg_window *window);

/* The dim of the rule's axis a, and of the channels, in the image's shape. */
static inline int dfg_window_dim(int rank, bool channels_first, int axis)
{
	return axis - (DFG_AXES - (rank - 2)) + (channels_first ? 2 : 1);
}
static inline int dfg_window_channel_dim(int rank, bool channels_first)
{
	return channels_first ? 1 : rank - 1;
}
