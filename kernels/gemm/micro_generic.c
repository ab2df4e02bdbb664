#include "kernels/gemm/micro.h"

#include <string.h>

/* For any processor, with the bits of those that have fused multiply-adds; slow on one that has none. */
#include "kernels/gemm/fuse_plain.h"
#include "kernels/gemm/transpose_plain.h"

#define REAL float
#define LANES 4
#define NAME(x) x##_f32
#define TARGET
#define FUSE(a, b, c) fuse_f32(a, b, c)
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_f32_4
#include "kernels/gemm/micro.inc"

#define REAL double
#define LANES 2
#define NAME(x) x##_f64
#define TARGET
#define FUSE(a, b, c) fuse_f64(a, b, c)
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_f64_4
#include "kernels/gemm/micro.inc"

const struct dfg_product_variant dfg_product_generic = {"generic", "generic", "fma", &functions_f32, &functions_f64};
