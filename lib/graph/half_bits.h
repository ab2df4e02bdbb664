#pragma once

#include <stdint.h>

/* Halves and floats: the conversions of lib/graph/half.c, in arithmetic of bits that devices have too. */

static inline float from_bits(uint32_t bits)
{
	union {
		uint32_t bits;
		float value;
	} as = {bits};
	return as.value;
}

static inline uint32_t to_bits(float value)
{
	union {
		float value;
		uint32_t bits;
	} as = {value};
	return as.bits;
}

/*
 * An f16 has 5 bits of exponent (bias 15) and 10 of fraction. Below its normal range the fraction counts units of
 * 2^-24, the last place of floats in [0.5, 1), so adding and subtracting 0.5 rounds to it. Without branches the
 * compiler vectorises the loops over these functions.
 */
static inline float widen_f16(uint16_t half)
{
	uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t rebias = magnitude >= 0x7c00u ? (255 - 31) << 23 : (127 - 15) << 23;
	uint32_t normal = (magnitude << 13) + rebias;
	uint32_t tiny = to_bits(from_bits(0x3f000000u + magnitude) - 0.5f);
	return from_bits(sign | (magnitude < 0x0400u ? tiny : normal));
}

static inline uint16_t round_f16(float value)
{
	uint32_t bits = to_bits(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
	uint32_t normal = (magnitude - ((127u - 15) << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	uint32_t tiny = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
	uint32_t rounded = magnitude < 0x38800000u ? tiny : normal; /* below 2^-14 */
	rounded = magnitude >= 0x47800000u ? 0x7c00u : rounded;     /* 2^16 and above: infinity */
	rounded = magnitude > 0x7f800000u ? 0x7e00u : rounded;      /* NaN */
	return (uint16_t)(sign | rounded);
}

static inline uint16_t round_bf16(float value)
{
	uint32_t bits = to_bits(value);
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	uint32_t nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
	return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static inline float widen_bf16(uint16_t half)
{
	return from_bits((uint32_t)half << 16);
}
