#pragma once

#include "kernels/math.h"
#include "kernels/philox.h"
#include "kernels/special.h"

#include <stdbool.h>

/* Numbers from the words of a stream. */

/* A number in [0, 1): the word's low bits are the fraction of a number in [1, 2), from which 1 is subtracted. */
static inline float unit_f32(uint32_t word)
{
	return float_of_bits(0x3f800000u | (word & 0x007fffffu)) - 1;
}

static inline double unit_f64(uint32_t high, uint32_t low)
{
	uint64_t bits = UINT64_C(0x3ff0000000000000) | (uint64_t)(high & 0x000fffffu) << 32 | low;
	return double_of_bits(bits) - 1;
}

/* Two normal numbers from two uniform ones (Box and Muller). */
static inline void normal_f32(const uint32_t *word, float out[2])
{
	float u = unit_f32(word[0]), angle = (float)(6.283185307179586 * (double)unit_f32(word[1]));
	float radius = __builtin_sqrtf(-2 * log_f32(u < 1e-7f ? 1e-7f : u));
	out[0] = (float)dfg_math_sin((double)angle) * radius;
	out[1] = (float)dfg_math_cos((double)angle) * radius;
}

static inline void normal_f64(const uint32_t *word, double out[2])
{
	double u = unit_f64(word[0], word[1]), angle = 6.283185307179586 * unit_f64(word[2], word[3]);
	double radius = __builtin_sqrt(-2 * log_f64(u < 1e-7 ? 1e-7 : u));
	out[0] = dfg_math_sin(angle) * radius;
	out[1] = dfg_math_cos(angle) * radius;
}

/* The next block of four words. */
static inline void next_block(struct dfg_philox *philox, uint32_t out[4])
{
	dfg_philox_words(philox, out);
	dfg_philox_skip(philox, 1);
}

/* Numbers that are drawn one by one, the last of a block of words first, as TensorFlow's samplers take them. */
struct backwards {
	double value[2];
	int left;
};

/* Uniform in [0, 1). */
static inline double next_unit(struct dfg_philox *philox, struct backwards *units)
{
	uint32_t word[4];
	if (!units->left) {
		next_block(philox, word);
		units->value[0] = unit_f64(word[0], word[1]);
		units->value[1] = unit_f64(word[2], word[3]);
		units->left = 2;
	}
	return units->value[--units->left];
}

static inline double next_normal(struct dfg_philox *philox, struct backwards *normals)
{
	uint32_t word[4];
	if (!normals->left) {
		next_block(philox, word);
		normal_f64(word, normals->value);
		normals->left = 2;
	}
	return normals->value[--normals->left];
}

/* The words of a stream, one at a time. */
struct words {
	struct dfg_philox philox;
	uint32_t word[4];
	int used;
};

static inline struct words words_of(struct dfg_philox philox)
{
	return (struct words){.philox = philox, .used = 4};
}

static inline uint32_t next_word(struct words *words)
{
	if (words->used == 4) {
		next_block(&words->philox, words->word);
		words->used = 0;
	}
	return words->word[words->used++];
}

/* Uniform in [0, 1), of 52 random bits. */
static inline double next_unit_word(struct words *words)
{
	const uint32_t high = next_word(words);
	return unit_f64(high, next_word(words));
}
