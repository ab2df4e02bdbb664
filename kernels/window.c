#include "kernels/window.h"

#include <string.h>

/* The limit of strides, windows and paddings, so that products of two do not overflow. */
enum { MOST = 1 << 30 };

static bool is(struct dfg_string s, const char *word)
{
	return s.length == strlen(word) && !memcmp(s.s, word, s.length);
}

struct dfg_err *dfg_window_format(struct dfg_string format, struct dfg_string padding, struct dfg_window_rule *rule)
{
	rule->channels_first = is(format, "NCHW") || is(format, "NCDHW");
	rule->rank = is(format, "NHWC") || is(format, "NCHW") ? 4 : 5;
	if (is(padding, "SAME"))
		rule->padding = DFG_SAME;
	else if (is(padding, "VALID"))
		rule->padding = DFG_VALID;
	else if (is(padding, "EXPLICIT"))
		rule->padding = DFG_EXPLICIT;
	else
		return DFG_ERR(DFG_DATA, "padding is '%.*s', must be SAME, VALID or EXPLICIT",
			(int)(padding.length < 40 ? padding.length : 40), padding.s);
	return NULL;
}

struct dfg_err *dfg_window_list(const struct dfg_list *list, const char *what, int rank, int64_t *out_numbers)
{
	if (list && list->count != (uint32_t)rank)
		return DFG_ERR(DFG_DATA, "attribute '%s' has %u numbers, expected %d", what, list->count, rank);
	for (int i = 0; i < rank; i++) {
		out_numbers[i] = list ? list->item[i].i : 1;
		if (out_numbers[i] < 1 || out_numbers[i] > MOST)
			return DFG_ERR(DFG_DATA, "attribute '%s' contains %lld, expected numbers from 1 to %d", what,
				(long long)out_numbers[i], MOST);
	}
	return NULL;
}

struct dfg_err *dfg_window_paddings(const struct dfg_list *list, struct dfg_window_rule *rule)
{
	uint32_t count = list ? list->count : 0, wanted = rule->padding == DFG_EXPLICIT ? 2 * (uint32_t)rule->rank : 0;
	if (count != wanted)
		return DFG_ERR(DFG_DATA, "attribute 'explicit_paddings' has %u numbers, expected %u", count, wanted);
	for (int i = 0; i < rule->rank && count; i++) {
		rule->before[i] = list->item[2 * i].i;
		rule->after[i] = list->item[2 * i + 1].i;
		bool over_image = i != 0 && i != dfg_window_channel_dim(rule->rank, rule->channels_first);
		int64_t most = over_image ? MOST : 0;
		if (rule->before[i] < 0 || rule->after[i] < 0 || rule->before[i] > most || rule->after[i] > most)
			return DFG_ERR(DFG_DATA,
				"attribute 'explicit_paddings' has %lld and %lld for dimension %d, expected 0 to %lld",
				(long long)rule->before[i], (long long)rule->after[i], i, (long long)most);
	}
	return NULL;
}

static struct dfg_err *fit_axis(const struct dfg_window_rule *rule, int dim, struct dfg_axis *axis)
{
	int64_t in = axis->in + rule->before[dim] + rule->after[dim];
	int64_t span = (axis->size - 1) * axis->dilation + 1;
	axis->out = DFG_UNKNOWN;
	if (axis->size == 0)
		return DFG_ERR(DFG_DATA, "the window has size 0 along dimension %d", dim);
	if (axis->in == DFG_UNKNOWN || (axis->size == DFG_UNKNOWN && rule->padding != DFG_SAME))
		return NULL;
	if (rule->padding == DFG_SAME) {
		axis->out = axis->in / axis->stride + (axis->in % axis->stride != 0);
		int64_t missing = axis->size == DFG_UNKNOWN ? 0 : (axis->out - 1) * axis->stride + span - axis->in;
		axis->before = missing > 0 ? missing / 2 : 0;
		return NULL;
	}
	axis->out = (in - span + axis->stride) / axis->stride;
	axis->before = rule->before[dim];
	if (axis->out < 0) /* 0, for a window that is too large by less than the stride, is an empty output */
		return DFG_ERR(DFG_DATA, "the window of %lld does not fit in the %lld of dimension %d", (long long)span,
			(long long)in, dim);
	return NULL;
}

static struct dfg_err *still(const struct dfg_window_rule *rule, int dim, const char *what)
{
	if (rule->stride[dim] != 1 || rule->dilation[dim] != 1)
		return DFG_ERR(DFG_DATA, "the %s dimension has stride %lld and dilation %lld: both must be 1", what,
			(long long)rule->stride[dim], (long long)rule->dilation[dim]);
	return NULL;
}

struct dfg_err *dfg_window_only_space(const struct dfg_window_rule *rule, const char *what, int channels)
{
	if (rule->size[0] != 1 || rule->size[channels] != 1)
		return DFG_ERR(DFG_DATA, "%s is %lld in the batch and %lld in the channels: both must be 1", what,
			(long long)rule->size[0], (long long)rule->size[channels]);
	return NULL;
}

struct dfg_err *dfg_window_fit(
	const struct dfg_window_rule *rule, const struct dfg_shape *image, struct dfg_window *out_window)
{
	if (image->rank != rule->rank)
		return DFG_ERR(
			DFG_DATA, "the image has shape %s, expected %d dimensions", dfg_shape_words(image).s, rule->rank);
	int channel = dfg_window_channel_dim(rule->rank, rule->channels_first);
	DFG_TRY(still(rule, 0, "batch"));
	DFG_TRY(still(rule, channel, "channel"));
	*out_window = (struct dfg_window){
		.axes = rule->rank - 2,
		.channels_first = rule->channels_first,
		.batch = image->dim[0],
		.channels = image->dim[channel],
	};
	for (int a = 0; a < DFG_AXES; a++) {
		struct dfg_axis *axis = &out_window->axis[a];
		int dim = dfg_window_dim(rule->rank, rule->channels_first, a);
		if (a < DFG_AXES - out_window->axes) {
			*axis = (struct dfg_axis){1, 1, 1, 1, 1, 0};
			continue;
		}
		*axis = (struct dfg_axis){.in = image->dim[dim],
			.size = rule->size[dim],
			.stride = rule->stride[dim],
			.dilation = rule->dilation[dim]};
		if (axis->in > INT64_MAX / 4 || axis->size > INT64_MAX / MOST / 4)
			return DFG_ERR(DFG_DATA, "dimension %d has %lld elements and its window %lld: the limits are %lld and %lld",
				dim, (long long)axis->in, (long long)axis->size, (long long)(INT64_MAX / 4),
				(long long)(INT64_MAX / MOST / 4));
		DFG_TRY(fit_axis(rule, dim, axis));
	}
	return NULL;
}

static struct dfg_shape image_shape(const struct dfg_window *window, int64_t channels, bool out)
{
	struct dfg_shape shape = {.rank = window->axes + 2, .dim = {window->batch}};
	for (int a = DFG_AXES - window->axes; a < DFG_AXES; a++)
		shape.dim[dfg_window_dim(shape.rank, window->channels_first, a)] =
			out ? window->axis[a].out : window->axis[a].in;
	shape.dim[dfg_window_channel_dim(shape.rank, window->channels_first)] = channels;
	return shape;
}

struct dfg_shape dfg_window_out(const struct dfg_window *window, int64_t channels)
{
	return image_shape(window, channels, true);
}

struct dfg_shape dfg_window_in(const struct dfg_window *window)
{
	return image_shape(window, window->channels, false);
}

int64_t dfg_window_positions(const struct dfg_window *window)
{
	return window->axis[0].out * window->axis[1].out * window->axis[2].out;
}

int64_t dfg_window_pixels(const struct dfg_window *window)
{
	return window->axis[0].in * window->axis[1].in * window->axis[2].in;
}

int64_t dfg_window_size(const struct dfg_window *window)
{
	return window->axis[0].size * window->axis[1].size * window->axis[2].size;
}
