#pragma once

#include <stddef.h>

/* Double-double arithmetic (Dekker 1971), for functions that double alone cannot compute exactly enough. */

/* The unevaluated sum high + low, where |low| is at most half a unit in the last place of high: some 106 bits. */
struct double_double {
	double high, low;
};

/* The exact product. (|a|, |b| < 2^996) */
static inline struct double_double product(double a, double b)
{
	double split_a = a * 0x8000001p0, a1 = split_a - (split_a - a), a2 = a - a1;
	double split_b = b * 0x8000001p0, b1 = split_b - (split_b - b), b2 = b - b1;
	double high = a * b;
	return (struct double_double){high, a1 * b1 - high + a1 * b2 + a2 * b1 + a2 * b2};
}

static inline double series(const double *c, size_t n, double z)
{
	double sum = c[--n];
	while (n)
		sum = sum * z + c[--n];
	return sum;
}
