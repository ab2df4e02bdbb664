#include "kernels/gemm/micro.h"

#include <string.h>

#if defined(__x86_64__)
#include "kernels/gemm/turned_avx2.h"

#define REAL float
#define LANES 8
#define NAME(x) x##_f32
#define TARGET TARGET_AVX2
#define FUSE(a, b, c) (vector_f32) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define ROWS 6
#define SQUARE 8
#define TRANSPOSE transpose_8
#define TURNED turned_f32
#include "kernels/gemm/micro.inc"

#define REAL double
#define LANES 4
#define NAME(x) x##_f64
#define TARGET TARGET_AVX2
#define FUSE(a, b, c) (vector_f64) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_4
#include "kernels/gemm/micro.inc"

const struct dfg_product_variant dfg_product_avx2 = {"AVX2", "avx2", "fma", &functions_f32, &functions_f64};
#endif
