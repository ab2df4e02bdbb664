#pragma once

#include <stdint.h>

/*
 * Arithmetic that must not trap, and wraps where it does not fit: name_i8 ... name_u64. Zero divisors and negative powers
 * are refused before a row runs (elementwise_rows.h), so what they give here is not seen, but it must not end the program either.
 */
#define IS_MINUS_ONE(type, y) ((type)-1 < (type)1 && (y) == (type)-1)

#define INTEGER_FUNCTIONS(name, type)                                                                              \
	static inline type truncate_div_##name(type x, type y)                                                         \
	{                                                                                                              \
		return (type)(y == 0 ? 0 : IS_MINUS_ONE(type, y) ? 0 - x : x / y);                                         \
	}                                                                                                              \
	static inline type truncate_mod_##name(type x, type y)                                                         \
	{                                                                                                              \
		return (type)(y == 0 || IS_MINUS_ONE(type, y) ? 0 : x % y);                                                \
	}                                                                                                              \
	static inline type floor_mod_##name(type x, type y)                                                            \
	{                                                                                                              \
		type rest = truncate_mod_##name(x, y);                                                                     \
		return (type)(rest != 0 && (rest ^ y) >> (sizeof(type) * 8 - 1) & ((type)-1 < (type)1) ? rest + y : rest); \
	}                                                                                                              \
	static inline type floor_div_##name(type x, type y)                                                            \
	{                                                                                                              \
		type rest = truncate_mod_##name(x, y);                                                                     \
		_Bool below = rest != 0 && (type)-1 < (type)1 && (rest < (type)1) != (y < (type)1);                        \
		return (type)(truncate_div_##name(x, y) - (type)below);                                                    \
	}                                                                                                              \
	/* Counts outside [0, bits) are taken to its nearer end, as TensorFlow takes them. */                          \
	static inline type shift_count_##name(type y)                                                                  \
	{                                                                                                              \
		const type most = sizeof(type) * 8 - 1;                                                                    \
		return (type)((type)-1 < (type)1 && y < (type)1 ? 0 : y > most ? most : y);                                \
	}                                                                                                              \
	static inline type power_##name(type x, type y)                                                                \
	{                                                                                                              \
		uint64_t result = 1, factor = (uint64_t)x;                                                                 \
		for (uint64_t left = y < (type)1 ? 0 : (uint64_t)y; left; left >>= 1, factor *= factor)                    \
			if (left & 1)                                                                                          \
				result *= factor;                                                                                  \
		return (type)result;                                                                                       \
	}

INTEGER_FUNCTIONS(i8, int8_t)
INTEGER_FUNCTIONS(i16, int16_t)
INTEGER_FUNCTIONS(i32, int32_t)
INTEGER_FUNCTIONS(i64, int64_t)
INTEGER_FUNCTIONS(u8, uint8_t)
INTEGER_FUNCTIONS(u16, uint16_t)
INTEGER_FUNCTIONS(u32, uint32_t)
INTEGER_FUNCTIONS(u64, uint64_t)
