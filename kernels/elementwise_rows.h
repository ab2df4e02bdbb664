#pragma once

#include "kernels/integer.h"
#include "kernels/math.h"
#include "kernels/special.h"
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

/* Classes of types in addition to those of lib/graph/dtype.h, and the text of each in signatures. */
#define DFG_EACH_longer(X, ...)          \
	DFG_EACH_float(X, __VA_ARGS__)       \
	X(I32, i32, int32_t, 3, __VA_ARGS__) \
	X(I64, i64, int64_t, 9, __VA_ARGS__)
#define DFG_EACH_field(X, ...)    \
	DFG_EACH_real(X, __VA_ARGS__) \
	DFG_EACH_complex(X, __VA_ARGS__)
/* Types with a division that has no remainder. */
#define DFG_EACH_divisible(X, ...) \
	DFG_EACH_float(X, __VA_ARGS__) \
	DFG_EACH_complex(X, __VA_ARGS__)
#define CLASS_divisible "float|complex"
/* Types that have zeros. Lists and optionals have their own kernel. */
#define DFG_EACH_zeroed(X, ...) DFG_EACH_plain(X, __VA_ARGS__)
#define CLASS_zeroed "plain|string|variant"
/* Types that have equality, and types that have sums. Strings have their own kernels. */
#define DFG_EACH_comparable(X, ...) DFG_EACH_plain(X, __VA_ARGS__)
#define CLASS_comparable "plain|string"
#define DFG_EACH_joined(X, ...) DFG_EACH_numeric(X, __VA_ARGS__)
#define CLASS_joined "numeric|string"
#define CLASS_longer "float|i32|i64"
#define CLASS_field "real|complex"
#define CLASS_float "float"
#define CLASS_real "real"
#define CLASS_int "int"
#define CLASS_number "number"
#define CLASS_numeric "numeric"
#define CLASS_complex "complex"
#define CLASS_plain "plain"

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

/* The function for the element's type, chosen by _Generic. */
#define FLOAT_BY_TYPE(f) float : f##_f32, double : f##_f64
#define COMPLEX_BY_TYPE(f) float _Complex : f##_c64, double _Complex : f##_c128
#define SIGNED_BY_TYPE(f) signed char : f##_i8, int16_t : f##_i16, int32_t : f##_i32, int64_t : f##_i64
#define UNSIGNED_BY_TYPE(f) unsigned char : f##_u8, uint16_t : f##_u16, uint32_t : f##_u32, uint64_t : f##_u64
#define INT_BY_TYPE(f) SIGNED_BY_TYPE(f), UNSIGNED_BY_TYPE(f)
#define OF_FLOAT(function, x) _Generic((x), FLOAT_BY_TYPE(function))
#define OF_INT(function, x) _Generic((x), INT_BY_TYPE(function))
#define OF_NUMBER(function, x) _Generic((x), FLOAT_BY_TYPE(function), INT_BY_TYPE(function))
#define OF_DIVISIBLE(function, x) _Generic((x), FLOAT_BY_TYPE(function), COMPLEX_BY_TYPE(function))
#define OF_NUMERIC(function, x) _Generic((x), FLOAT_BY_TYPE(function), COMPLEX_BY_TYPE(function), INT_BY_TYPE(function))

#define BUILT_IN(function)                        \
	static inline float function##_f32(float x)   \
	{                                             \
		return __builtin_##function##f(x);        \
	}                                             \
	static inline double function##_f64(double x) \
	{                                             \
		return __builtin_##function(x);           \
	}
BUILT_IN(sqrt)
BUILT_IN(floor)
BUILT_IN(ceil)
BUILT_IN(rint)
BUILT_IN(trunc)

#define SPECIAL(function)                             \
	static inline float function##_f32(float x)       \
	{                                                 \
		return (float)dfg_math_##function((double)x); \
	}                                                 \
	static inline double function##_f64(double x)     \
	{                                                 \
		return dfg_math_##function(x);                \
	}
SPECIAL(sin)
SPECIAL(cos)
SPECIAL(tan)
SPECIAL(asin)
SPECIAL(acos)
SPECIAL(atan)
SPECIAL(asinh)
SPECIAL(acosh)
SPECIAL(atanh)
SPECIAL(erfc)
SPECIAL(lgamma)
SPECIAL(digamma)

static inline double erf_f64(double x)
{
	return dfg_math_erf(x);
}

#define SPECIAL_2(function)                                      \
	static inline float function##_f32(float x, float y)         \
	{                                                            \
		return (float)dfg_math_##function((double)x, (double)y); \
	}                                                            \
	static inline double function##_f64(double x, double y)      \
	{                                                            \
		return dfg_math_##function(x, y);                        \
	}
SPECIAL_2(atan2)
SPECIAL_2(zeta)
SPECIAL_2(polygamma)

/* Functions of complex numbers, by functions of their parts. */
#define OF_PARTS(function, of_real, of_imaginary)                    \
	static inline double _Complex function##_c128(double _Complex z) \
	{                                                                \
		const double x = __real__ z, y = __imag__ z;                 \
		double _Complex out;                                         \
		__real__ out = (of_real);                                    \
		__imag__ out = (of_imaginary);                               \
		return out;                                                  \
	}                                                                \
	static inline float _Complex function##_c64(float _Complex z)    \
	{                                                                \
		return (float _Complex)function##_c128((double _Complex)z);  \
	}
OF_PARTS(exp, exp_f64(x) * cos_f64(y), y == 0 ? y : exp_f64(x) * sin_f64(y))
OF_PARTS(sin, sin_f64(x) * cosh_f64(y), cos_f64(x) * sinh_f64(y))
OF_PARTS(sinh, sinh_f64(x) * cos_f64(y), cosh_f64(x) * sin_f64(y))
OF_PARTS(cosh, cosh_f64(x) * cos_f64(y), sinh_f64(x) * sin_f64(y))
OF_PARTS(cos, cos_f64(x) * cosh_f64(y), -(sin_f64(x) * sinh_f64(y)))

static inline float power_f32(float x, float y)
{
	return (float)dfg_math_pow((double)x, (double)y);
}

static inline double power_f64(double x, double y)
{
	return dfg_math_pow(x, y);
}

/* Divisions of floats. fmod() is exact, so the C library's has the same bits on every machine. */
#define FLOAT_DIVISIONS(name, type, suffix)                                              \
	static inline type floor_div_##name(type x, type y)                                  \
	{                                                                                    \
		return __builtin_floor##suffix(x / y);                                           \
	}                                                                                    \
	static inline type truncate_div_##name(type x, type y)                               \
	{                                                                                    \
		return __builtin_trunc##suffix(x / y);                                           \
	}                                                                                    \
	static inline type truncate_mod_##name(type x, type y)                               \
	{                                                                                    \
		return __builtin_fmod##suffix(x, y);                                             \
	}                                                                                    \
	static inline type floor_mod_##name(type x, type y)                                  \
	{                                                                                    \
		type remainder = __builtin_fmod##suffix(x, y);                                   \
		return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder; \
	}                                                                                    \
	static inline type divide_##name(type x, type y)                                     \
	{                                                                                    \
		return x / y;                                                                    \
	}                                                                                    \
	static inline type round_##name(type x)                                              \
	{                                                                                    \
		return __builtin_rint##suffix(x);                                                \
	}
FLOAT_DIVISIONS(f32, float, f)
FLOAT_DIVISIONS(f64, double, )

#define INTEGER_ALIASES(NAME, name, type, ...)       \
	static inline type divide_##name(type x, type y) \
	{                                                \
		return truncate_div_##name(x, y);            \
	}                                                \
	static inline type round_##name(type x)          \
	{                                                \
		return x;                                    \
	}
DFG_EACH_int(INTEGER_ALIASES)

#define COMPLEX_ALIASES(NAME, name, type, ...)       \
	static inline type divide_##name(type x, type y) \
	{                                                \
		return x / y;                                \
	}
DFG_EACH_complex(COMPLEX_ALIASES)
