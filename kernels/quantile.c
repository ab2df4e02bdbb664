#include "kernels/elementwise_rows.h" /* undefines bool */

/*
 * t >= 0 with erf(t) = x and erfc(t) = q, where x + q = 1 and the smaller one is exact. Winitzki's approximation (2008), within
 * 0.2 %, and three steps of Halley's method.
 */
static double inverse_erf(double x, double q)
{
	const double a = 0.147, two_over_root_pi = 0x1.20dd750429b6dp+0;
	double log = x < 0.5 ? log1p_f64(-x * x) : log_f64(q) + log_f64(2 - q), b = 0x1.45f306dc9c883p-1 / a + 0.5 * log;
	double t = x < 0.01 ? x / two_over_root_pi : __builtin_sqrt(__builtin_sqrt(b * b - log / a) - b);
	for (int i = 0; i < 3; i++) {
		double error = x < 0.5 ? dfg_math_erf(t) - x : q - dfg_math_erfc(t);
		double step = error / (two_over_root_pi * exp_f64(-t * t));
		t -= step / (1 + t * step);
	}
	return t;
}

static double erfinv_f64(double x)
{
	double a = abs_f64(x);
	if (!(a < 1))
		return a == 1 ? sign_f64(MATH_INFINITY, x) : MATH_NAN;
	return sign_f64(inverse_erf(a, 1 - a), x);
}

/* The quantile p of the standard normal distribution: -sqrt 2 times the number whose erfc is 2 p. */
static double ndtri_f64(double p)
{
	const double root = 0x1.6a09e667f3bcdp+0;
	if (!(p > 0 && p < 1))
		return p == 0 ? -MATH_INFINITY : p == 1 ? MATH_INFINITY : MATH_NAN;
	double tail = p < 0.5 ? p : 1 - p, t = root * inverse_erf(1 - 2 * tail, 2 * tail);
	return p < 0.5 ? -t : t;
}

static float erfinv_f32(float x)
{
	return (float)erfinv_f64((double)x);
}

static float ndtri_f32(float p)
{
	return (float)ndtri_f64((double)p);
}

#define erfinv(x) OF_FLOAT(erfinv, x)(x)
#define ndtri(x) OF_FLOAT(ndtri, x)(x)

/* clang-format off */
UNARY(Erfinv, float, 0, erfinv(x), "dx = dy * 0.886226925452758 * Exp(Square(y))", "number whose error function is x")
UNARY(Ndtri,  float, 0, ndtri(x),  "dx = dy * 2.5066282746310002 * Exp(0.5 * Square(y))", "quantile x of the standard normal distribution")
