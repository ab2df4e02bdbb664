#include "kernels/gemm/halves.h"

#include "lib/graph/grain.h"
#include "lib/graph/half.h"
#include "lib/graph/work.h"

/*
 * Products of halves read b once, and widen it block by block in the cache, not as a whole in memory: those of few rows
 * take the time in which b is read. With very many rows the sums no longer stay in the cache from block to block. An element is the sum that the f32 product of the widened operands has: a block continues the chains
 * of the block before it, and chains of DFG_PRODUCT_CHAIN steps have sums of their own, which are added as a tree.
 */
enum { ROWS_MOST = 1024, COLUMNS = 128, STEPS = 256, TASK = 1 << 18 };

struct work {
	const struct dfg_product *p;
	enum dfg_dtype half;
	const float *a;
	const uint16_t *b;
	uint16_t *c;
	float *sums; /* a matrix of sums for each chain of steps */
};

bool dfg_product_widens_blocks(const struct dfg_product *p)
{
	return p->m <= ROWS_MOST && p->n > 0 && p->k > 0;
}

/* Widens rows [k, k + steps) of columns [j, j + columns) of b; returns the product of a block of b in that place. */
static struct dfg_product widen(
	const struct work *work, int64_t k, int64_t steps, int64_t j, int64_t columns, float *block)
{
	struct dfg_product p = *work->p;
	const uint16_t *b = work->b + k * p.b_row + j * p.b_column;
	const bool turned = p.b_column != 1;
	const int64_t lines = turned ? columns : steps, length = turned ? steps : columns;
	const int64_t step = turned ? p.b_column : p.b_row;
	for (int64_t i = 0; i < lines; i++)
		dfg_half_widen(work->half, block + i * length, b + i * step, length);
	p.n = columns;
	p.k = steps;
	p.b_row = turned ? 1 : columns;
	p.b_column = turned ? steps : 1;
	return p;
}

/* The sums of one chain, from step k to `end`. */
static void sum_chain(const struct work *work, int64_t k, int64_t end, int64_t j, int64_t columns, float *sums)
{
	_Alignas(64) float block[STEPS * COLUMNS];
	for (bool add = false; k < end; k += STEPS, add = true) {
		struct dfg_product p = widen(work, k, end - k < STEPS ? end - k : STEPS, j, columns, block);
		p.add = add;
		dfg_product_f32(&p, work->a + k * p.a_column, block, sums + j);
	}
}

/* Adds the sums of the chains, as a tree, and rounds them. */
static void finish(const struct work *work, int64_t chains, int64_t j, int64_t columns)
{
	const int64_t n = work->p->n, size = work->p->m * n;
	for (int64_t i = 0; i < work->p->m; i++) {
		float *row = work->sums + i * n + j;
		for (int64_t step = 1; step < chains; step *= 2)
			for (int64_t s = 0; s + step < chains; s += 2 * step)
				for (int64_t e = 0; e < columns; e++)
					row[s * size + e] += row[(s + step) * size + e];
		dfg_half_round(work->half, work->c + i * n + j, row, columns);
	}
}

static void compute(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_product *p = work->p;
	for (int64_t block = first; block < last; block++) {
		const int64_t j = block * COLUMNS, columns = p->n - j < COLUMNS ? p->n - j : COLUMNS;
		int64_t chains = 0;
		for (int64_t k = 0; k < p->k; k += DFG_PRODUCT_CHAIN, chains++)
			sum_chain(work, k, p->k - k < DFG_PRODUCT_CHAIN ? p->k : k + DFG_PRODUCT_CHAIN, j, columns,
				work->sums + chains * p->m * p->n);
		finish(work, chains, j, columns);
	}
}

struct dfg_err *dfg_kernel_product_of_halves(struct dfg_kernel *ctx, const struct dfg_product *p, enum dfg_dtype half,
	const uint16_t *a, const uint16_t *b, uint16_t *c)
{
	struct work work = {.p = p, .half = half, .b = b, .c = c};
	const int64_t chains = (p->k + DFG_PRODUCT_CHAIN - 1) / DFG_PRODUCT_CHAIN, blocks = (p->n + COLUMNS - 1) / COLUMNS;
	float *wide;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(p->m * p->k) * sizeof *wide, (void **)&wide));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(chains * p->m * p->n) * sizeof *work.sums, (void **)&work.sums));
	dfg_half_widen(half, wide, a, p->m * p->k);
	work.a = wide;
	dfg_work += 2.0 * (double)p->m * (double)p->n * (double)p->k;
	dfg_kernel_ranges(ctx, blocks, dfg_grain(blocks, TASK / (COLUMNS * p->k)), compute, &work);
	return NULL;
}
