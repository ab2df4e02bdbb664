#pragma once

#include <stddef.h>

/* The sum of c[k] T_k(2 (x - low) / (high - low) - 1), by Clenshaw's recurrence; c has n >= 1 elements. */
static inline double chebyshev(const double *c, size_t n, double low, double high, double x)
{
	double u = (4 * x - 2 * (low + high)) / (high - low), b0 = 0, b1 = 0, b2 = 0;
	for (size_t k = n - 1; k > 0; k--) {
		b2 = b1;
		b1 = b0;
		b0 = u * b1 - b2 + c[k];
	}
	return 0.5 * u * b0 - b1 + c[0];
}

#define CHEBYSHEV(c, low, high, x) chebyshev(c, sizeof(c) / sizeof *(c), low, high, x)
