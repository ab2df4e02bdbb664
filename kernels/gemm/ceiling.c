#include "kernels/gemm/ceiling.h"

#include "kernels/gemm/gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include <time.h>

/* This thread's processor time, on which other programs of a busy machine have little effect. */
static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define BEGIN(i) vector sum_##i = one * i;
#define STEP(i) sum_##i = FUSE(one, sum_##i, one);
#define END(i) __asm__ volatile("" : : KEEP(sum_##i));
#define CEILING(name, instructions, lanes)                                \
	__attribute__((target(instructions))) static double name(int rounds)  \
	{                                                                     \
		typedef float vector __attribute__((vector_size(4 * lanes)));     \
		enum { STEPS = 1 << 18 };                                         \
		double best = 0;                                                  \
		while (rounds-- > 0) {                                            \
			vector one = (vector){0} + 0.5f;                              \
			__asm__ volatile("" : "+x"(one));                             \
			CHAINS(BEGIN)                                                 \
			double begin = seconds();                                     \
			for (int s = 0; s < STEPS; s++) {                             \
				__asm__ volatile("" : "+x"(one));                         \
				CHAINS(STEP)                                              \
			}                                                             \
			double rate = 2.0 * lanes * 12 * STEPS / (seconds() - begin); \
			CHAINS(END)                                                   \
			best = rate > best ? rate : best;                             \
		}                                                                 \
		return best;                                                      \
	}
#define KEEP(x) "x"(x)
#define FUSE(a, b, c) (vector) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
CEILING(of_avx2, "avx2,fma", 8)
#undef KEEP
#undef FUSE
#define KEEP(x) "v"(x)
#define FUSE(a, b, c) (vector) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
CEILING(of_avx512, "avx512f,avx2,fma", 16)

double dfg_product_ceiling(int rounds)
{
	if (!strcmp(dfg_product_name(), "AVX-512"))
		return of_avx512(rounds);
	return strcmp(dfg_product_name(), "AVX2") ? 0 : of_avx2(rounds);
}
#else
double dfg_product_ceiling(int rounds)
{
	(void)rounds;
	return 0;
}
#endif
