#include "kernels/conv/columns.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/vector.h"
#include "lib/graph/grain.h"
#include "lib/graph/work.h"

#include <string.h>

/*
 * The gradient by the filter: a product whose rows are the channels of taps, whose columns are the outputs, and whose
 * steps are the positions of all images in order. So each element is a tree over chains of DFG_PRODUCT_CHAIN positions.
 * Pixels outside of the image count as zeros, or are left out where all of a block's are.
 *
 * A task has a block of rows and columns, and some chains. It copies the pixels that its rows read at a run of positions,
 * bordered by zeros, so that they are in the second cache, and packs d out, a few strips at a time.
 */
enum {
	ROWS = 192,
	FEW_ROWS = 96,
	COLUMNS = 256,
	RUN = 192,
	RUN_BYTES = 192 * 1024,
	STRIP = 32,
	TOGETHER = 4,
	SUMS_BYTES = 32 << 20,
	ROWS_LEAST = 48,    /* of a block: fewer would be copied more often than they are multiplied */
	COLUMNS_LEAST = 64, /* likewise */
	TASKS = 8,          /* that are worth cutting blocks for */
	TASK = 1 << 21      /* the most multiplications of one */
};

struct work {
	const struct dfg_convolution *c;
	const char *in, *d_out;
	char *d_filter, *sums;      /* sums of subtrees; the first is d_filter */
	int64_t channels, taps[2];  /* of a block of rows: channels of a tap; taps along height and width */
	int64_t across[4], columns; /* blocks along channels, width, height, outputs; outputs of a block */
	int64_t run, pitch, size;   /* most positions of a run; elements of a copied pixel; bytes of one */
	struct dfg_columns copied;  /* of a row of pixels */
	int64_t positions, chains;  /* of all images */
	int64_t together, levels;   /* chains of a subtree, a power of two; sums that it holds at once */
	int64_t elements;           /* of d_filter */
};

/* A block of rows and columns. */
struct block {
	int64_t group, depth, tap[2], taps[2], channel, channels; /* tap: height, width */
	int64_t column, columns;
	int64_t rows;
	int64_t a_at[ROWS], c_at[ROWS];
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* `count` in the fewest equal parts of at most `most`; returns the size of one. */
static int64_t part(int64_t count, int64_t most)
{
	return dfg_ceil_div(count, dfg_ceil_div(count, most));
}

/* Elements of a copied pixel: an odd number of cache lines, so that the pixels of a run do not share sets. */
static int64_t pitch_of(int64_t channels)
{
	return channels < 16 ? channels : (channels / 16 + (channels % 16 != 0)) / 2 * 32 + 16;
}

/* The columns of `positions` positions under a block's taps. */
static struct dfg_conv_walk_axis columns_axis(
	const struct work *work, int64_t from, int64_t positions, int64_t tap, int64_t taps)
{
	const struct dfg_axis *axis = &work->c->window.axis[2];
	return (struct dfg_conv_walk_axis){.in = axis->in,
		.positions = positions,
		.first = from * axis->stride - axis->before + tap * axis->dilation,
		.step = axis->stride,
		.taps = taps,
		.dilation = axis->dilation};
}

/* Elements of a row of pixels as it is copied, for runs of at most `run` positions. */
static int64_t set_row(struct work *work, int64_t run)
{
	const struct dfg_conv_walk_axis axis =
		columns_axis(work, 0, smaller(run, work->c->window.axis[2].out), 0, work->taps[1]);
	work->copied = dfg_columns_of(&axis);
	return work->copied.count * work->pitch;
}

/* Rows of pixels of a run: all but the first and last are whole. */
static int64_t rows_of_run(const struct work *work, int64_t run)
{
	return run / work->c->window.axis[2].out + 2;
}

/* Sets the sizes of blocks, which have at most this many rows and columns. */
static void cut_rows(struct work *work, int64_t rows, int64_t columns)
{
	const int64_t few = smaller(rows, FEW_ROWS);
	const struct dfg_convolution *c = work->c;
	const struct dfg_axis *axis = c->window.axis;
	work->taps[1] = part(axis[2].size, rows);
	work->channels = part(c->group_in, rows / work->taps[1]);
	work->taps[0] = 1;
	if (work->taps[1] == axis[2].size && work->channels == c->group_in && few / (work->taps[1] * work->channels) > 1)
		work->taps[0] = part(axis[1].size, few / (work->taps[1] * work->channels));
	work->across[0] = dfg_ceil_div(c->group_in, work->channels);
	work->across[1] = dfg_ceil_div(axis[2].size, work->taps[1]);
	work->across[2] = dfg_ceil_div(axis[1].size, work->taps[0]);
	work->columns = part(c->group_out, columns);
	work->columns = dfg_ceil_div(work->columns, STRIP) * STRIP;
	work->across[3] = dfg_ceil_div(c->group_out, work->columns);
	work->pitch = pitch_of(work->channels);
	work->run = RUN;
	while (work->run > 1 &&
		   rows_of_run(work, work->run) * work->taps[0] * set_row(work, work->run) * work->size > RUN_BYTES)
		work->run /= 2;
	set_row(work, work->run);
}

static void cut_chains(struct work *work)
{
	work->chains = dfg_ceil_div(work->positions, DFG_PRODUCT_CHAIN);
	work->together = work->levels = 1;
	while (work->together < work->chains &&
		   (double)dfg_ceil_div(work->chains, work->together) * (double)(work->levels * work->elements * work->size) >
			   SUMS_BYTES) {
		work->together *= 2;
		work->levels++;
	}
}

static int64_t blocks_of(const struct work *work)
{
	return work->c->groups * work->c->window.axis[0].size * work->across[0] * work->across[1] * work->across[2] *
		   work->across[3];
}

static int64_t subtrees_of(const struct work *work)
{
	return dfg_ceil_div(work->chains, work->together);
}

/* Cuts the product into blocks: small ones where there would be few tasks. Returns the multiplications of a task. */
static int64_t cut(struct work *work)
{
	const double all = (double)work->elements * (double)work->positions;
	const int64_t task = dfg_grain_of_products(all, TASK);
	int64_t rows = ROWS, columns = COLUMNS;
	for (;;) {
		cut_rows(work, rows, columns);
		cut_chains(work);
		const int64_t tasks = blocks_of(work) * subtrees_of(work),
					  height = work->taps[0] * work->taps[1] * work->channels;
		if (tasks >= TASKS || all < 2 * (double)task * (double)tasks)
			return task;
		if (height >= work->columns && height >= 2 * ROWS_LEAST)
			rows = (height + 1) / 2;
		else if (work->columns >= 2 * COLUMNS_LEAST)
			columns = work->columns / (2 * STRIP) * STRIP;
		else
			return task;
	}
}

static struct block block_of(const struct work *work, int64_t number)
{
	const struct dfg_convolution *c = work->c;
	const struct dfg_axis *axis = c->window.axis;
	const int64_t outputs = c->groups * c->group_out;
	int64_t at[4];
	for (int i = 3; i >= 0; i--) {
		at[i] = number % work->across[i];
		number /= work->across[i];
	}
	struct block b = {.depth = number % axis[0].size,
		.group = number / axis[0].size,
		.channel = at[0] * work->channels,
		.tap = {at[2] * work->taps[0], at[1] * work->taps[1]},
		.column = at[3] * work->columns};
	b.channels = smaller(work->channels, c->group_in - b.channel);
	b.taps[0] = smaller(work->taps[0], axis[1].size - b.tap[0]);
	b.taps[1] = smaller(work->taps[1], axis[2].size - b.tap[1]);
	b.columns = smaller(work->columns, c->group_out - b.column);
	for (int64_t h = 0; h < b.taps[0]; h++)
		for (int64_t w = 0; w < b.taps[1]; w++) {
			int64_t tap = (b.depth * axis[1].size + b.tap[0] + h) * axis[2].size + b.tap[1] + w;
			for (int64_t i = 0; i < b.channels; i++, b.rows++) {
				b.a_at[b.rows] = (h * work->copied.count + w * work->copied.tap) * work->pitch + i;
				b.c_at[b.rows] = (tap * c->group_in + b.channel + i) * outputs + b.group * c->group_out + b.column;
			}
		}
	return b;
}

/* Positions of one row of positions: columns [width, width + count) of it. */
struct piece {
	int64_t image, depth, height, width, count;
};

static struct piece piece_at(const struct work *work, int64_t position, int64_t most)
{
	const struct dfg_axis *axis = work->c->window.axis;
	struct piece piece = {.width = position % axis[2].out};
	piece.count = smaller(most, axis[2].out - piece.width);
	position /= axis[2].out;
	piece.height = position % axis[1].out;
	piece.depth = position / axis[1].out % axis[0].out;
	piece.image = position / axis[1].out / axis[0].out;
	return piece;
}

/* Copies the pixels under a block's taps at a piece of positions; false if none is in the image. */
static bool copy_piece(const struct work *work, const struct block *b, const struct piece *piece, char *to)
{
	const struct dfg_convolution *c = work->c;
	const struct dfg_axis *axis = c->window.axis;
	const int64_t channels = c->groups * c->group_in, row_bytes = work->copied.count * work->pitch * work->size;
	const struct dfg_conv_walk_axis columns = columns_axis(work, piece->width, piece->count, b->tap[1], b->taps[1]);
	const struct dfg_columns_bytes bytes = {
		(size_t)(b->channels * work->size), channels * work->size, work->pitch * work->size};
	const int64_t depth = piece->depth * axis[0].stride - axis[0].before + b->depth * axis[0].dilation;
	bool there = false;
	for (int64_t h = 0; h < b->taps[0]; h++, to += row_bytes) {
		int64_t height = piece->height * axis[1].stride - axis[1].before + (b->tap[0] + h) * axis[1].dilation;
		if (depth < 0 || depth >= axis[0].in || height < 0 || height >= axis[1].in) {
			memset(to, 0, (size_t)row_bytes);
			continue;
		}
		int64_t row = ((piece->image * axis[0].in + depth) * axis[1].in + height) * axis[2].in * channels;
		dfg_columns_copy(
			&work->copied, &columns, &bytes, work->in + (row + b->group * c->group_in + b->channel) * work->size, to);
		there = true;
	}
	return there;
}

/* Adds the products of positions [first, last), at most work->run. */
static void add_run(const struct work *work, const struct block *b, int64_t first, int64_t last, bool add, char *to)
{
	const struct dfg_convolution *c = work->c;
	const int64_t outputs = c->groups * c->group_out, strip = dfg_product_strip(c->dtype);
	_Alignas(64) char copy[RUN_BYTES], packed[TOGETHER * STRIP * RUN * sizeof(float)];
	struct dfg_tap taps[RUN + 2];
	struct dfg_gathered g = {
		.m = b->rows,
		.k = last - first,
		.a_at = b->a_at,
		.c_at = b->c_at,
		.tap = taps,
		.a_column = work->copied.position * work->pitch,
		.add = add,
	};
	const int64_t row = b->taps[0] * work->copied.count * work->pitch;
	int64_t at = 0;
	for (int64_t position = first, count; position < last; position += count, at += row) {
		const struct piece piece = piece_at(work, position, last - position);
		count = piece.count;
		if (copy_piece(work, b, &piece, copy + at * work->size))
			taps[g.taps++] = (struct dfg_tap){at, position - first, count};
	}
	const char *d_out = work->d_out + (first * outputs + b->group * c->group_out + b->column) * work->size;
	for (int64_t j = 0; j < b->columns; j += TOGETHER * strip) {
		const struct dfg_product p = {.n = b->columns - j, .k = g.k, .b_row = outputs, .b_column = 1};
		g.n = smaller(TOGETHER * strip, p.n);
		dfg_product_pack(&p, c->dtype, d_out + j * work->size, 0, dfg_ceil_div(g.n, strip), packed);
		dfg_product_gathered(&g, c->dtype, copy, packed, to + j * work->size);
	}
}

static void add_chain(const struct work *work, const struct block *b, int64_t chain, char *sum)
{
	const int64_t first = chain * DFG_PRODUCT_CHAIN, last = smaller(first + DFG_PRODUCT_CHAIN, work->positions);
	const int64_t width = work->c->window.axis[2].out, whole = work->run / width * width;
	for (int64_t position = first, end; position < last; position = end) {
		int64_t most = width > work->run ? width - position % width : whole - position % width;
		end = smaller(last, position + smaller(most > 0 ? most : whole, work->run));
		add_run(work, b, position, end, position > first, sum);
	}
}

static char *sum_of(const struct work *work, int64_t subtree, int64_t level)
{
	int64_t number = subtree * work->levels + level;
	return number ? work->sums + (number - 1) * work->elements * work->size : work->d_filter;
}

#define ADD(NAME, name, type, ...)                                                                           \
	DFG_CLONED(void, add_##name, (const struct block *b, const type *from, type *to), (b, from, to))         \
	{                                                                                                        \
		for (int64_t i = 0; i < b->rows; i++)                                                                \
			DFG_INDEPENDENT for (int64_t j = b->c_at[i]; j < b->c_at[i] + b->columns; j++) to[j] += from[j]; \
	}
DFG_EACH_float(ADD)

static void add_block(const struct work *work, const struct block *b, const char *from, char *to)
{
	if (work->c->dtype == DFG_F32)
		add_f32(b, (const float *)from, (float *)to);
	else
		add_f64(b, (const double *)from, (double *)to);
}

/* The tree over chains [first, last), into the sum of a level. */
static void add_chains(
	const struct work *work, const struct block *b, int64_t subtree, int level, int64_t first, int64_t last)
{
	char *sum = sum_of(work, subtree, level);
	if (last - first == 1) {
		add_chain(work, b, first, sum);
		return;
	}
	int64_t half = 1;
	while (2 * half < last - first)
		half *= 2;
	add_chains(work, b, subtree, level, first, first + half);
	add_chains(work, b, subtree, level + 1, first + half, last);
	add_block(work, b, sum_of(work, subtree, level + 1), sum);
}

static void compute(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const int64_t subtrees = subtrees_of(work);
	for (int64_t i = first; i < last; i++) {
		const struct block b = block_of(work, i / subtrees);
		const int64_t subtree = i % subtrees, begin = subtree * work->together;
		add_chains(work, &b, subtree, 0, begin, smaller(begin + work->together, work->chains));
	}
}

/* The rest of the tree, over the sums of the subtrees. */
static void add_subtrees(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct block all = {.columns = last - first, .rows = 1, .c_at = {first}};
	const int64_t subtrees = subtrees_of(work);
	for (int64_t step = 1; step < subtrees; step *= 2)
		for (int64_t i = 0; i + step < subtrees; i += 2 * step)
			add_block(work, &all, sum_of(work, i + step, 0), sum_of(work, i, 0));
}

struct dfg_err *dfg_convolve_filter(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in,
	const void *d_out, void *d_filter)
{
	const struct dfg_convolution *c = convolution;
	struct work work = {
		.c = c, .in = in, .d_out = d_out, .d_filter = d_filter, .size = (int64_t)dfg_dtype_size(c->dtype)};
	const int64_t rows = dfg_window_size(&c->window) * c->group_in;
	dfg_work += dfg_convolution_operations(convolution);
	work.elements = rows * c->groups * c->group_out;
	work.positions = c->window.batch * dfg_window_positions(&c->window);
	if (!work.positions) {
		memset(d_filter, 0, (size_t)(work.elements * work.size));
		return NULL;
	}
	const int64_t task = cut(&work);
	const int64_t subtrees = subtrees_of(&work), sums = subtrees * work.levels - 1;
	if (sums)
		DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(sums * work.elements * work.size), (void **)&work.sums));
	const int64_t tasks = blocks_of(&work) * subtrees;
	const double each = (double)work.elements * (double)work.positions / (double)tasks;
	dfg_kernel_ranges(
		ctx, tasks, each < (double)task / 2 ? (int64_t)((double)task / 2 / (each + 1)) + 1 : 1, compute, &work);
	if (subtrees > 1)
		dfg_kernel_ranges(ctx, work.elements, 16 * 1024, add_subtrees, &work);
	return NULL;
}
