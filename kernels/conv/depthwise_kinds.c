#include "kernels/conv/columns.h"
#include "kernels/conv/depthwise.h"
#include "kernels/gemm/fuse_plain.h"
#include "kernels/gemm/micro.h"

#include <string.h>

/*
 * Rows of depthwise convolutions for each kind of instructions that products use. Loads are shared for f32 alone: the functions
 * that share them are the largest here.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx2,fma")))

#define REAL float
#define LANES 8
#define NAME(x) x##_avx2_f32
#define SHARED 8
#define MASK __m256i
#define MASK_OF(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_MASKED(from, mask) (vector_avx2_f32) _mm256_maskload_ps(from, mask)
#define STORE_MASKED(to, mask, x) _mm256_maskstore_ps(to, mask, (__m256)(x))
#define TARGET TARGET_AVX2
#define FUSE(a, b, c) (vector_avx2_f32) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#include "kernels/conv/depthwise.inc"

#define REAL double
#define LANES 4
#define NAME(x) x##_avx2_f64
#define MASK __m256i
#define MASK_OF(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x((n)), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_MASKED(from, mask) (vector_avx2_f64) _mm256_maskload_pd(from, mask)
#define STORE_MASKED(to, mask, x) _mm256_maskstore_pd(to, mask, (__m256d)(x))
#define TARGET TARGET_AVX2
#define FUSE(a, b, c) (vector_avx2_f64) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#include "kernels/conv/depthwise.inc"

#define REAL float
#define LANES 16
#define NAME(x) x##_avx512_f32
#define SHARED 14
#define MASK __mmask16
#define MASK_OF(n) (__mmask16)((1U << (n)) - 1)
#define LOAD_MASKED(from, mask) (vector_avx512_f32) _mm512_maskz_loadu_ps(mask, from)
#define STORE_MASKED(to, mask, x) _mm512_mask_storeu_ps(to, mask, (__m512)(x))
#define TARGET TARGET_AVX512
#define FUSE(a, b, c) (vector_avx512_f32) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#include "kernels/conv/depthwise.inc"

#define REAL double
#define LANES 8
#define NAME(x) x##_avx512_f64
#define MASK __mmask8
#define MASK_OF(n) (__mmask8)((1U << (n)) - 1)
#define LOAD_MASKED(from, mask) (vector_avx512_f64) _mm512_maskz_loadu_pd(mask, from)
#define STORE_MASKED(to, mask, x) _mm512_mask_storeu_pd(to, mask, (__m512d)(x))
#define TARGET TARGET_AVX512
#define FUSE(a, b, c) (vector_avx512_f64) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#include "kernels/conv/depthwise.inc"
#endif

#define REAL float
#define LANES 4
#define NAME(x) x##_generic_f32
#define TARGET
#define FUSE fuse_f32
#include "kernels/conv/depthwise.inc"

#define REAL double
#define LANES 2
#define NAME(x) x##_generic_f64
#define TARGET
#define FUSE fuse_f64
#include "kernels/conv/depthwise.inc"

#define TWICE(a, b, c) ((a) * (b) + (c))

#define REAL float
#define LANES 4
#define NAME(x) x##_mul_f32
#define TARGET
#define FUSE TWICE
#include "kernels/conv/depthwise.inc"

#define REAL double
#define LANES 2
#define NAME(x) x##_mul_f64
#define TARGET
#define FUSE TWICE
#include "kernels/conv/depthwise.inc"

static const struct {
	const struct dfg_product_variant *variant;
	const struct dfg_depthwise_functions *f32, *f64;
} kinds[] = {
#if defined(__x86_64__)
	{&dfg_product_avx512, &functions_avx512_f32, &functions_avx512_f64},
	{&dfg_product_avx2, &functions_avx2_f32, &functions_avx2_f64},
#endif
	{&dfg_product_mul, &functions_mul_f32, &functions_mul_f64},
	{&dfg_product_generic, &functions_generic_f32, &functions_generic_f64},
};

const struct dfg_depthwise_functions *dfg_depthwise_functions(enum dfg_dtype dtype)
{
	size_t i = 0;
	while (i + 1 < sizeof kinds / sizeof *kinds && kinds[i].variant != dfg_product_variant())
		i++;
	return dtype == DFG_F32 ? kinds[i].f32 : kinds[i].f64;
}
