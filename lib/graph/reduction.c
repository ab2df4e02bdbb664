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
