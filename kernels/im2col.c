#include "kernels/im2col.h"

#include "lib/base/vector.h"

#include <string.h>

/* A position of the window: its image, and the coordinates of the first tap, which may be outside the image. */
struct position {
	int64_t image, at[DFG_AXES];
};

static struct position place_of(const struct dfg_window *window, int64_t number)
{
	struct position position;
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		const struct dfg_axis *axis = &window->axis[a];
		position.at[a] = number % axis->out * axis->stride - axis->before;
		number /= axis->out;
	}
	position.image = number;
	return position;
}

static void next_place(const struct dfg_window *window, struct position *position)
{
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		const struct dfg_axis *axis = &window->axis[a];
		position->at[a] += axis->stride;
		if (position->at[a] < axis->out * axis->stride - axis->before)
			return;
		position->at[a] = -axis->before;
	}
	position->image++;
}

/* The taps [*out_low, *out_high) along an axis that are in the image. */
static void inside(const struct dfg_axis *axis, int64_t at, int64_t *out_low, int64_t *out_high)
{
	int64_t d = axis->dilation;
	*out_low = at < 0 ? (-at + d - 1) / d : 0;
	*out_high = at < axis->in ? (axis->in - at + d - 1) / d : 0;
	if (*out_high > axis->size)
		*out_high = axis->size;
	if (*out_low > *out_high)
		*out_low = *out_high;
}

/*
 * One row of taps in the image, as runs of adjacent elements: one run if the taps are adjacent, else one for each tap.
 */
struct runs {
	int64_t low, high; /* taps in the image */
	int64_t count, length, from_step, to_step;
	int64_t from; /* of tap `low`, in elements */
};

static struct runs runs_of(
	const struct dfg_convolution *c, int64_t group, const struct position *position, int64_t depth, int64_t height)
{
	const struct dfg_axis *axis = c->window.axis;
	struct runs runs;
	inside(&axis[2], position->at[2], &runs.low, &runs.high);
	int64_t taps = runs.high - runs.low, channels = c->window.channels;
	bool joined = c->groups == 1 && axis[2].dilation == 1;
	int64_t row = (position->image * axis[0].in + depth) * axis[1].in + height;
	runs.from = (row * axis[2].in + position->at[2] + runs.low * axis[2].dilation) * channels + group * c->group_in;
	runs.count = joined ? 1 : taps;
	runs.length = joined ? taps * channels : c->group_in;
	runs.from_step = axis[2].dilation * channels;
	runs.to_step = c->group_in;
	return runs;
}

/* Calls on_row(tap row, depth, height) for each row of taps; those outside of the image have depth -1. */
#define EACH_TAP_ROW(c, position, on_row)                                                                       \
	for (int64_t i = 0; i < (c)->window.axis[0].size; i++) {                                                    \
		int64_t depth = (position).at[0] + i * (c)->window.axis[0].dilation;                                    \
		for (int64_t j = 0; j < (c)->window.axis[1].size; j++) {                                                \
			int64_t height = (position).at[1] + j * (c)->window.axis[1].dilation;                               \
			bool there =                                                                                        \
				depth >= 0 && depth < (c)->window.axis[0].in && height >= 0 && height < (c)->window.axis[1].in; \
			on_row                                                                                              \
		}                                                                                                       \
	}

/* In first layers, runs are a few elements; a copy of a fixed size is one or two moves. */
#define FEW(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define FIXED_COPY(k)                     \
	case k:                               \
		memcpy(to, from, k * sizeof *to); \
		break;

#define PATCHES(name, type)                                                                                      \
	static inline void copy_##name(type *to, const type *from, int64_t n)                                        \
	{                                                                                                            \
		switch (n) {                                                                                             \
			FEW(FIXED_COPY)                                                                                      \
		default:                                                                                                 \
			memcpy(to, from, (size_t)n * sizeof *to);                                                            \
		}                                                                                                        \
	}                                                                                                            \
	static void take_row_##name(const struct dfg_convolution *c, const struct runs *r, const type *in, type *to) \
	{                                                                                                            \
		const int64_t size = c->window.axis[2].size * c->group_in;                                               \
		for (int64_t e = 0; e < r->low * c->group_in; e++)                                                       \
			to[e] = 0;                                                                                           \
		for (int64_t e = r->high * c->group_in; e < size; e++)                                                   \
			to[e] = 0;                                                                                           \
		to += r->low * c->group_in;                                                                              \
		for (int64_t run = 0; run < r->count; run++)                                                             \
			copy_##name(to + run * r->to_step, in + r->from + run * r->from_step, r->length);                    \
	}                                                                                                            \
	static void take_##name(                                                                                     \
		const struct dfg_convolution *c, int64_t group, const type *in, int64_t first, int64_t last, type *to)   \
	{                                                                                                            \
		struct position position = place_of(&c->window, first);                                                  \
		const int64_t size = c->window.axis[2].size * c->group_in;                                               \
		for (int64_t row = first; row < last; row++, next_place(&c->window, &position))                          \
			EACH_TAP_ROW(                                                                                        \
				c, position,                                                                                     \
				if (there) {                                                                                     \
					struct runs runs = runs_of(c, group, &position, depth, height);                              \
					take_row_##name(c, &runs, in, to);                                                           \
				} else memset(to, 0, (size_t)size * sizeof *to);                                                 \
				to += size;)                                                                                     \
	}
PATCHES(4, uint32_t)
PATCHES(8, uint64_t)

void dfg_patches(const struct dfg_convolution *convolution, int64_t group, const void *in, int64_t first, int64_t last,
	void *out_rows)
{
	if (dfg_dtype_size(convolution->dtype) == 4)
		take_4(convolution, group, in, first, last, out_rows);
	else
		take_8(convolution, group, in, first, last, out_rows);
}

#define BACK(NAME, name, type, ...)                                                                              \
	static void add_##name(                                                                                      \
		const struct dfg_convolution *c, int64_t group, const type *from, int64_t first, int64_t last, type *in) \
	{                                                                                                            \
		struct position position = place_of(&c->window, first);                                                  \
		for (int64_t row = first; row < last; row++, next_place(&c->window, &position))                          \
			EACH_TAP_ROW(                                                                                        \
				c, position, if (there) {                                                                        \
					struct runs r = runs_of(c, group, &position, depth, height);                                 \
					for (int64_t run = 0; run < r.count; run++) {                                                \
						const type *taken = from + r.low * c->group_in + run * r.to_step;                        \
						type *to = in + r.from + run * r.from_step;                                              \
						DFG_INDEPENDENT for (int64_t e = 0; e < r.length; e++) to[e] += taken[e];                \
					}                                                                                            \
				} from += c->window.axis[2].size * c->group_in;)                                                 \
	}
DFG_EACH_float(BACK)
BACK(I32, i32, int32_t)

void dfg_patches_add(
	const struct dfg_convolution *convolution, int64_t group, const void *rows, int64_t first, int64_t last, void *in)
{
	if (convolution->dtype == DFG_F32)
		add_f32(convolution, group, rows, first, last, in);
	else if (convolution->dtype == DFG_F64)
		add_f64(convolution, group, rows, first, last, in);
	else
		add_i32(convolution, group, rows, first, last, in);
}
