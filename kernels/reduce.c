/*
 * All reductions: shapes, axes, blocks and the tree of sums. The functions that combine elements are in reductions.c.
 */
#include "kernels/reduce.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

enum {
	STACK = DFG_REDUCE_STACK,
	TILE = DFG_REDUCE_TILE, /* accumulators side by side */
	ACC_MAX = DFG_ACCUMULATOR_MAX,
	BLOCK = DFG_REDUCE_BLOCK,
};

static struct dfg_err *mark_axes(const struct dfg_infer *node, int rank, bool *out_gone, bool *out_all_known)
{
	int64_t n = dfg_length_of(node, 1);
	*out_all_known = n >= 0;
	if (n > DFG_RANK_MAX) /* axes must differ */
		return DFG_ERR(
			DFG_DATA, "%" PRId64 " axes are given, expected at most the %d dimensions of the input", n, rank);
	for (int d = 0; d < rank; d++)
		out_gone[d] = false;
	for (int64_t i = 0; i < n; i++) {
		int64_t given = dfg_int_of(node, 1, i);
		int axis;
		if (given == DFG_NOT_KNOWN) {
			*out_all_known = false;
			continue;
		}
		DFG_TRY(dfg_axis(given, rank, &axis));
		if (out_gone[axis])
			return DFG_ERR(DFG_DATA, "axis %d is given twice", axis);
		out_gone[axis] = true;
	}
	return NULL;
}

struct dfg_err *dfg_reduce_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	bool gone[DFG_RANK_MAX], known, keep = node->call->attr[0].b;
	DFG_TRY(mark_axes(node, in->rank, gone, &known));
	if (!known && !keep)
		return NULL;
	node->out[0].rank = 0;
	for (int d = 0; d < in->rank; d++)
		if (!known || keep || !gone[d])
			node->out[0].dim[node->out[0].rank++] = !known ? DFG_UNKNOWN : gone[d] ? 1 : in->dim[d];
	return NULL;
}

/* A reduction that runs. */
struct job {
	const struct dfg_reducer *reducer;
	const char *in;
	char *out;
	struct dfg_reduce_order of;
	int64_t tiles;  /* in a width */
	char *partial;  /* accumulators of each block; NULL if there is one block */
	int64_t blocks; /* of of.gone.count, or of of.run if there is one position */
};

/* Combines positions [first, last) of the reduced axes in n accumulators, those of the elements at `in`. */
static void reduce_positions(const struct job *job, int64_t n, const char *in, int64_t first, int64_t last, void *acc)
{
	const struct dfg_reducer *r = job->reducer;
	if (job->of.run > 1 && last - first == 1) {
		dfg_reduce_row(r, job->of.run, in + dfg_axes_at(&job->of.gone, first) * (int64_t)r->in_size, acc);
		return;
	}
	if (job->of.run == 1 && last - first <= STACK) {
		r->start(n, acc);
		for (int64_t i = first; i < last; i++)
			r->add(n, in + dfg_axes_at(&job->of.gone, i) * (int64_t)r->in_size, acc);
		return;
	}
	alignas(ACC_MAX) char right[TILE * ACC_MAX];
	int64_t middle =
		first + (last - first > job->of.block ? dfg_reduce_left(last - first, job->of.block) : (last - first + 1) / 2);
	reduce_positions(job, n, in, first, middle, acc);
	reduce_positions(job, n, in, middle, last, right);
	r->merge(n, right, acc);
}

/* A tile of the outputs: its first output, their number, and the elements of the first. */
struct tile {
	int64_t first, n;
	const char *in;
};

static struct tile tile_of(const struct job *job, int64_t i)
{
	int64_t column = i % job->tiles * TILE, position = i / job->tiles;
	int64_t left = job->of.width - column;
	return (struct tile){position * job->of.width + column, left < TILE ? left : TILE,
		job->in + (dfg_axes_at(&job->of.kept, position) + column) * (int64_t)job->reducer->in_size};
}

/* Reduces the output tiles [first, last) completely. */
static void reduce_tiles(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	const struct dfg_reducer *r = job->reducer;
	alignas(ACC_MAX) char acc[TILE * ACC_MAX];
	for (int64_t i = first; i < last; i++) {
		struct tile tile = tile_of(job, i);
		if (job->of.gone.count && job->of.run)
			reduce_positions(job, tile.n, tile.in, 0, job->of.gone.count, acc);
		else
			r->start(tile.n, acc);
		r->finish(tile.n, job->of.gone.count * job->of.run, acc, job->out + tile.first * (int64_t)r->out_size);
	}
}

/* Reduces blocks [first, last) of few but long reductions: each is a block of a tile's positions, or of its run. */
static void reduce_blocks(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	const struct dfg_reducer *r = job->reducer;
	for (int64_t i = first; i < last; i++) {
		struct tile tile = tile_of(job, i / job->blocks);
		int64_t begin = i % job->blocks * job->of.block;
		char *acc = job->partial + i * TILE * ACC_MAX;
		if (job->of.gone.count == 1) {
			int64_t n = job->of.run - begin < job->of.block ? job->of.run - begin : job->of.block;
			dfg_reduce_row(r, n, tile.in + begin * (int64_t)r->in_size, acc);
		} else {
			int64_t end = begin + job->of.block < job->of.gone.count ? begin + job->of.block : job->of.gone.count;
			reduce_positions(job, tile.n, tile.in, begin, end, acc);
		}
	}
}

/* Merges the accumulators of blocks [first, last) of a tile into the first. */
static void merge_blocks(const struct job *job, int64_t n, char *partial, int64_t first, int64_t last)
{
	if (last - first < 2)
		return;
	int64_t middle = first + (last - first + 1) / 2;
	merge_blocks(job, n, partial, first, middle);
	merge_blocks(job, n, partial, middle, last);
	job->reducer->merge(n, partial + middle * TILE * ACC_MAX, partial + first * TILE * ACC_MAX);
}

/*
 * For few outputs of many elements each: reduces blocks on all threads, then merges them in the same tree as
 * dfg_reduce_row() and reduce_positions(), so the bits do not depend on the number of outputs.
 */
static struct dfg_err *reduce_long(struct dfg_kernel *ctx, struct job *job, int64_t tiles)
{
	const struct dfg_reducer *r = job->reducer;
	int64_t length = job->of.gone.count == 1 ? job->of.run : job->of.gone.count;
	job->blocks = (length + job->of.block - 1) / job->of.block;
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(tiles * job->blocks) * TILE * ACC_MAX, &memory));
	job->partial = memory;
	dfg_kernel_ranges(ctx, tiles * job->blocks, 1, reduce_blocks, job);
	for (int64_t i = 0; i < tiles; i++) {
		struct tile tile = tile_of(job, i);
		char *partial = job->partial + i * job->blocks * TILE * ACC_MAX;
		merge_blocks(job, tile.n, partial, 0, job->blocks);
		r->finish(tile.n, job->of.gone.count * job->of.run, partial, job->out + tile.first * (int64_t)r->out_size);
	}
	return NULL;
}

static struct dfg_err *reduce_job(struct dfg_kernel *ctx, struct job *job)
{
	const struct dfg_reduce_order *of = &job->of;
	job->tiles = (of->width + TILE - 1) / TILE;
	int64_t tiles = of->kept.count * job->tiles;
	int64_t per_tile = of->gone.count * (of->run > 1 ? of->run : of->width < TILE ? of->width : TILE);
	if (per_tile >= 2 * BLOCK && tiles <= 16)
		return reduce_long(ctx, job, tiles);
	if (tiles)
		dfg_kernel_ranges(ctx, tiles, per_tile < BLOCK ? BLOCK / (per_tile + 1) + 1 : 1, reduce_tiles, job);
	return NULL;
}

struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *axes = dfg_kernel_input(ctx, 1);
	struct job job = {.reducer = reducer, .in = in->data};
	bool gone[DFG_RANK_MAX] = {0};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&axes->shape); i < n; i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), in->shape.rank, &axis));
		gone[axis] = true;
	}
	job.of = dfg_reduce_order_of(&in->shape, gone);
	job.out = out->data;
	return reduce_job(ctx, &job);
}

struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct job job = {.reducer = reducer, .in = in->data};
	bool gone[DFG_RANK_MAX];
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	for (int d = 0; d < DFG_RANK_MAX; d++)
		gone[d] = true;
	job.of = dfg_reduce_order_of(&in->shape, gone);
	job.out = out->data;
	return reduce_job(ctx, &job);
}
