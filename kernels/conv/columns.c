#include "kernels/conv/columns.h"

#include <string.h>

/* The pixels from the first that the window reads to the last. */
static int64_t span(const struct dfg_conv_walk_axis *axis)
{
	return (axis->positions - 1) * axis->step + (axis->taps - 1) * axis->dilation + 1;
}

struct dfg_columns dfg_columns_of(const struct dfg_conv_walk_axis *axis)
{
	const int64_t each = axis->positions * axis->taps, all = axis->positions && axis->taps ? span(axis) : 0;
	if (all / 4 > each)
		return (struct dfg_columns){each, 1, axis->positions, true};
	return (struct dfg_columns){all, axis->step, axis->dilation, false};
}

bool dfg_columns_outside(const struct dfg_conv_walk_axis *axis)
{
	return axis->taps && (axis->first < 0 || axis->first + span(axis) > axis->in);
}

/* Adjacent columns from pixel `at` on. */
static void copy_columns(const struct dfg_columns_bytes *bytes, const struct dfg_conv_walk_axis *axis, int64_t at,
	int64_t count, const char *row, char *to)
{
	int64_t low = at < 0 ? -at : 0, high = axis->in - at;
	low = low < count ? low : count;
	high = high < low ? low : high < count ? high : count;
	if (bytes->from_step == bytes->to_step && bytes->to_step == (int64_t)bytes->bytes) {
		memset(to, 0, (size_t)low * bytes->bytes);
		memcpy(to + low * bytes->to_step, row + (at + low) * bytes->from_step, (size_t)(high - low) * bytes->bytes);
		memset(to + high * bytes->to_step, 0, (size_t)(count - high) * bytes->bytes);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		if (i >= low && i < high)
			memcpy(to + i * bytes->to_step, row + (at + i) * bytes->from_step, bytes->bytes);
		else
			memset(to + i * bytes->to_step, 0, bytes->bytes);
}

void dfg_columns_copy(const struct dfg_columns *columns, const struct dfg_conv_walk_axis *axis,
	const struct dfg_columns_bytes *bytes, const void *row, void *out)
{
	if (!columns->apart) {
		copy_columns(bytes, axis, axis->first, span(axis), row, out);
		return;
	}
	for (int64_t t = 0; t < axis->taps; t++)
		for (int64_t p = 0; p < axis->positions; p++)
			copy_columns(bytes, axis, axis->first + p * axis->step + t * axis->dilation, 1, row,
				(char *)out + (t * columns->tap + p) * bytes->to_step);
}

void dfg_taps_inside(const struct dfg_conv_walk_axis *axis, int64_t position, int64_t *out_low, int64_t *out_high)
{
	const int64_t at = axis->first + position * axis->step, d = axis->dilation;
	int64_t low = at < 0 ? dfg_ceil_div(-at, d) : 0, high = at < axis->in ? dfg_ceil_div(axis->in - at, d) : 0;
	if (high > axis->taps)
		high = axis->taps;
	if (low >= high)
		low = high = 0;
	*out_low = low;
	*out_high = high;
}

void dfg_whole_positions(const struct dfg_conv_walk_axis *axis, int64_t *out_begin, int64_t *out_end)
{
	const int64_t last = axis->in - 1 - (axis->taps - 1) * axis->dilation - axis->first; /* of the first tap */
	int64_t begin = axis->first < 0 ? dfg_ceil_div(-axis->first, axis->step) : 0;
	int64_t end = last < 0 ? 0 : last / axis->step + 1;
	*out_end = end < axis->positions ? end : axis->positions;
	*out_begin = begin < *out_end ? begin : *out_end;
}
