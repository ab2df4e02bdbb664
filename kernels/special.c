#include "kernels/special.h"

#include "kernels/math.h"
#include "kernels/double_double.h"

#include <stdbool.h>

/* erf(x) / x - 1 in x^2 <= 1: 2^-62. */
DFG_DEVICE static double erf_series(double z)
{
	static const double c[] = {
		0x1.06eba8214db69p-3,
		-0x1.812746b0379e6p-2,
		0x1.ce2f21a042b32p-4,
		-0x1.b82ce31284ea3p-6,
		0x1.565bcd0dbc13ap-8,
		-0x1.c02db3db0167p-11,
		0x1.f9a321dc21f84p-14,
		-0x1.f4d1e388b7d99p-17,
		0x1.b9df2767bd54bp-20,
		-0x1.5f1ef24e4b09dp-23,
		0x1.f7b632e7a1a82p-27,
		-0x1.38a13fa51e23ap-30,
		0x1.06090d8282ed3p-34,
	};
	return series(c, sizeof c / sizeof *c, z);
}

/* e^(x^2) erfc(x) (1 + 2 x) in u = (x - 4) / (x + 4), x in [0.45, 28]: 2^-59. */
DFG_DEVICE static double erfc_series(double u)
{
	static const double c[] = {
		0x1.3ba5916e9fd7fp+0,
		-0x1.1df1ad154a28ep-3,
		0x1.f7f5df66fd6fep-7,
		0x1.16ecefcfa52bdp-4,
		-0x1.9ddb23c3e8a2dp-4,
		0x1.7fee004e14a8ep-4,
		-0x1.0fb06dfe54e33p-4,
		0x1.3079edf623192p-5,
		-0x1.096238827ebe6p-6,
		0x1.49c672a85651cp-8,
		-0x1.8d4a9c8d81521p-11,
		-0x1.a1df435e1ac91p-13,
		0x1.3be07312589cap-13,
		-0x1.99550c387651ep-16,
		-0x1.788f88135d73ep-17,
		0x1.7ef6cc4187d6ap-18,
		0x1.3c5a045c5377bp-22,
		-0x1.b811041f5e439p-21,
		0x1.3b881f63c6f99p-24,
		0x1.bc2673dafe537p-24,
		-0x1.23cc3b60ff3f6p-26,
		-0x1.4d9aace40f9c8p-27,
		0x1.a252cd1b23d7cp-30,
	};
	return series(c, sizeof c / sizeof *c, u);
}

DFG_DEVICE static double erfc_tail(double x)
{
	double y = x < 28 ? x : 28, square = double_of_bits(bits_f64(y) & ~UINT64_C(0x7ffffff));
	double correction = (y - square) * (y + square);
	return exp_f64(-square * square) * exp_f64(-correction) * erfc_series((y - 4) / (y + 4)) / (1 + 2 * y);
}

DFG_DEVICE double dfg_math_erf(double x)
{
	double a = abs_f64(x);
	if (a < 1)
		return x + x * erf_series(x * x);
	return x == x ? sign_f64(1 - erfc_tail(a), x) : x;
}

DFG_DEVICE double dfg_math_erfc(double x)
{
	if (x != x)
		return x;
	if (x >= 0.5)
		return erfc_tail(x);
	return x > -1 ? 1 - (x + x * erf_series(x * x)) : 2 - erfc_tail(-x);
}

/* log x for a positive normal x. The series of log((1 + s) / (1 - s)) / s, its first terms in two parts. */
DFG_DEVICE static struct double_double log_wide(double x)
{
	struct parts_f64 parts = parts_f64(x);
	double f = parts.f, d = 2 + f, d_low = f - (d - 2), s = f / d;
	struct double_double p = product(s, d);
	double s_low = (f - p.high - p.low - s * d_low) / d;
	struct double_double z = product(s, s);
	z.low += 2 * s * s_low;
	double q = 0;
	for (int n = 14; n >= 1; n--)
		q = (q + 2.0 / (2 * n + 3)) * z.high;
	double c = 0x1.5555555555555p-1 + q, c_low = 0x1.5555555555555p-1 - c + q + 0x1.5555555555555p-55;
	struct double_double t = product(z.high, c);
	t.low += z.high * c_low + z.low * c;
	double u = 2 + t.high, u_low = 2 - u + t.high + t.low;
	struct double_double y = product(s, u);
	y.low += s * u_low + s_low * u;
	double whole = parts.k * LN2_HIGH_F64, sum = whole + y.high;
	double lost = parts.k == 0 ? 0 : whole - sum + y.high;
	return (struct double_double){sum, lost + y.low + parts.k * LN2_LOW_F64};
}

/* x^y for x > 0, both finite */
DFG_DEVICE static double pow_positive(double x, double y)
{
	bool tiny = x < 0x1p-1022;
	double bounded = y > 0x1p70 ? 0x1p70 : y < -0x1p70 ? -0x1p70 : y; /* same result, and products stay finite */
	struct double_double l = log_wide(tiny ? x * 0x1p54 : x);
	if (tiny) {
		double sum = l.high - 54 * LN2_HIGH_F64;
		l.low += -54 * LN2_HIGH_F64 - sum + l.high - 54 * LN2_LOW_F64;
		l.high = sum;
	}
	struct double_double p = product(bounded, l.high);
	p.low += bounded * l.low;
	if (abs_f64(p.high) > 800)
		return exp_f64(p.high);
	double k = p.high * 0x1.71547652b82fep0 + ROUNDING_F64 - ROUNDING_F64;
	double high = p.high - k * LN2_HIGH_F64, low = k * LN2_LOW_F64 - p.low, r = high - low;
	return scale_f64(1 + (r + (high - r - low + exp_tail_f64(r))), k);
}

DFG_DEVICE double dfg_math_pow(double x, double y)
{
	double a = abs_f64(x);
	bool whole = abs_f64(y) >= 0x1p53 || __builtin_floor(y) == y;
	bool odd = whole && abs_f64(y) < 0x1p53 && (int64_t)y & 1;
	if (y == 0 || x == 1)
		return 1;
	if (x != x || y != y)
		return x + y;
	if (x < 0 && !whole)
		return a < MATH_INFINITY ? MATH_NAN : y > 0 ? MATH_INFINITY : 0;
	double r;
	if (a == 1)
		r = 1;
	else if (a == 0 || a == MATH_INFINITY || abs_f64(y) == MATH_INFINITY)
		r = (a > 1) == (y > 0) ? MATH_INFINITY : 0;
	else
		r = pow_positive(a, y);
	return odd && bits_f64(x) >> 63 ? -r : r;
}

/* lgamma(x) / ((x - 1) (x - 2)) in x - 2 in [-1, 1]: 2^-56. */
DFG_DEVICE static double lgamma_series(double v)
{
	static const double c[] = {
		0x1.b0ee6072093cep-2,
		-0x1.9ae6509ea10b5p-4,
		0x1.0e0c9df29367cp-5,
		-0x1.95ce223a9788ep-7,
		0x1.479748538329cp-8,
		-0x1.145121fc80e45p-9,
		0x1.dfebcfab6c62ep-11,
		-0x1.a96a3e92b5633p-12,
		0x1.7ed72e0e8bc33p-13,
		-0x1.5c86edcde47cbp-14,
		0x1.402fb7e3b701ep-15,
		-0x1.284b53375f6a2p-16,
		0x1.13d77e3bdbb23p-17,
		-0x1.027c819c9f5e7p-18,
		0x1.e6a41c88efd69p-20,
		-0x1.c3cad636fee79p-21,
		0x1.a5e403c98614ap-22,
		-0x1.c73bba9cc32ffp-23,
		0x1.d11c7cb3bc5f1p-24,
		-0x1.429d659bcfd7dp-26,
		0x1.23c7ee35ae47dp-29,
		-0x1.0112cbb141bf2p-25,
		0x1.3d193415c5a9p-26,
		0x1.064b7f12d5b1p-27,
		-0x1.5e75c99493852p-28,
		-0x1.a46d919f04385p-29,
		0x1.d224c55a3a92ep-30,
	};
	return series(c, sizeof c / sizeof *c, v);
}

/* x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1 / x^2, x >= 8: 2^-60. */
DFG_DEVICE static double stirling_series(double y)
{
	static const double c[] = {
		0x1.5555555555555p-4,
		-0x1.6c16c16c14b0dp-9,
		0x1.a01a017e9a4f1p-11,
		-0x1.38134e253db88p-11,
		0x1.b92c99d2957c4p-11,
		-0x1.ef98a61f8e254p-10,
		0x1.4c3ae54168fdbp-8,
	};
	return series(c, sizeof c / sizeof *c, y);
}

DFG_DEVICE static double lgamma_positive(double x)
{
	double factor = 1;
	if (x >= 8)
		return x > 0x1p60
				   ? x * (log_f64(x) - 1)
				   : (x - 0.5) * (log_f64(x) - 1) + (0x1.d67f1c864beb5p-1 - 0.5 + stirling_series(1 / (x * x)) / x);
	if (x < 1) /* x - 1 is exact enough, x + 1 would be rounded */
		return x * (x - 1) * lgamma_series(x - 1) - log_f64(x);
	while (x > 3) {
		x -= 1;
		factor *= x;
	}
	double y = (x - 1) * (x - 2) * lgamma_series(x - 2);
	return factor == 1 ? y : log_f64(factor) + y;
}

/* The distance of x to the nearest whole number, times pi. */
DFG_DEVICE static double pi_times_distance(double x)
{
	double whole = abs_f64(x) < 0x1p51 ? x + ROUNDING_F64 - ROUNDING_F64 : x;
	return (x - whole) * 0x1.921fb54442d18p1;
}

DFG_DEVICE double dfg_math_lgamma(double x)
{
	if (x != x)
		return x;
	if (abs_f64(x) == MATH_INFINITY || (x <= 0 && __builtin_floor(x) == x))
		return MATH_INFINITY;
	if (x > 0)
		return lgamma_positive(x);
	return log_f64(0x1.921fb54442d18p1 / abs_f64(x * dfg_math_sin(pi_times_distance(x)))) - lgamma_positive(-x);
}

/* x is shifted up until the asymptotic series, of Bernoulli numbers divided by 2n, is exact enough. */
DFG_DEVICE static double digamma_positive(double x)
{
	static const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
	double below = 0;
	for (; x < 10; x += 1)
		below += 1 / x;
	double y = x < 0x1p60 ? 1 / (x * x) : 0;
	return log_f64(x) - 0.5 / x - y * series(c, sizeof c / sizeof *c, y) - below;
}

DFG_DEVICE double dfg_math_digamma(double x)
{
	if (x != x || x == MATH_INFINITY)
		return x;
	if (x <= 0 && __builtin_floor(x) == x)
		return MATH_NAN;
	if (x > 0)
		return digamma_positive(x);
	return digamma_positive(1 - x) - 0x1.921fb54442d18p1 / dfg_math_tan(pi_times_distance(x));
}

/*
 * For a whole s and q < 0, with f the distance of q to the next whole number below it: the terms with n + q < 0 are
 * those of f, f + 1, ..., -q, times (-1)^s, and the others begin at 1 - f. Both parts are differences of series of
 * positive terms, so the work does not grow with -q.
 */
DFG_DEVICE static double zeta_far_below_zero(double s, double q)
{
	double f = __builtin_ceil(q) - q, sign = __builtin_floor(s / 2) == s / 2 ? 1 : -1;
	return sign * (dfg_math_zeta(s, f) - dfg_math_zeta(s, 1 - q)) + dfg_math_zeta(s, 1 - f);
}

/* Euler-Maclaurin: the first terms, the integral of the others, and corrections with (2n)! / B(2n). */
DFG_DEVICE double dfg_math_zeta(double s, double q)
{
	static const double a[] = {12, -720, 30240, -1209600, 47900160, -1.8924375803183791606e9, 7.47242496e10,
		-2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17,
		-7.1661652561756670113e18};
	if (s == 1)
		return MATH_INFINITY;
	if (s < 1 || s != s || q != q)
		return MATH_NAN;
	/* At a pole, the limits from both sides are equal only for even s. */
	if (q <= 0 && __builtin_floor(q) == q)
		return __builtin_floor(s / 2) == s / 2 ? MATH_INFINITY : MATH_NAN;
	if (q <= 0 && __builtin_floor(s) != s)
		return MATH_NAN;
	if (q < -64)
		return zeta_far_below_zero(s, q);
	double sum = dfg_math_pow(q, -s), term = 0;
	for (int i = 0; i < 9 || q <= 9; i++) {
		q += 1;
		term = dfg_math_pow(q, -s);
		sum += term;
		if (abs_f64(term) <= 0x1p-53 * abs_f64(sum) && q > 9)
			return sum;
	}
	sum += term * q / (s - 1) - 0.5 * term;
	double factor = 1, k = 0;
	for (size_t i = 0; i < sizeof a / sizeof *a; i++, k += 2) {
		factor *= s + k;
		term /= q;
		sum += factor * term / a[i];
		factor *= s + k + 1;
		term /= q;
	}
	return sum;
}

DFG_DEVICE double dfg_math_polygamma(double n, double x)
{
	if (n == 0)
		return dfg_math_digamma(x);
	if (n < 0 || __builtin_floor(n) != n)
		return MATH_NAN;
	double factorial = exp_f64(dfg_math_lgamma(n + 1)), sign = dfg_math_pow(-1, n + 1);
	if (n <= 20) {
		factorial = 1;
		for (double i = 2; i <= n; i++)
			factorial *= i;
	}
	return sign * factorial * dfg_math_zeta(n + 1, x);
}
