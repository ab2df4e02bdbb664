#pragma once

/*
 * Rows as kernels of a device. A kernels/X.cu includes this and then the table of kernels/X.c: each row becomes a struct
 * with the row's expression, and a kernel that applies it to the elements of a launch. The same text is compiled by nvcc,
 * and by g++ for the stand-in.
 */
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/element.cuh"
#include "lib/exec/device/row_launch.h"
#include "kernels/row_types.h"

#define _Bool bool
#undef DFG_EACH_complex /* rows of complex numbers run on the host */
#define DFG_EACH_complex(X, ...)

/* That of the functions for all types which is for the operand's type: C++'s _Generic. */
template <class Operand, class F32, class F64> DFG_DEVICE constexpr auto of_float(F32 f32, F64 f64)
{
	if constexpr (std::is_same_v<std::decay_t<Operand>, float>)
		return f32;
	else
		return f64;
}

template <size_t bytes, class A1, class A2, class A4, class A8> DFG_DEVICE constexpr auto of_size(A1 a1, A2 a2, A4 a4, A8 a8)
{
	if constexpr (bytes == 1)
		return a1;
	else if constexpr (bytes == 2)
		return a2;
	else if constexpr (bytes == 4)
		return a4;
	else
		return a8;
}

#define OF_FLOAT(f, x) of_float<decltype(x)>(f##_f32, f##_f64)
#define OF_SIGNED(f, x) of_size<sizeof(x)>(f##_i8, f##_i16, f##_i32, f##_i64)
#define OF_UNSIGNED(f, x) of_size<sizeof(x)>(f##_u8, f##_u16, f##_u32, f##_u64)

template <class Operand, class Float, class Signed, class Unsigned>
DFG_DEVICE constexpr auto of_kind(Float real, Signed with_sign, Unsigned without)
{
	using element = std::decay_t<Operand>;
	if constexpr (std::is_floating_point_v<element>)
		return real;
	else if constexpr (std::is_signed_v<element>)
		return with_sign;
	else
		return without;
}
#define OF_INT(f, x) of_kind<decltype(x)>(0, OF_SIGNED(f, x), OF_UNSIGNED(f, x))
#define OF_NUMBER(f, x) of_kind<decltype(x)>(OF_FLOAT(f, x), OF_SIGNED(f, x), OF_UNSIGNED(f, x))
#define OF_DIVISIBLE OF_FLOAT
#define OF_NUMERIC OF_NUMBER

/* The functions are written once, for C, and here belong to each file of kernels. nvcc requires a prefix of each. */
namespace
{
#ifdef __CUDACC__
#define inline __host__ __device__ inline
#endif
#include "kernels/special.c"
#include "kernels/trigonometry.c"
#include "kernels/row_functions.h"
#undef inline
} // namespace

#include "kernels/row_names.h"

/* The index of the element of an operand that output element i reads. */
DFG_DEVICE inline int64_t operand_index(const struct dfg_row_launch &launch, int operand, int64_t i)
{
	int64_t index = 0;
	if (launch.plain >> operand & 1)
		return i;
	for (int d = launch.rank - 1; d >= 0; d--) {
		index += i % launch.extent[d] * launch.stride[operand][d];
		i /= launch.extent[d];
	}
	return index;
}

/* Operand `number`, of a type that is in memory as Stored if it is an element of the row, else as itself. */
template <class Row, class Stored, class Operand>
DFG_DEVICE inline Operand load_operand(const struct dfg_row_launch &launch, int number, int64_t i)
{
	using memory = std::conditional_t<std::is_same_v<Operand, typename Row::element>, Stored, Operand>;
	return widened(static_cast<const memory *>(launch.in[number])[operand_index(launch, number, i)]);
}

/* The elements of the output from `first` on, `step` apart. */
template <class Row, class Stored>
DFG_DEVICE inline void row_elements(const struct dfg_row_launch &launch, int64_t first, int64_t step)
{
	using memory = std::conditional_t<std::is_same_v<typename Row::result, typename Row::element>, Stored, typename Row::result>;
	memory *to = static_cast<memory *>(launch.out);
	for (int64_t i = first; i < launch.count; i += step)
		store_rounded(&to[i], Row::template at<Stored>(launch, i));
}

/* The kernel of the row Op_of for elements that are Stored in memory, of the type `name`. */
#define ROW_KERNEL(Op, name, of, Stored)                                                                  \
	KERNEL(row, Op##_##name)                                                                              \
	{                                                                                                     \
		row_elements<Op##_##of, Stored>(launch, blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x, \
			gridDim.x * static_cast<int64_t>(blockDim.x));                                                \
	}
#define ROW_KERNELS_f32(Op) \
	ROW_KERNEL(Op, f32, f32, float) ROW_KERNEL(Op, f16, f32, f16) ROW_KERNEL(Op, bf16, f32, bf16)
#define ROW_KERNELS_f64(Op) ROW_KERNEL(Op, f64, f64, double)
#define ROW_KERNELS_i8(Op) ROW_KERNEL(Op, i8, i8, int8_t)
#define ROW_KERNELS_i16(Op) ROW_KERNEL(Op, i16, i16, int16_t)
#define ROW_KERNELS_i32(Op) ROW_KERNEL(Op, i32, i32, int32_t)
#define ROW_KERNELS_i64(Op) ROW_KERNEL(Op, i64, i64, int64_t)
#define ROW_KERNELS_u8(Op) ROW_KERNEL(Op, u8, u8, uint8_t)
#define ROW_KERNELS_u16(Op) ROW_KERNEL(Op, u16, u16, uint16_t)
#define ROW_KERNELS_u32(Op) ROW_KERNEL(Op, u32, u32, uint32_t)
#define ROW_KERNELS_u64(Op) ROW_KERNEL(Op, u64, u64, uint64_t)
#define ROW_KERNELS_bool(Op) ROW_KERNEL(Op, bool, bool, bool)

/* A row, whose operands are declared by `operands`. */
#define ROW(Op, name, type, out_type, operands, expr)                                                        \
	namespace                                                                                                \
	{                                                                                                        \
	struct Op##_##name {                                                                                     \
		using element = type;                                                                                \
		using result = out_type;                                                                             \
		template <class Stored> static DFG_DEVICE result at(const struct dfg_row_launch &launch, int64_t i)  \
		{                                                                                                    \
			using row = Op##_##name;                                                                         \
			const union dfg_launch_attr *attr = launch.attr;                                                 \
			(void)attr;                                                                                      \
			operands return static_cast<result>(expr);                                                       \
		}                                                                                                    \
	};                                                                                                       \
	}                                                                                                        \
	ROW_KERNELS_##name(Op)

#define OPERAND(type, name, number) const type name = load_operand<row, Stored, type>(launch, number, i);
#define OPERANDS_1             \
	OPERAND(element, x, 0) \
	(void)x;
#define OPERANDS_2 OPERAND(element, x, 0) OPERAND(element, y, 1)
#define OPERANDS_3 OPERANDS_2 OPERAND(element, z, 2)
#define OPERANDS_WHERE OPERAND(bool, x, 0) OPERAND(element, y, 1) OPERAND(element, z, 2)

#define ROW_1(NAME, name, type, number, Op, expr) ROW(Op, name, type, type, OPERANDS_1, expr)
#define ROW_2(NAME, name, type, number, Op, expr) ROW(Op, name, type, type, OPERANDS_2, expr)
#define ROW_3(NAME, name, type, number, Op, expr) ROW(Op, name, type, type, OPERANDS_3, expr)
#define ROW_WHERE(NAME, name, type, number, Op, expr) ROW(Op, name, type, type, OPERANDS_WHERE, expr)
#define ROW_TEST(NAME, name, type, number, Op, expr) ROW(Op, name, type, bool, OPERANDS_1, expr)
#define ROW_COMPARE(NAME, name, type, number, Op, expr) ROW(Op, name, type, bool, OPERANDS_2, expr)

/* The macros of the tables (kernels/elementwise_rows.h), of which a kernel needs the types and the expression. */
#define UNARY_AS(Op, ports, types, bits, expr, ...) DFG_EACH_##types(ROW_1, Op, expr)
#define BINARY_AS(Op, ports, types, bits, expr, ...) DFG_EACH_##types(ROW_2, Op, expr)
#define TERNARY_AS(Op, ports, types, bits, expr, ...) DFG_EACH_##types(ROW_3, Op, expr)
#define UNARY(Op, types, bits, expr, ...) DFG_EACH_##types(ROW_1, Op, expr)
#define BINARY(Op, types, bits, expr, ...) DFG_EACH_##types(ROW_2, Op, expr)
#define TEST(Op, types, expr, ...) DFG_EACH_##types(ROW_TEST, Op, expr)
#define COMPARE(Op, types, bits, expr, ...) DFG_EACH_##types(ROW_COMPARE, Op, expr)
#define WHERE(Op, types, expr, ...) DFG_EACH_##types(ROW_WHERE, Op, expr)
#define LOGICAL(Op, ports, inputs, operands, expr, ...) ROW(Op, bool, bool, bool, OPERANDS_OF_##inputs, expr)
#define OPERANDS_OF_INPUTS_1 OPERANDS_1
#define OPERANDS_OF_INPUTS_2 OPERANDS_2
#define ACTIVATION(Op, types, bits, expr, ...) DFG_EACH_##types(ROW_1, Op, expr)
#define BACKWARD(Op, by, types, expr, ...) DFG_EACH_##types(ROW_2, Op, expr)
