/*
 * Products against OpenBLAS called for each, on one thread: microseconds, and how many times as fast. Times are
 * processor time, so that a busy machine disturbs little. An argument M: only products of at most M rows.
 */
#include "bench/bench.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/mem.h"

#include <dlfcn.h>

typedef void gemm_fn(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
	int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* Inference and training of dense layers, patches of convolutions, attention, squares. */
static const struct {
	int m, n, k, transpose_a, transpose_b;
} cases[] = {{1, 128, 784, 0, 0}, {1, 1024, 1024, 0, 0}, {1, 1024, 1024, 0, 1}, {2, 1024, 1024, 0, 1},
	{4, 1024, 1024, 0, 1}, {8, 1024, 1024, 0, 1}, {2, 1024, 1024, 0, 0}, {4, 1024, 1024, 0, 0}, {8, 1024, 1024, 0, 0},
	{8, 1000, 1000, 0, 0}, {8, 512, 128, 0, 0}, {4, 512, 128, 0, 0}, {1, 512, 256, 0, 1}, {1, 1000, 1000, 0, 1},
	{2, 1000, 1000, 0, 1}, {4, 1000, 1000, 0, 1}, {1, 4096, 4096, 0, 1}, {1, 4096, 4096, 0, 0}, {32, 128, 784, 0, 0},
	{784, 128, 32, 1, 0}, {32, 784, 128, 0, 1}, {64, 512, 3136, 0, 0}, {3136, 512, 64, 1, 0}, {64, 3136, 512, 0, 1},
	{78, 64, 800, 0, 0}, {800, 64, 78, 1, 0}, {768, 32, 25, 0, 0}, {50000, 3, 10, 0, 0}, {10, 3, 50000, 1, 0},
	{512, 512, 64, 0, 1}, {512, 2048, 512, 0, 0}, {16, 16, 16, 0, 0}, {64, 64, 64, 0, 0}, {256, 256, 256, 0, 0},
	{1024, 1024, 1024, 0, 0}};

static float *numbers(int count)
{
	float *x = dfg_zeros((size_t)count, sizeof *x);
	for (int i = 0; x && i < count; i++)
		x[i] = (float)(i % 17 - 8);
	return x;
}

/* A host with one thread. */
static void *memory;
static size_t memory_size;

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	(void)ctx;
	if (bytes > memory_size) {
		dfg_free(memory);
		memory = dfg_mem->take(dfg_mem, bytes, 64);
		memory_size = memory ? bytes : 0;
	}
	*out_memory = memory;
	return memory ? NULL : DFG_ERR(DFG_MEMORY, "out of memory");
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	(void)ctx;
	for (int64_t i = 0; i < n; i++)
		part(arg, i);
}

typedef float vector __attribute__((vector_size(32)));

/* Reads all of b: the least time in which a product of few rows can be computed, in nanoseconds. */
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
static double
read_all(const float *b, int64_t count)
{
	const vector *at = (const vector *)b;
	vector sum0 = {0}, sum1 = sum0, sum2 = sum0, sum3 = sum0;
	double begin = thread_time();
	for (int64_t j = 0; j + 4 <= count / 8; j += 4) {
		sum0 += at[j];
		sum1 += at[j + 1];
		sum2 += at[j + 2];
		sum3 += at[j + 3];
	}
	sum0 += sum1 + sum2 + sum3;
	__asm__ volatile("" ::"m"(sum0));
	return thread_time() - begin;
}

static void compare(int i, gemm_fn *gemm)
{
	int m = cases[i].m, n = cases[i].n, k = cases[i].k, transpose_a = cases[i].transpose_a,
		transpose_b = cases[i].transpose_b;
	int times = (int)(1 + 2e7 / (2.0 * m * n * k));
	struct dfg_product p = {
		m, n, k, transpose_a ? 1 : k, transpose_a ? m : 1, transpose_b ? 1 : n, transpose_b ? k : 1, n, false};
	float *a = numbers(m * k), *b = numbers(n * k), *c = numbers(m * n);
	const struct dfg_kernel_services services = {.scratch = scratch, .parallel = parallel};
	struct dfg_kernel ctx = {.host = &services};
	struct dfg_products products = {.each = p, .dtype = DFG_F32, .count = 1, .a = a, .b = b, .c = c};
	double ours = 1e9, theirs = 1e9, least = 1e9;
	for (int round = 0; round < 7 && a && b && c; round++) {
		for (int t = 0; t < times && m <= 8; t++) {
			double ns = read_all(b, (int64_t)n * k);
			least = ns < least ? ns : least;
		}
		double begin = thread_time();
		for (int t = 0; t < times; t++)
			dfg_err_free(dfg_kernel_products(&ctx, &products));
		double middle = thread_time();
		for (int t = 0; t < times && gemm; t++)
			gemm(101, transpose_a ? 112 : 111, transpose_b ? 112 : 111, m, n, k, 1, a, transpose_a ? m : k, b,
				transpose_b ? k : n, 0, c, n);
		double end = thread_time();
		ours = middle - begin < ours ? middle - begin : ours;
		theirs = end - middle < theirs ? end - middle : theirs;
	}
	printf("%5d x %4d x %4d %s%s %9.2f us %6.1f GFLOP/s", m, n, k, transpose_a ? "T" : "N", transpose_b ? "T" : "N",
		ours / times / 1e3, 2.0 * m * n * k / (ours / times));
	if (m <= 8)
		printf("   reading b %9.2f us", least / 1e3);
	printf(gemm ? "   OpenBLAS %9.2f us, %.2f times as fast\n" : "\n", theirs / times / 1e3, theirs / ours);
	dfg_free(a), dfg_free(b), dfg_free(c);
}

int main(int argc, char **argv)
{
	printf("%s\n", dfg_product_name());
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
#if defined(__x86_64__)
	/* OpenBLAS 0.3.21 takes processors newer than itself for old ones. */
	if (__builtin_cpu_supports("avx2"))
		setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512bw") ? "SkylakeX" : "Zen", 0);
#endif
	void *library = dlopen("libopenblas.so.0", RTLD_NOW);
	gemm_fn *gemm = library ? (gemm_fn *)dlsym(library, "cblas_sgemm") : NULL;
	if (!gemm)
		printf("OpenBLAS is not here: no comparison\n");
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
		if (argc < 2 || cases[i].m <= strtol(argv[1], NULL, 10))
			compare(i, gemm);
	return 0;
}
