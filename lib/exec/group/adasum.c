#include "lib/exec/group/adasum.h"

enum { LANES = 8 }; /* partial sums, which the compiler may keep in vectors without another order */

static double sum_of(const double *lane)
{
	return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static double product_f32(size_t n, const float *a, const float *b)
{
	double lane[LANES] = {0};
	size_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] += (double)a[i + k] * (double)b[i + k];
	for (; i < n; i++)
		lane[0] += (double)a[i] * (double)b[i];
	return sum_of(lane);
}

static double product_f64(size_t n, const double *a, const double *b)
{
	double lane[LANES] = {0};
	size_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		lane[0] += a[i] * b[i];
	return sum_of(lane);
}

/* The factor of a gradient with that square, whose product with the other is `product`; 1 for one of zeros. */
static double factor_of(double product, double square)
{
	return square > 0 ? 1 - product / (2 * square) : 1;
}

static void combine_f32(size_t n, float *to, const float *from)
{
	double product = product_f32(n, to, from);
	double a = factor_of(product, product_f32(n, to, to)), b = factor_of(product, product_f32(n, from, from));
	for (size_t i = 0; i < n; i++)
		to[i] = (float)(a * (double)to[i] + b * (double)from[i]);
}

static void combine_f64(size_t n, double *to, const double *from)
{
	double product = product_f64(n, to, from);
	double a = factor_of(product, product_f64(n, to, to)), b = factor_of(product, product_f64(n, from, from));
	for (size_t i = 0; i < n; i++)
		to[i] = a * to[i] + b * from[i];
}

void dfg_adasum(enum dfg_dtype dtype, size_t count, void *to, const void *from)
{
	if (dtype == DFG_F64)
		combine_f64(count, to, from);
	else
		combine_f32(count, to, from);
}
