#include "kernels/factor.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 60 }; /* of rotations; some 10 are usual */

static void exchange(double *a, double *b)
{
	double saved = *a;
	*a = *b;
	*b = saved;
}

bool dfg_factor_lu(int64_t n, double *a, int64_t *row, int *out_sign)
{
	*out_sign = 1;
	for (int64_t i = 0; i < n; i++)
		row[i] = i;
	for (int64_t s = 0; s < n; s++) {
		int64_t best = s, saved;
		for (int64_t i = s + 1; i < n; i++)
			if (fabs(a[i * n + s]) > fabs(a[best * n + s]))
				best = i;
		if (a[best * n + s] == 0)
			return false;
		for (int64_t j = 0; j < n && best != s; j++)
			exchange(&a[s * n + j], &a[best * n + j]);
		*out_sign = best != s ? -*out_sign : *out_sign;
		saved = row[s], row[s] = row[best], row[best] = saved;
		for (int64_t i = s + 1; i < n; i++) {
			double factor = a[i * n + s] /= a[s * n + s];
			for (int64_t j = s + 1; j < n; j++)
				a[i * n + j] -= factor * a[s * n + j];
		}
	}
	return true;
}

/* x -= scale * v (v . x) for columns [from, to) of x, by rows [s, rows); v is column s of a, where v[s] is 1. */
static void reflect(
	int64_t rows, int64_t columns, const double *a, int64_t s, double scale, int64_t wide, double *x, int64_t from)
{
	for (int64_t j = from; j < wide; j++) {
		double sum = x[s * wide + j];
		for (int64_t i = s + 1; i < rows; i++)
			sum += a[i * columns + s] * x[i * wide + j];
		sum *= scale;
		x[s * wide + j] -= sum;
		for (int64_t i = s + 1; i < rows; i++)
			x[i * wide + j] -= sum * a[i * columns + s];
	}
}

/* Replaces column s below the diagonal by the reflection that clears it; returns its scale, or 0 if it is clear already. */
static double make_reflection(int64_t rows, int64_t columns, double *a, int64_t s)
{
	double head = a[s * columns + s], tail = 0;
	for (int64_t i = s + 1; i < rows; i++)
		tail += a[i * columns + s] * a[i * columns + s];
	if (tail == 0)
		return 0;
	double norm = sqrt(head * head + tail), diagonal = head >= 0 ? -norm : norm;
	for (int64_t i = s + 1; i < rows; i++)
		a[i * columns + s] /= head - diagonal;
	a[s * columns + s] = diagonal;
	return (diagonal - head) / diagonal;
}

/* The scale of the reflection in column s, whose first element is 1: 2 / (v . v). */
static double scale_of(int64_t rows, int64_t columns, const double *a, int64_t s)
{
	double square = 1;
	for (int64_t i = s + 1; i < rows; i++)
		square += a[i * columns + s] * a[i * columns + s];
	return square == 1 ? 0 : 2 / square;
}

void dfg_factor_qr(int64_t rows, int64_t columns, double *a, int64_t wide, double *q)
{
	int64_t count = rows < columns ? rows : columns;
	for (int64_t s = 0; s < count; s++) {
		double scale = make_reflection(rows, columns, a, s);
		if (scale != 0)
			reflect(rows, columns, a, s, scale, columns, a, s + 1);
	}
	for (int64_t i = 0; i < rows * wide; i++)
		q[i] = i / wide == i % wide;
	for (int64_t s = count - 1; s >= 0; s--)
		reflect(rows, columns, a, s, scale_of(rows, columns, a, s), wide, q, 0);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < i && j < columns; j++)
			a[i * columns + j] = 0;
}

/* The rotation that makes the off-diagonal element of ((a, b), (b, c)) 0. */
static void rotation(double a, double b, double c, double *out_cos, double *out_sin)
{
	double tau = (c - a) / (2 * b), t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
	*out_cos = 1 / sqrt(1 + t * t);
	*out_sin = t * *out_cos;
}

/* Rotates n pairs of elements that are `stride` apart. */
static void rotate(int64_t n, int64_t stride, double *x, double *y, double c, double s)
{
	for (int64_t i = 0; i < n * stride; i += stride) {
		double a = x[i], b = y[i];
		x[i] = c * a - s * b;
		y[i] = s * a + c * b;
	}
}

static void set_identity(int64_t n, double *v)
{
	for (int64_t i = 0; i < n * n; i++)
		v[i] = i / n == i % n;
}

/* Rotates each pair of rows and columns whose common element is not negligible; returns the number of these pairs. */
static int64_t sweep(int64_t n, double *a, double *v)
{
	int64_t rotated = 0;
	double c, s;
	for (int64_t p = 0; p < n; p++)
		for (int64_t q = p + 1; q < n; q++) {
			double size = fabs(a[p * n + p]) * fabs(a[q * n + q]), off = a[q * n + p];
			if (off == 0 || off * off <= 0x1p-106 * size)
				continue;
			rotation(a[p * n + p], off, a[q * n + q], &c, &s);
			rotate(n, n, a + p, a + q, c, s);
			rotate(n, 1, a + p * n, a + q * n, c, s);
			rotate(n, n, v + p, v + q, c, s);
			a[p * n + q] = a[q * n + p] = 0;
			rotated++;
		}
	return rotated;
}

/* Sorts the values, and with them columns of `rows` elements of x and of n elements of v. */
static void sort_columns(int64_t n, double *value, bool descending, int64_t rows, double *x, double *v)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t best = i;
		for (int64_t j = i + 1; j < n; j++)
			if (descending ? value[j] > value[best] : value[j] < value[best])
				best = j;
		if (best == i)
			continue;
		exchange(&value[i], &value[best]);
		for (int64_t r = 0; r < rows; r++)
			exchange(&x[r * n + i], &x[r * n + best]);
		for (int64_t r = 0; r < n; r++)
			exchange(&v[r * n + i], &v[r * n + best]);
	}
}

static bool all_finite(int64_t n, const double *x)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

bool dfg_factor_symmetric(int64_t n, double *a, double *value, double *v)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = i + 1; j < n; j++)
			a[i * n + j] = a[j * n + i];
	set_identity(n, v);
	if (!all_finite(n * n, a))
		return false;
	int left = SWEEPS;
	while (sweep(n, a, v) && --left)
		;
	for (int64_t i = 0; i < n; i++)
		value[i] = a[i * n + i];
	sort_columns(n, value, false, 0, NULL, v);
	return left > 0 && all_finite(n, value);
}

static double dot(int64_t rows, int64_t columns, const double *x, const double *y)
{
	double sum = 0;
	for (int64_t i = 0; i < rows; i++)
		sum += x[i * columns] * y[i * columns];
	return sum;
}

bool dfg_factor_singular(int64_t rows, int64_t columns, double *a, double *value, double *v)
{
	double c, s;
	bool turned = true;
	set_identity(columns, v);
	if (!all_finite(rows * columns, a))
		return false;
	int left = SWEEPS;
	for (; turned && left; left--) {
		turned = false;
		for (int64_t p = 0; p < columns; p++)
			for (int64_t q = p + 1; q < columns; q++) {
				double pp = dot(rows, columns, a + p, a + p), qq = dot(rows, columns, a + q, a + q);
				double pq = dot(rows, columns, a + p, a + q);
				if (pq == 0 || fabs(pq) <= 0x1p-52 * sqrt(pp) * sqrt(qq))
					continue;
				rotation(pp, pq, qq, &c, &s);
				rotate(rows, columns, a + p, a + q, c, s);
				rotate(columns, columns, v + p, v + q, c, s);
				turned = true;
			}
	}
	for (int64_t j = 0; j < columns; j++)
		value[j] = sqrt(dot(rows, columns, a + j, a + j));
	sort_columns(columns, value, true, rows, a, v);
	return !turned && all_finite(columns, value);
}

/* Sets column `at` of u to the unit vector of an axis less its projections onto the earlier columns; returns its square. */
static double orthogonal(int64_t rows, int64_t wide, int64_t at, int64_t axis, double *u)
{
	for (int64_t i = 0; i < rows; i++)
		u[i * wide + at] = i == axis;
	for (int pass = 0; pass < 2; pass++)
		for (int64_t j = 0; j < at; j++) {
			double along = dot(rows, wide, u + j, u + at);
			for (int64_t i = 0; i < rows; i++)
				u[i * wide + at] -= along * u[i * wide + j];
		}
	return dot(rows, wide, u + at, u + at);
}

void dfg_factor_complete(int64_t rows, int64_t wide, int64_t done, double *u)
{
	for (int64_t at = done; at < wide; at++) {
		int64_t axis = 0;
		double square;
		/*
		 * The squared projections of all axes onto the complement of the earlier columns add up to rows - at, so one
		 * is at least the mean; half of the mean is required, because of rounding.
		 */
		while ((square = orthogonal(rows, wide, at, axis, u)) * (double)rows < 0.5 * (double)(rows - at) &&
			   axis < rows - 1)
			axis++;
		for (int64_t i = 0; i < rows; i++)
			u[i * wide + at] /= sqrt(square);
	}
}
