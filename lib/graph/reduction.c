#include "lib/graph/reduction.h"

/* Halves down to blocks, then down to leaves. */
int64_t dfg_reduce_half(int64_t n)
{
	return n > DFG_REDUCE_BLOCK ? dfg_reduce_left(n, DFG_REDUCE_BLOCK)
								: (n / DFG_REDUCE_LEAF + 1) / 2 * DFG_REDUCE_LEAF;
}

void dfg_reduce_row(const struct dfg_reducer *reducer, int64_t n, const void *in, void *acc)
{
	if (n <= DFG_REDUCE_LEAF) {
		reducer->row(n, in, acc);
		return;
	}
	_Alignas(DFG_ACCUMULATOR_MAX) char right[DFG_ACCUMULATOR_MAX];
	int64_t half = dfg_reduce_half(n);
	dfg_reduce_row(reducer, half, in, acc);
	dfg_reduce_row(reducer, n - half, (const char *)in + half * (int64_t)reducer->in_size, right);
	reducer->merge(1, right, acc);
}

static void add_axis(struct dfg_axes *axes, int64_t dim, int64_t step)
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

/* Removes the innermost axis if its elements are adjacent, and returns its length; else 1. */
static int64_t take_run(struct dfg_axes *axes)
{
	int last = axes->rank - 1;
	if (last < 0 || axes->step[last] != 1)
		return 1;
	axes->rank--;
	axes->count = axes->dim[last] ? axes->count / axes->dim[last] : 0;
	return axes->dim[last];
}

struct dfg_reduce_order dfg_reduce_order_of(const struct dfg_shape *in, const bool *gone)
{
	struct dfg_reduce_order r = {.gone.count = 1, .kept.count = 1};
	int64_t step[DFG_RANK_MAX], size = 1;
	for (int d = in->rank - 1; d >= 0; d--) {
		step[d] = size;
		size *= in->dim[d];
	}
	for (int d = 0; d < in->rank; d++)
		add_axis(gone[d] ? &r.gone : &r.kept, in->dim[d], step[d]);
	r.run = take_run(&r.gone);
	r.width = r.run > 1 ? 1 : take_run(&r.kept);
	int64_t per_position = r.run > 1 ? r.run : r.width < DFG_REDUCE_TILE ? r.width : DFG_REDUCE_TILE;
	r.block = r.gone.count == 1 || !per_position ? DFG_REDUCE_BLOCK : DFG_REDUCE_BLOCK / per_position + 1;
	return r;
}
