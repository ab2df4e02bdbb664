#include "kernels/schur.h"

#include <math.h>

enum { STEPS = 60 }; /* QR steps for an eigenvalue; two or three are usual */

double dfg_complex_size(double _Complex x)
{
	return hypot(__real__ x, __imag__ x);
}

double _Complex dfg_complex_root(double _Complex x)
{
	double size = dfg_complex_size(x), half = sqrt((size + fabs(__real__ x)) / 2);
	double _Complex root = 0;
	if (half == 0)
		return root;
	double other = __imag__ x / (2 * half);
	__real__ root = __real__ x >= 0 ? half : fabs(other);
	__imag__ root = __real__ x >= 0 ? other : copysign(half, __imag__ x);
	return root;
}

void dfg_complex_product(
	int64_t n, const double _Complex *x, const double _Complex *y, bool adjoint, double _Complex *out)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double _Complex sum = 0;
			for (int64_t k = 0; k < n; k++)
				sum += x[i * n + k] * (adjoint ? ~y[j * n + k] : y[k * n + j]);
			out[i * n + j] = sum;
		}
}

/* Replaces the vector x of n elements, `stride` apart, by the reflection I - v v* / scale that clears all but its first. */
static double make_reflection(int64_t n, int64_t stride, double _Complex *x, double _Complex *out_first)
{
	double tail = 0, head = dfg_complex_size(x[0]);
	for (int64_t i = 1; i < n; i++)
		tail = hypot(tail, dfg_complex_size(x[i * stride]));
	*out_first = x[0];
	if (tail == 0)
		return 0;
	double norm = hypot(head, tail);
	*out_first = head == 0 ? -norm : -x[0] / head * norm;
	x[0] -= *out_first;
	return norm * (norm + head);
}

/* Applies it to n rows of x from the right, or to n columns from the left; v has `count` elements. */
static void reflect(int64_t count, const double _Complex *v, int64_t v_stride, double scale, int64_t n, bool right,
	double _Complex *x, int64_t along, int64_t across)
{
	for (int64_t j = 0; j < n; j++) {
		double _Complex sum = 0;
		for (int64_t i = 0; i < count; i++)
			sum += (right ? v[i * v_stride] : ~v[i * v_stride]) * x[j * across + i * along];
		sum /= scale;
		for (int64_t i = 0; i < count; i++)
			x[j * across + i * along] -= (right ? ~v[i * v_stride] : v[i * v_stride]) * sum;
	}
}

/* a = q h q*, where h, which replaces a, has zeros below its first subdiagonal. */
static void make_hessenberg(int64_t n, double _Complex *a, double _Complex *q)
{
	for (int64_t i = 0; i < n * n; i++)
		q[i] = i / n == i % n;
	for (int64_t s = 0; s + 2 < n; s++) {
		int64_t count = n - s - 1;
		double _Complex first, *v = a + (s + 1) * n + s;
		double scale = make_reflection(count, n, v, &first);
		if (scale != 0) {
			reflect(count, v, n, scale, count, false, a + (s + 1) * n + s + 1, n, 1);
			reflect(count, v, n, scale, n, true, a + s + 1, 1, n);
			reflect(count, v, n, scale, n, true, q + s + 1, 1, n);
		}
		v[0] = first;
		for (int64_t i = 1; i < count; i++)
			v[i * n] = 0;
	}
}

/* The eigenvalue of the last 2 x 2 block, ending at row `last`, that is nearer to its last element. */
static double _Complex shift_of(int64_t n, const double _Complex *a, int64_t last)
{
	const double _Complex *low = a + last * n + last, *high = low - n - 1;
	double _Complex half = (*high - *low) / 2, off = low[-n] * low[-1], root = dfg_complex_root(half * half + off);
	double _Complex plus = half + root, minus = half - root;
	double _Complex far = dfg_complex_size(plus) > dfg_complex_size(minus) ? plus : minus;
	return dfg_complex_size(far) == 0 ? *low : *low - off / far;
}

/* Rotates x[i], y[i] so that they become c x + s y and c y - s* x. */
static void rotate(int64_t n, int64_t stride, double _Complex *x, double _Complex *y, double c, double _Complex s)
{
	for (int64_t i = 0; i < n * stride; i += stride) {
		double _Complex a = x[i], b = y[i];
		x[i] = c * a + s * b;
		y[i] = c * b - ~s * a;
	}
}

/* Applies the Givens rotation that turns (x, y) into (r, 0) to rows k and k + 1, and its conjugate to columns k and k + 1. */
static void rotate_at(int64_t n, double _Complex *a, double _Complex *q, int64_t k, int64_t first, int64_t last,
	double _Complex x, double _Complex y)
{
	double size = hypot(dfg_complex_size(x), dfg_complex_size(y)), head = dfg_complex_size(x);
	if (size == 0)
		return;
	double c = head / size;
	double _Complex s = head == 0 ? ~y / size : x / head * ~y / size;
	int64_t from = k > first ? k - 1 : k, to = k + 2 < last ? k + 2 : last;
	rotate(n - from, 1, a + k * n + from, a + (k + 1) * n + from, c, s);
	rotate(to + 1, n, a + k, a + k + 1, c, ~s);
	rotate(n, n, q + k, q + k + 1, c, ~s);
}

/* One QR step of rows [first, last] with a shift, by chasing the bulge. */
static void qr_step(
	int64_t n, double _Complex *a, double _Complex *q, int64_t first, int64_t last, double _Complex shift)
{
	double _Complex x = a[first * n + first] - shift, y = a[(first + 1) * n + first];
	for (int64_t k = first; k < last; k++) {
		rotate_at(n, a, q, k, first, last, x, y);
		if (k > first)
			a[(k + 1) * n + k - 1] = 0;
		if (k + 1 < last) {
			x = a[(k + 1) * n + k];
			y = a[(k + 2) * n + k];
		}
	}
}

static bool negligible(int64_t n, const double _Complex *a, int64_t row)
{
	double around = dfg_complex_size(a[row * n + row]) + dfg_complex_size(a[(row - 1) * n + row - 1]);
	return dfg_complex_size(a[row * n + row - 1]) <= 0x1p-53 * around;
}

bool dfg_schur(int64_t n, double _Complex *a, double _Complex *q)
{
	for (int64_t i = 0; i < n * n; i++)
		if (!isfinite(__real__ a[i]) || !isfinite(__imag__ a[i]))
			return false;
	make_hessenberg(n, a, q);
	int steps = 0;
	for (int64_t last = n - 1; last > 0;) {
		int64_t first = last;
		while (first > 0 && !negligible(n, a, first))
			first--;
		if (first > 0)
			a[first * n + first - 1] = 0;
		if (first == last) {
			last--;
			steps = 0;
			continue;
		}
		if (++steps > STEPS)
			return false;
		/* every tenth step has another shift, in case the usual one cycles */
		double _Complex off = a[last * n + last - 1];
		qr_step(n, a, q, first, last, steps % 10 ? shift_of(n, a, last) : a[last * n + last] + dfg_complex_size(off));
	}
	return true;
}
