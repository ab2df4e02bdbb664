#pragma once

/*
 * Products of matrices on a device, with the bits of the host: an element is a chain of fused multiply-adds over ascending k,
 * and every DFG_PRODUCT_CHAIN steps begin a new chain; chains are joined in a tree (kernels/gemm/gemm.h). Halves are widened,
 * and integers wrap around.
 */
#include <cmath>

#include "kernels/cuda/element.cuh"
#include "lib/exec/device/product_launch.h"

DFG_DEVICE inline float add_product(float x, float y, float sum)
{
	return std::fma(x, y, sum);
}
DFG_DEVICE inline double add_product(double x, double y, double sum)
{
	return std::fma(x, y, sum);
}
DFG_DEVICE inline int32_t add_product(int32_t x, int32_t y, int32_t sum)
{
	return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y) + static_cast<uint32_t>(sum));
}
DFG_DEVICE inline int64_t add_product(int64_t x, int64_t y, int64_t sum)
{
	return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y) + static_cast<uint64_t>(sum));
}

/* The sum of k products of adjacent steps, at most one chain. */
template <class Stored>
DFG_DEVICE inline auto chain_of(const struct dfg_product_launch &launch, const Stored *a, const Stored *b, int64_t k)
{
	decltype(widened(*a)) sum = 0;
	for (int64_t s = 0; s < k; s++)
		sum = add_product(widened(a[s * launch.a_column]), widened(b[s * launch.b_row]), sum);
	return sum;
}

/*
 * The sum of all chains. Sums of 1, 2, 4, ... of them wait until an equal one follows, which makes the tree whose left halves
 * have the largest power of two.
 */
template <class Stored>
DFG_DEVICE inline auto sum_of(const struct dfg_product_launch &launch, const Stored *a, const Stored *b)
{
	constexpr int64_t chain = DFG_PRODUCT_LAUNCH_CHAIN;
	using element = decltype(widened(*a));
	element waiting[52];
	int depth = 0;
	if (launch.k <= chain)
		return chain_of(launch, a, b, launch.k);
	for (int64_t first = 0, number = 1; first < launch.k; first += chain, number++) {
		const int64_t left = launch.k - first;
		waiting[depth++] =
			chain_of(launch, a + first * launch.a_column, b + first * launch.b_row, left < chain ? left : chain);
		for (int64_t equal = number; equal % 2 == 0; equal /= 2, depth--)
			waiting[depth - 2] = waiting[depth - 2] + waiting[depth - 1];
	}
	for (; depth > 1; depth--)
		waiting[depth - 2] = waiting[depth - 2] + waiting[depth - 1];
	return waiting[0];
}

/* The elements of the products from `first` on, `step` apart. */
template <class Stored>
DFG_DEVICE inline void product_elements(const struct dfg_product_launch &launch, int64_t first, int64_t step)
{
	for (int64_t i = first; i < launch.count; i += step) {
		const int64_t column = i % launch.n, row = i / launch.n % launch.m;
		int64_t a = row * launch.a_row, b = column * launch.b_column, matrix = i / launch.n / launch.m;
		for (int d = launch.rank - 1; d >= 0; d--) {
			a += matrix % launch.extent[d] * launch.a_step[d];
			b += matrix % launch.extent[d] * launch.b_step[d];
			matrix /= launch.extent[d];
		}
		store_rounded(&static_cast<Stored *>(launch.out)[i],
			sum_of(launch, static_cast<const Stored *>(launch.a) + a, static_cast<const Stored *>(launch.b) + b));
	}
}

#define PRODUCT_KERNEL(Op, name, Stored)                                                                     \
	KERNEL(product, Op##_##name)                                                                             \
	{                                                                                                        \
		product_elements<Stored>(launch, blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x,        \
			gridDim.x * static_cast<int64_t>(blockDim.x));                                                   \
	}
#define PRODUCT_KERNELS(Op)                                                                                   \
	PRODUCT_KERNEL(Op, f32, float) PRODUCT_KERNEL(Op, f64, double) PRODUCT_KERNEL(Op, f16, f16)                \
	PRODUCT_KERNEL(Op, bf16, bf16) PRODUCT_KERNEL(Op, i32, int32_t) PRODUCT_KERNEL(Op, i64, int64_t)
