#include "kernels/gemm/kept.h"
#include "kernels/gemm/micro.h"
#include "lib/graph/grain.h"
#include "lib/graph/work.h"

/* One block of one product is a task; `rows` and `columns` of c each. */
struct work {
	const struct dfg_products *products;
	struct dfg_product each; /* all rows, and the columns that are computed together */
	int64_t rows, columns, across, down;
	const void *b;
	void *packed; /* NULL: b is read in place */
	int64_t product, column;
};

/*
 * The most multiplications of a task, blocks that are enough for the machines of today, columns of a turned b that are read together where reading it is the
 * work, and elements of b that a thread packs at a time.
 */
enum { TASK = 1 << 20, BLOCKS = 16, READ_TOGETHER = 512, PACKED = 1 << 15 };

static void compute(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_products *all = work->products;
	int64_t size = (int64_t)dfg_dtype_size(all->dtype);
	for (int64_t task = first; task < last; task++) {
		int64_t product = work->product + task / (work->across * work->down),
				block = task % (work->across * work->down);
		int64_t i = block / work->across * work->rows, j = block % work->across * work->columns;
		struct dfg_product p = work->each;
		p.m = p.m - i < work->rows ? p.m - i : work->rows;
		p.n = p.n - j < work->columns ? p.n - j : work->columns;
		const char *a = (const char *)all->a + ((all->a_at ? all->a_at[product] : 0) + i * p.a_row) * size;
		char *c = (char *)all->c + (product * all->c_step + i * p.c_row + work->column + j) * size;
		if (work->packed) {
			dfg_product_packed(&p, all->dtype, a, (const char *)work->packed + j * p.k * size, c);
			continue;
		}
		const char *b = (const char *)all->b + ((all->b_at ? all->b_at[product] : 0) + j * p.b_column) * size;
		if (all->dtype == DFG_F32)
			dfg_product_f32(&p, (const float *)a, (const float *)b, (float *)c);
		else
			dfg_product_f64(&p, (const double *)a, (const double *)b, (double *)c);
	}
}

/* Cuts `count` products into blocks of c and computes those; blocks are of whole strips. */
static void compute_all(struct dfg_kernel *ctx, struct work *work, int64_t count)
{
	const struct dfg_product *p = &work->each;
	/* a few rows by a turned b take the time in which it is read; other b are read faster from end to end */
	const int64_t reading = is_turned_for_few(p) ? FEW / p->m : 1;
	int64_t steps = (p->k > 0 ? p->k : 1) * reading;
	work->rows = p->m, work->columns = p->n;
	work->across = work->down = 1;
	const int64_t task = dfg_grain_of_products((double)count * (double)p->m * (double)p->n * (double)steps, TASK);
	while (work->rows * work->columns > 2 * task / steps &&
		   work->rows * work->columns > (reading > 1 ? READ_TOGETHER : 1024) &&
		   count * work->across * work->down < BLOCKS) {
		if (work->rows > work->columns)
			work->rows = (work->rows / 2 + 11) / 12 * 12;
		else
			work->columns = (work->columns / 2 + 31) / 32 * 32;
		work->across = (p->n + work->columns - 1) / work->columns;
		work->down = (p->m + work->rows - 1) / work->rows;
	}
	int64_t each = work->rows * work->columns * steps;
	dfg_kernel_ranges(ctx, count * work->across * work->down, each < task ? task / each : 1, compute, work);
}

/* Strips of the columns that are computed together. */
static void pack(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	dfg_product_pack(&work->each, work->products->dtype, work->b, first, last, work->packed);
}

/* Packing pays where many rows read b; a few are read by panels that fit the first cache. */
static bool is_packed(const struct dfg_product *p)
{
	return p->m > 112 && p->n > 64 && p->k > 64 && p->m * p->k > 64 * 1024;
}

/* Columns that are packed together: 1024, or less where k is so large that they would be more than 16 MB of f32. */
static int64_t columns_together(const struct dfg_product *p)
{
	int64_t fit = (INT64_C(4) << 20) / p->k / 32 * 32;
	return fit > 1024 ? 1024 : fit < 64 ? 64 : fit;
}

static struct dfg_err *packed(struct dfg_kernel *ctx, struct work *work)
{
	const struct dfg_products *all = work->products;
	const struct dfg_product *p = &all->each;
	int64_t together = columns_together(p), strip = dfg_product_strip(all->dtype);
	int64_t size = (int64_t)dfg_dtype_size(all->dtype), most = p->n < together ? (p->n + 31) / 32 * 32 : together;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(most * p->k * size), &work->packed));
	for (work->product = 0; work->product < all->count; work->product++)
		for (work->column = 0; work->column < p->n; work->column += together) {
			int64_t b = (all->b_at ? all->b_at[work->product] : 0) + work->column * p->b_column;
			work->b = (const char *)all->b + b * size;
			work->each.n = p->n - work->column < together ? p->n - work->column : together;
			int64_t strips = (work->each.n + strip - 1) / strip, block = PACKED / (strip * p->k) + 1;
			dfg_kernel_ranges(ctx, strips, block, pack, work);
			compute_all(ctx, work, 1);
		}
	return NULL;
}

/* By strips of a constant b that are kept; false if there are none. */
static struct dfg_err *by_strips(struct dfg_kernel *ctx, struct work *work, bool *out_done)
{
	const void *strips;
	DFG_TRY(dfg_product_kept_strips(ctx, work->products, &strips));
	*out_done = strips;
	if (strips) {
		work->packed = (void *)strips; /* only read */
		compute_all(ctx, work, 1);
	}
	return NULL;
}

struct dfg_err *dfg_kernel_products(struct dfg_kernel *ctx, const struct dfg_products *products)
{
	struct dfg_products turned = *products;
	struct work work = {.products = &turned, .each = products->each};
	const struct dfg_product *p = &products->each;
	const bool may_keep = products->b_is_input_1 && products->count == 1 && p->k;
	bool done = false;
	if (!p->m || !p->n)
		return NULL;
	dfg_work += 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)products->count;
	if (is_packed(p)) {
		if (may_keep)
			DFG_TRY(by_strips(ctx, &work, &done));
		return done ? NULL : packed(ctx, &work);
	}
	if (may_keep && p->b_column != 1) {
		DFG_TRY(dfg_product_turn_kept(ctx, &turned));
		work.each = turned.each;
	}
	compute_all(ctx, &work, products->count);
	return NULL;
}
