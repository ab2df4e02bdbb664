#pragma once

/* Fused multiply-adds of vectors, for any processor. */
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
