#pragma once

#include "kernels/integer.h"
#include "kernels/math.h"
#include "kernels/special.h"
#include "lib/graph/dtype.h"

/*
 * The functions in the expressions of rows (kernels/row_names.h), for each type: name_f32, name_i8, ... C chooses one of
 * them by _Generic; C++, in which rows are compiled for devices (kernels/cuda/row.cuh), by templates there. Rows of complex
 * numbers are for C alone.
 */
#ifndef __cplusplus
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
#endif

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

#ifndef __cplusplus
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

#define COMPLEX_ALIASES(NAME, name, type, ...)       \
	static inline type divide_##name(type x, type y) \
	{                                                \
		return x / y;                                \
	}
DFG_EACH_complex(COMPLEX_ALIASES)
#endif
