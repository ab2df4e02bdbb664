#include "kernels/conv/walk.h"

#include "kernels/conv/columns.h"
#include "kernels/gemm/gemm.h"
#include "lib/graph/grain.h"

#include <string.h>

/* Most positions of a block, multiplications of a task, bytes of bordered images that are held at once, elements that a thread copies at a time. */
enum { HEIGHT = 168, TASK = 1 << 21, BORDERED = 4 << 20, COPIED = 16 * 1024 };

/*
 * Positions with the same rows of taps inside the image: `count` depths and heights from `from` on, of the taps [low,
 * high). They are numbered over the images, and cut into blocks of `rows` positions by `columns` channels.
 */
struct band {
	int64_t from[2], count[2], low[2], high[2];
	const struct dfg_tap *tap;
	int64_t taps;
	int64_t positions; /* of an image */
	int64_t rows, columns, across;
	int64_t blocks; /* of this band and those before it */
};

struct work {
	const struct dfg_conv_walk *walk;
	const char *in, *filter;
	char *out;
	char *bordered; /* NULL: the images are read in place */
	struct dfg_columns columns;
	struct band *band;
	int64_t bands, images; /* those that are worked at */
	/* Steps in elements. */
	int64_t position, tap, row, plane, image, begin;
	int64_t size;
};

int64_t dfg_conv_walk_rows(const struct dfg_conv_walk *walk)
{
	return walk->axis[0].taps * walk->axis[1].taps * walk->axis[2].taps * walk->group_in;
}

int64_t dfg_conv_walk_strips(const struct dfg_conv_walk *walk)
{
	return dfg_ceil_div(walk->group_out, dfg_product_strip(walk->dtype));
}

/* Elements of a group's packed filter. */
static int64_t packed_size(const struct dfg_conv_walk *walk)
{
	return dfg_conv_walk_strips(walk) * dfg_product_strip(walk->dtype) * dfg_conv_walk_rows(walk);
}

static struct dfg_err *take(struct dfg_kernel *ctx, int64_t a, int64_t b, int64_t size, void **out_memory)
{
	size_t bytes;
	if (__builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, size, &bytes))
		return DFG_ERR(DFG_MEMORY, "out of memory: %lld times %lld elements", (long long)a, (long long)b);
	return dfg_kernel_scratch(ctx, bytes, out_memory);
}

struct dfg_err *dfg_conv_walk_packed_bytes(const struct dfg_conv_walk *walk, size_t *out_bytes)
{
	if (__builtin_mul_overflow(walk->groups * (int64_t)dfg_dtype_size(walk->dtype), packed_size(walk), out_bytes))
		return DFG_ERR(DFG_MEMORY, "out of memory: a filter of %lld rows", (long long)dfg_conv_walk_rows(walk));
	return NULL;
}

/* The positions from `at` on that have the same taps in the image. */
static int64_t run_of(const struct dfg_conv_walk_axis *axis, int64_t at, int64_t *out_low, int64_t *out_high)
{
	int64_t end = at + 1, low, high;
	dfg_taps_inside(axis, at, out_low, out_high);
	for (; end < axis->positions; end++) {
		dfg_taps_inside(axis, end, &low, &high);
		if (low != *out_low || high != *out_high)
			break;
	}
	return end - at;
}

static int64_t runs_of(const struct dfg_conv_walk_axis *axis)
{
	int64_t runs = 0, low, high;
	for (int64_t at = 0; at < axis->positions; runs++)
		at += run_of(axis, at, &low, &high);
	return runs;
}

/* Whether a row of taps is adjacent elements. */
static bool is_joined(const struct work *work)
{
	return work->walk->groups == 1 && work->tap == work->walk->group_in;
}

/* Into how many taps of a product a row of the window's is cut; the steps of one. */
static int64_t parts_of_row(const struct work *work, int64_t *out_steps)
{
	const int64_t taps = work->walk->axis[2].taps, joined = is_joined(work) && taps ? taps : 1;
	*out_steps = joined * work->walk->group_in;
	return taps / joined;
}

static int64_t list_taps(const struct work *work, const struct band *band, struct dfg_tap *tap)
{
	const struct dfg_conv_walk *walk = work->walk;
	const struct dfg_conv_walk_axis *axis = walk->axis;
	struct dfg_tap *begin = tap;
	int64_t steps;
	const int64_t parts = parts_of_row(work, &steps);
	for (int64_t d = band->low[0]; d < band->high[0]; d++)
		for (int64_t h = band->low[1]; h < band->high[1]; h++) {
			int64_t a =
				(d - band->low[0]) * axis[0].dilation * work->plane + (h - band->low[1]) * axis[1].dilation * work->row;
			int64_t b = (d * axis[1].taps + h) * axis[2].taps * walk->group_in;
			for (int64_t w = 0; w < parts; w++)
				*tap++ = (struct dfg_tap){a + w * work->tap, b + w * walk->group_in, steps};
		}
	return tap - begin;
}

/* Finds the bands, depth by depth; with memory for their taps, lists those. Returns the number of taps. */
static int64_t find_bands(struct work *work, struct dfg_tap *tap)
{
	const struct dfg_conv_walk_axis *axis = work->walk->axis;
	struct band *band = work->band;
	int64_t taps = 0, steps;
	const int64_t parts = parts_of_row(work, &steps);
	for (int64_t d = 0; d < axis[0].positions; d += band[-1].count[0])
		for (int64_t h = 0; h < axis[1].positions; h += band++->count[1]) {
			*band = (struct band){.from = {d, h}, .tap = tap};
			band->count[0] = run_of(&axis[0], d, &band->low[0], &band->high[0]);
			band->count[1] = run_of(&axis[1], h, &band->low[1], &band->high[1]);
			band->positions = band->count[0] * band->count[1] * axis[2].positions;
			band->taps = (band->high[0] - band->low[0]) * (band->high[1] - band->low[1]) * parts;
			taps += band->taps;
			if (tap)
				tap += list_taps(work, band, tap);
		}
	work->bands = band - work->band;
	return taps;
}

/* Cuts the positions of the band in the images, and the channels, into blocks of some `task` multiplications. */
static int64_t cut(const struct work *work, struct band *band, int64_t task)
{
	const int64_t n = work->walk->group_out, positions = work->images * band->positions;
	int64_t steps = work->walk->axis[2].taps * work->walk->group_in;
	steps *= (band->high[0] - band->low[0]) * (band->high[1] - band->low[1]);
	int64_t down = dfg_ceil_div(positions, HEIGHT), rows = dfg_ceil_div(positions, down), columns = n;
	while (steps && rows * columns > 2 * task / steps && columns > 64)
		columns = dfg_ceil_div(columns, 64) * 32;
	while (steps && rows * columns > 2 * task / steps && rows > 42)
		rows = dfg_ceil_div(rows, 84) * 42;
	band->rows = rows;
	band->columns = columns;
	band->across = dfg_ceil_div(n, columns);
	return band->across * dfg_ceil_div(positions, rows);
}

/* Where a band's position is, counted over the images. */
struct coordinates {
	int64_t image, depth, height, width;
};

static struct coordinates coordinates_of(const struct work *work, const struct band *band, int64_t number)
{
	const int64_t width = work->walk->axis[2].positions;
	return (struct coordinates){
		.image = number / band->positions,
		.depth = band->from[0] + number / (width * band->count[1]) % band->count[0],
		.height = band->from[1] + number / width % band->count[1],
		.width = number % width,
	};
}

static void next_coordinates(const struct work *work, const struct band *band, struct coordinates *to)
{
	if (++to->width < work->walk->axis[2].positions)
		return;
	to->width = 0;
	if (++to->height < band->from[1] + band->count[1])
		return;
	to->height = band->from[1];
	if (++to->depth < band->from[0] + band->count[0])
		return;
	to->depth = band->from[0];
	to->image++;
}

/* The elements from which positions [first, first + rows) of a band read, and at which they write. */
static void find_elements(
	const struct work *work, const struct band *band, int64_t first, int64_t rows, int64_t *a_at, int64_t *c_at)
{
	const struct dfg_conv_walk *walk = work->walk;
	const struct dfg_conv_walk_axis *axis = walk->axis;
	const int64_t outputs = walk->groups * walk->group_out;
	struct coordinates at = coordinates_of(work, band, first);
	for (int64_t i = 0; i < rows; i++, next_coordinates(work, band, &at)) {
		int64_t to = (at.image * axis[0].to_size + dfg_conv_walk_target(&axis[0], at.depth)) * axis[1].to_size;
		to = (to + dfg_conv_walk_target(&axis[1], at.height)) * axis[2].to_size +
			 dfg_conv_walk_target(&axis[2], at.width);
		c_at[i] = to * outputs;
		a_at[i] = band->taps
					  ? at.image * work->image + dfg_conv_walk_pixel(&axis[0], at.depth, band->low[0]) * work->plane +
							dfg_conv_walk_pixel(&axis[1], at.height, band->low[1]) * work->row +
							at.width * work->position
					  : 0;
	}
}

static void compute_block(const struct work *work, const struct band *band, int64_t group, int64_t block)
{
	const struct dfg_conv_walk *walk = work->walk;
	int64_t a_at[HEIGHT], c_at[HEIGHT];
	const int64_t first = block / band->across * band->rows, column = block % band->across * band->columns;
	const int64_t positions = work->images * band->positions;
	struct dfg_gathered g = {
		.m = positions - first < band->rows ? positions - first : band->rows,
		.n = walk->group_out - column < band->columns ? walk->group_out - column : band->columns,
		.k = dfg_conv_walk_rows(walk),
		.a_at = a_at,
		.c_at = c_at,
		.tap = band->tap,
		.taps = band->taps,
		.a_column = 1,
	};
	find_elements(work, band, first, g.m, a_at, c_at);
	const char *from = work->bordered ? work->bordered : work->in;
	from += (group * walk->group_in + (band->taps ? work->begin : 0)) * work->size;
	dfg_product_gathered(&g, walk->dtype, from, work->filter + (group * packed_size(walk) + column * g.k) * work->size,
		work->out + (group * walk->group_out + column) * work->size);
}

static void compute(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const int64_t all = work->band[work->bands - 1].blocks;
	for (int64_t i = first; i < last; i++) {
		const struct band *band = work->band;
		int64_t block = i % all;
		while (block >= band->blocks)
			band++;
		compute_block(work, band, i / all, band > work->band ? block - band[-1].blocks : block);
	}
}

/* Copies rows [first, last) of the images, with their zero columns. */
static void border(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_conv_walk *walk = work->walk;
	const int64_t channels = walk->groups * walk->group_in, pixel_bytes = channels * work->size;
	const struct dfg_columns_bytes bytes = {(size_t)pixel_bytes, pixel_bytes, pixel_bytes};
	for (int64_t row = first; row < last; row++)
		dfg_columns_copy(&work->columns, &walk->axis[2], &bytes, work->in + row * walk->axis[2].in * pixel_bytes,
			work->bordered + row * work->columns.count * pixel_bytes);
}

/* Sets the steps through the images: in place, or through their bordered copy. */
static void set_steps(struct work *work, bool bordered)
{
	const struct dfg_conv_walk *walk = work->walk;
	const struct dfg_conv_walk_axis *axis = walk->axis;
	const int64_t channels = walk->groups * walk->group_in;
	work->columns =
		bordered ? dfg_columns_of(&axis[2]) : (struct dfg_columns){axis[2].in, axis[2].step, axis[2].dilation, false};
	work->position = work->columns.position * channels;
	work->tap = work->columns.tap * channels;
	work->begin = bordered ? 0 : axis[2].first * channels;
	work->row = work->columns.count * channels;
	work->plane = axis[1].in * work->row;
	work->image = axis[0].in * work->plane;
}

/* Memory for the bordered copies of as many images as are worked at together. */
static struct dfg_err *take_bordered(
	struct dfg_kernel *ctx, struct work *work, struct dfg_conv_walk_memory *memory, int64_t *out_together)
{
	const struct dfg_conv_walk *walk = work->walk;
	const int64_t rows = walk->axis[0].in * walk->axis[1].in, channels = walk->groups * walk->group_in;
	size_t bytes;
	if (__builtin_mul_overflow(rows * work->columns.count, channels * work->size, &bytes) || bytes > SIZE_MAX / 2)
		return DFG_ERR(DFG_MEMORY, "an image with %lld columns is too large", (long long)work->columns.count);
	*out_together = bytes ? (int64_t)(BORDERED / bytes) : walk->images;
	*out_together = *out_together < 1 ? 1 : *out_together < walk->images ? *out_together : walk->images;
	bytes = bytes * (size_t)*out_together + 1;
	if (bytes > memory->bytes) {
		DFG_TRY(dfg_kernel_scratch(ctx, bytes, &memory->memory));
		memory->bytes = bytes;
	}
	work->bordered = memory->memory;
	return NULL;
}

static struct dfg_err *prepare(
	struct dfg_kernel *ctx, struct work *work, struct dfg_conv_walk_memory *memory, int64_t *out_together)
{
	const struct dfg_conv_walk_axis *axis = work->walk->axis;
	const bool bordered = dfg_columns_outside(&axis[2]);
	struct dfg_tap *taps;
	set_steps(work, bordered);
	*out_together = work->walk->images;
	if (bordered)
		DFG_TRY(take_bordered(ctx, work, memory, out_together));
	DFG_TRY(take(ctx, runs_of(&axis[0]), runs_of(&axis[1]), sizeof *work->band, (void **)&work->band));
	DFG_TRY(take(ctx, find_bands(work, NULL), 1, sizeof *taps, (void **)&taps));
	find_bands(work, taps);
	return NULL;
}

/* Blocks of the images that are worked at: as many together as make a task. */
static void run_images(struct dfg_kernel *ctx, struct work *work)
{
	const struct dfg_conv_walk *walk = work->walk;
	const int64_t row = work->columns.count * walk->groups * walk->group_in + 1;
	if (work->bordered)
		dfg_kernel_ranges(ctx, work->images * walk->axis[0].in * walk->axis[1].in, COPIED / row + 1, border, work);
	double all = 0;
	for (int64_t i = 0; i < work->bands; i++)
		all += (double)work->band[i].positions * (double)(work->band[i].taps ? dfg_conv_walk_rows(walk) : 1);
	all *= (double)work->images * (double)walk->group_out;
	const int64_t task = dfg_grain_of_products(all * (double)walk->groups, TASK);
	int64_t blocks = 0;
	for (int64_t i = 0; i < work->bands; i++)
		work->band[i].blocks = blocks += cut(work, &work->band[i], task);
	const double each = all / (double)blocks;
	dfg_kernel_ranges(ctx, blocks * walk->groups,
		each < (double)task / 2 ? (int64_t)((double)task / 2 / (each + 1)) + 1 : 1, compute, work);
}

struct dfg_err *dfg_conv_walk_run(struct dfg_kernel *ctx, const struct dfg_conv_walk *walk,
	struct dfg_conv_walk_memory *memory, const void *in, const void *filter, void *out)
{
	struct work work = {
		.walk = walk, .in = in, .filter = filter, .out = out, .size = (int64_t)dfg_dtype_size(walk->dtype)};
	const struct dfg_conv_walk_axis *axis = walk->axis;
	int64_t together, pixels = axis[0].to_size * axis[1].to_size * axis[2].to_size;
	if (!walk->images || !walk->groups || !walk->group_out || !axis[0].positions || !axis[1].positions ||
		!axis[2].positions)
		return NULL;
	DFG_TRY(prepare(ctx, &work, memory, &together));
	for (int64_t image = 0; image < walk->images; image += work.images) {
		work.images = walk->images - image < together ? walk->images - image : together;
		run_images(ctx, &work);
		work.in += work.images * axis[0].in * axis[1].in * axis[2].in * walk->groups * walk->group_in * work.size;
		work.out += work.images * pixels * walk->groups * walk->group_out * work.size;
	}
	return NULL;
}
