/*
 * All reductions: shapes, axes, blocks and the tree of sums. The functions that combine elements are in reductions.c.
 */
#include "kernels/reduce.h"

#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

enum {
	STACK = 16, /* rows that are combined one after another, before the tree */
	TILE = 64,  /* accumulators side by side */
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

/* Axes that are all reduced, or all retained. Adjacent ones are merged. */
struct axes {
	int rank;
	int64_t dim[DFG_RANK_MAX], step[DFG_RANK_MAX], count;
};

static void axes_add(struct axes *axes, int64_t dim, int64_t step)
{
	int last = axes->rank - 1;
	axes->count *= dim;
	if (dim == 1)
		return;
	if (last >= 0 && axes->step[last] == dim * step) {
		axes->dim[last] *= dim;
		axes->step[last] = step;
	} else {
		axes->dim[axes->rank] = dim;
		axes->step[axes->rank++] = step;
	}
}

/* The offset, in elements, of position i of all positions along the axes. */
static int64_t axes_at(const struct axes *axes, int64_t i)
{
	int64_t at = 0;
	if (axes->rank == 1)
		return i * axes->step[0];
	for (int d = axes->rank - 1; d >= 0; d--) {
		at += i % axes->dim[d] * axes->step[d];
		i /= axes->dim[d];
	}
	return at;
}

/* Removes the innermost axis if its elements are adjacent, and returns its length; else 1. */
static int64_t axes_take_run(struct axes *axes)
{
	int last = axes->rank - 1;
	if (last < 0 || axes->step[last] != 1)
		return 1;
	axes->rank--;
	axes->count = axes->dim[last] ? axes->count / axes->dim[last] : 0;
	return axes->dim[last];
}

/*
 * A reduction in one of two forms: a run of adjacent elements is combined in one accumulator (run > 1, width 1), or
 * `width` adjacent elements are combined in as many accumulators (run 1). `gone` are the other axes that are reduced,
 * `kept` those that are retained.
 */
struct job {
	const struct dfg_reducer *reducer;
	const char *in;
	char *out;
	struct axes gone, kept;
	int64_t run, width;
	int64_t tiles; /* in a width */
	char *partial; /* accumulators of each block; NULL if there is one block */
	/*
	 * Number and length of blocks of gone.count, or of run if gone.count is 1; a function of the shape that an output
	 * reads.
	 */
	int64_t blocks, block;
};

/* Combines positions [first, last) of the reduced axes in n accumulators, those of the elements at `in`. */
static void reduce_positions(const struct job *job, int64_t n, const char *in, int64_t first, int64_t last, void *acc)
{
	const struct dfg_reducer *r = job->reducer;
	if (job->run > 1 && last - first == 1) {
		dfg_reduce_row(r, job->run, in + axes_at(&job->gone, first) * (int64_t)r->in_size, acc);
		return;
	}
	if (job->run == 1 && last - first <= STACK) {
		r->start(n, acc);
		for (int64_t i = first; i < last; i++)
			r->add(n, in + axes_at(&job->gone, i) * (int64_t)r->in_size, acc);
		return;
	}
	alignas(ACC_MAX) char right[TILE * ACC_MAX];
	int64_t middle =
		first + (last - first > job->block ? dfg_reduce_left(last - first, job->block) : (last - first + 1) / 2);
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
	int64_t left = job->width - column;
	return (struct tile){position * job->width + column, left < TILE ? left : TILE,
		job->in + (axes_at(&job->kept, position) + column) * (int64_t)job->reducer->in_size};
}

/* Reduces the output tiles [first, last) completely. */
static void reduce_tiles(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	const struct dfg_reducer *r = job->reducer;
	alignas(ACC_MAX) char acc[TILE * ACC_MAX];
	for (int64_t i = first; i < last; i++) {
		struct tile tile = tile_of(job, i);
		if (job->gone.count && job->run)
			reduce_positions(job, tile.n, tile.in, 0, job->gone.count, acc);
		else
			r->start(tile.n, acc);
		r->finish(tile.n, job->gone.count * job->run, acc, job->out + tile.first * (int64_t)r->out_size);
	}
}

/* Reduces blocks [first, last) of few but long reductions: each is a block of a tile's positions, or of its run. */
static void reduce_blocks(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	const struct dfg_reducer *r = job->reducer;
	for (int64_t i = first; i < last; i++) {
		struct tile tile = tile_of(job, i / job->blocks);
		int64_t begin = i % job->blocks * job->block;
		char *acc = job->partial + i * TILE * ACC_MAX;
		if (job->gone.count == 1) {
			int64_t n = job->run - begin < job->block ? job->run - begin : job->block;
			dfg_reduce_row(r, n, tile.in + begin * (int64_t)r->in_size, acc);
		} else {
			int64_t end = begin + job->block < job->gone.count ? begin + job->block : job->gone.count;
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
	int64_t length = job->gone.count == 1 ? job->run : job->gone.count;
	job->blocks = (length + job->block - 1) / job->block;
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(tiles * job->blocks) * TILE * ACC_MAX, &memory));
	job->partial = memory;
	dfg_kernel_ranges(ctx, tiles * job->blocks, 1, reduce_blocks, job);
	for (int64_t i = 0; i < tiles; i++) {
		struct tile tile = tile_of(job, i);
		char *partial = job->partial + i * job->blocks * TILE * ACC_MAX;
		merge_blocks(job, tile.n, partial, 0, job->blocks);
		r->finish(tile.n, job->gone.count * job->run, partial, job->out + tile.first * (int64_t)r->out_size);
	}
	return NULL;
}

static struct dfg_err *reduce_job(struct dfg_kernel *ctx, struct job *job)
{
	job->run = axes_take_run(&job->gone);
	job->width = job->run > 1 ? 1 : axes_take_run(&job->kept);
	job->tiles = (job->width + TILE - 1) / TILE;
	int64_t tiles = job->kept.count * job->tiles;
	int64_t per_position = job->run > 1 ? job->run : job->width < TILE ? job->width : TILE;
	int64_t per_tile = job->gone.count * per_position;
	job->block = job->gone.count == 1 || !per_position ? BLOCK : BLOCK / per_position + 1;
	if (per_tile >= 2 * BLOCK && tiles <= 16)
		return reduce_long(ctx, job, tiles);
	if (tiles)
		dfg_kernel_ranges(ctx, tiles, per_tile < BLOCK ? BLOCK / (per_tile + 1) + 1 : 1, reduce_tiles, job);
	return NULL;
}

struct dfg_err *dfg_reduce_run(struct dfg_kernel *ctx, const struct dfg_reducer *reducer)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *axes = dfg_kernel_input(ctx, 1);
	struct job job = {.reducer = reducer, .in = in->data, .gone.count = 1, .kept.count = 1};
	bool gone[DFG_RANK_MAX] = {0};
	int64_t step[DFG_RANK_MAX];
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&axes->shape); i < n; i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), in->shape.rank, &axis));
		gone[axis] = true;
	}
	dfg_steps(&in->shape, step);
	for (int d = 0; d < in->shape.rank; d++)
		axes_add(gone[d] ? &job.gone : &job.kept, in->shape.dim[d], step[d]);
	job.out = out->data;
	return reduce_job(ctx, &job);
}

struct dfg_err *dfg_reduce_all(struct dfg_kernel *ctx, const struct dfg_reducer *reducer)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct job job = {.reducer = reducer, .in = in->data, .gone.count = 1, .kept.count = 1};
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	axes_add(&job.gone, dfg_shape_count(&in->shape), 1);
	job.out = out->data;
	return reduce_job(ctx, &job);
}
