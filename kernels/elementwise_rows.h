#pragma once

#include "kernels/row_functions.h"
#include "kernels/row_types.h"
#include "lib/base/vector.h"
#include "lib/graph/kernel.h"

#undef bool /* pasted into names here; the type is _Bool */

/*
 * The macros of tables of elementwise ops (kernels/arithmetic.def), which have one op a row:
 *
 *     UNARY(name, types, flags, y, gradient, doc)     BINARY(name, types, flags, z, gradient, doc)
 *
 * y and z are expressions in x and y of the element's type, whose name in them is `element`; attributes are attr[i],
 * and the functions below are defined for each type. UNARY_AS, BINARY_AS and TERNARY_AS are for ports of other names. A
 * gradient "" is zero; the op of a row with NULL has none (DFG_NO_GRADIENT). A row may run in place.
 */

/* Only rows of floats are compiled for wider vectors; others gain too little. */
#define FUNCTION_f32 DFG_CLONED
#define FUNCTION_f64 DFG_CLONED
#define FUNCTION_i8 DFG_FUNCTION
#define FUNCTION_i16 DFG_FUNCTION
#define FUNCTION_i32 DFG_FUNCTION
#define FUNCTION_i64 DFG_FUNCTION
#define FUNCTION_u8 DFG_FUNCTION
#define FUNCTION_u16 DFG_FUNCTION
#define FUNCTION_u32 DFG_FUNCTION
#define FUNCTION_u64 DFG_FUNCTION
#define FUNCTION_c64 DFG_FUNCTION
#define FUNCTION_c128 DFG_FUNCTION
#define FUNCTION_bool DFG_FUNCTION

#define ROW(name, type, out_type, Op, inputs, operands, expr)                                                      \
	FUNCTION_##name(void, Op##_##name, (int64_t n, void *out, const void *const *in, const union dfg_value *attr), \
		(n, out, in, attr))                                                                                        \
	{                                                                                                              \
		typedef type element;                                                                                      \
		inputs out_type *to = out;                                                                                 \
		(void)attr;                                                                                                \
		DFG_INDEPENDENT                                                                                            \
		for (int64_t i = 0; i < n; i++) {                                                                          \
			operands to[i] = (out_type)(expr);                                                                     \
		}                                                                                                          \
	}

/* Arguments of ROW, and therefore without commas. */
#define INPUTS_1 const element *a = in[0];
#define INPUTS_2 INPUTS_1 const element *b = in[1];
#define INPUTS_3 INPUTS_2 const element *c = in[2];
#define INPUTS_WHERE          \
	const _Bool *a = in[0];   \
	const element *b = in[1]; \
	const element *c = in[2];
#define OPERANDS_1          \
	const element x = a[i]; \
	(void)x;
#define OPERANDS_2          \
	const element x = a[i]; \
	const element y = b[i];
#define OPERANDS_3 OPERANDS_2 const element z = c[i];
#define OPERANDS_WHERE      \
	const _Bool x = a[i];   \
	const element y = b[i]; \
	const element z = c[i];

#define ROW_1(NAME, name, type, number, Op, expr) ROW(name, type, type, Op, INPUTS_1, OPERANDS_1, expr)
#define ROW_2(NAME, name, type, number, Op, expr) ROW(name, type, type, Op, INPUTS_2, OPERANDS_2, expr)
#define ROW_3(NAME, name, type, number, Op, expr) ROW(name, type, type, Op, INPUTS_3, OPERANDS_3, expr)
#define ROW_WHERE(NAME, name, type, number, Op, expr) ROW(name, type, type, Op, INPUTS_WHERE, OPERANDS_WHERE, expr)
#define ROW_TEST(NAME, name, type, number, Op, expr) ROW(name, type, _Bool, Op, INPUTS_1, OPERANDS_1, expr)
#define ROW_COMPARE(NAME, name, type, number, Op, expr) ROW(name, type, _Bool, Op, INPUTS_2, OPERANDS_2, expr)

/* The arguments after the formula are the text and further fields of the record. */
#define RECORD(Op, types, ports, bits, formula, text, ...)        \
	const struct dfg_op dfg_op_##Op = {.name = #Op,               \
		.doc = text,                                              \
		.sig = "<T: " CLASS_##types ">" ports,                    \
		.flags = (bits),                                          \
		.gradient = formula,                                      \
		.row = DFG_ROW_TABLE{DFG_EACH_##types(DFG_BY_DTYPE, Op)}, \
		__VA_ARGS__};

#define UNARY_AS(Op, ports, types, bits, expr, formula, ...) \
	DFG_EACH_##types(ROW_1, Op, expr) RECORD(Op, types, ports, DFG_IN_PLACE | (bits), formula, __VA_ARGS__, )
#define BINARY_AS(Op, ports, types, bits, expr, formula, ...) \
	DFG_EACH_##types(ROW_2, Op, expr) RECORD(Op, types, ports, DFG_IN_PLACE | (bits), formula, __VA_ARGS__, )
#define TERNARY_AS(Op, ports, types, bits, expr, formula, ...) \
	DFG_EACH_##types(ROW_3, Op, expr) RECORD(Op, types, ports, DFG_IN_PLACE | (bits), formula, __VA_ARGS__, )
#define UNARY(Op, types, bits, expr, formula, ...) \
	UNARY_AS(Op, "(x: T) -> (y: T)", types, bits, expr, formula, __VA_ARGS__)
#define BINARY(Op, types, bits, expr, formula, ...) \
	BINARY_AS(Op, "(x: T, y: T) -> (z: T)", types, bits, expr, formula, __VA_ARGS__)
#define TEST(Op, types, expr, ...)       \
	DFG_EACH_##types(ROW_TEST, Op, expr) \
		RECORD(Op, types, "(x: T) -> (y: bool)", DFG_NO_GRADIENT | DFG_EXACT, NULL, __VA_ARGS__, )
#define COMPARE(Op, types, bits, expr, ...) \
	DFG_EACH_##types(ROW_COMPARE, Op, expr) \
		RECORD(Op, types, "(x: T, y: T) -> (z: bool)", DFG_NO_GRADIENT | DFG_EXACT | (bits), NULL, __VA_ARGS__, )

/* For .guard: an error if an integer input 1 contains a zero, or a negative number. */
struct dfg_err *dfg_guard_divisor(struct dfg_kernel *ctx);
struct dfg_err *dfg_guard_power(struct dfg_kernel *ctx);

/* Lists and optionals of zeros, with the structure of input 0. */
struct dfg_err *dfg_zeros_of_variants(struct dfg_kernel *ctx);

/* Kernels of SelectV2, Equal, NotEqual, Add and ZerosLike for strings. */
struct dfg_err *dfg_strings_select(struct dfg_kernel *ctx);
struct dfg_err *dfg_strings_equal(struct dfg_kernel *ctx);
struct dfg_err *dfg_strings_not_equal(struct dfg_kernel *ctx);
struct dfg_err *dfg_strings_add(struct dfg_kernel *ctx);
struct dfg_err *dfg_strings_zero(struct dfg_kernel *ctx);

/* For .shape and .guard of ops that do not broadcast: an error if the inputs' shapes differ. */
struct dfg_err *dfg_shape_same(struct dfg_infer *node);
struct dfg_err *dfg_guard_same(struct dfg_kernel *ctx);
#define SAME_SHAPES .shape = dfg_shape_same, .guard = dfg_guard_same
