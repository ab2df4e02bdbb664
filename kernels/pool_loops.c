#include "kernels/pool_loops.h"

#include "kernels/conv/convolve.h"
#include "kernels/conv/walk.h"
#include "lib/base/vector.h"

#include <string.h>

#define INLINE __attribute__((always_inline))

/* Loops are over images with channels last. Where channels are first, planes are turned in groups, as channels of one image. */
struct pool;
struct row;
typedef void row_fn(const struct pool *pool, const struct row *row);

/* Arguments of the loops. Positions and pixels are counted within one image. */
struct pool {
	struct dfg_window window;
	int64_t channels, positions, pixels, size; /* bytes of an element */
	bool apart;                                /* no pixel is in two windows */
	const void *image, *d_out;
	void *out;
	row_fn *row; /* computes one row */
};

/* The part of a window that is in the image: pixels [low, high) along each axis. */
struct part {
	int64_t low[DFG_AXES], high[DFG_AXES];
};

/* The part along one axis, at a position. */
static inline void set_part(const struct dfg_window *window, int a, int64_t position, struct part *part)
{
	const struct dfg_axis *axis = &window->axis[a];
	const int64_t at = position * axis->stride - axis->before,
				  end = at + axis->size < axis->in ? at + axis->size : axis->in;
	part->low[a] = at < 0 ? 0 : at;
	part->high[a] = end < part->low[a] ? part->low[a] : end;
}

/* Positions of one row: `count` from number `position` of the batch on, which is the row's position `width`. */
struct row {
	int64_t image, position, width, count;
	struct part part; /* along depth and height */
};

static struct row row_at(const struct pool *pool, int64_t position, int64_t last)
{
	const struct dfg_axis *axis = pool->window.axis;
	struct row row = {.position = position, .width = position % axis[2].out};
	row.count = axis[2].out - row.width < last - position ? axis[2].out - row.width : last - position;
	set_part(&pool->window, 1, position / axis[2].out % axis[1].out, &row.part);
	set_part(&pool->window, 0, position / (axis[2].out * axis[1].out) % axis[0].out, &row.part);
	row.image = position / pool->positions;
	return row;
}

static int64_t part_size(const struct part *part)
{
	int64_t size = 1;
	for (int a = 0; a < DFG_AXES; a++)
		size *= part->high[a] - part->low[a];
	return size;
}

#define EACH_PIXEL(window, part, pixel)                                                                 \
	for (int64_t d_ = (part).low[0]; d_ < (part).high[0]; d_++)                                         \
		for (int64_t h_ = (part).low[1]; h_ < (part).high[1]; h_++)                                     \
			for (int64_t pixel = (d_ * (window).axis[1].in + h_) * (window).axis[2].in + (part).low[2], \
						 end_ = pixel + (part).high[2] - (part).low[2];                                 \
				 pixel < end_; pixel++)

/* Unlike isnan(), it also accepts integers, of which none is a NaN. */
#define IS_NAN(x) ((x) != (x))

/* Bytes of a vector of channels: one register, or two. */
enum { POOL_BYTES = 32 };

#define TEMPLATE "kernels/pool_lanes.inc"
#include "kernels/each_number.inc"
#undef TEMPLATE
#define TEMPLATE "kernels/pool_max.inc"
#include "kernels/each_number.inc"
#undef TEMPLATE

#define TEMPLATE "kernels/pool_average.inc"
#include "kernels/each_float.inc"
#undef TEMPLATE

/* An operand has one element a pixel of the image, one a position of the window, or is not there. */
enum extent { NOTHING, PIXELS, POSITIONS };

static const struct {
	row_fn *row[DFG_DTYPES];
	enum extent image, d_out, out; /* if `out` has PIXELS, they are sums, which windows that overlap share */
} poolings[] = {
	[DFG_POOL_MAX] = {{DFG_EACH_number(DFG_BY_DTYPE, pool_max_row)}, PIXELS, NOTHING, POSITIONS},
	[DFG_POOL_MAX_GRADIENT] = {{DFG_EACH_number(DFG_BY_DTYPE, max_grad_row)}, PIXELS, POSITIONS, PIXELS},
	[DFG_POOL_MAX_ELEMENTS] = {{DFG_EACH_number(DFG_BY_DTYPE, max_pick_row)}, PIXELS, PIXELS, POSITIONS},
	[DFG_POOL_MEAN] = {{DFG_EACH_float(DFG_BY_DTYPE, average_row)}, PIXELS, NOTHING, POSITIONS},
	[DFG_POOL_MEAN_GRADIENT] = {{DFG_EACH_float(DFG_BY_DTYPE, average_grad_row)}, NOTHING, POSITIONS, PIXELS},
};

static void run_rows(void *arg, int64_t first, int64_t last)
{
	const struct pool *pool = arg;
	for (struct row row; first < last; first += row.count) {
		row = row_at(pool, first, last);
		pool->row(pool, &row);
	}
}

/* Whether every pixel is in exactly one window, which then writes it. */
static bool is_tiled(const struct dfg_window *window)
{
	for (int a = 0; a < DFG_AXES; a++) {
		const struct dfg_axis *axis = &window->axis[a];
		if (axis->size != axis->stride || axis->out * axis->stride - axis->before < axis->in)
			return false;
	}
	return true;
}

/* Whether no pixel is in two windows. */
static bool is_apart(const struct dfg_window *window)
{
	return window->axis[0].size <= window->axis[0].stride && window->axis[1].size <= window->axis[1].stride &&
		   window->axis[2].size <= window->axis[2].stride;
}

/* Whole images whose pixels are sums. */
static void run_sums(void *arg, int64_t first, int64_t last)
{
	const struct pool *pool = arg;
	const int64_t bytes = pool->pixels * pool->channels * pool->size;
	if (!is_tiled(&pool->window))
		memset((char *)pool->out + first * bytes, 0, (size_t)((last - first) * bytes));
	run_rows(arg, first * pool->positions, last * pool->positions);
}

/* The number of positions or images that are some 20 us of work. */
static int64_t block_of(const struct pool *pool, int64_t each)
{
	return dfg_kernel_block(each * pool->channels * dfg_window_size(&pool->window), 32 * 1024);
}

/* Bytes of a pixel of a group of planes, and how many tasks, each with memory of its own, groups are divided among. */
enum { GROUP_BYTES = 4 * POOL_BYTES, TASKS = 16 };

/* Poolings of planes, which images with channels first consist of: some are turned to be the channels of one image. */
struct planes {
	struct pool pool; /* operands are those of all planes; one channel */
	enum dfg_pooling pooling;
	int64_t count, together; /* planes, and those of a group */
	int64_t step;            /* groups of a task */
	char *memory;            /* operands of a group, for each task */
};

static int64_t extent_of(const struct pool *pool, enum extent extent)
{
	return extent == NOTHING ? 0 : extent == PIXELS ? pool->pixels : pool->positions;
}

/* Elements of all operands of a plane. */
static int64_t plane_elements(const struct planes *all)
{
	return extent_of(&all->pool, poolings[all->pooling].image) + extent_of(&all->pool, poolings[all->pooling].d_out) +
		   extent_of(&all->pool, poolings[all->pooling].out);
}

/* Turns planes, from number `first` on, of an operand to a group, or back; returns the memory after the group's. */
static char *turn(const struct planes *all, enum extent extent, int64_t first, int64_t lanes, const void *planes,
	bool back, char *group)
{
	const int64_t n = extent_of(&all->pool, extent), size = all->pool.size;
	const struct dfg_matrix to = {lanes, n, n, lanes}, from = {n, lanes, lanes, n};
	char *plane = (char *)planes + first * n * size;
	if (back)
		dfg_transpose_matrix(&from, size, group, plane);
	else
		dfg_transpose_matrix(&to, size, plane, group);
	return group + lanes * n * size;
}

static void run_group(const struct planes *all, int64_t group, char *memory)
{
	struct pool pool = all->pool;
	const int64_t first = group * all->together, left = all->count - first;
	pool.channels = left < all->together ? left : all->together;
	pool.image = memory;
	memory = turn(all, poolings[all->pooling].image, first, pool.channels, all->pool.image, false, memory);
	pool.d_out = memory;
	memory = turn(all, poolings[all->pooling].d_out, first, pool.channels, all->pool.d_out, false, memory);
	pool.out = memory;
	if (poolings[all->pooling].out == PIXELS)
		run_sums(&pool, 0, 1);
	else
		run_rows(&pool, 0, pool.positions);
	turn(all, poolings[all->pooling].out, first, pool.channels, all->pool.out, true, memory);
}

static void run_groups(void *arg, int64_t first, int64_t last)
{
	const struct planes *all = arg;
	char *memory = all->memory + first / all->step * plane_elements(all) * all->together * all->pool.size;
	for (int64_t group = first; group < last; group++)
		run_group(all, group, memory);
}

static struct dfg_err *pool_planes(struct dfg_kernel *ctx, enum dfg_pooling pooling, const struct pool *pool)
{
	struct planes all = {.pool = *pool, .pooling = pooling, .count = pool->window.batch * pool->window.channels};
	const int64_t most = GROUP_BYTES / pool->size;
	all.together = all.count < most ? all.count : most;
	const int64_t groups = dfg_ceil_div(all.count, all.together),
				  block = block_of(pool, pool->positions * all.together);
	all.step = block * TASKS < groups ? dfg_ceil_div(groups, TASKS) : block;
	DFG_TRY(dfg_kernel_scratch(ctx,
		(size_t)(dfg_ceil_div(groups, all.step) * plane_elements(&all) * all.together * pool->size),
		(void **)&all.memory));
	dfg_kernel_ranges(ctx, groups, all.step, run_groups, &all);
	return NULL;
}

struct dfg_err *dfg_pool(struct dfg_kernel *ctx, enum dfg_pooling pooling, const struct dfg_window *window,
	enum dfg_dtype dtype, const void *image, const void *d_out, void *out)
{
	struct pool pool = {.window = *window,
		.channels = window->channels_first ? 1 : window->channels,
		.positions = dfg_window_positions(window),
		.pixels = dfg_window_pixels(window),
		.size = (int64_t)dfg_dtype_size(dtype),
		.apart = is_apart(window),
		.image = image,
		.d_out = d_out,
		.out = out,
		.row = poolings[pooling].row[dtype]};
	if (window->channels_first)
		return pool_planes(ctx, pooling, &pool);
	if (poolings[pooling].out == PIXELS && !is_tiled(window))
		dfg_kernel_ranges(ctx, window->batch, block_of(&pool, pool.positions), run_sums, &pool);
	else
		dfg_kernel_ranges(ctx, window->batch * pool.positions, block_of(&pool, 1), run_rows, &pool);
	return NULL;
}
