#include "kernels/tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Steps of k that a copied panel holds: a panel stays in the first cache. */
enum { RUN = 256, COPY = 96 };

#define INLINE __attribute__((always_inline))

/* For any machine. */
#define REAL float
#define LANES 4
#define NAME(x) x##_f32
#define TARGET
#define FUSE(a, b, c) ((a) * (b) + (c))
#define ROWS 6
#include "kernels/tile.inc"

#define REAL double
#define LANES 2
#define NAME(x) x##_f64
#define TARGET
#define FUSE(a, b, c) ((a) * (b) + (c))
#define ROWS 6
#include "kernels/tile.inc"

#if defined(__x86_64__)
#define REAL float
#define LANES 8
#define NAME(x) x##_f32_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define FUSE(a, b, c) (vector_f32_avx2) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define ROWS 6
#include "kernels/tile.inc"

#define REAL double
#define LANES 4
#define NAME(x) x##_f64_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define FUSE(a, b, c) (vector_f64_avx2) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define ROWS 6
#include "kernels/tile.inc"

#define REAL float
#define LANES 16
#define NAME(x) x##_f32_avx512
#define TARGET __attribute__((target("avx512f")))
#define FUSE(a, b, c) (vector_f32_avx512) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define ROWS 12
#include "kernels/tile.inc"

#define REAL double
#define LANES 8
#define NAME(x) x##_f64_avx512
#define TARGET __attribute__((target("avx512f")))
#define FUSE(a, b, c) (vector_f64_avx512) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define ROWS 12
#include "kernels/tile.inc"
#endif

#if defined(__x86_64__)
#define CHOOSE(type, p, a, b, c)                                                  \
	do {                                                                          \
		if (__builtin_cpu_supports("avx512f"))                                    \
			product_##type##_avx512(p, a, b, c);                                  \
		else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) \
			product_##type##_avx2(p, a, b, c);                                    \
		else                                                                      \
			product_##type(p, a, b, c);                                           \
	} while (0)
#else
#define CHOOSE(type, p, a, b, c) product_##type(p, a, b, c)
#endif

void dfg_tile_f32(const struct dfg_product *p, const float *a, const float *b, float *c)
{
	CHOOSE(f32, p, a, b, c);
}

void dfg_tile_f64(const struct dfg_product *p, const double *a, const double *b, double *c)
{
	CHOOSE(f64, p, a, b, c);
}

const char *dfg_tile_name(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return "own loops, AVX-512";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "own loops, AVX2";
#endif
	return "own loops";
}
