#include "kernels/pool_loops.h"

#include "lib/base/vector.h"

#include <string.h>

#define INLINE __attribute__((always_inline))

/* Loops are over images with channels last; an image with channels first is one image of one channel for each of them. */
struct pool;
struct row;
typedef void row_fn(const struct pool *pool, const struct row *row);

/* Arguments of the loops. Positions and pixels are counted within one image. */
struct pool {
	struct dfg_window window;
	int64_t channels, positions, pixels, size; /* bytes of an element */
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

static const struct {
	row_fn *row[DFG_DTYPES];
	bool adds; /* to pixels of the image, which windows that overlap share */
} poolings[] = {
	[DFG_POOL_MAX] = {{DFG_EACH_number(DFG_BY_DTYPE, pool_max_row)}, false},
	[DFG_POOL_MAX_GRADIENT] = {{DFG_EACH_number(DFG_BY_DTYPE, max_grad_row)}, true},
	[DFG_POOL_MAX_ELEMENTS] = {{DFG_EACH_number(DFG_BY_DTYPE, max_pick_row)}, false},
	[DFG_POOL_MEAN] = {{DFG_EACH_float(DFG_BY_DTYPE, average_row)}, false},
	[DFG_POOL_MEAN_GRADIENT] = {{DFG_EACH_float(DFG_BY_DTYPE, average_grad_row)}, true},
};

static void run_rows(void *arg, int64_t first, int64_t last)
{
	const struct pool *pool = arg;
	for (struct row row; first < last; first += row.count) {
		row = row_at(pool, first, last);
		pool->row(pool, &row);
	}
}

/* Rows of images whose pixels are sums. */
static void run_sums(void *arg, int64_t first, int64_t last)
{
	const struct pool *pool = arg;
	const int64_t bytes = pool->pixels * pool->channels * pool->size;
	memset((char *)pool->out + first * bytes, 0, (size_t)((last - first) * bytes));
	run_rows(arg, first * pool->positions, last * pool->positions);
}

/* The number of positions or images that are some 20 us of work. */
static int64_t block_of(const struct pool *pool, int64_t each)
{
	return dfg_kernel_block(each * pool->channels * dfg_window_size(&pool->window), 32 * 1024);
}

void dfg_pool(struct dfg_kernel *ctx, enum dfg_pooling pooling, const struct dfg_window *window, enum dfg_dtype dtype,
	const void *image, const void *d_out, void *out)
{
	struct pool pool = {.window = *window,
		.channels = window->channels_first ? 1 : window->channels,
		.positions = dfg_window_positions(window),
		.pixels = dfg_window_pixels(window),
		.size = (int64_t)dfg_dtype_size(dtype),
		.image = image,
		.d_out = d_out,
		.out = out,
		.row = poolings[pooling].row[dtype]};
	const int64_t images = window->batch * (window->channels_first ? window->channels : 1);
	if (poolings[pooling].adds)
		dfg_kernel_ranges(ctx, images, block_of(&pool, pool.positions), run_sums, &pool);
	else
		dfg_kernel_ranges(ctx, images * pool.positions, block_of(&pool, 1), run_rows, &pool);
}
