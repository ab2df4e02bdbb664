#include "kernels/gemm/micro.h"

#include <string.h>

#if defined(__x86_64__)
#include "kernels/gemm/turned_avx2.h"

#define TARGET_AVX512 __attribute__((target("avx512f,avx2,fma")))

#define REAL float
#define LANES 16
#define NAME(x) x##_f32
#define TARGET TARGET_AVX512
#define FUSE(a, b, c) (vector_f32) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define ROWS 14
#define SQUARE 8
#define TRANSPOSE transpose_8
#define TURNED turned_f32
#include "kernels/gemm/micro.inc"

#define REAL double
#define LANES 8
#define NAME(x) x##_f64
#define TARGET TARGET_AVX512
#define FUSE(a, b, c) (vector_f64) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define ROWS 14
#define SQUARE 4
#define TRANSPOSE transpose_4
#include "kernels/gemm/micro.inc"

const struct dfg_product_variant dfg_product_avx512 = {"AVX-512", "avx512", "fma", &functions_f32, &functions_f64};
#endif
