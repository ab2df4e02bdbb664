/* The engine of all reductions: shapes, axes, blocks and the tree. What is combined, and how, is in reductions.c. */
#include "kernels/reduce.h"

#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

enum {
	ROW = 1024,      /* elements of a run that are combined in lanes, before the tree */
	STACK = 16,      /* rows that are combined one after another, before the tree */
	TILE = 64,       /* accumulators side by side */
	ACC_MAX = 16,    /* bytes of an accumulator */
	BLOCK = 1 << 15, /* elements that one thread takes of a large reduction; the tree's borders are blocks' borders */
};

static struct dfg_err *mark_axes(const struct dfg_infer *node, int rank, bool *out_gone, bool *out_all_known)
{
	int64_t n = dfg_length_of(node, 1);
	*out_all_known = n >= 0;
	if (n > DFG_RANK_MAX) /* none may be given twice */
		return DFG_ERR(DFG_DATA, "%" PRId64 " axes for %d dimensions", n, rank);
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

/* Axes of one kind that lie side by side are one. At most RANK_MAX of each. */
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

/* Where the i-th of all places along the axes lies. */
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

/* Takes the innermost axis off, if its elements lie side by side; its length, or 1. */
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
 * One of two forms. A run of elements that lie side by side goes into one accumulator (run > 1, width 1), or `width`
 * elements side by side go into as many accumulators (run 1). `gone` are the other axes that are reduced, `kept` those
 * that are kept.
 */
struct job {
	const struct dfg_reducer *reducer;
	const char *in;
	char *out;
	struct axes gone, kept;
	int64_t run, width;
	int64_t tiles; /* in a width */
	char *partial; /* accumulators, by block; NULL where a block is all of it */
	int64_t blocks,
		block; /* of gone.count * run, or of run where gone is one; from the shape of what one output reads */
};

/* The left half of n items that are combined as a tree whose leaves are units. */
static int64_t left_half(int64_t n, int64_t unit)
{
	return ((n + unit - 1) / unit + 1) / 2 * unit;
}

/* n elements side by side into one accumulator, in halves down to blocks, then down to ROW. */
static void reduce_run(const struct dfg_reducer *r, int64_t n, const char *in, void *acc)
{
	if (n <= ROW) {
		r->row(n, in, acc);
		return;
	}
	alignas(ACC_MAX) char right[ACC_MAX];
	int64_t half = n > BLOCK ? left_half(n, BLOCK) : (n / ROW + 1) / 2 * ROW;
	reduce_run(r, half, in, acc);
	reduce_run(r, n - half, in + half * (int64_t)r->in_size, right);
	r->merge(1, right, acc);
}

/* Places [first, last) of the reduced axes into n accumulators that stand for elements from `in` on. */
static void reduce_places(const struct job *job, int64_t n, const char *in, int64_t first, int64_t last, void *acc)
{
	const struct dfg_reducer *r = job->reducer;
	if (job->run > 1 && last - first == 1) {
		reduce_run(r, job->run, in + axes_at(&job->gone, first) * (int64_t)r->in_size, acc);
		return;
	}
	if (job->run == 1 && last - first <= STACK) {
		r->start(n, acc);
		for (int64_t i = first; i < last; i++)
			r->add(n, in + axes_at(&job->gone, i) * (int64_t)r->in_size, acc);
		return;
	}
	alignas(ACC_MAX) char right[TILE * ACC_MAX];
	int64_t middle = first + (last - first > job->block ? left_half(last - first, job->block) : (last - first + 1) / 2);
	reduce_places(job, n, in, first, middle, acc);
	reduce_places(job, n, in, middle, last, right);
	r->merge(n, right, acc);
}

/* Tile number i of the outputs: which outputs, and where the elements of the first begin. */
struct tile {
	int64_t first, n;
	const char *in;
};

static struct tile tile_of(const struct job *job, int64_t i)
{
	int64_t column = i % job->tiles * TILE, place = i / job->tiles;
	int64_t left = job->width - column;
	return (struct tile){place * job->width + column, left < TILE ? left : TILE,
		job->in + (axes_at(&job->kept, place) + column) * (int64_t)job->reducer->in_size};
}

/* All that is reduced, of the output tiles [first, last). */
static void reduce_tiles(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	const struct dfg_reducer *r = job->reducer;
	alignas(ACC_MAX) char acc[TILE * ACC_MAX];
	for (int64_t i = first; i < last; i++) {
		struct tile tile = tile_of(job, i);
		if (job->gone.count && job->run)
			reduce_places(job, tile.n, tile.in, 0, job->gone.count, acc);
		else
			r->start(tile.n, acc);
		r->finish(tile.n, job->gone.count * job->run, acc, job->out + tile.first * (int64_t)r->out_size);
	}
}

/* Part number i of few but long reductions: a block of one tile's places, or of its run. */
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
			reduce_run(r, n, tile.in + begin * (int64_t)r->in_size, acc);
		} else {
			int64_t end = begin + job->block < job->gone.count ? begin + job->block : job->gone.count;
			reduce_places(job, tile.n, tile.in, begin, end, acc);
		}
	}
}

/* The blocks' accumulators [first, last) of a tile, into the first of them. */
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
 * Few outputs of many elements each: blocks of them on all threads, then the tree over the blocks, which is that of
 * reduce_run() and reduce_places(): whether outputs are few decides no bits.
 */
static struct dfg_err *reduce_long(struct dfg_kernel *ctx, struct job *job, int64_t tiles)
{
	const struct dfg_reducer *r = job->reducer;
	int64_t length = job->gone.count == 1 ? job->run : job->gone.count;
	job->blocks = (length + job->block - 1) / job->block;
	void *room;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(tiles * job->blocks) * TILE * ACC_MAX, &room));
	job->partial = room;
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
	int64_t per_place = job->run > 1 ? job->run : job->width < TILE ? job->width : TILE;
	int64_t per_tile = job->gone.count * per_place;
	job->block = job->gone.count == 1 || !per_place ? BLOCK : BLOCK / per_place + 1;
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
