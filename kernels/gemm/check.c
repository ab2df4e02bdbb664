#include "kernels/gemm/micro.h"
#include "lib/base/mem.h"

#include <inttypes.h>
#include <string.h>

/* A shape for each way in which products are computed. */
static const struct shape {
	int64_t m, n, k;
	bool transpose_b, packed;
	const char *way;
} shapes[] = {
	{1, 150, 70, false, false, "one row"},
	{5, 150, 70, false, false, "a few rows"},
	{2, 40, 70, true, false, "a few rows by b transposed"},
	{70, 3, 70, false, false, "a few columns"},
	{20, 50, 70, false, false, "rows by panels of b"},
	{20, 50, 70, true, false, "rows by panels of b transposed"},
	{120, 70, 70, false, true, "rows by b packed"},
	{3, 40, 4100, false, false, "a sum of chains"},
	{2, 3, 20500, true, false, "several chains of an element"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, ELEMENTS = 4100 * 43 };

/* The factors, the result and the one expected, and b packed. */
struct check {
	float *a, *b, *c, *expected, *packed;
};

static void fill(float *x, uint32_t seed)
{
	for (int64_t i = 0; i < ELEMENTS; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(seed >> 8) / (1 << 23) - 1;
	}
}

static bool is_same(const struct check *check, const struct shape *shape, const struct dfg_product_functions *functions)
{
	const struct dfg_product p = {
		.m = shape->m,
		.n = shape->n,
		.k = shape->k,
		.a_row = shape->k,
		.a_column = 1,
		.b_row = shape->transpose_b ? 1 : shape->n,
		.b_column = shape->transpose_b ? shape->k : 1,
		.c_row = shape->n,
	};
	if (shape->packed) {
		functions->pack(&p, check->b, 0, (p.n + functions->strip - 1) / functions->strip, check->packed);
		functions->packed(&p, check->a, check->packed, check->c);
	} else
		functions->product(&p, check->a, check->b, check->c);
	dfg_product_generic.f32->product(&p, check->a, check->b, check->expected);
	return !memcmp(check->c, check->expected, (size_t)(p.m * p.n) * sizeof *check->c);
}

static struct dfg_err *check_shapes(const struct check *check, const struct dfg_product_variant *variant)
{
	fill(check->a, 1);
	fill(check->b, 2);
	for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++)
		if (!is_same(check, shape, variant->f32))
			return DFG_ERR(DFG_BUG,
				"%s: products of %s (%" PRId64 "x%" PRId64 "x%" PRId64 ") give other results than plain C",
				variant->name, shape->way, shape->m, shape->n, shape->k);
	return NULL;
}

struct dfg_err *dfg_product_check_variant(const struct dfg_product_variant *variant)
{
	float *memory = dfg_zeros(5 * ELEMENTS, sizeof *memory);
	if (!memory)
		return dfg_no_memory("products that are checked");
	const struct check check = {
		memory, memory + ELEMENTS, memory + 2 * ELEMENTS, memory + 3 * ELEMENTS, memory + 4 * ELEMENTS};
	struct dfg_err *err = check_shapes(&check, variant);
	dfg_free(memory);
	return err;
}

struct dfg_err *dfg_product_check(int *out_ways)
{
	*out_ways = SHAPES;
	if (strcmp(dfg_product_fingerprint(), dfg_product_generic.fingerprint)) {
		*out_ways = 0;
		return NULL;
	}
	return dfg_product_check_variant(dfg_product_variant());
}
