#pragma once

#include <stdint.h>

/*
 * Integer arithmetic that wraps on overflow and never traps: name_i8 ... name_u64. Zero divisors and negative powers
 * are errors before a row runs (elementwise_rows.h); here they give some value and do not end the program.
 */
#define IS_MINUS_ONE(type, y) ((type)-1 < (type)1 && (y) == (type)-1)

#define INTEGER_FUNCTIONS(name, type)                                                                    \
	static inline type truncate_div_##name(type x, type y)                                               \
	{                                                                                                    \
		return (type)(y == 0 ? 0 : IS_MINUS_ONE(type, y) ? 0 - x : x / y);                               \
	}                                                                                                    \
	static inline type truncate_mod_##name(type x, type y)                                               \
	{                                                                                                    \
		return (type)(y == 0 || IS_MINUS_ONE(type, y) ? 0 : x % y);                                      \
	}                                                                                                    \
	static inline type floor_mod_##name(type x, type y)                                                  \
	{                                                                                                    \
		type remainder = truncate_mod_##name(x, y);                                                      \
		return (type)(remainder != 0 && (remainder ^ y) >> (sizeof(type) * 8 - 1) & ((type)-1 < (type)1) \
						  ? remainder + y                                                                \
						  : remainder);                                                                  \
	}                                                                                                    \
	static inline type floor_div_##name(type x, type y)                                                  \
	{                                                                                                    \
		type remainder = truncate_mod_##name(x, y);                                                      \
		_Bool below = remainder != 0 && (type)-1 < (type)1 && (remainder < (type)1) != (y < (type)1);    \
		return (type)(truncate_div_##name(x, y) - (type)below);                                          \
	}                                                                                                    \
	/* Counts outside [0, bits) are clamped, as in TensorFlow. */                                        \
	static inline type shift_count_##name(type y)                                                        \
	{                                                                                                    \
		const type most = sizeof(type) * 8 - 1;                                                          \
		return (type)((type)-1 < (type)1 && y < (type)1 ? 0 : y > most ? most : y);                      \
	}                                                                                                    \
	static inline type power_##name(type x, type y)                                                      \
	{                                                                                                    \
		uint64_t result = 1, factor = (uint64_t)x;                                                       \
		for (uint64_t left = y < (type)1 ? 0 : (uint64_t)y; left; left >>= 1, factor *= factor)          \
			if (left & 1)                                                                                \
				result *= factor;                                                                        \
		return (type)result;                                                                             \
	}

INTEGER_FUNCTIONS(i8, int8_t)
INTEGER_FUNCTIONS(i16, int16_t)
INTEGER_FUNCTIONS(i32, int32_t)
INTEGER_FUNCTIONS(i64, int64_t)
INTEGER_FUNCTIONS(u8, uint8_t)
INTEGER_FUNCTIONS(u16, uint16_t)
INTEGER_FUNCTIONS(u32, uint32_t)
INTEGER_FUNCTIONS(u64, uint64_t)
