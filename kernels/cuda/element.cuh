#pragma once

#include <cstdint>

#include "kernels/cuda/device.cuh"

namespace
{
#ifdef __CUDACC__
#define inline __host__ __device__ inline
#endif
#include "lib/graph/half_bits.h"
#undef inline
} // namespace

/* Element types in memory: a half is stored as bits, and computed in f32. */
struct f16 {
	uint16_t bits;
};
struct bf16 {
	uint16_t bits;
};

template <class Element> DFG_DEVICE inline Element widened(Element stored)
{
	return stored;
}
DFG_DEVICE inline float widened(f16 stored)
{
	return widen_f16(stored.bits);
}
DFG_DEVICE inline float widened(bf16 stored)
{
	return widen_bf16(stored.bits);
}

template <class Element> DFG_DEVICE inline void store_rounded(Element *to, Element value)
{
	*to = value;
}
DFG_DEVICE inline void store_rounded(f16 *to, float value)
{
	to->bits = round_f16(value);
}
DFG_DEVICE inline void store_rounded(bf16 *to, float value)
{
	to->bits = round_bf16(value);
}

