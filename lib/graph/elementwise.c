#include "lib/graph/half.h"
#include "lib/graph/kernel.h"

#include <string.h>

/*
 * TILE: elements for which all operands fit in the first-level cache. OPERANDS: the most that a row has. BLOCK:
 * elements that a thread takes at a time. RUN: a run of at least as many elements is passed as it is; shorter ones are
 * gathered into tiles.
 */
enum { TILE = 512, OPERANDS = DFG_ROW_OPERANDS, BLOCK = 32 * 1024, RUN = 64 };

/* An operand, by the dims of the walk over the output. Where it is broadcast its step is 0. */
struct operand {
	const char *data;
	size_t size;
	enum dfg_dtype dtype;
	bool whole, constant;       /* has the layout of the output; is one element */
	int64_t step[DFG_RANK_MAX]; /* by dim of the walk; in elements */
};

/* The dims of the output, with neighbours merged where the steps of all operands allow it; the innermost is last. */
struct walk {
	dfg_row_fn *row;
	const union dfg_value *attr;
	struct operand in[OPERANDS];
	int n_in, rank;
	int64_t dim[DFG_RANK_MAX];
	char *out;
	size_t out_size;
	enum dfg_dtype out_dtype;
};

/* A thread's buffers: for gathered or repeated elements, and for halves as f32. */
struct tiles {
	_Alignas(DFG_ALIGN) char stretched[OPERANDS][TILE * 2 * sizeof(double)];
	_Alignas(DFG_ALIGN) float wide[OPERANDS][TILE];
	_Alignas(DFG_ALIGN) float wide_out[TILE];
};

/* The dtype that selects the row; an op of fixed types has its row at DFG_NO_DTYPE. */
static enum dfg_dtype row_dtype(const struct dfg_resolved_node *call)
{
	enum dfg_dtype dtype = dfg_kernel_dtype(call);
	return dfg_is_half(dtype) ? DFG_F32 : dtype;
}

static struct dfg_err *find_row(const struct dfg_resolved_node *call, dfg_row_fn **out_row)
{
	enum dfg_dtype dtype = row_dtype(call);
	*out_row = call->op->row[dtype];
	if (!*out_row)
		return DFG_ERR(DFG_DATA, "%s does not support %s", call->op->name, dfg_dtype_name(dtype));
	return NULL;
}

/* Sets the steps of an operand through the output's dims before they are merged. */
static void measure(struct operand *operand, const struct dfg_tensor *t, const struct dfg_shape *shape)
{
	int64_t step = 1;
	for (int d = 1; d <= shape->rank; d++) {
		int64_t dim = d <= t->shape.rank ? t->shape.dim[t->shape.rank - d] : 1;
		operand->step[shape->rank - d] = dim == 1 ? 0 : step;
		step *= dim;
	}
	operand->data = t->data;
	operand->dtype = t->dtype;
	operand->size = dfg_dtype_size(t->dtype);
}

/* Whether dim d, the next outer one of e, and e can be walked as one. */
static bool merges(const struct walk *walk, int d, int e, int64_t inner)
{
	for (int i = 0; i < walk->n_in; i++)
		if (walk->in[i].step[d] != walk->in[i].step[e] * inner)
			return false;
	return true;
}

/* Merges the dims, the innermost first. The steps of a merged dim are those of its innermost part. */
static void merge(struct walk *walk, const struct dfg_shape *shape)
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

static void classify(const struct walk *walk, struct operand *operand)
{
	int64_t step = 1;
	operand->whole = operand->constant = true;
	for (int d = walk->rank - 1; d >= 0; step *= walk->dim[d--]) {
		operand->whole &= operand->step[d] == step;
		operand->constant &= operand->step[d] == 0;
	}
}

/* Writes n copies of one element. */
static void repeat(char *to, const char *element, size_t size, int64_t n)
{
	memcpy(to, element, size);
	size_t done = size, all = size * (size_t)n;
	while (done < all) {
		size_t part = done < all - done ? done : all - done;
		memcpy(to + done, to, part);
		done += part;
	}
}

/* The index of the operand's element for output element i. */
static int64_t position(const struct walk *walk, const struct operand *operand, int64_t i)
{
	int64_t at = 0;
	for (int d = walk->rank - 1; d >= 0; i /= walk->dim[d--])
		at += i % walk->dim[d] * operand->step[d];
	return at;
}

/* Gathers the operand's elements for output elements [first, first + n), run by run along the innermost dim. */
static const void *gather(const struct walk *walk, const struct operand *operand, int64_t first, int64_t n, char *tile)
{
	int inner = walk->rank - 1;
	char *to = tile;
	for (int64_t i = first, run; i < first + n; i += run, to += (size_t)run * operand->size) {
		const char *from = operand->data + (size_t)position(walk, operand, i) * operand->size;
		run = walk->dim[inner] - i % walk->dim[inner];
		if (run > first + n - i)
			run = first + n - i;
		if (operand->step[inner])
			memcpy(to, from, (size_t)run * operand->size);
		else
			repeat(to, from, operand->size, run);
	}
	return tile;
}

/*
 * The number of elements from `first` on that are computed at once: a tile or, if runs are long, the remainder of the
 * run.
 */
static int64_t stretch_of(const struct walk *walk, int64_t first, int64_t last)
{
	int64_t n = last - first < TILE ? last - first : TILE;
	if (walk->rank > 1 && walk->dim[walk->rank - 1] >= RUN) {
		int64_t inner = walk->dim[walk->rank - 1], run = inner - first % inner;
		return run < n ? run : n;
	}
	return n;
}

/* The operand's next n elements: in place if they are contiguous, else in the tile. */
static const void *lend(const struct walk *walk, const struct operand *operand, int64_t first, int64_t n, char *tile)
{
	if (operand->whole)
		return operand->data + (size_t)first * operand->size;
	if (operand->constant)
		return tile; /* walk_range() has filled it */
	int64_t inner = walk->dim[walk->rank - 1];
	if (operand->step[walk->rank - 1] && first % inner + n <= inner)
		return operand->data + (size_t)position(walk, operand, first) * operand->size;
	return gather(walk, operand, first, n, tile);
}

static void walk_range(void *arg, int64_t first, int64_t last)
{
	const struct walk *walk = arg;
	struct tiles tiles;
	const void *in[OPERANDS] = {0};
	for (int i = 0; i < walk->n_in; i++)
		if (walk->in[i].constant)
			repeat(tiles.stretched[i], walk->in[i].data, walk->in[i].size, last - first < TILE ? last - first : TILE);
	for (int64_t n; first < last; first += n) {
		n = stretch_of(walk, first, last);
		for (int i = 0; i < walk->n_in; i++) {
			in[i] = lend(walk, &walk->in[i], first, n, tiles.stretched[i]);
			if (dfg_is_half(walk->in[i].dtype)) {
				dfg_convert(DFG_F32, tiles.wide[i], walk->in[i].dtype, in[i], n);
				in[i] = tiles.wide[i];
			}
		}
		char *out = walk->out + (size_t)first * walk->out_size;
		bool half = dfg_is_half(walk->out_dtype);
		walk->row(n, half ? (void *)tiles.wide_out : out, in, walk->attr);
		if (half)
			dfg_convert(walk->out_dtype, out, DFG_F32, tiles.wide_out, n);
	}
}

/* The range function for operands that all have the output's layout. */
static void plain_range(void *arg, int64_t first, int64_t last)
{
	const struct walk *walk = arg;
	const void *in[OPERANDS] = {0};
	for (int i = 0; i < walk->n_in; i++)
		in[i] = walk->in[i].data + (size_t)first * walk->in[i].size;
	walk->row(last - first, walk->out + (size_t)first * walk->out_size, in, walk->attr);
}

static bool all_plain(const struct walk *walk)
{
	for (int i = 0; i < walk->n_in; i++)
		if (!walk->in[i].whole || dfg_is_half(walk->in[i].dtype))
			return false;
	return !dfg_is_half(walk->out_dtype);
}

struct dfg_err *dfg_elementwise_run(struct dfg_kernel *ctx)
{
	const struct dfg_resolved_node *call = ctx->call;
	const struct dfg_shape *shapes[OPERANDS];
	struct dfg_shape shape;
	struct dfg_tensor *out;
	struct walk walk = {.attr = call->attr, .n_in = call->n_in};
	if (call->n_in < 1 || call->n_in > OPERANDS)
		return DFG_ERR(DFG_BUG, "an elementwise op has %d operands", call->n_in);
	for (int i = 0; i < call->n_in; i++)
		shapes[i] = &dfg_kernel_input(ctx, i)->shape;
	DFG_TRY(find_row(call, &walk.row));
	if (call->op->guard)
		DFG_TRY(call->op->guard(ctx));
	struct dfg_err *err = dfg_shape_broadcast(shapes, call->n_in, &shape);
	if (err && call->op->run) {
		dfg_err_free(err);
		return call->op->run(ctx);
	}
	DFG_TRY(err);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	int64_t count = dfg_shape_count(&shape);
	if (!count)
		return NULL;

	walk.out = out->data;
	walk.out_dtype = out->dtype;
	walk.out_size = dfg_dtype_size(out->dtype);
	for (int i = 0; i < call->n_in; i++)
		measure(&walk.in[i], dfg_kernel_input(ctx, i), &shape);
	merge(&walk, &shape);
	for (int i = 0; i < call->n_in; i++)
		classify(&walk, &walk.in[i]);
	dfg_kernel_ranges(ctx, count, BLOCK, all_plain(&walk) ? plain_range : walk_range, &walk);
	return NULL;
}

dfg_row_fn *dfg_kernel_row(const struct dfg_resolved_node *call)
{
	dfg_run_fn *run;
	struct dfg_err *err = dfg_kernel_find(call, &run);
	bool simple =
		!err && run == dfg_elementwise_run && call->n_out == 1 && call->n_in > 0 && call->n_in <= DFG_ROW_OPERANDS;
	dfg_err_free(err);
	for (int i = 0; simple && i < call->n_in; i++)
		simple = !dfg_is_half((enum dfg_dtype)call->in_dtype[i]);
	simple = simple && !dfg_is_half((enum dfg_dtype)call->out_dtype[0]);
	return simple ? call->op->row[row_dtype(call)] : NULL;
}
