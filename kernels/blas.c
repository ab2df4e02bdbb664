#include "kernels/blas.h"

#include "kernels/tile.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cblas.h belongs to a package that only builds need, and we link with nothing. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
typedef void gemm_f32_fn(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int lda,
	const float *b, int ldb, float beta, float *c, int ldc);
typedef void gemm_f64_fn(int order, int turn_a, int turn_b, int m, int n, int k, double alpha, const double *a, int lda,
	const double *b, int ldb, double beta, double *c, int ldc);

static struct {
	pthread_once_t once;
	gemm_f32_fn *gemm_f32;
	gemm_f64_fn *gemm_f64;
	char name[100];
} blas = {.once = PTHREAD_ONCE_INIT};

/* ThreadSanitizer does not see what a library that it did not compile does to memory. */
#if defined(__SANITIZE_THREAD__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif

#ifndef WATCHED
/* OpenBLAS 0.3.21 takes processors newer than itself for old ones, so it is told what this one can do. */
static const char *core_type(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
	return NULL;
}

/* It reads these once, while it is loaded; our own children must not inherit them. */
static void *load_with(const char *name, const char *value)
{
	bool ours = value && !getenv(name);
	if (ours)
		setenv(name, value, 0);
	void *library = strcmp(name, "OPENBLAS_NUM_THREADS") ? load_with("OPENBLAS_NUM_THREADS", "1")
														 : dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (ours)
		unsetenv(name);
	return library;
}

static void load(void)
{
	void *library = load_with("OPENBLAS_CORETYPE", core_type());
	snprintf(blas.name, sizeof blas.name, "%s (no OpenBLAS)", dfg_tile_name());
	if (!library)
		return;
	void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
	const char *(*config)(void) = (const char *(*)(void))dlsym(library, "openblas_get_config");
	const char *(*core)(void) = (const char *(*)(void))dlsym(library, "openblas_get_corename");
	gemm_f32_fn *gemm_f32 = (gemm_f32_fn *)dlsym(library, "cblas_sgemm");
	gemm_f64_fn *gemm_f64 = (gemm_f64_fn *)dlsym(library, "cblas_dgemm");
	if (!set_threads || !config || !core || !gemm_f32 || !gemm_f64)
		return;
	set_threads(1);
	blas.gemm_f32 = gemm_f32;
	blas.gemm_f64 = gemm_f64;
	const char *version = config();
	size_t words = strcspn(version, " ");
	words += version[words] ? 1 + strcspn(version + words + 1, " ") : 0;
	snprintf(blas.name, sizeof blas.name, "%.*s, %s", (int)words, version, core());
}
#else
static void load(void)
{
	snprintf(blas.name, sizeof blas.name, "%s (OpenBLAS is not used under ThreadSanitizer)", dfg_tile_name());
}
#endif

const char *dfg_blas_name(void)
{
	pthread_once(&blas.once, load);
	return blas.name;
}

/*
 * Measured: OpenBLAS copies both factors, which pays where both are read often; an output of few columns is faster in
 * registers even so.
 */
static bool is_large(const struct dfg_product *p)
{
	return p->m > (p->b_column == 1 ? 24 : 16) && p->n > 64 && p->k > 32 && p->m * p->n > (INT64_C(1) << 24) / p->k &&
		   p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX;
}

/* The step between the rows of a matrix as it lies in memory, turned or not. */
static int leading(int64_t row, int64_t column)
{
	return (int)(column == 1 ? row : column);
}

#define PRODUCT(NAME, name, type, ...)                                                                                \
	void dfg_product_##name(const struct dfg_product *p, const type *a, const type *b, type *c)                       \
	{                                                                                                                 \
		if (is_large(p) && (pthread_once(&blas.once, load), blas.gemm_##name))                                        \
			blas.gemm_##name(ROW_MAJOR, p->a_column == 1 ? PLAIN : TRANSPOSED, p->b_column == 1 ? PLAIN : TRANSPOSED, \
				(int)p->m, (int)p->n, (int)p->k, 1, a, leading(p->a_row, p->a_column), b,                             \
				leading(p->b_row, p->b_column), p->add, c, (int)p->c_row);                                            \
		else                                                                                                          \
			dfg_tile_##name(p, a, b, c);                                                                              \
	}
DFG_EACH_float(PRODUCT)

/* One block of one product is a task; `rows` and `columns` of c each. */
struct work {
	const struct dfg_products *products;
	int64_t rows, columns, across, down;
};

static void compute(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_products *all = work->products;
	size_t size = dfg_dtype_size(all->dtype);
	for (int64_t task = first; task < last; task++) {
		int64_t product = task / (work->across * work->down), block = task % (work->across * work->down);
		int64_t i = block / work->across * work->rows, j = block % work->across * work->columns;
		struct dfg_product p = all->each;
		p.m = p.m - i < work->rows ? p.m - i : work->rows;
		p.n = p.n - j < work->columns ? p.n - j : work->columns;
		int64_t a = (all->a_at ? all->a_at[product] : 0) + i * p.a_row;
		int64_t b = (all->b_at ? all->b_at[product] : 0) + j * p.b_column;
		int64_t c = product * all->c_step + i * p.c_row + j;
		const char *from_a = (const char *)all->a + a * (int64_t)size,
				   *from_b = (const char *)all->b + b * (int64_t)size;
		char *to = (char *)all->c + c * (int64_t)size;
		if (all->dtype == DFG_F32)
			dfg_product_f32(&p, (const float *)from_a, (const float *)from_b, (float *)to);
		else
			dfg_product_f64(&p, (const double *)from_a, (const double *)from_b, (double *)to);
	}
}

/* Multiplications that are some 20 us of work, and blocks that are enough for the machines of today. */
enum { TASK = 1 << 20, BLOCKS = 16 };

void dfg_kernel_products(struct dfg_kernel *ctx, const struct dfg_products *products)
{
	const struct dfg_product *p = &products->each;
	struct work work = {products, p->m, p->n, 1, 1};
	int64_t steps = p->k > 0 ? p->k : 1;
	if (!p->m || !p->n)
		return;
	while (work.rows * work.columns > 2 * TASK / steps && work.rows * work.columns > 1024 &&
		   products->count * work.across * work.down < BLOCKS) {
		if (work.rows > work.columns)
			work.rows = (work.rows / 2 + 11) / 12 * 12;
		else
			work.columns = (work.columns / 2 + 31) / 32 * 32;
		work.across = (p->n + work.columns - 1) / work.columns;
		work.down = (p->m + work.rows - 1) / work.rows;
	}
	int64_t each = work.rows * work.columns * steps;
	dfg_kernel_ranges(ctx, products->count * work.across * work.down, each < TASK ? TASK / each : 1, compute, &work);
}
