#include "kernels/conv/winograd.h"

#include "kernels/gemm/gemm.h"
#include "lib/graph/work.h"

#include <stdatomic.h>
#include <string.h>

/*
 * Tiles are numbered over the images, and cut into blocks whose points fit the second cache. A block's outputs are computed
 * some channels at a time, so that their points stay there too. Rows of points are apart by more than a power of two, lest
 * they push each other out of the first cache.
 */
enum { TILES = 56, FEWEST = 28, APART = 16, POINT_BYTES = 3 << 19, SUM_BYTES = 3 << 18, TASKS = 16, SIDE_MOST = 6 };

struct work {
	const struct dfg_convolution *c;
	int t, side, points;
	const float *in, *zero; /* zero: a pixel outside of the image */
	float *out;
	const float *filter; /* packed, point after point */
	const struct dfg_winograd_transforms *transforms;
	int64_t tiles, across, down; /* all of them, and of an image */
	int64_t block, blocks;       /* tiles of a block */
	int64_t columns, parts;      /* output channels that are computed together */
	int64_t tile_step, sum_step; /* elements from the points of one tile to those of the next */
	char *memory;                /* of each task that runs: its points, its sums */
	int64_t points_bytes, sums_bytes;
	atomic_uint busy; /* bit i: a task uses memory i */
};

/* A filter is at least as wide as tiles pay for, and images have tiles enough. */
enum { CHANNELS_LEAST = 64, LEAST_2 = 14, LEAST_4 = 28 };

int dfg_winograd_tile(const struct dfg_convolution *convolution, enum dfg_winograd option)
{
	const struct dfg_convolution *c = convolution;
	const struct dfg_axis *axis = c->window.axis;
	if (option == DFG_NO_WINOGRAD || c->dtype != DFG_F32 || c->groups != 1 || c->group_in < CHANNELS_LEAST ||
		c->group_out < CHANNELS_LEAST || axis[0].in != 1 || axis[0].size != 1 || axis[0].out != 1)
		return 0;
	for (int a = 1; a < DFG_AXES; a++)
		if (axis[a].size != 3 || axis[a].stride != 1 || axis[a].dilation != 1 || axis[a].out < LEAST_2)
			return 0;
	return option == DFG_WINOGRAD_4 && axis[1].out >= LEAST_4 && axis[2].out >= LEAST_4 ? 4 : 2;
}

/* G of F(2,3) and F(4,3): a filter's line g becomes G g. */
static const double filter_2[][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
static const double filter_4[][3] = {{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6},
	{1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}};

struct packing {
	const struct work *work;
	const float *filter;
	float *out;
};

/* The points of one filter: G g G^T. */
static void transform_filter(int side, const double (*g)[3], const double *filter, double *out)
{
	double half[SIDE_MOST][3];
	for (int i = 0; i < side; i++)
		for (int j = 0; j < 3; j++)
			half[i][j] = g[i][0] * filter[j] + g[i][1] * filter[3 + j] + g[i][2] * filter[6 + j];
	for (int i = 0; i < side; i++)
		for (int j = 0; j < side; j++)
			out[i * side + j] = half[i][0] * g[j][0] + half[i][1] * g[j][1] + half[i][2] * g[j][2];
}

/* Transforms strips [first, last), each for all points, into the form of dfg_product_pack(). */
static void transform_strips(void *arg, int64_t first, int64_t last)
{
	const struct packing *packing = arg;
	const struct work *work = packing->work;
	const int64_t channels = work->c->group_in, outputs = work->c->group_out, strip = dfg_product_strip(DFG_F32);
	const int64_t point_size = (outputs + strip - 1) / strip * strip * channels;
	for (int64_t s = first; s < last; s++)
		for (int64_t i = 0; i < channels * strip; i++) {
			const int64_t channel = i / strip, output = s * strip + i % strip;
			double filter[9] = {0}, points[SIDE_MOST * SIDE_MOST];
			for (int tap = 0; tap < 9 && output < outputs; tap++)
				filter[tap] = (double)packing->filter[(tap * channels + channel) * outputs + output];
			transform_filter(work->side, work->t == 2 ? filter_2 : filter_4, filter, points);
			for (int p = 0; p < work->points; p++)
				packing->out[p * point_size + s * strip * channels + i] = (float)points[p];
		}
}

static void transform_all(
	struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *filter, void *out)
{
	struct packing packing = {preparation->arg, filter, out};
	const int64_t strip = dfg_product_strip(DFG_F32), outputs = packing.work->c->group_out;
	dfg_kernel_ranges(ctx, (outputs + strip - 1) / strip, 1, transform_strips, &packing);
}

/* Where a tile begins in its image. */
struct corner {
	int64_t image, row, column;
};

static struct corner corner_of(const struct work *work, int64_t tile)
{
	const int64_t of_image = tile % (work->across * work->down);
	return (struct corner){.image = tile / (work->across * work->down),
		.row = of_image / work->across * work->t,
		.column = of_image % work->across * work->t};
}

/* The points of tile number `tile`. */
static void transform_tile(const struct work *work, int64_t tile, float *points)
{
	const struct dfg_axis *down = &work->c->window.axis[1], *across = &work->c->window.axis[2];
	const int64_t channels = work->c->group_in;
	const struct corner at = corner_of(work, tile);
	const float *pixel[SIDE_MOST * SIDE_MOST];
	for (int i = 0; i < work->points; i++) {
		const int64_t y = at.row + i / work->side - down->before, x = at.column + i % work->side - across->before;
		const bool inside = y >= 0 && y < down->in && x >= 0 && x < across->in;
		pixel[i] = inside ? work->in + ((at.image * down->in + y) * across->in + x) * channels : work->zero;
	}
	work->transforms->to_points(channels, pixel, points, channels + APART);
}

/* Output channels [column, column + width) of a tile. */
static void sum_tile(const struct work *work, int64_t tile, const float *sums, int64_t column, int64_t width)
{
	const struct dfg_axis *down = &work->c->window.axis[1], *across = &work->c->window.axis[2];
	const struct corner at = corner_of(work, tile);
	float *pixel[16];
	for (int i = 0; i < work->t * work->t; i++) {
		const int64_t y = at.row + i / work->t, x = at.column + i % work->t;
		pixel[i] = y < down->out && x < across->out
					   ? work->out + ((at.image * down->out + y) * across->out + x) * work->c->group_out + column
					   : NULL;
	}
	work->transforms->to_pixels(width, sums, work->columns + APART, pixel);
}

/* Part `part` of the output channels of tiles [first, last), whose points are given. */
static void compute_part(
	const struct work *work, int64_t first, int64_t last, int64_t part, const float *points, float *sums)
{
	const int64_t channels = work->c->group_in, outputs = work->c->group_out, column = part * work->columns;
	const int64_t strip = dfg_product_strip(DFG_F32), point_size = (outputs + strip - 1) / strip * strip * channels;
	const int64_t width = outputs - column < work->columns ? outputs - column : work->columns;
	int64_t a_at[TILES], c_at[TILES];
	const struct dfg_tap all = {.steps = channels};
	const struct dfg_gathered g = {.m = last - first,
		.n = width,
		.k = channels,
		.a_at = a_at,
		.c_at = c_at,
		.tap = &all,
		.taps = 1,
		.a_column = 1};
	for (int64_t i = 0; i < last - first; i++) {
		a_at[i] = i * work->tile_step;
		c_at[i] = i * work->sum_step;
	}
	for (int p = 0; p < work->points; p++)
		dfg_product_gathered(&g, DFG_F32, points + p * (channels + APART),
			work->filter + p * point_size + column * channels, sums + p * (work->columns + APART));
	for (int64_t i = first; i < last; i++)
		sum_tile(work, i, sums + (i - first) * work->sum_step, column, width);
}

/* Memory that no other task uses: there is as much as there are tasks. */
static int claim(struct work *work)
{
	unsigned busy = atomic_load_explicit(&work->busy, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&work->busy, &busy, busy | (busy + 1), memory_order_acquire, memory_order_relaxed))
		;
	return __builtin_ctz(~busy);
}

static void release(struct work *work, int number)
{
	atomic_fetch_and_explicit(&work->busy, ~(1u << number), memory_order_release);
}

static int64_t first_tile(const struct work *work, int64_t block)
{
	return block * work->block < work->tiles ? block * work->block : work->tiles;
}

static void compute_blocks(void *arg, int64_t first, int64_t last)
{
	struct work *work = arg;
	const int number = claim(work);
	float *points = (float *)(work->memory + number * (work->points_bytes + work->sums_bytes));
	float *sums = (float *)((char *)points + work->points_bytes);
	for (int64_t block = first; block < last; block++) {
		const int64_t from = first_tile(work, block), to = first_tile(work, block + 1);
		for (int64_t i = from; i < to; i++)
			transform_tile(work, i, points + (i - from) * work->tile_step);
		for (int64_t part = 0; part < work->parts; part++)
			compute_part(work, from, to, part, points, sums);
	}
	release(work, number);
}

/* Few blocks: first the points of all, then each part of each block. */
static void transform_tiles(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t i = first; i < last; i++)
		transform_tile(work, i, (float *)work->memory + i * work->tile_step);
}

static void compute_parts(void *arg, int64_t first, int64_t last)
{
	struct work *work = arg;
	const int number = claim(work);
	float *sums = (float *)(work->memory + work->points_bytes + number * work->sums_bytes);
	for (int64_t i = first; i < last; i++) {
		const int64_t block = i / work->parts, from = first_tile(work, block);
		compute_part(work, from, first_tile(work, block + 1), i % work->parts,
			(const float *)work->memory + from * work->tile_step, sums);
	}
	release(work, number);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Blocks of tiles and parts of the output channels, by shape alone; fewer blocks than FEW have more parts. */
enum { FEW = 4, WIDTH = 64 };
static void cut(struct work *work)
{
	const int64_t outputs = work->c->group_out, size = (int64_t)sizeof(float);
	work->tile_step = work->points * (work->c->group_in + APART);
	int64_t most = POINT_BYTES / (work->tile_step * size);
	most = most < FEWEST ? FEWEST : most < TILES ? most : TILES;
	work->blocks = ceil_div(work->tiles, most);
	work->block = ceil_div(work->tiles, work->blocks);
	most = (SUM_BYTES / (work->block * work->points * size) - APART) / WIDTH * WIDTH;
	if (work->blocks < FEW || most < WIDTH)
		most = WIDTH;
	work->parts = ceil_div(outputs, most);
	work->columns = ceil_div(ceil_div(outputs, work->parts), WIDTH) * WIDTH;
	work->parts = ceil_div(outputs, work->columns);
	work->sum_step = work->points * (work->columns + APART);
	work->sums_bytes = work->block * work->sum_step * size;
	work->points_bytes = (work->blocks < FEW ? work->tiles : work->block) * work->tile_step * size;
}

static struct dfg_err *run_tasks(struct dfg_kernel *ctx, struct work *work)
{
	const bool few = work->blocks < FEW;
	const int64_t items = few ? work->blocks * work->parts : work->blocks;
	const int64_t each = ceil_div(items, TASKS), tasks = ceil_div(items, each);
	const int64_t bytes =
		few ? work->points_bytes + tasks * work->sums_bytes : tasks * (work->points_bytes + work->sums_bytes);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)bytes, (void **)&work->memory));
	if (few)
		dfg_kernel_ranges(ctx, work->tiles, ceil_div(work->tiles, TASKS), transform_tiles, work);
	dfg_kernel_ranges(ctx, items, each, few ? compute_parts : compute_blocks, work);
	return NULL;
}

struct dfg_err *dfg_convolve_winograd(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, int t,
	const float *in, const float *filter, float *out)
{
	const struct dfg_convolution *c = convolution;
	const struct dfg_axis *axis = c->window.axis;
	const int64_t strip = dfg_product_strip(DFG_F32);
	struct work work = {.c = c,
		.t = t,
		.side = t + 2,
		.points = (t + 2) * (t + 2),
		.in = in,
		.out = out,
		.transforms = dfg_winograd_transforms(t),
		.across = ceil_div(axis[2].out, t),
		.down = ceil_div(axis[1].out, t)};
	const struct dfg_preparation preparation = {.make = transform_all,
		.arg = &work,
		.bytes = (size_t)(work.points * ceil_div(c->group_out, strip) * strip * c->group_in) * sizeof(float),
		.form = {DFG_F32, t, c->group_in, c->group_out}};
	float *zero;
	work.tiles = c->window.batch * work.across * work.down;
	if (!work.tiles)
		return NULL;
	dfg_work += dfg_convolution_operations(c) * work.points / (9 * t * t);
	DFG_TRY(dfg_kernel_prepared(ctx, DFG_FILTER_INPUT, &preparation, filter, (const void **)&work.filter));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)c->group_in * sizeof *zero, (void **)&zero));
	memset(zero, 0, (size_t)c->group_in * sizeof *zero);
	work.zero = zero;
	cut(&work);
	return run_tasks(ctx, &work);
}
