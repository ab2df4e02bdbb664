#include "kernels/gemm/kept.h"

/* Elements that are packed or turned by one task, and the side of a square that is turned at once. */
enum { TASK = 1 << 17, SQUARE = 16 };

struct keeping {
	const struct dfg_product *p;
	enum dfg_dtype dtype;
	const void *b;
	void *out;
};

static void pack(void *arg, int64_t first, int64_t last)
{
	const struct keeping *k = arg;
	dfg_product_pack(k->p, k->dtype, k->b, first, last, k->out);
}

static void pack_all(struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *b, void *out)
{
	const struct dfg_products *products = preparation->arg;
	struct keeping keeping = {&products->each, products->dtype, b, out};
	const int64_t strip = dfg_product_strip(products->dtype);
	dfg_kernel_ranges(ctx, (keeping.p->n + strip - 1) / strip, TASK / (strip * keeping.p->k) + 1, pack, &keeping);
}

/* Columns [first, last) of b become columns of rows that are adjacent elements. */
#define TURN(bits, type)                                                                     \
	static void turn_##bits(void *arg, int64_t first, int64_t last)                          \
	{                                                                                        \
		const struct keeping *k = arg;                                                       \
		const struct dfg_product *p = k->p;                                                  \
		const type *b = k->b;                                                                \
		type *out = k->out;                                                                  \
		for (int64_t j = first; j < last; j += SQUARE)                                       \
			for (int64_t s = 0; s < p->k; s += SQUARE)                                       \
				for (int64_t column = j; column < j + SQUARE && column < last; column++)     \
					for (int64_t row = s; row < s + SQUARE && row < p->k; row++)             \
						out[row * p->n + column] = b[row * p->b_row + column * p->b_column]; \
	}
TURN(32, uint32_t)
TURN(64, uint64_t)

static void turn_all(struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *b, void *out)
{
	const struct dfg_products *products = preparation->arg;
	struct keeping keeping = {&products->each, products->dtype, b, out};
	dfg_kernel_ranges(ctx, keeping.p->n, (TASK / keeping.p->k + SQUARE) / SQUARE * SQUARE,
		dfg_dtype_size(products->dtype) == 4 ? turn_32 : turn_64, &keeping);
}

static struct dfg_err *keep(struct dfg_kernel *ctx, const struct dfg_products *products, int64_t columns,
	void (*make)(struct dfg_kernel *, const struct dfg_preparation *, const void *, void *), const void **out_memory)
{
	const struct dfg_product *p = &products->each;
	struct dfg_preparation preparation = {
		.make = make, .arg = products, .form = {products->dtype, p->n, p->k, p->b_row, p->b_column}};
	*out_memory = NULL;
	if (__builtin_mul_overflow(p->k * (int64_t)dfg_dtype_size(products->dtype), columns, &preparation.bytes))
		return NULL;
	return dfg_kernel_kept(ctx, 1, &preparation, products->b, out_memory);
}

struct dfg_err *dfg_product_kept_strips(
	struct dfg_kernel *ctx, const struct dfg_products *products, const void **out_strips)
{
	const int64_t strip = dfg_product_strip(products->dtype);
	return keep(ctx, products, (products->each.n + strip - 1) / strip * strip, pack_all, out_strips);
}

struct dfg_err *dfg_product_turn_kept(struct dfg_kernel *ctx, struct dfg_products *products)
{
	const void *turned;
	DFG_TRY(keep(ctx, products, products->each.n, turn_all, &turned));
	if (!turned)
		return NULL;
	products->b = turned;
	products->each.b_row = products->each.n;
	products->each.b_column = 1;
	return NULL;
}
