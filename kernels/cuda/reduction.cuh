#pragma once

/*
 * Reductions on a device, with the bits of the host: each thread computes an element of the output, whose terms it combines in
 * the order of kernels/reduce.c. A reduction Op_of is a struct with the type of its accumulators and
 *
 *     empty()        the result of no elements
 *     join(a, b)     one accumulator of two
 *     last(a, n)     the result of accumulator a of n elements
 */
#include <limits>
#include <type_traits>

#include "kernels/cuda/element.cuh"
#include "lib/exec/device/reduction_launch.h"

namespace
{
constexpr int64_t reduce_lanes = DFG_LAUNCH_LANES, reduce_leaf = DFG_LAUNCH_LEAF, reduce_block = DFG_LAUNCH_BLOCK,
				  reduce_stack = DFG_LAUNCH_STACK;

DFG_DEVICE inline int64_t axes_at(const struct dfg_launch_axes &axes, int64_t i)
{
	int64_t at = 0;
	for (int d = axes.rank - 1; d >= 0; d--) {
		at += i % axes.dim[d] * axes.step[d];
		i /= axes.dim[d];
	}
	return at;
}

/* The left half of n items in a tree whose leaves are `unit` items. */
DFG_DEVICE inline int64_t left_of(int64_t n, int64_t unit)
{
	return ((n + unit - 1) / unit + 1) / 2 * unit;
}

/* The accumulator of lanes `lane`, lane + width, lane + 2 * width, ...; a half without elements is not joined. */
template <class Rule, class Stored, int width>
DFG_DEVICE inline typename Rule::accumulator lanes_of(const Stored *x, int64_t n, int64_t lane)
{
	if constexpr (width == reduce_lanes) {
		typename Rule::accumulator sum = Rule::empty();
		for (int64_t i = lane; i < n; i += reduce_lanes)
			sum = Rule::join(sum, Rule::one(widened(x[i])));
		return sum;
	} else {
		auto sum = lanes_of<Rule, Stored, 2 * width>(x, n, lane);
		return n > width ? Rule::join(sum, lanes_of<Rule, Stored, 2 * width>(x, n, lane + width)) : sum;
	}
}

/* n adjacent elements: halves of whole blocks, then of whole leaves, whose elements are in lanes. */
template <class Rule, class Stored> DFG_DEVICE typename Rule::accumulator row_of(const Stored *x, int64_t n)
{
	if (n <= reduce_leaf)
		return lanes_of<Rule, Stored, 1>(x, n, 0);
	const int64_t half = n > reduce_block ? left_of(n, reduce_block) : (n / reduce_leaf + 1) / 2 * reduce_leaf;
	const typename Rule::accumulator left = row_of<Rule>(x, half);
	return Rule::join(left, row_of<Rule>(x + half, n - half));
}

/* Positions [first, last) of the reduced axes, from the element at x on. */
template <class Rule, class Stored>
DFG_DEVICE typename Rule::accumulator positions_of(
	const struct dfg_reduction_launch &launch, const Stored *x, int64_t first, int64_t last)
{
	if (launch.run > 1 && last - first == 1)
		return row_of<Rule>(x + axes_at(launch.gone, first), launch.run);
	if (launch.run == 1 && last - first <= reduce_stack) {
		typename Rule::accumulator sum = Rule::empty();
		for (int64_t i = first; i < last; i++)
			sum = Rule::join(sum, Rule::one(widened(x[axes_at(launch.gone, i)])));
		return sum;
	}
	const int64_t middle =
		first + (last - first > launch.block ? left_of(last - first, launch.block) : (last - first + 1) / 2);
	const typename Rule::accumulator left = positions_of<Rule>(launch, x, first, middle);
	return Rule::join(left, positions_of<Rule>(launch, x, middle, last));
}

/* The elements of the output from `first` on, `step` apart. */
template <class Rule, class Stored>
DFG_DEVICE inline void reduction_elements(const struct dfg_reduction_launch &launch, int64_t first, int64_t step)
{
	const int64_t terms = launch.gone.count * launch.run;
	for (int64_t i = first; i < launch.count; i += step) {
		const Stored *x =
			static_cast<const Stored *>(launch.in) + axes_at(launch.kept, i / launch.width) + i % launch.width;
		store_rounded(&static_cast<Stored *>(launch.out)[i],
			Rule::last(terms ? positions_of<Rule>(launch, x, 0, launch.gone.count) : Rule::empty(), terms));
	}
}

template <class Element> constexpr bool is_whole = std::is_integral_v<Element>;

/* Numbers to add and multiply: integers wrap around, which unsigned ones do. */
template <class Element> DFG_DEVICE inline Element wrapped_sum(Element a, Element b)
{
	if constexpr (is_whole<Element>)
		return static_cast<Element>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
	else
		return a + b;
}
template <class Element> DFG_DEVICE inline Element wrapped_product(Element a, Element b)
{
	if constexpr (is_whole<Element>)
		return static_cast<Element>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
	else
		return a * b;
}

template <class Element> struct plain_rule {
	using accumulator = Element;
	static DFG_DEVICE Element one(Element x) { return x; }
	static DFG_DEVICE Element last(Element a, int64_t) { return a; }
};

template <class Element> struct Sum_rule : plain_rule<Element> {
	static DFG_DEVICE Element empty() { return 0; }
	static DFG_DEVICE Element join(Element a, Element b) { return wrapped_sum(a, b); }
};

template <class Element> struct Prod_rule : plain_rule<Element> {
	static DFG_DEVICE Element empty() { return 1; }
	static DFG_DEVICE Element join(Element a, Element b) { return wrapped_product(a, b); }
};

/* The mean of floats; that of integers requires a wider accumulator. */
template <class Element> struct Mean_rule : Sum_rule<Element> {
	static DFG_DEVICE Element last(Element a, int64_t n) { return a / static_cast<Element>(n); }
};

template <class Element> DFG_DEVICE constexpr Element lowest()
{
	if constexpr (is_whole<Element>)
		return std::numeric_limits<Element>::min();
	else
		return -std::numeric_limits<Element>::infinity();
}
template <class Element> DFG_DEVICE constexpr Element highest()
{
	if constexpr (is_whole<Element>)
		return std::numeric_limits<Element>::max();
	else
		return std::numeric_limits<Element>::infinity();
}

/* A NaN is the result: comparisons with it are false. */
template <class Element> struct Max_rule : plain_rule<Element> {
	static DFG_DEVICE Element empty() { return lowest<Element>(); }
	static DFG_DEVICE Element join(Element a, Element b) { return a >= b || a != a ? a : b; }
};

template <class Element> struct Min_rule : plain_rule<Element> {
	static DFG_DEVICE Element empty() { return highest<Element>(); }
	static DFG_DEVICE Element join(Element a, Element b) { return a <= b || a != a ? a : b; }
};
} // namespace

#define REDUCTION_KERNEL(Op, name, Stored, Element)                                                          \
	KERNEL(reduction, Op##_##name)                                                                           \
	{                                                                                                        \
		reduction_elements<Op##_rule<Element>, Stored>(launch,                                               \
			blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x,                                     \
			gridDim.x * static_cast<int64_t>(blockDim.x));                                                   \
	}
#define REDUCTION_KERNELS_float(Op)                                                                           \
	REDUCTION_KERNEL(Op, f32, float, float) REDUCTION_KERNEL(Op, f64, double, double)                         \
	REDUCTION_KERNEL(Op, f16, f16, float) REDUCTION_KERNEL(Op, bf16, bf16, float)
#define REDUCTION_KERNELS_int(Op)                                                                             \
	REDUCTION_KERNEL(Op, i8, int8_t, int8_t) REDUCTION_KERNEL(Op, i16, int16_t, int16_t)                      \
	REDUCTION_KERNEL(Op, i32, int32_t, int32_t) REDUCTION_KERNEL(Op, i64, int64_t, int64_t)                   \
	REDUCTION_KERNEL(Op, u8, uint8_t, uint8_t) REDUCTION_KERNEL(Op, u16, uint16_t, uint16_t)                  \
	REDUCTION_KERNEL(Op, u32, uint32_t, uint32_t) REDUCTION_KERNEL(Op, u64, uint64_t, uint64_t)
