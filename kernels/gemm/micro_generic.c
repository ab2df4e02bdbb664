#include "kernels/gemm/micro.h"

#include <string.h>

/* For any processor, with the bits of those that have fused multiply-adds; slow on one that has none. */
#include "kernels/gemm/transpose_plain.h"

#define PLAIN_FUSE(name, type, lanes, one)                                                 \
	typedef type fused_##name __attribute__((vector_size(lanes * sizeof(type))));          \
	static inline fused_##name fuse_##name(fused_##name a, fused_##name b, fused_##name c) \
	{                                                                                      \
		for (int l = 0; l < lanes; l++)                                                    \
			c[l] = one(a[l], b[l], c[l]);                                                  \
		return c;                                                                          \
	}
PLAIN_FUSE(f32, float, 4, __builtin_fmaf)
PLAIN_FUSE(f64, double, 2, __builtin_fma)

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
