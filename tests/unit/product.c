#include "kernels/tile.h"

#include "lib/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

/* Sizes on both sides of every border that the loops and the choice of the library have. */
static const int64_t sizes[][3] = {{1, 1, 1}, {1, 70, 300}, {2, 33, 5}, {3, 9, 17}, {4, 64, 257}, {5, 3, 0},
	{13, 31, 2}, {24, 16, 8}, {97, 17, 300}, {100, 90, 40}, {260, 270, 300}};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 300 * 300, SLACK = 16 };

static float *numbers(uint32_t seed)
{
	float *x = dfg_zeros(MOST + SLACK, sizeof *x);
	for (int i = 0; i < MOST + SLACK; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(seed >> 8) / (1 << 23) - 1;
	}
	return x;
}

static struct dfg_product product(const int64_t *size, bool turn_a, bool turn_b, bool add)
{
	int64_t m = size[0], n = size[1], k = size[2];
	return (struct dfg_product){
		.m = m,
		.n = n,
		.k = k,
		.a_row = turn_a ? 1 : k,
		.a_column = turn_a ? m : 1,
		.b_row = turn_b ? 1 : n,
		.b_column = turn_b ? k : 1,
		.c_row = n,
		.add = add,
	};
}

static void expect_sums(
	const struct dfg_product *p, const float *a, const float *b, const float *before, const float *c)
{
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			double sum = p->add ? (double)before[i * p->c_row + j] : 0;
			for (int64_t s = 0; s < p->k; s++)
				sum += (double)a[i * p->a_row + s * p->a_column] * (double)b[s * p->b_row + j * p->b_column];
			assert_true(fabs((double)c[i * p->c_row + j] - sum) < 2e-5);
		}
}

static void products_are_sums_of_products(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *before = numbers(3);
	for (int i = 0; i < SIZES * 8; i++) {
		struct dfg_product p = product(sizes[i / 8], i & 1, i & 2, i & 4);
		memcpy(c, before, MOST * sizeof *c);
		dfg_product_f32(&p, a, b, c);
		expect_sums(&p, a, b, before, c);
		memcpy(c, before, MOST * sizeof *c);
		dfg_tile_f32(&p, a, b, c);
		expect_sums(&p, a, b, before, c);
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(before);
}

static void bits_do_not_depend_on_alignment(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *moved_a = numbers(4), *moved_b = numbers(5),
		  *moved_c = numbers(6);
	for (int i = 0; i < SIZES * 4; i++) {
		struct dfg_product p = product(sizes[i / 4], i & 1, i & 2, false);
		int off = 1 + i % (SLACK - 1);
		memcpy(moved_a + off, a, MOST * sizeof *a);
		memcpy(moved_b + SLACK - off, b, MOST * sizeof *b);
		dfg_product_f32(&p, a, b, c);
		dfg_product_f32(&p, moved_a + off, moved_b + SLACK - off, moved_c + off);
		assert_memory_equal(c, moved_c + off, (size_t)(p.m * p.n) * sizeof *c);
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(moved_a), dfg_free(moved_b), dfg_free(moved_c);
}

static void bits_do_not_depend_on_where_tiles_end(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *parts = numbers(4);
	for (int i = 0; i < SIZES; i++) {
		struct dfg_product p = product(sizes[i], false, false, false);
		dfg_tile_f32(&p, a, b, c);
		for (int64_t row = 0; row < p.m; row += 7)
			for (int64_t column = 0; column < p.n; column += 11) {
				struct dfg_product part = p;
				part.m = p.m - row < 7 ? p.m - row : 7;
				part.n = p.n - column < 11 ? p.n - column : 11;
				dfg_tile_f32(&part, a + row * p.a_row, b + column, parts + row * p.c_row + column);
			}
		assert_memory_equal(c, parts, (size_t)(p.m * p.n) * sizeof *c);
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(parts);
}

static void what_computes_has_a_name(void **state)
{
	(void)state;
	assert_true(strlen(dfg_blas_name()) > 0);
	assert_ptr_equal(dfg_blas_name(), dfg_blas_name());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_sums_of_products),
		cmocka_unit_test(bits_do_not_depend_on_alignment),
		cmocka_unit_test(bits_do_not_depend_on_where_tiles_end),
		cmocka_unit_test(what_computes_has_a_name),
	};
	return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
