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
	walk->plane = 0;
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

static int64_t run_of(const struct dfg_walk *walk)
{
	return walk->rank ? walk->dim[walk->rank - 1] : 0;
}

/* The operand's step from one run of a plane to the next. */
static int64_t run_step(const struct dfg_walk *walk, const struct dfg_operand *operand)
{
	return operand->step[walk->rank - 2];
}

/*
 * Gathers elements of an operand with one element for each run, from the beginning of a run on: an element of
 * each row, say. Returns the number of elements, 0 if the operand is another.
 */
static int64_t repeat_runs(const struct dfg_walk *walk, const struct dfg_operand *operand, const char *data,
	int64_t first, int64_t n, char *to)
{
	int64_t inner = run_of(walk), runs = n / inner;
	if ((walk->rank != 2 && !walk->plane) || operand->step[walk->rank - 1] || first % inner)
		return 0;
	const char *from = data + (size_t)position(walk, operand, first) * operand->size;
	const size_t step = (size_t)run_step(walk, operand) * operand->size;
	for (int64_t r = 0; r < runs; r++, from += step)
		dfg_repeat(to + (size_t)(r * inner) * operand->size, inner, from, operand->size);
	return runs * inner;
}

/* Gathers the operand's elements for output elements [first, first + n), run by run along the innermost dim. */
static const void *gather(const struct dfg_walk *walk, const struct dfg_operand *operand, const char *data,
	int64_t first, int64_t n, char *tile)
{
	const int inner = walk->rank - 1;
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

void dfg_walk_set_tile(struct dfg_walk *walk, int64_t most)
{
	enum { FILLED = 4 }; /* tiles of a plane that are worth what is written once for it */
	walk->tile = most;
	walk->plane = walk->rank > 1 ? run_of(walk) * walk->dim[walk->rank - 2] : 0;
	if (2 * run_of(walk) > most || (walk->rank > 2 && walk->plane < FILLED * most))
		walk->plane = 0;
}

int64_t dfg_walk_filled_end(const struct dfg_walk *walk, int64_t first, int64_t last)
{
	int64_t end = walk->plane ? first - first % walk->plane + walk->plane : last;
	return end < last ? end : last;
}

void dfg_walk_fill(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t last, void *tile)
{
	const struct dfg_operand *operand = &walk->in[i];
	const int64_t run = run_of(walk), n = last - first < walk->tile ? last - first : walk->tile;
	if (operand->whole || (!operand->constant && (!walk->plane || run_step(walk, operand))))
		return;
	if (operand->constant || !operand->step[walk->rank - 1]) {
		const char *element = (const char *)data + (size_t)position(walk, operand, first) * operand->size;
		dfg_repeat(tile, n, element, operand->size);
		return;
	}
	const char *begin = (const char *)data + (size_t)position(walk, operand, first - first % run) * operand->size;
	const int64_t runs = (n + run - 1) / run, most = walk->tile / run;
	dfg_repeat(tile, runs < most ? runs : most, begin, (size_t)run * operand->size);
}

int64_t dfg_walk_stretch(const struct dfg_walk *walk, int64_t first, int64_t last)
{
	int64_t n = last - first < walk->tile ? last - first : walk->tile, run = run_of(walk);
	if (!walk->plane && (walk->rank < 2 || run < RUN))
		return n;
	const int64_t left = run - first % run;
	if (!walk->plane || left < run)
		return left < n ? left : n;
	return n < run ? n : n / run * run;
}

/* Whether neighbouring elements of a plane's runs are neighbours in the operand too. */
static bool is_whole_in_plane(const struct dfg_walk *walk, const struct dfg_operand *operand)
{
	return operand->step[walk->rank - 1] == 1 && run_step(walk, operand) == run_of(walk);
}

const void *dfg_walk_lend(const struct dfg_walk *walk, int i, const void *data, int64_t first, int64_t n, void *tile)
{
	const struct dfg_operand *operand = &walk->in[i];
	if (operand->whole)
		return (const char *)data + (size_t)first * operand->size;
	if (operand->constant)
		return tile;
	const int64_t run = run_of(walk), step = operand->step[walk->rank - 1];
	if ((step && first % run + n <= run) || (walk->plane && is_whole_in_plane(walk, operand)))
		return (const char *)data + (size_t)position(walk, operand, first) * operand->size;
	if (walk->plane && !run_step(walk, operand))
		return tile; /* filled */
	return gather(walk, operand, data, first, n, tile);
}
