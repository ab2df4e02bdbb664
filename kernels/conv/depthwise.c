#include "kernels/conv/depthwise.h"

#include "kernels/conv/columns.h"
#include "kernels/conv/phases.h"
#include "kernels/gemm/gemm.h"
#include "lib/graph/work.h"
#include "lib/base/vector.h"
#include "lib/graph/grain.h"

#include <string.h>

enum { TASK = 1 << 17 }; /* the least multiplications of a task, which memory limits */

struct work {
	const struct dfg_conv_walk *walk;
	const struct dfg_depthwise_functions *functions;
	const char *in, *filter, *d_out;
	char *out;
	const void **list; /* two for each row of taps, for each task */
	int64_t step;      /* rows of positions in a task */
	int64_t positions; /* of all images, where they are summed */
	int64_t size;
};

/* The row of pixels at a depth and a height of an image. */
static const char *image_row(const struct work *work, int64_t image, int64_t depth, int64_t height)
{
	const struct dfg_conv_walk_axis *axis = work->walk->axis;
	const int64_t row = (image * axis[0].in + depth) * axis[1].in + height;
	return work->in + row * axis[2].in * work->walk->groups * work->size;
}

/* Lists the rows of taps in the image at a row of positions. */
static void list_rows(const struct work *work, int64_t image, int64_t depth, int64_t height,
	struct dfg_depthwise_row *row, const void **x, const void **w)
{
	const struct dfg_conv_walk_axis *axis = work->walk->axis;
	int64_t low[2], high[2];
	dfg_taps_inside(&axis[0], depth, &low[0], &high[0]);
	dfg_taps_inside(&axis[1], height, &low[1], &high[1]);
	for (int64_t d = low[0]; d < high[0]; d++)
		for (int64_t h = low[1]; h < high[1]; h++, row->rows++) {
			x[row->rows] = image_row(
				work, image, dfg_conv_walk_pixel(&axis[0], depth, d), dfg_conv_walk_pixel(&axis[1], height, h));
			w[row->rows] = work->filter + (d * axis[1].taps + h) * axis[2].taps * row->channels * work->size;
		}
	row->x = x;
	row->w = w;
}

static void forward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_conv_walk *walk = work->walk;
	const struct dfg_conv_walk_axis *axis = walk->axis;
	const int64_t most = axis[0].taps * axis[1].taps;
	const void **x = work->list + first / work->step * 2 * most, **w = x + most;
	for (int64_t i = first; i < last; i++) {
		struct dfg_depthwise_row row = {
			.axis = &axis[2], .channels = walk->groups, .to_step = axis[2].to_step * walk->groups};
		int64_t height = i % axis[1].positions, depth = i / axis[1].positions % axis[0].positions;
		int64_t image = i / axis[1].positions / axis[0].positions;
		list_rows(work, image, depth, height, &row, x, w);
		int64_t to = image * axis[0].to_size + dfg_conv_walk_target(&axis[0], depth);
		to = (to * axis[1].to_size + dfg_conv_walk_target(&axis[1], height)) * axis[2].to_size + axis[2].to;
		row.to = work->out + to * walk->groups * work->size;
		work->functions->positions(&row);
	}
}

/* All positions; the filter is that of the walk. */
static struct dfg_err *run_positions(
	struct dfg_kernel *ctx, const struct dfg_conv_walk *walk, const void *in, const void *filter, void *out)
{
	const struct dfg_conv_walk_axis *axis = walk->axis;
	struct work work = {.walk = walk,
		.functions = dfg_depthwise_functions(walk->dtype),
		.in = in,
		.filter = filter,
		.out = out,
		.size = (int64_t)dfg_dtype_size(walk->dtype)};
	const int64_t rows = walk->images * axis[0].positions * axis[1].positions, lists = axis[0].taps * axis[1].taps;
	const int64_t each = lists * axis[2].taps * axis[2].positions * walk->groups;
	if (!rows || !axis[2].positions)
		return NULL;
	work.step = dfg_grain(rows, TASK / (each + 1));
	DFG_TRY(dfg_kernel_scratch(
		ctx, (size_t)(dfg_ceil_div(rows, work.step) * 2 * lists + 1) * sizeof *work.list, (void **)&work.list));
	dfg_kernel_ranges(ctx, rows, work.step, forward, &work);
	return NULL;
}

struct dfg_err *dfg_depthwise(
	struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in, const void *filter, void *out)
{
	const struct dfg_conv_walk walk = dfg_conv_walk_forward(convolution);
	dfg_work += dfg_convolution_operations(convolution);
	return run_positions(ctx, &walk, in, filter, out);
}

struct dfg_err *dfg_depthwise_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in)
{
	const int64_t bytes = convolution->groups * (int64_t)dfg_dtype_size(convolution->dtype);
	char *taps;
	dfg_work += dfg_convolution_operations(convolution);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(dfg_window_size(&convolution->window) * bytes), (void **)&taps));
	for (int64_t i = 0, phases = dfg_conv_phases(convolution); i < phases; i++) {
		const struct dfg_conv_phase phase = dfg_conv_phase(convolution, i);
		for (int64_t t = 0; t < dfg_conv_walk_rows(&phase.walk); t++)
			memcpy(taps + t * bytes, (const char *)filter + dfg_conv_phase_tap(&phase, t) * bytes, (size_t)bytes);
		DFG_TRY(run_positions(ctx, &phase.walk, d_out, taps, d_in));
	}
	return NULL;
}

/* Adds the products of positions [begin, end) of a row of positions to the sums of lines [first, last) of the filter. */
static void sum_row(
	const struct work *work, int64_t number, int64_t begin, int64_t end, int64_t first, int64_t last, char *sums)
{
	const struct dfg_conv_walk *walk = work->walk;
	const struct dfg_conv_walk_axis *axis = walk->axis;
	const int64_t line_bytes = axis[2].taps * walk->groups * work->size;
	const int64_t height = number % axis[1].positions, depth = number / axis[1].positions % axis[0].positions;
	const int64_t image = number / axis[1].positions / axis[0].positions;
	int64_t low[2], high[2];
	dfg_taps_inside(&axis[0], depth, &low[0], &high[0]);
	dfg_taps_inside(&axis[1], height, &low[1], &high[1]);
	for (int64_t line = first; line < last; line++) {
		const int64_t d = line / axis[1].taps, h = line % axis[1].taps;
		if (d < low[0] || d >= high[0] || h < low[1] || h >= high[1])
			continue;
		const void *x =
			image_row(work, image, dfg_conv_walk_pixel(&axis[0], depth, d), dfg_conv_walk_pixel(&axis[1], height, h));
		const struct dfg_depthwise_row row = {.axis = &axis[2],
			.channels = walk->groups,
			.rows = 1,
			.x = &x,
			.to = sums + line * line_bytes,
			.d = work->d_out + number * axis[2].positions * walk->groups * work->size,
			.begin = begin,
			.end = end};
		work->functions->sums(&row);
	}
}

/* The sums of a chain of positions, into lines [first, last) of its gradient of the filter. */
static void sum_chain(const struct work *work, int64_t chain, int64_t first, int64_t last)
{
	const struct dfg_conv_walk_axis *axis = work->walk->axis;
	const int64_t lines = axis[0].taps * axis[1].taps, line_bytes = axis[2].taps * work->walk->groups * work->size;
	const int64_t width = axis[2].positions, begin = chain * DFG_PRODUCT_CHAIN;
	const int64_t end = begin + DFG_PRODUCT_CHAIN < work->positions ? begin + DFG_PRODUCT_CHAIN : work->positions;
	char *sums = work->out + chain * lines * line_bytes;
	memset(sums + first * line_bytes, 0, (size_t)((last - first) * line_bytes));
	for (int64_t at = begin, count; at < end; at += count) {
		const int64_t from = at % width;
		count = width - from < end - at ? width - from : end - at;
		sum_row(work, at / width, from, from + count, first, last, sums);
	}
}

/* Lines [first, last) of the gradients of all chains. */
static void filter_lines(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const int64_t lines = work->walk->axis[0].taps * work->walk->axis[1].taps;
	for (int64_t end; first < last; first = end) {
		const int64_t chain = first / lines;
		end = (chain + 1) * lines < last ? (chain + 1) * lines : last;
		sum_chain(work, chain, first % lines, end - chain * lines);
	}
}

struct total {
	void *sums;
	int64_t count, size;
};

/* The tree over the sums of the chains, into the first. */
#define ADD(NAME, name, type, ...)                                                               \
	DFG_CLONED(void, total_##name, (void *arg, int64_t first, int64_t last), (arg, first, last)) \
	{                                                                                            \
		const struct total *total = arg;                                                         \
		type *sums = total->sums;                                                                \
		for (int64_t step = 1; step < total->count; step *= 2)                                   \
			for (int64_t s = 0; s + step < total->count; s += 2 * step) {                        \
				type *to = sums + s * total->size, *from = to + step * total->size;              \
				DFG_INDEPENDENT for (int64_t i = first; i < last; i++) to[i] += from[i];         \
			}                                                                                    \
	}
DFG_EACH_float(ADD)

struct dfg_err *dfg_depthwise_filter(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in,
	const void *d_out, void *d_filter)
{
	const struct dfg_conv_walk walk = dfg_conv_walk_forward(convolution);
	struct work work = {.walk = &walk,
		.functions = dfg_depthwise_functions(walk.dtype),
		.in = in,
		.d_out = d_out,
		.out = d_filter,
		.size = (int64_t)dfg_dtype_size(walk.dtype)};
	const int64_t elements = dfg_conv_walk_rows(&walk) * walk.groups, bytes = elements * work.size;
	const int64_t lines = walk.axis[0].taps * walk.axis[1].taps;
	work.positions = walk.images * dfg_window_positions(&convolution->window);
	struct total total = {d_filter, dfg_ceil_div(work.positions, DFG_PRODUCT_CHAIN), elements};
	dfg_work += dfg_convolution_operations(convolution);
	if (!total.count) {
		memset(d_filter, 0, (size_t)bytes);
		return NULL;
	}
	if (total.count > 1) {
		DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(total.count * bytes), &total.sums));
		work.out = total.sums;
	}
	const int64_t chain = work.positions < DFG_PRODUCT_CHAIN ? work.positions : DFG_PRODUCT_CHAIN;
	const int64_t each = chain * walk.axis[2].taps * walk.groups;
	dfg_kernel_ranges(ctx, total.count * lines, dfg_grain(total.count * lines, TASK / (each + 1)), filter_lines, &work);
	if (total.count == 1)
		return NULL;
	dfg_kernel_ranges(ctx, elements, 16 * 1024, walk.dtype == DFG_F32 ? total_f32 : total_f64, &total);
	memcpy(d_filter, total.sums, (size_t)bytes);
	return NULL;
}
