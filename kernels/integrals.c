#include "kernels/chebyshev.h"
#include "kernels/double_double.h"
#include "kernels/elementwise_rows.h" /* undefines bool */

/* Integrals that have no name of their own elsewhere: Dawson's, the exponential one, the dilogarithm, Fresnel's. */

enum { MOST_TERMS = 400 };

/* FresnelCos(x) / x in x^4 in [0, 40]: 2^-55. */
static const double c_near[] = {
	0x1.58a9793654a8bp-2,
	-0x1.bb1d324099f5dp-3,
	0x1.2d6a33221f153p-3,
	-0x1.4badf1c0401c9p-3,
	0x1.8feb13c5bb56ap-4,
	-0x1.097db8d225e4bp-5,
	0x1.bc7ebb0fd2885p-8,
	-0x1.01822e7fd775dp-10,
	0x1.b78bf7b2d4bp-14,
	-0x1.20c0f08d60686p-17,
	0x1.2db47a91579b8p-21,
	-0x1.0113766d2a0e7p-25,
	0x1.6c7ce08d0effcp-30,
	-0x1.b50542c197c4dp-35,
	0x1.c12c11bda4d92p-40,
	-0x1.90508fd93dde4p-45,
	0x1.386c542e8618ap-50,
	-0x1.aeb3b0069ddc5p-56,
};

/* FresnelSin(x) / x^3 in x^4 in [0, 40]: 2^-56. */
static const double s_near[] = {
	0x1.165c902c7b006p-3,
	-0x1.58d9cf3167b02p-3,
	0x1.e890ba34a3742p-4,
	-0x1.171804b256ae7p-4,
	0x1.97ba3ab884ecep-6,
	-0x1.82a6ca67e5729p-8,
	0x1.fabd0eaaf4a66p-11,
	-0x1.e5052ce1d4d0cp-14,
	0x1.61f5097b4dca2p-17,
	-0x1.973b60566328ep-21,
	0x1.7b1c7d4759c76p-25,
	-0x1.23a3c5b88817bp-29,
	0x1.7934ca7c38215p-34,
	-0x1.a00ea89e90b9ep-39,
	0x1.8c1f46723ef6dp-44,
	-0x1.48efdd3b9da99p-49,
	0x1.e0c51184728f1p-55,
	-0x1.37a4a43d6bf69p-60,
};

/* pi x f(x), the first auxiliary function (Abramowitz and Stegun 7.3.5), in 1 / x^4 in [0, 1/40]: 2^-55. */
static const double f_far[] = {
	0x1.fe2a0821ee863p-1,
	-0x1.cd53e1474d9ap-9,
	0x1.085558d464279p-14,
	-0x1.6904d4fcf3c95p-19,
	0x1.968061004b975p-23,
	-0x1.3ec845f974b4p-26,
	0x1.3d2d0bd8bc281p-29,
	-0x1.79fe7df8f31a4p-32,
	0x1.03b056f78dbb5p-34,
	-0x1.9092d4b9f07f9p-37,
	0x1.542660a775f4ap-39,
	-0x1.39645690530ebp-41,
	0x1.35c026d3cb4e2p-43,
	-0x1.457f2222044eap-45,
	0x1.6908702d2151p-47,
	-0x1.a42e0cb4b75e3p-49,
	0x1.fe95b75008ecap-51,
	-0x1.428f4fe03b0b6p-52,
	0x1.a6444ac62480fp-54,
	-0x1.1d822ace4728p-55,
	0x1.8dc33ecabc5f7p-57,
	-0x1.1ccd9b6a3e66dp-58,
};

/* pi^2 x^3 g(x), the second one (7.3.6), in 1 / x^4 in [0, 1/40]: 2^-57. */
static const double g_far[] = {
	0x1.f732eda740a6dp-1,
	-0x1.10c72a30babdbp-6,
	0x1.0a5da5c0e0af9p-11,
	-0x1.efe520e6306a5p-16,
	0x1.58fd6eb69708ep-19,
	-0x1.3cc9efb58fa99p-22,
	0x1.64f6a0073d9c3p-25,
	-0x1.d7209f4728d6ep-28,
	0x1.60ccebb09c881p-30,
	-0x1.251a860c801d8p-32,
	0x1.09ae39dde015dp-34,
	-0x1.036cf390cc929p-36,
	0x1.0e2e5fa18e4dcp-38,
	-0x1.29bcd0e4cd2a3p-40,
	0x1.58f07dc0969ccp-42,
	-0x1.a1e540d200d86p-44,
	0x1.0789ae5a309d7p-45,
	-0x1.58bd700ee62bbp-47,
	0x1.d236cacac3956p-49,
	-0x1.4500eb3f089bep-50,
	0x1.d2072c00c965ap-52,
	-0x1.56e8cac534fd2p-53,
	0x1.027880282369ep-54,
	-0x1.8e7e4be91ab54p-56,
	0x1.39b243bc364dfp-57,
	-0x1.f7b0d2eae8cefp-59,
};

/* e^-x^2 times the integral of e^t^2 from 0 to x: a series of positive terms, then the asymptotic one. */
static double dawson_f64(double x)
{
	double z = x * x, term = 1, sum = 1;
	if (z < 42) {
		for (int k = 1; k < MOST_TERMS && term > 0x1p-60 * sum; k++) {
			term *= z / k;
			sum += term / (2 * k + 1);
		}
		return x * sum * exp_f64(-z);
	}
	for (int k = 1; k < 40 && term > 0x1p-60; k++) {
		term *= (2 * k - 1) / (2 * z);
		sum += term;
	}
	return 0.5 / x * sum;
}

/* The integral of e^t / t from -infinity to x, as a principal value. */
static double expint_f64(double x)
{
	double term = 1, sum = 0;
	if (!(x > 0))
		return x == 0 ? -MATH_INFINITY : MATH_NAN;
	if (x < 40) {
		for (int k = 1; k < MOST_TERMS && (k < x || term > 0x1p-60 * sum); k++) {
			term *= x / k;
			sum += term / k;
		}
		return log_f64(x) + 0x1.2788cfc6fb619p-1 + sum;
	}
	if (x == MATH_INFINITY)
		return x;
	sum = 1;
	for (int k = 1; k < x && term > 0x1p-60; k++) {
		term *= k / x;
		sum += term;
	}
	double half = exp_f64(0.5 * x);
	return half / x * sum * half;
}

/* The dilogarithm of w in [-1, 1/2], by Bernoulli numbers divided by (2k + 1)!. */
static double dilogarithm(double w)
{
	static const double c[] = {
		0x1.c71c71c71c71cp-6,
		-0x1.23456789abcdfp-12,
		0x1.3d079fb6ef3e3p-18,
		-0x1.8a86a49f629d1p-24,
		0x1.04d7f65caf373p-29,
		-0x1.658a4b8f16a75p-35,
		0x1.f63f1e311ac24p-41,
		-0x1.6731c59dbd7dep-46,
		0x1.04805fdce7819p-51,
		-0x1.7e168b15d7793p-57,
		0x1.1ac70a7618abdp-62,
	};
	double u = -log1p_f64(-w);
	return u * (1 - 0.25 * u + u * u * series(c, sizeof c / sizeof *c, u * u));
}

/* The dilogarithm of 1 - x. */
static double spence_f64(double x)
{
	const double pi_square_over_6 = 0x1.a51a6625307d3p+0;
	if (!(x > 0))
		return x == 0 ? pi_square_over_6 : MATH_NAN;
	if (x == MATH_INFINITY)
		return -x;
	if (x > 2) {
		double log = log_f64(x);
		return -0.5 * log * log - spence_f64(1 / x);
	}
	if (x >= 0.5)
		return dilogarithm(1 - x);
	return pi_square_over_6 - log_f64(x) * log1p_f64(-x) - dilogarithm(x);
}

/* Sine and cosine of pi x^2 / 2: multiples of four in x^2 are left out. */
static double fresnel_angle(double x)
{
	struct double_double square = product(x, x);
	return ((square.high - 4 * __builtin_floor(0.25 * square.high)) + square.low) * 0x1.921fb54442d18p+0;
}

/* The distance of either integral to its limit 1/2, where x^4 >= 40. */
static double fresnel_rest(double x, double along, double across)
{
	double t = 1 / (x * x * x * x), x3 = x * x * x;
	return CHEBYSHEV(f_far, 0, 0.025, t) / (0x1.921fb54442d18p+1 * x) * along +
		   CHEBYSHEV(g_far, 0, 0.025, t) / (0x1.3bd3cc9be45dep+3 * x3) * across;
}

static double fresnel_cos_f64(double x)
{
	double a = abs_f64(x), w = a * a * a * a;
	if (w <= 40)
		return x * CHEBYSHEV(c_near, 0, 40, w);
	if (!(a < 0x1p100))
		return x == x ? sign_f64(0.5, x) : x;
	double angle = fresnel_angle(a);
	return sign_f64(0.5 + fresnel_rest(a, dfg_math_sin(angle), -dfg_math_cos(angle)), x);
}

static double fresnel_sin_f64(double x)
{
	double a = abs_f64(x), w = a * a * a * a;
	if (w <= 40)
		return x * (x * x) * CHEBYSHEV(s_near, 0, 40, w);
	if (!(a < 0x1p100))
		return x == x ? sign_f64(0.5, x) : x;
	double angle = fresnel_angle(a);
	return sign_f64(0.5 - fresnel_rest(a, dfg_math_cos(angle), dfg_math_sin(angle)), x);
}

#define NARROW(function)                         \
	static float function##_f32(float x)         \
	{                                            \
		return (float)function##_f64((double)x); \
	}
NARROW(dawson)
NARROW(expint)
NARROW(spence)
NARROW(fresnel_cos)
NARROW(fresnel_sin)

/* clang-format off */
UNARY(Dawsn, float, 0, OF_FLOAT(dawson, x)(x), "dx = dy * (1 - 2 * x * y)", "Dawson's integral: e^-x^2 times the integral of e^t^2 from 0 to x")
UNARY(Expint, float, 0, OF_FLOAT(expint, x)(x), "dx = dy * Exp(x) / x", "exponential integral Ei of x > 0")
UNARY(Spence, float, 0, OF_FLOAT(spence, x)(x),
	"dx = dy * SelectV2(Equal(x, OnesLike(x)), -OnesLike(x), Log(x) / (1 - x))", "dilogarithm of 1 - x")
UNARY(FresnelCos, float, 0, OF_FLOAT(fresnel_cos, x)(x), "dx = dy * Cos(1.5707963267948966 * Square(x))", "integral of cos(pi t^2 / 2) from 0 to x")
UNARY(FresnelSin, float, 0, OF_FLOAT(fresnel_sin, x)(x), "dx = dy * Sin(1.5707963267948966 * Square(x))", "integral of sin(pi t^2 / 2) from 0 to x")
