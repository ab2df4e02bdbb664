#pragma once

#include "kernels/gemm/micro.h"
#include "kernels/gemm/transpose_avx2.h"

/*
 * A few rows by b turned, whose columns are adjacent in a row of memory: squares of b are transposed in registers, and are
 * not written anywhere. Each element is one chain of fused multiply-adds over ascending k, as in micro.inc.
 */
struct turned {
	const float *a;
	int64_t a_row, a_column, b_column;
};

/* The sums of up to four rows for eight columns. */
struct turned_sums {
	__m256 row0, row1, row2, row3;
};

#define TURNED_ROW(i, q) \
	if (i < rows)        \
		sums.row##i = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i * t->a_row + q * t->a_column), out##q, sums.row##i);
#define TURNED_STEP(q) TURNED_ROW(0, q) TURNED_ROW(1, q) TURNED_ROW(2, q) TURNED_ROW(3, q)
#define TURNED_LOAD(i)                                                                                    \
	const __m256 in##i =                                                                                  \
		_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(b + (i % 4) * t->b_column + i / 4 * 4)), \
			_mm_loadu_ps(b + (i % 4 + 4) * t->b_column + i / 4 * 4), 1);
#define TURNED_PAIR(i, j)                                   \
	const __m256 low##i = _mm256_unpacklo_ps(in##i, in##j); \
	const __m256 high##i = _mm256_unpackhi_ps(in##i, in##j);

/* Steps [s, s + 8) of the columns at b. */
TARGET_AVX2 INLINE static inline struct turned_sums turned_square(
	const struct turned *t, const float *a, const float *b, int rows, struct turned_sums sums)
{
	TURNED_LOAD(0)
	TURNED_LOAD(1)
	TURNED_LOAD(2)
	TURNED_LOAD(3)
	TURNED_PAIR(0, 1)
	TURNED_PAIR(2, 3)
	const __m256 out0 = _mm256_shuffle_ps(low0, low2, 0x44), out1 = _mm256_shuffle_ps(low0, low2, 0xee);
	const __m256 out2 = _mm256_shuffle_ps(high0, high2, 0x44), out3 = _mm256_shuffle_ps(high0, high2, 0xee);
	TURNED_STEP(0)
	TURNED_STEP(1)
	TURNED_STEP(2)
	TURNED_STEP(3)
	TURNED_LOAD(4)
	TURNED_LOAD(5)
	TURNED_LOAD(6)
	TURNED_LOAD(7)
	TURNED_PAIR(4, 5)
	TURNED_PAIR(6, 7)
	const __m256 out4 = _mm256_shuffle_ps(low4, low6, 0x44), out5 = _mm256_shuffle_ps(low4, low6, 0xee);
	const __m256 out6 = _mm256_shuffle_ps(high4, high6, 0x44), out7 = _mm256_shuffle_ps(high4, high6, 0xee);
	TURNED_STEP(4)
	TURNED_STEP(5)
	TURNED_STEP(6)
	TURNED_STEP(7)
	return sums;
}

/* Two squares: a line of the cache is read at once, because lines of rows at a power of two push each other out. */
TARGET_AVX2 INLINE static inline struct turned_sums turned_line(
	const struct turned *t, const float *a, const float *b, int rows, struct turned_sums sums)
{
	sums = turned_square(t, a, b, rows, sums);
	return turned_square(t, a + 8 * t->a_column, b + 8, rows, sums);
}

/* One step, where fewer than sixteen are left. */
TARGET_AVX2 INLINE static inline struct turned_sums turned_step(
	const struct turned *t, const float *a, const float *b, int rows, struct turned_sums sums)
{
	const int64_t j = t->b_column;
	const __m256 out0 = _mm256_setr_ps(b[0], b[j], b[2 * j], b[3 * j], b[4 * j], b[5 * j], b[6 * j], b[7 * j]);
	TURNED_STEP(0)
	return sums;
}

#define TURNED_TAKE(i)   \
	if (add && i < rows) \
		sums.row##i = _mm256_loadu_ps(c + i * c_row);
TARGET_AVX2 INLINE static inline struct turned_sums turned_take(const float *c, int64_t c_row, int rows, bool add)
{
	struct turned_sums sums = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
	TURNED_TAKE(0)
	TURNED_TAKE(1)
	TURNED_TAKE(2)
	TURNED_TAKE(3)
	return sums;
}

#define TURNED_GIVE(i) \
	if (i < rows)      \
		_mm256_storeu_ps(c + i * c_row, sums.row##i);
TARGET_AVX2 INLINE static inline void turned_give(float *c, int64_t c_row, int rows, struct turned_sums sums){
	TURNED_GIVE(0) TURNED_GIVE(1) TURNED_GIVE(2) TURNED_GIVE(3)}

/* 8 or 16 columns over k steps; rows and pairs are constants where this is called. */
TARGET_AVX2 INLINE static inline void turned_columns(
	const struct turned *t, const float *b, float *c, int64_t c_row, int64_t k, bool add, int rows, bool pair)
{
	const float *a = t->a, *next = b + 8 * t->b_column;
	struct turned_sums sums = turned_take(c, c_row, rows, add), others = sums;
	if (pair)
		others = turned_take(c + 8, c_row, rows, add);
	int64_t s = 0;
	for (; s + 16 <= k; s += 16, a += 16 * t->a_column) {
		sums = turned_line(t, a, b + s, rows, sums);
		if (pair)
			others = turned_line(t, a, next + s, rows, others);
	}
	for (; s < k; s++, a += t->a_column) {
		sums = turned_step(t, a, b + s, rows, sums);
		if (pair)
			others = turned_step(t, a, next + s, rows, others);
	}
	turned_give(c, c_row, rows, sums);
	if (pair)
		turned_give(c + 8, c_row, rows, others);
}

/*
 * All whole groups of eight columns; returns how many columns those are. Two groups at once have twice the chains, but
 * sixteen rows that are a multiple of a page apart have more lines in a set of the first cache than it holds.
 */
#define TURNED_FUNCTION(rows)                                                                                       \
	TARGET_AVX2 static int64_t turned_##rows(const struct dfg_product *p, const float *a, const float *b, float *c) \
	{                                                                                                               \
		const struct turned t = {a, p->a_row, p->a_column, p->b_column};                                            \
		int64_t j = 0;                                                                                              \
		for (; p->b_column % 1024 && j + 16 <= p->n; j += 16)                                                       \
			turned_columns(&t, b + j * p->b_column, c + j, p->c_row, p->k, p->add, rows, true);                     \
		for (; j + 8 <= p->n; j += 8)                                                                               \
			turned_columns(&t, b + j * p->b_column, c + j, p->c_row, p->k, p->add, rows, false);                    \
		return j;                                                                                                   \
	}
TURNED_FUNCTION(1)
TURNED_FUNCTION(2)
TURNED_FUNCTION(3)
TURNED_FUNCTION(4)

/* Rows of a that are a multiple of a page apart would also have lines in that set: theirs are interleaved in `to`. */
static inline void turned_interleave(struct dfg_product *p, const float *a, float *to)
{
	for (int64_t s = 0; s < p->k; s++)
		for (int64_t i = 0; i < p->m; i++)
			to[s * p->m + i] = a[i * p->a_row + s * p->a_column];
	p->a_row = 1;
	p->a_column = p->m;
}

/* At most DFG_PRODUCT_CHAIN steps. */
static int64_t turned_f32(const struct dfg_product *p, const float *a, const float *b, float *c)
{
	static int64_t (*const by_rows[])(const struct dfg_product *, const float *, const float *, float *) = {
		turned_1, turned_2, turned_3, turned_4};
	struct dfg_product in_order = *p;
	float copy[TURNED_ROWS * DFG_PRODUCT_CHAIN];
	if (p->b_row != 1)
		return 0;
	if (p->m > 2 && p->a_row % 1024 == 0) {
		turned_interleave(&in_order, a, copy);
		a = copy;
	}
	return by_rows[p->m - 1](&in_order, a, b, c);
}
