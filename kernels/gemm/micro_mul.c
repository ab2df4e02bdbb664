#include "kernels/gemm/micro.h"

#include <string.h>

/* For processors without fused multiply-adds: each step rounds twice. And for integers. */
#include "kernels/gemm/transpose_plain.h"

#define REAL float
#define LANES 4
#define NAME(x) x##_f32
#define TARGET
#define FUSE(a, b, c) ((a) * (b) + (c))
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_f32_4
#include "kernels/gemm/micro.inc"

#define REAL double
#define LANES 2
#define NAME(x) x##_f64
#define TARGET
#define FUSE(a, b, c) ((a) * (b) + (c))
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_f64_4
#include "kernels/gemm/micro.inc"

#define REAL uint32_t
#define LANES 4
#define NAME(x) x##_u32
#define TARGET
#define FUSE(a, b, c) ((a) * (b) + (c))
#define ROWS 6
#define SQUARE 4
#define TRANSPOSE transpose_u32_4
#include "kernels/gemm/micro.inc"

const struct dfg_product_functions *const dfg_product_i32 = &functions_u32;

const struct dfg_product_variant dfg_product_mul = {
	"no fused multiply-add", "mul", "mul", &functions_f32, &functions_f64};
