#pragma once

#include <immintrin.h>
#include <stdint.h>

#define TARGET_AVX2 __attribute__((target("avx2,fma")))

/* Squares of a matrix, transposed in registers. */
TARGET_AVX2 static inline void transpose_8(float *to, int64_t to_row, const float *from, int64_t from_row)
{
	__m256 in[8], pair[8], out[8];
	for (int i = 0; i < 4; i++) {
		in[i] = _mm256_insertf128_ps(
			_mm256_castps128_ps256(_mm_loadu_ps(from + i * from_row)), _mm_loadu_ps(from + (i + 4) * from_row), 1);
		in[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + i * from_row + 4)),
			_mm_loadu_ps(from + (i + 4) * from_row + 4), 1);
	}
	for (int i = 0; i < 8; i += 4) {
		pair[i] = _mm256_unpacklo_ps(in[i], in[i + 1]);
		pair[i + 1] = _mm256_unpackhi_ps(in[i], in[i + 1]);
		pair[i + 2] = _mm256_unpacklo_ps(in[i + 2], in[i + 3]);
		pair[i + 3] = _mm256_unpackhi_ps(in[i + 2], in[i + 3]);
		out[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
		out[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
		out[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
		out[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
	}
	for (int i = 0; i < 8; i++)
		_mm256_storeu_ps(to + i * to_row, out[i]);
}

TARGET_AVX2 static inline void transpose_4(double *to, int64_t to_row, const double *from, int64_t from_row)
{
	__m256d in[4], out[4];
	for (int i = 0; i < 2; i++) {
		in[i] = _mm256_insertf128_pd(
			_mm256_castpd128_pd256(_mm_loadu_pd(from + i * from_row)), _mm_loadu_pd(from + (i + 2) * from_row), 1);
		in[i + 2] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from + i * from_row + 2)),
			_mm_loadu_pd(from + (i + 2) * from_row + 2), 1);
	}
	for (int i = 0; i < 4; i += 2) {
		out[i] = _mm256_unpacklo_pd(in[i], in[i + 1]);
		out[i + 1] = _mm256_unpackhi_pd(in[i], in[i + 1]);
	}
	for (int i = 0; i < 4; i++)
		_mm256_storeu_pd(to + i * to_row, out[i]);
}
