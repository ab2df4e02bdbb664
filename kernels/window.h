#pragma once

#include "lib/graph/kernel.h"

/*
 * A window that moves over an image, in convolutions and poolings. There are always three axes, depth, height and
 * width; the first of an op for two-dimensional images has size 1.
 */
enum { DFG_AXES = 3 };

struct dfg_axis {
	int64_t in, out; /* pixels of the image, positions of the window; may be DFG_UNKNOWN before the graph runs */
	int64_t size;    /* of the window; may be DFG_UNKNOWN */
	int64_t stride, dilation;
	int64_t before; /* padding before the image; 0 while anything is unknown */
};

struct dfg_window {
	int axes; /* of the op: 2 or 3 */
	bool channels_first;
	int64_t batch, channels; /* of the image */
	struct dfg_axis axis[DFG_AXES];
};

/* The attributes, or inputs, that define how a window moves, in the order of the image's dimensions. */
struct dfg_window_rule {
	int64_t stride[DFG_RANK_MAX], dilation[DFG_RANK_MAX], size[DFG_RANK_MAX];
	int64_t before[DFG_RANK_MAX], after[DFG_RANK_MAX]; /* of EXPLICIT padding */
	int rank;                                          /* of the image: 4 or 5 */
	enum { DFG_SAME, DFG_VALID, DFG_EXPLICIT } padding;
	bool channels_first;
};

/* Sets the rule's image format and padding by their names. DFG_DATA for a padding that is not supported. */
DFG_MUST_CHECK struct dfg_err *dfg_window_format(
	struct dfg_string format, struct dfg_string padding, struct dfg_window_rule *rule);

/* Copies a list of `rank` positive numbers; ones if list is NULL. `what` is its name in messages. */
DFG_MUST_CHECK struct dfg_err *dfg_window_list(
	const struct dfg_list *list, const char *what, int rank, int64_t *out_numbers);

/* Copies "explicit_paddings", which must be empty unless the padding is EXPLICIT. */
DFG_MUST_CHECK struct dfg_err *dfg_window_paddings(const struct dfg_list *list, struct dfg_window_rule *rule);

/* An error unless the window has size 1 in the batch and in dimension `channels`; `what` is the attribute with its sizes. */
DFG_MUST_CHECK struct dfg_err *dfg_window_only_space(
	const struct dfg_window_rule *rule, const char *what, int channels);

/*
 * The positions of the window in an image of the shape; the rule's size must be set. DFG_DATA if the window does not
 * fit.
 */
DFG_MUST_CHECK struct dfg_err *dfg_window_fit(
	const struct dfg_window_rule *rule, const struct dfg_shape *image, struct dfg_window *out_window);

/*
 * The shape of an image of these channels with a pixel for each position of the window, and that of the image itself.
 */
struct dfg_shape dfg_window_out(const struct dfg_window *window, int64_t channels);
struct dfg_shape dfg_window_in(const struct dfg_window *window);

/* Products over all axes, which must be known: positions in an image, pixels of an image, elements of the window. */
int64_t dfg_window_positions(const struct dfg_window *window);
int64_t dfg_window_pixels(const struct dfg_window *window);
int64_t dfg_window_size(const struct dfg_window *window);

/* The dimension of the rule's axis, and that of the channels, in the image's shape. */
static inline int dfg_window_dim(int rank, bool channels_first, int axis)
{
	return axis - (DFG_AXES - (rank - 2)) + (channels_first ? 2 : 1);
}
static inline int dfg_window_channel_dim(int rank, bool channels_first)
{
	return channels_first ? 1 : rank - 1;
}
