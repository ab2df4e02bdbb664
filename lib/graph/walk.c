#include "lib/graph/walk.h"

#include <string.h>

enum { RUN = 64 }; /* elements; a shorter run is gathered with others into a tile */

/* Sets the steps of an operand through the output's dims before they are merged. */
static void measure(struct dfg_operand *operand, const struct dfg_shape *own, const struct dfg_shape *shape)
{
	int64_t step = 1;
	for (int d = 1; d <= shape->rank; d++) {
		int64_t dim = d <= own->rank ? own->dim[own->rank - d] : 1;
		operand->step[shape->rank - d] = dim == 1 ? 0 : step;
		step *= dim;
	}
}

/* Whether dim d, the next outer one of e, and e can be walked as one. */
static bool merges(const struct dfg_walk *walk, int d, int e, int64_t inner)
{
	for (int i = 0; i < walk->n_in; i++)
		if (walk->in[i].step[d] != walk->in[i].step[e] * inner)
			return false;
	return true;
}

/* Merges the dims, the innermost first. The steps of a merged dim are those of its innermost part. */
static void merge(struct dfg_walk *walk, const struct dfg_shape *shape)
{
	int at = DFG_RANK_MAX; /* the merged dims are stored at the end, then moved */
	for (int d = shape->rank - 1; d >= 0; d--) {
		if (shape->dim[d] == 1)
			continue;
		if (at < DFG_RANK_MAX && merges(walk, d, at, walk->dim[at])) {
			walk->dim[at] *= shape->dim[d];
			continue;
		}
		at--;
		walk->dim[at] = shape->dim[d];
		for (int i = 0; i < walk->n_in; i++)
			walk->in[i].step[at] = walk->in[i].step[d];
	}
	walk->rank = DFG_RANK_MAX - at;
	memmove(walk->dim, walk->dim + at, (size_t)walk->rank * sizeof *walk->dim);
	for (int i = 0; i < walk->n_in; i++)
		memmove(walk->in[i].step, walk->in[i].step + at, (size_t)walk->rank * sizeof *walk->in[i].step);
}

static void classify(const struct dfg_walk *walk, struct dfg_operand *operand)
{
	int64_t step = 1;
	operand->whole = operand->constant = true;
	for (int d = walk->rank - 1; d >= 0; step *= walk->dim[d--]) {
		operand->whole &= operand->step[d] == step;
		operand->constant &= operand->step[d] == 0;
	}
}

void dfg_walk_make(struct dfg_walk *walk, const struct dfg_shape *shape, const struct dfg_shape *const *in,
	const enum dfg_dtype *dtype)
{
	for (int i = 0; i < walk->n_in; i++) {
		walk->in[i].size = dfg_dtype_size(dtype[i]);
		measure(&walk->in[i], in[i], shape);
	}
	merge(walk, shape);
	for (int i = 0; i < walk->n_in; i++)
		classify(walk, &walk->in[i]);
}

enum { BLOCK = 64 }; /* bytes */

/* Elements whose size divides that of a block are copied block by block: a copy of constant size is a few vector stores. */
static size_t repeat_blocks(char *out, size_t bytes, const char *element, size_t size)
{
	char block[BLOCK];
	size_t done = 0;
	if (bytes < BLOCK || BLOCK % size)
		return 0;
	for (size_t at = 0; at < BLOCK; at += size)
		memcpy(block + at, element, size);
	for (; done + BLOCK <= bytes; done += BLOCK)
		memcpy(out + done, block, BLOCK);
	return done;
}

void dfg_repeat(void *out, int64_t count, const void *element, size_t size)
{
	if (!count)
		return;
	size_t bytes = (size_t)count * size, done = repeat_blocks(out, bytes, element, size);
	if (!done) {
		memcpy(out, element, size);
		done = size;
	}
	for (; done < bytes; done *= 2)
		memcpy((char *)out + done, out, done < bytes - done ? done : bytes - done);
}

/* The index of the operand's element for output element i. */
static int64_t position(const struct dfg_walk *walk, const struct dfg_operand *operand, int64_t i)
{
	int64_t at = 0;
	for (int d = walk->rank - 1; d >= 0; i /= walk->dim[d--])
		at += i % walk->dim[d] * operand->step[d];
	return at;
}

/*
 * The same for an operand with one element for each run, from the beginning of a run on: an element of
 * each row, say. Returns the number of elements, 0 if the operand is another.
 */
static int64_t repeat_runs(const struct dfg_walk *walk, const struct dfg_operand *operand, const char *data,
	int64_t first, int64_t n, char *to)
{
	int64_t inner = walk->dim[walk->rank - 1], runs = n / inner;
	const char *from = data + (size_t)(first / inner * operand->step[0]) * operand->size;
	if (walk->rank != 2 || operand->step[1] || first % inner)
		return 0;
	for (int64_t r = 0; r < runs; r++, from += (size_t)operand->step[0] * operand->size)
		dfg_repeat(to + (size_t)(r * inner) * operand->size, inner, from, operand->size);
	return runs * inner;
}

/* Gathers the operand's elements for output elements [first, first + n), run by run along the innermost dim. */
static const void *gather(const struct dfg_walk *walk, const struct dfg_operand *operand, const char *data,
	int64_t first, int64_t n, char *tile)
{
	int inner = walk->rank - 1;
	int64_t done = repeat_runs(walk, operand, data, first, n, tile);
	char *to = tile + (size_t)done * operand->size;
	for (int64_t i = first + done, run; i < first + n; i += run, to += (size_t)run * operand->size) {
		const char *from = data + (size_t)position(walk, operand, i) * operand->size;
		run = walk->dim[inner] - i % walk->dim[inner];
		if (run > first + n - i)
			run = first + n - i;
		if (operand->step[inner])
			memcpy(to, from, (size_t)run * operand->size);
		else
			dfg_repeat(to, run, from, operand->size);
	}
	return tile;
}

/* Whether all operands are either whole or have one element for each run, so that a tile of several runs is cheap. */
static bool repeats_runs(const struct dfg_walk *walk)
{
	for (int i = 0; i < walk->n_in; i++)
		if (!walk->in[i].whole && !walk->in[i].constant && walk->in[i].step[1])
			return false;
	return walk->rank == 2;
}

int64_t dfg_walk_stretch(const struct dfg_walk *walk, int64_t first, int64_t last, int64_t most)
{
	int64_t n = last - first < most ? last - first : most, width = walk->rank ? walk->dim[walk->rank - 1] : 0;
	if (walk->rank > 1 && width >= RUN && 2 * width <= most && repeats_runs(walk))
		return n < most ? n : most / width * width;
	if (walk->rank > 1 && width >= RUN) {
		int64_t inner = walk->dim[walk->rank - 1], run = inner - first % inner;
		return run < n ? run : n;
	}
	return n;
}

const void *dfg_walk_lend(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t n, void *tile)
{
	const struct dfg_operand *operand = &walk->in[i];
	if (operand->whole)
		return (const char *)data + (size_t)first * operand->size;
	if (operand->constant)
		return tile;
	int64_t inner = walk->dim[walk->rank - 1];
	if (operand->step[walk->rank - 1] && first % inner + n <= inner)
		return (const char *)data + (size_t)position(walk, operand, first) * operand->size;
	return gather(walk, operand, data, first, n, tile);
}
