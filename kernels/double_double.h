#pragma once

#include <stddef.h>

/* What the longer functions are made of. */

/* A number in two parts, high + low, |low| at most half a unit of high: some 106 bits. */
struct wide {
	double high, low;
};

/* The product, exactly. (|a|, |b| < 2^996) */
static inline struct wide product(double a, double b)
{
	double split_a = a * 0x8000001p0, a1 = split_a - (split_a - a), a2 = a - a1;
	double split_b = b * 0x8000001p0, b1 = split_b - (split_b - b), b2 = b - b1;
	double high = a * b;
	return (struct wide){high, a1 * b1 - high + a1 * b2 + a2 * b1 + a2 * b2};
}

static inline double series(const double *c, size_t n, double z)
{
	double sum = c[--n];
	while (n)
		sum = sum * z + c[--n];
	return sum;
}
