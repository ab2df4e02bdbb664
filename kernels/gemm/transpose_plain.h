#pragma once

#include <stdint.h>

/* Squares of a matrix, for any processor. */
#define PLAIN_TRANSPOSE(name, type)                                                                       \
	static inline void transpose_##name##_4(type *to, int64_t to_row, const type *from, int64_t from_row) \
	{                                                                                                     \
		for (int i = 0; i < 4; i++)                                                                       \
			for (int j = 0; j < 4; j++)                                                                   \
				to[i * to_row + j] = from[j * from_row + i];                                              \
	}
PLAIN_TRANSPOSE(f32, float)
PLAIN_TRANSPOSE(f64, double)
PLAIN_TRANSPOSE(u32, uint32_t)
