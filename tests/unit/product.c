/*
 * Products against their definition in kernels/gemm/gemm.h, written out here with fmaf: equal bits for every kind of
 * instructions that this processor has, for every layout, block of rows, way of calling and alignment.
 */
#include "kernels/gemm/micro.h"

#include "lib/base/mem.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

/* The widest tiles in plain C, so that their borders are tested on every processor. */
#include "kernels/gemm/transpose_plain.h"
#define EACH_LANE(fused, x, y, z)                     \
	({                                                \
		__typeof__(z) z_ = (z);                       \
		for (int l_ = 0; l_ < LANES; l_++)            \
			z_[l_] = fused((x)[l_], (y)[l_], z_[l_]); \
		z_;                                           \
	})
#define REAL float
#define LANES 16
#define NAME(x) x##_f32
#define TARGET
#define FUSE(a, b, c) EACH_LANE(__builtin_fmaf, a, b, c)
#define ROWS 14
#define SQUARE 4
#define TRANSPOSE transpose_f32_4
#include "kernels/gemm/micro.inc"
#define REAL double
#define LANES 8
#define NAME(x) x##_f64
#define TARGET
#define FUSE(a, b, c) EACH_LANE(__builtin_fma, a, b, c)
#define ROWS 14
#define SQUARE 4
#define TRANSPOSE transpose_f64_4
#include "kernels/gemm/micro.inc"
static const struct dfg_product_variant wide = {"wide", "wide", "fma", &functions_f32, &functions_f64};

static const struct dfg_product_variant *const variants[] = {
	&wide,
	&dfg_product_generic,
#if defined(__x86_64__)
	&dfg_product_avx2,
	&dfg_product_avx512,
#endif
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool is_there(const struct dfg_product_variant *variant)
{
#if defined(__x86_64__)
	if (variant == &dfg_product_avx2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (variant == &dfg_product_avx512)
		return __builtin_cpu_supports("avx512f");
#endif
	return variant != NULL;
}

/* m, n, k on both sides of every border: tiles, strips, panels, blocks of k and of a, chains and their tree. */
static const int64_t sizes[][3] = {{1, 1, 1}, {1, 70, 300}, {1, 300, 21}, {2, 33, 5}, {3, 9, 17}, {4, 130, 257},
	{5, 3, 0}, {13, 31, 2}, {15, 16, 8}, {97, 17, 300}, {100, 90, 40}, {200, 36, 260}, {3, 5, 4096}, {7, 34, 4097},
	{2, 3, 8200}, {2, 67, 12300}, {1, 36, 20481}, {1, 41, 1024}, {2, 24, 2048}, {3, 18, 1024}, {4, 33, 100},
	{1, 48, 4100}, {8, 300, 70}, {5, 1100, 33}, {3, 140, 4101}, {16, 1, 16}, {300, 2, 1024}, {75, 3, 33}, {41, 4, 2048},
	{270, 4, 50}, {52, 1, 8193}, {90, 3, 4100}, {1, 1, 40000}, {2, 5, 36865}, {3, 4, 28672}};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 900 * 1024, SLACK = 16 };

static float *numbers(uint32_t seed)
{
	float *x = dfg_zeros(MOST + SLACK, sizeof *x);
	for (int i = 0; i < MOST + SLACK; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(seed >> 8) / (1 << 23) - 1;
	}
	return x;
}

static double *doubles(const float *from)
{
	double *x = dfg_zeros(MOST + SLACK, sizeof *x);
	for (int i = 0; i < MOST + SLACK; i++)
		x[i] = (double)from[i] / 3;
	return x;
}

static struct dfg_product product(const int64_t *size, bool transpose_a, bool transpose_b, bool add)
{
	int64_t m = size[0], n = size[1], k = size[2];
	return (struct dfg_product){
		.m = m,
		.n = n,
		.k = k,
		.a_row = transpose_a ? 1 : k,
		.a_column = transpose_a ? m : 1,
		.b_row = transpose_b ? 1 : n,
		.b_column = transpose_b ? k : 1,
		.c_row = n,
		.add = add,
	};
}

/* Chains [first, last) of one element. */
#define DEFINITION(name, type, fused)                                                                       \
	static type chains_##name(                                                                              \
		const struct dfg_product *p, const type *a, const type *b, type begin, int64_t first, int64_t last) \
	{                                                                                                       \
		if (last - first > 1) {                                                                             \
			int64_t half = 1;                                                                               \
			while (2 * half < last - first)                                                                 \
				half *= 2;                                                                                  \
			type left = chains_##name(p, a, b, begin, first, first + half);                                 \
			return left + chains_##name(p, a, b, 0, first + half, last);                                    \
		}                                                                                                   \
		type sum = begin;                                                                                   \
		for (int64_t s = first * DFG_PRODUCT_CHAIN; s < p->k && s < last * DFG_PRODUCT_CHAIN; s++)          \
			sum = fused(a[s * p->a_column], b[s * p->b_row], sum);                                          \
		return sum;                                                                                         \
	}                                                                                                       \
	static void define_##name(const struct dfg_product *p, const type *a, const type *b, type *c)           \
	{                                                                                                       \
		int64_t chains = p->k > 0 ? (p->k + DFG_PRODUCT_CHAIN - 1) / DFG_PRODUCT_CHAIN : 1;                 \
		for (int64_t i = 0; i < p->m; i++)                                                                  \
			for (int64_t j = 0; j < p->n; j++)                                                              \
				c[i * p->c_row + j] = chains_##name(                                                        \
					p, a + i * p->a_row, b + j * p->b_column, p->add ? c[i * p->c_row + j] : 0, 0, chains); \
	}
DEFINITION(f32, float, fmaf)
DEFINITION(f64, double, fma)

static void expect(const void *want, const void *got, const struct dfg_product *p, size_t size, const char *name, int i)
{
	if (memcmp(want, got, (size_t)(p->m * p->n) * size))
		fail_msg("%s, %zu bytes: case %d, %s%s%s: other bits", name, size, i / 8, i & 1 ? "a turned " : "",
			i & 2 ? "b turned " : "", i & 4 ? "added" : "");
}

/* Memory for any packed b of the sizes. */
static void *packed_memory(void)
{
	return dfg_mem->take(dfg_mem, 4 * MOST * sizeof(double), 64);
}

static void products_are_their_definition_to_the_bit(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *before = numbers(3), *c = numbers(3), *want = numbers(3);
	double *a_f64 = doubles(a), *b_f64 = doubles(b), *before_f64 = doubles(before), *c_f64 = doubles(c),
		   *want_f64 = doubles(c);
	void *packed = packed_memory();
	for (int i = 0; i < SIZES * 8; i++) {
		struct dfg_product p = product(sizes[i / 8], i & 1, i & 2, i & 4);
		int64_t elements = p.m * p.n;
		memcpy(want, before, (size_t)elements * sizeof *want);
		memcpy(want_f64, before_f64, (size_t)elements * sizeof *want_f64);
		define_f32(&p, a, b, want);
		define_f64(&p, a_f64, b_f64, want_f64);
		for (int v = 0; v < VARIANTS; v++) {
			if (!is_there(variants[v]))
				continue;
			const struct dfg_product_functions *f32 = variants[v]->f32, *f64 = variants[v]->f64;
			memcpy(c, before, (size_t)elements * sizeof *c);
			f32->product(&p, a, b, c);
			expect(want, c, &p, 4, variants[v]->name, i);
			memcpy(c, before, (size_t)elements * sizeof *c);
			f32->pack(&p, b, 0, (p.n + f32->strip - 1) / f32->strip, packed);
			f32->packed(&p, a, packed, c);
			expect(want, c, &p, 4, variants[v]->name, i);
			memcpy(c_f64, before_f64, (size_t)elements * sizeof *c_f64);
			f64->product(&p, a_f64, b_f64, c_f64);
			expect(want_f64, c_f64, &p, 8, variants[v]->name, i);
			memcpy(c_f64, before_f64, (size_t)elements * sizeof *c_f64);
			f64->pack(&p, b_f64, 0, (p.n + f64->strip - 1) / f64->strip, packed);
			f64->packed(&p, a_f64, packed, c_f64);
			expect(want_f64, c_f64, &p, 8, variants[v]->name, i);
		}
	}
	dfg_free(a), dfg_free(b), dfg_free(before), dfg_free(c), dfg_free(want), dfg_free(packed);
	dfg_free(a_f64), dfg_free(b_f64), dfg_free(before_f64), dfg_free(c_f64), dfg_free(want_f64);
}

/* Taps of 1 to 300 steps, each fifth of which is left out: its elements of `a`, [m, k] or turned, become zeros. */
static int64_t cut_taps(const struct dfg_product *p, float *a, double *a_f64, struct dfg_tap *taps)
{
	int64_t count = 0, number = 0;
	for (int64_t s = 0, steps; s < p->k; s += steps, number++) {
		steps = 1 + (number * 37 + p->m) % 300;
		if (steps > p->k - s)
			steps = p->k - s;
		if (number % 5 != 1)
			taps[count++] = (struct dfg_tap){s * p->a_column, s, steps};
		for (int64_t i = 0; i < p->m && number % 5 == 1; i++)
			for (int64_t e = s; e < s + steps; e++)
				a[i * p->a_row + e * p->a_column] = 0, a_f64[i * p->a_row + e * p->a_column] = 0;
	}
	return count;
}

static void gathered_rows_are_their_definition_to_the_bit(void **state)
{
	(void)state;
	static struct dfg_tap taps[20481];
	float *whole = numbers(1), *a = numbers(1), *b = numbers(2), *before = numbers(3), *c = numbers(3),
		  *want = numbers(3);
	double *whole_f64 = doubles(a), *a_f64 = doubles(a), *b_f64 = doubles(b), *before_f64 = doubles(before);
	double *c_f64 = doubles(c), *want_f64 = doubles(c);
	void *packed = packed_memory();
	for (int i = 0; i < SIZES * 4; i++) {
		struct dfg_product p = product(sizes[i / 4], i & 1, false, i & 2);
		memcpy(a, whole, (size_t)(p.m * p.k) * sizeof *a);
		memcpy(a_f64, whole_f64, (size_t)(p.m * p.k) * sizeof *a_f64);
		int64_t a_at[300], c_at[300], elements = p.m * p.n;
		for (int64_t r = 0; r < p.m; r++) { /* the rows in the opposite order */
			a_at[r] = (p.m - 1 - r) * p.a_row;
			c_at[r] = (p.m - 1 - r) * p.c_row;
		}
		struct dfg_gathered g = {.m = p.m,
			.n = p.n,
			.k = p.k,
			.a_at = a_at,
			.c_at = c_at,
			.tap = taps,
			.taps = cut_taps(&p, a, a_f64, taps),
			.a_column = p.a_column,
			.add = p.add};
		memcpy(want, before, (size_t)elements * sizeof *want);
		memcpy(want_f64, before_f64, (size_t)elements * sizeof *want_f64);
		define_f32(&p, a, b, want);
		define_f64(&p, a_f64, b_f64, want_f64);
		for (int v = 0; v < VARIANTS; v++) {
			if (!is_there(variants[v]))
				continue;
			const struct dfg_product_functions *f32 = variants[v]->f32, *f64 = variants[v]->f64;
			memcpy(c, before, (size_t)elements * sizeof *c);
			f32->pack(&p, b, 0, (p.n + f32->strip - 1) / f32->strip, packed);
			f32->gathered(&g, a, packed, c);
			expect(want, c, &p, 4, variants[v]->name, 2 * i);
			memcpy(c_f64, before_f64, (size_t)elements * sizeof *c_f64);
			f64->pack(&p, b_f64, 0, (p.n + f64->strip - 1) / f64->strip, packed);
			f64->gathered(&g, a_f64, packed, c_f64);
			expect(want_f64, c_f64, &p, 8, variants[v]->name, 2 * i);
		}
	}
	dfg_free(whole), dfg_free(whole_f64), dfg_free(a), dfg_free(a_f64);
	dfg_free(b), dfg_free(before), dfg_free(c), dfg_free(want), dfg_free(packed);
	dfg_free(b_f64), dfg_free(before_f64), dfg_free(c_f64), dfg_free(want_f64);
}

/* Without fused multiply-adds the bits are others, but the same for all rows, and near. */
static void products_that_round_twice_are_near(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *want = numbers(3);
	for (int i = 0; i < SIZES * 4; i++) {
		struct dfg_product p = product(sizes[i / 4], i & 1, i & 2, false);
		define_f32(&p, a, b, want);
		dfg_product_mul.f32->product(&p, a, b, c);
		for (int64_t e = 0; e < p.m * p.n; e++)
			assert_true(fabsf(c[e] - want[e]) < 1e-6f * (float)(p.k + 1));
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(want);
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

/* Both the variant of this processor and the one without fused multiply-adds. */
static void bits_do_not_depend_on_where_blocks_end(void **state)
{
	(void)state;
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *parts = numbers(4);
	const struct dfg_product_functions *f32[] = {dfg_product_mul.f32, dfg_product_variant()->f32};
	for (int i = 0; i < SIZES * 4; i++) {
		struct dfg_product p = product(sizes[i / 4], false, i & 1, false);
		f32[i / 2 % 2]->product(&p, a, b, c);
		for (int64_t row = 0; row < p.m; row += 7)
			for (int64_t column = 0; column < p.n; column += 11) {
				struct dfg_product part = p;
				part.m = p.m - row < 7 ? p.m - row : 7;
				part.n = p.n - column < 11 ? p.n - column : 11;
				f32[i / 2 % 2]->product(
					&part, a + row * p.a_row, b + column * p.b_column, parts + row * p.c_row + column);
			}
		assert_memory_equal(c, parts, (size_t)(p.m * p.n) * sizeof *c);
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(parts);
}

/* A host whose parts run in any order, and whose scratch memory is the caller's. */
struct any_order {
	char *memory;
	bool backwards;
};

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct any_order *host = ctx->runner;
	assert_true(bytes <= 4 * MOST * sizeof(double));
	*out_memory = host->memory;
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	struct any_order *host = ctx->runner;
	for (int64_t i = 0; i < n; i++)
		part(arg, host->backwards ? n - 1 - i : i);
}

static void many_products_are_each_the_same(void **state)
{
	(void)state;
	static const int64_t large[][3] = {{230, 70, 260}, {300, 200, 300}, {130, 1100, 70}, {65, 33, 40}, {2, 1300, 513}};
	const struct dfg_kernel_services services = {.scratch = scratch, .parallel = parallel};
	float *a = numbers(1), *b = numbers(2), *c = numbers(3), *want = numbers(4);
	struct any_order host = {.memory = packed_memory()};
	struct dfg_kernel ctx = {.host = &services, .runner = &host};
	for (int i = 0; i < 5 * 4; i++) {
		struct dfg_product p = product(large[i / 4], i & 1, i & 2, false);
		const int64_t a_at[] = {5, 0, 3}, b_at[] = {0, 7, 7};
		struct dfg_products products = {.each = p,
			.dtype = DFG_F32,
			.count = 3,
			.a = a,
			.b = b,
			.c = c,
			.a_at = a_at,
			.b_at = b_at,
			.c_step = p.m * p.n};
		host.backwards = i % 3 == 1;
		succeeds(dfg_kernel_products(&ctx, &products));
		for (int t = 0; t < 3; t++) {
			define_f32(&p, a + a_at[t], b + b_at[t], want);
			assert_memory_equal(c + t * p.m * p.n, want, (size_t)(p.m * p.n) * sizeof *c);
		}
	}
	dfg_free(a), dfg_free(b), dfg_free(c), dfg_free(want), dfg_free(host.memory);
}

static void the_instructions_in_use_have_a_name(void **state)
{
	(void)state;
	succeeds(dfg_product_cpu());
	assert_true(strlen(dfg_product_name()) > 0);
	assert_true(!strcmp(dfg_product_fingerprint(), "fma") || !strcmp(dfg_product_fingerprint(), "mul"));
}

/* A variant that rounds twice is found, with the first shape that shows it. */
static void a_wrong_variant_is_found(void **state)
{
	(void)state;
	int ways;
	succeeds(dfg_product_check(&ways));
	assert_true(ways > 0 || !strcmp(dfg_product_fingerprint(), "mul"));
	for (int i = 0; i < VARIANTS; i++)
		if (is_there(variants[i]))
			succeeds(dfg_product_check_variant(variants[i]));
	fails(dfg_product_check_variant(&dfg_product_mul), DFG_BUG, "products of one row (1x150x70)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_their_definition_to_the_bit),
		cmocka_unit_test(gathered_rows_are_their_definition_to_the_bit),
		cmocka_unit_test(products_that_round_twice_are_near),
		cmocka_unit_test(bits_do_not_depend_on_alignment),
		cmocka_unit_test(bits_do_not_depend_on_where_blocks_end),
		cmocka_unit_test(many_products_are_each_the_same),
		cmocka_unit_test(the_instructions_in_use_have_a_name),
		cmocka_unit_test(a_wrong_variant_is_found),
	};
	return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
