#include "kernels/special.h"

#include "kernels/math.h"
#include "kernels/double_double.h"

/* (sin x - x) / x^3 and (cos x - 1 + z / 2) / z^2 where z = x^2, |x| <= pi / 4: 2^-68 and 2^-75. */
DFG_DEVICE static double sin_series(double z)
{
	static const double c[] = {
		-0x1.5555555555555p-3,
		0x1.111111111110ap-7,
		-0x1.a01a01a0188abp-13,
		0x1.71de3a530ab7cp-19,
		-0x1.ae64525abcee4p-26,
		0x1.61206b22ef2dbp-33,
		-0x1.aa917f055a2cep-41,
	};
	return series(c, sizeof c / sizeof *c, z);
}

DFG_DEVICE static double cos_series(double z)
{
	static const double c[] = {
		0x1.5555555555555p-5,
		-0x1.6c16c16c16c0fp-10,
		0x1.a01a01a018c0dp-16,
		-0x1.27e4fb75dd463p-22,
		0x1.1eed8c7f3ac7ap-29,
		-0x1.93930ebd06a59p-37,
		0x1.aab2e21a9ef73p-45,
	};
	return series(c, sizeof c / sizeof *c, z);
}

/* The bits of 2 / pi after the point, preceded by one word of zeros. */
static const uint64_t two_over_pi[] = {
	0,
	UINT64_C(0xa2f9836e4e441529),
	UINT64_C(0xfc2757d1f534ddc0),
	UINT64_C(0xdb6295993c439041),
	UINT64_C(0xfe5163abdebbc561),
	UINT64_C(0xb7246e3a424dd2e0),
	UINT64_C(0x06492eea09d1921c),
	UINT64_C(0xfe1deb1cb129a73e),
	UINT64_C(0xe88235f52ebb4484),
	UINT64_C(0xe99c7026b45f7e41),
	UINT64_C(0x3991d639835339f4),
	UINT64_C(0x9c845f8bbdf9283b),
	UINT64_C(0x1ff897ffde05980f),
	UINT64_C(0xef2f118b5a0a6d1f),
	UINT64_C(0x6d367ecf27cb09b7),
	UINT64_C(0x4f463f669e5fea2d),
	UINT64_C(0x7527bac7ebe5f17b),
	UINT64_C(0x3d0739f78a5292ea),
	UINT64_C(0x6bfb5fb11f8d5d08),
	UINT64_C(0x56033046fc7b6bab),
	UINT64_C(0xf0cfbc209af4361d),
};

/*
 * |x| = m 2^e for an integer m. Only |x| 2 / pi modulo 4 matters, so m is multiplied by the 192 bits of 2 / pi whose
 * product with 2^e is less than 4; the bits above them would add multiples of 2 pi (Payne and Hanek 1983).
 */
DFG_DEVICE static unsigned reduce_large(double x, struct double_double *out_reduced)
{
	uint64_t bits = bits_f64(x) & ~(UINT64_C(1) << 63), v[3];
	int e = (int)(bits >> 52) - 1075;
	uint64_t m = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(1) << 52;
	unsigned first = (unsigned)(e - 2 + 64), word = first / 64, shift = first % 64;
	for (unsigned i = 0; i < 3; i++)
		v[i] = two_over_pi[word + i] << shift | (shift ? two_over_pi[word + i + 1] >> (64 - shift) : 0);
	unsigned __int128 low = (unsigned __int128)m * v[2];
	unsigned __int128 middle = (unsigned __int128)m * v[1] + (uint64_t)(low >> 64);
	uint64_t high = m * v[0] + (uint64_t)(middle >> 64);

	/* The upper two bits are the quadrant, the others its fraction, rounded to the nearer quadrant. */
	unsigned __int128 fraction = ((unsigned __int128)high << 64 | (uint64_t)middle) << 2 | (uint64_t)low >> 62;
	unsigned quadrant = (unsigned)(high >> 62) + (unsigned)(fraction >> 127);
	__int128 left = (__int128)fraction;
	double near = (double)left, far = (double)(left - (__int128)near);
	struct double_double angle = product(near * 0x1p-128, 0x1.921fb54442d18p0);
	angle.low += near * 0x1p-128 * 0x1.1a62633145c07p-54 + far * 0x1p-128 * 0x1.921fb54442d18p0;
	double sign = x < 0 ? -1 : 1;
	out_reduced->high = sign * (angle.high + angle.low);
	out_reduced->low = sign * (angle.high - (angle.high + angle.low) + angle.low);
	return x < 0 ? 4 - quadrant : quadrant;
}

/* x = quadrant * pi / 2 + r, |r| <= pi / 4 (Cody and Waite): pi / 2 is in three parts, the first two of 33 bits. */
DFG_DEVICE static unsigned reduce(double x, struct double_double *out_reduced)
{
	if (abs_f64(x) > 0x1p20)
		return reduce_large(x, out_reduced);
	double k = x * 0x1.45f306dc9c883p-1 + ROUNDING_F64 - ROUNDING_F64;
	double first = x - k * 0x1.921fb544p0, part = k * 0x1.0b4611a6p-34;
	double second = first - part, low = first - second - part - k * 0x1.3198a2e037073p-69;
	out_reduced->high = second + low;
	out_reduced->low = second - out_reduced->high + low;
	return (unsigned)(int)k;
}

DFG_DEVICE static double sin_near(struct double_double r)
{
	double z = r.high * r.high;
	return r.high + (r.high * z * sin_series(z) + r.low * (1 - 0.5 * z));
}

DFG_DEVICE static double cos_near(struct double_double r)
{
	double z = r.high * r.high, half = 0.5 * z, w = 1 - half;
	return w + (1 - w - half + (z * z * cos_series(z) - r.high * r.low));
}

DFG_DEVICE double dfg_math_sin(double x)
{
	struct double_double reduced;
	if (!(abs_f64(x) < MATH_INFINITY))
		return MATH_NAN;
	if (abs_f64(x) < 0x1p-27)
		return x;
	unsigned quadrant = reduce(x, &reduced);
	double y = quadrant & 1 ? cos_near(reduced) : sin_near(reduced);
	return quadrant & 2 ? -y : y;
}

DFG_DEVICE double dfg_math_cos(double x)
{
	struct double_double reduced;
	if (!(abs_f64(x) < MATH_INFINITY))
		return MATH_NAN;
	unsigned quadrant = reduce(x, &reduced);
	double y = quadrant & 1 ? sin_near(reduced) : cos_near(reduced);
	return (quadrant + 1) & 2 ? -y : y;
}

DFG_DEVICE double dfg_math_tan(double x)
{
	struct double_double reduced;
	if (!(abs_f64(x) < MATH_INFINITY))
		return MATH_NAN;
	if (abs_f64(x) < 0x1p-27)
		return x;
	unsigned quadrant = reduce(x, &reduced);
	double sine = sin_near(reduced), cosine = cos_near(reduced);
	return quadrant & 1 ? -cosine / sine : sine / cosine;
}

/* (atan t - t) / t^3 in t^2, |t| <= tan(pi / 8), and (asin t - t) / t^3 in t^2 <= 1/4: 2^-64. */
DFG_DEVICE static double atan_series(double z)
{
	static const double c[] = {
		-0x1.5555555555554p-2,
		0x1.999999999964ap-3,
		-0x1.249249247550ep-3,
		0x1.c71c71b73661ep-4,
		-0x1.745d14b64c9eep-4,
		0x1.3b136dd5c906p-4,
		-0x1.110c6d4135928p-4,
		0x1.e1718bb80cd38p-5,
		-0x1.ab7a6aeb6b628p-5,
		0x1.70e031757c877p-5,
		-0x1.12182d889f59dp-5,
		0x1.f16494cf20dbcp-7,
	};
	return series(c, sizeof c / sizeof *c, z);
}

DFG_DEVICE static double asin_series(double z)
{
	static const double c[] = {
		0x1.5555555555553p-3,
		0x1.3333333333a68p-4,
		0x1.6db6db6d4646fp-5,
		0x1.f1c71ca948ad5p-6,
		0x1.6e8b9acf2e8e3p-6,
		0x1.1c4f88510db45p-6,
		0x1.c9808fc0a944bp-7,
		0x1.7ba75a0ea466fp-7,
		0x1.36acf85031dd4p-7,
		0x1.487582fba4666p-7,
		0x1.4cf2106eed4p-11,
		0x1.9874aa33ecb6cp-6,
		-0x1.aea3886f0f832p-6,
		0x1.143fb0491f1f9p-5,
	};
	return series(c, sizeof c / sizeof *c, z);
}

/* Reduced by pi / 4 or pi / 2 to a small argument. */
DFG_DEVICE double dfg_math_atan(double x)
{
	double a = abs_f64(x), t = a, base = 0, base_low = 0;
	if (a > 0x1.3504f333f9de6p1) {
		t = -1 / a;
		base = 0x1.921fb54442d18p0;
		base_low = 0x1.1a62633145c07p-54;
	} else if (a > 0x1.a827999fcef32p-2) {
		t = (a - 1) / (a + 1);
		base = 0x1.921fb54442d18p-1;
		base_low = 0x1.1a62633145c07p-55;
	}
	double z = t * t;
	return sign_f64(base + (t + (t * z * atan_series(z) + base_low)), x);
}

DFG_DEVICE double dfg_math_atan2(double y, double x)
{
	double a = abs_f64(y), b = abs_f64(x);
	if (x != x || y != y)
		return x + y;
	double angle = a == b ? (a == 0 ? 0 : 0x1.921fb54442d18p-1) : dfg_math_atan(a / b);
	if (bits_f64(x) >> 63)
		angle = 0x1.921fb54442d18p1 - (angle - 0x1.1a62633145c07p-53);
	return sign_f64(angle, y);
}

/* asin t for t = sqrt z */
DFG_DEVICE static double asin_of_root(double z)
{
	double root = __builtin_sqrt(z);
	return root + root * z * asin_series(z);
}

DFG_DEVICE double dfg_math_asin(double x)
{
	double a = abs_f64(x), z = x * x;
	if (a <= 0.5)
		return x + x * z * asin_series(z);
	double y = 0x1.921fb54442d18p0 - (2 * asin_of_root((1 - a) * 0.5) - 0x1.1a62633145c07p-54);
	return a <= 1 ? sign_f64(y, x) : MATH_NAN;
}

DFG_DEVICE double dfg_math_acos(double x)
{
	double z = x * x;
	if (!(abs_f64(x) <= 1))
		return MATH_NAN;
	if (x > 0.5)
		return 2 * asin_of_root((1 - x) * 0.5);
	if (x < -0.5)
		return 0x1.921fb54442d18p1 - (2 * asin_of_root((1 + x) * 0.5) - 0x1.1a62633145c07p-53);
	return 0x1.921fb54442d18p0 - (x + (x * z * asin_series(z) - 0x1.1a62633145c07p-54));
}

#define LN2 0x1.62e42fefa39efp-1

DFG_DEVICE double dfg_math_asinh(double x)
{
	double a = abs_f64(x), z = a * a;
	return sign_f64(a > 0x1p28 ? log_f64(a) + LN2 : log1p_f64(a + z / (1 + __builtin_sqrt(z + 1))), x);
}

DFG_DEVICE double dfg_math_acosh(double x)
{
	double t = x - 1;
	if (!(x >= 1))
		return MATH_NAN;
	return x > 0x1p28 ? log_f64(x) + LN2 : log1p_f64(t + __builtin_sqrt(2 * t + t * t));
}

DFG_DEVICE double dfg_math_atanh(double x)
{
	double a = abs_f64(x);
	return sign_f64(0.5 * log1p_f64(2 * a / (1 - a)), x);
}
