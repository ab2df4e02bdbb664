#pragma once

#include <stdint.h>

/*
 * Functions of floats. The C library's are not used, because they choose their code by the CPU and give different bits
 * on different machines. These are arithmetic, selection and bit fields without branches, so loops over them become
 * vector code: name_f32 and name_f64, each within 2 units in the last place (tests/unit/math.c measures them).
 *
 * In f32, polynomials are chains of fused multiply-adds: one instruction in the clones for wider vectors, and a call of
 * the C library, which gives the same bits, where the processor has none.
 *
 * The polynomials are minimax fits; the error of each is given at its use, as a power of two. Functions that require
 * branches are in special.h.
 */

static inline uint32_t bits_f32(float x)
{
	union {
		float x;
		uint32_t bits;
	} as = {x};
	return as.bits;
}

static inline float float_of_bits(uint32_t bits)
{
	union {
		uint32_t bits;
		float x;
	} as = {bits};
	return as.x;
}

static inline uint64_t bits_f64(double x)
{
	union {
		double x;
		uint64_t bits;
	} as = {x};
	return as.bits;
}

static inline double double_of_bits(uint64_t bits)
{
	union {
		uint64_t bits;
		double x;
	} as = {bits};
	return as.x;
}

/* a * b + c, rounded once. */
static inline float mad_f32(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

#define MATH_NAN __builtin_nan("")
#define MATH_INFINITY __builtin_inf()

/* The sum of x and this constant has x, rounded to an integer (ties to even), in its low bits. */
#define ROUNDING_F32 0x1.8p23f
#define ROUNDING_F64 0x1.8p52

/* ln 2 in two parts; the first has few enough bits that its integer multiples are exact. */
#define LN2_HIGH_F32 0x1.63p-1f
#define LN2_LOW_F32 -0x1.bd0106p-13f
#define LN2_HIGH_F64 0x1.62e42feep-1
#define LN2_LOW_F64 0x1.a39ef35793c76p-33

static inline float abs_f32(float x)
{
	return float_of_bits(bits_f32(x) & 0x7fffffffu);
}

static inline double abs_f64(double x)
{
	return double_of_bits(bits_f64(x) & ~(UINT64_C(1) << 63));
}

/* |x| with the sign of y. */
static inline float sign_f32(float x, float y)
{
	return float_of_bits((bits_f32(x) & 0x7fffffffu) | (bits_f32(y) & 0x80000000u));
}

static inline double sign_f64(double x, double y)
{
	return double_of_bits((bits_f64(x) & ~(UINT64_C(1) << 63)) | (bits_f64(y) & UINT64_C(1) << 63));
}

/* y * 2^k for an integer |k| <= 2 * 1022, in two steps so that the result may overflow or underflow. */
static inline float scale_f32(float y, float k)
{
	float half = k * 0.5f + ROUNDING_F32, other = k - (half - ROUNDING_F32) + ROUNDING_F32;
	return y * float_of_bits((bits_f32(half) + 127) << 23) * float_of_bits((bits_f32(other) + 127) << 23);
}

static inline double scale_f64(double y, double k)
{
	double half = k * 0.5 + ROUNDING_F64, other = k - (half - ROUNDING_F64) + ROUNDING_F64;
	return y * double_of_bits((bits_f64(half) + 1023) << 52) * double_of_bits((bits_f64(other) + 1023) << 52);
}

/* e^r - 1 - r for |r| <= ln 2 / 2: 2^-34 in f32, 2^-70 in f64; exp_series is that divided by r^2. */
static inline float exp_series_f32(float r)
{
	float p = 0x1.a1bddp-13f;
	p = mad_f32(p, r, 0x1.6d972ap-10f);
	p = mad_f32(p, r, 0x1.111078p-7f);
	p = mad_f32(p, r, 0x1.55548p-5f);
	p = mad_f32(p, r, 0x1.555556p-3f);
	return mad_f32(p, r, 0.5f);
}

static inline float exp_tail_f32(float r)
{
	return r * r * exp_series_f32(r);
}

static inline double exp_tail_f64(double r)
{
	double p = 0x1.61f05b2739c71p-33;
	p = p * r + 0x1.1f9582d789515p-29;
	p = p * r + 0x1.ae64096d6f62bp-26;
	p = p * r + 0x1.27e4c4db8c1d7p-22;
	p = p * r + 0x1.71de3a6423590p-19;
	p = p * r + 0x1.a01a01b19039dp-16;
	p = p * r + 0x1.a01a01a0170e7p-13;
	p = p * r + 0x1.6c16c16c13ef2p-10;
	p = p * r + 0x1.1111111111116p-7;
	p = p * r + 0x1.555555555555cp-5;
	p = p * r + 0x1.5555555555555p-3;
	p = p * r + 0.5;
	return r * r * p;
}

/* e^r for r = x - k ln 2, |r| <= ln 2 / 2. */
static inline float exp_part_f32(float x, float k)
{
	float r = mad_f32(k, -LN2_LOW_F32, mad_f32(k, -LN2_HIGH_F32, x));
	return 1 + mad_f32(r * r, exp_series_f32(r), r);
}

/* x = k ln 2 + r, |r| <= ln 2 / 2. Beyond the limits the result is 0 or infinity; that of NaN is NaN. */
static inline float exp_f32(float x)
{
	uint32_t a = bits_f32(x) & 0x7fffffffu, most = 0x42d00000u; /* |x| and 104; compared as integers, that is quicker */
	float c = sign_f32(float_of_bits(a < most ? a : most), x);
	float k = mad_f32(c, 0x1.715476p0f, ROUNDING_F32) - ROUNDING_F32;
	float y = scale_f32(exp_part_f32(c, k), k);
	return x == x ? y : x + x;
}

/* The bits of exp_f32 and exp_f64, from EXP_NEAR to 88: the result is normal, and scaled by an addition to its exponent. */
#define EXP_NEAR_F32 -86
#define EXP_NEAR_F64 -707
static inline float exp_near_f32(float x)
{
	float shifted = mad_f32(x, 0x1.715476p0f, ROUNDING_F32);
	return float_of_bits(bits_f32(exp_part_f32(x, shifted - ROUNDING_F32)) + (bits_f32(shifted) << 23));
}

static inline double exp_part_f64(double x, double k)
{
	double high = x - k * LN2_HIGH_F64, low = k * LN2_LOW_F64, r = high - low;
	return 1 + (r + (high - r - low + exp_tail_f64(r)));
}

static inline double exp_near_f64(double x)
{
	double shifted = x * 0x1.71547652b82fep0 + ROUNDING_F64;
	return double_of_bits(bits_f64(exp_part_f64(x, shifted - ROUNDING_F64)) + (bits_f64(shifted) << 52));
}

static inline double exp_f64(double x)
{
	x = x > 710 ? 710 : x < -746 ? -746 : x;
	double k = x * 0x1.71547652b82fep0 + ROUNDING_F64 - ROUNDING_F64;
	return scale_f64(exp_part_f64(x, k), k);
}

/* e^x - 1 = 2^k (e^r - 1 + (1 - 2^-k)). k is bounded below, since the result is -1 for smaller x. */
static inline double expm1_f64(double x)
{
	double y = x > 710 ? 710 : x < -50 ? -50 : x;
	double k = y * 0x1.71547652b82fep0 + ROUNDING_F64 - ROUNDING_F64;
	double high = y - k * LN2_HIGH_F64, low = k * LN2_LOW_F64, r = high - low;
	double e = r + (high - r - low + exp_tail_f64(r));
	double result = scale_f64(e + (1 - scale_f64(1, -k)), k);
	return x == 0 ? x : result;
}

static inline float expm1_f32(float x)
{
	float y = x > 89 ? 89 : x < -20 ? -20 : x;
	float k = y * 0x1.715476p0f + ROUNDING_F32 - ROUNDING_F32;
	float high = y - k * LN2_HIGH_F32, low = k * LN2_LOW_F32, r = high - low;
	float e = r + (high - r - low + exp_tail_f32(r));
	float result = scale_f32(e + (1 - scale_f32(1, -k)), k);
	return x == 0 ? x : result;
}

/*
 * A positive normal number as 2^k (1 + f), 1 + f in [sqrt 1/2, sqrt 2). A constant is added to the bits so that the
 * exponent field, which gives k, changes at sqrt 2.
 */
struct parts_f32 {
	float k, f;
};
static inline struct parts_f32 parts_f32(float x)
{
	uint32_t bits = bits_f32(x) + (0x3f800000u - 0x3f3504f3u);
	struct parts_f32 parts;
	parts.k = (float)((int32_t)(bits >> 23) - 127);
	parts.f = float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1;
	return parts;
}

struct parts_f64 {
	double k, f;
};
static inline struct parts_f64 parts_f64(double x)
{
	uint64_t bits = bits_f64(x) + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
	struct parts_f64 parts;
	parts.k = double_of_bits(bits >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
	parts.f = double_of_bits((bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd)) - 1;
	return parts;
}

/* log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)), s = f / (2 + f), R a series in s^2: 2^-37 in f32, 2^-59 in f64. */
static inline float log_rest_f32(float f)
{
	float s = f / (2 + f), z = s * s;
	float p = 0x1.e2fef8p-3f;
	p = mad_f32(p, z, 0x1.2438a4p-2f);
	p = mad_f32(p, z, 0x1.999a7cp-2f);
	p = mad_f32(p, z, 0x1.555554p-1f);
	float square = 0.5f * f * f;
	return square - s * (square + z * p);
}

static inline double log_rest_f64(double f, double tail)
{
	double s = f / (2 + f), z = s * s;
	double p = 0x1.2f0f5334322fbp-3;
	p = p * z + 0x1.39a0c7c0340a6p-3;
	p = p * z + 0x1.746647e9e2a75p-3;
	p = p * z + 0x1.c71c51dfd703dp-3;
	p = p * z + 0x1.24924942206c5p-2;
	p = p * z + 0x1.999999997facbp-2;
	p = p * z + 0x1.5555555555593p-1;
	double square = 0.5 * f * f;
	return square - (s * (square + z * p) + tail);
}

static inline float log_f32(float x)
{
	float normal = x < 0x1p-126f ? x * 0x1p25f : x;
	struct parts_f32 parts = parts_f32(normal);
	float k = x < 0x1p-126f ? parts.k - 25 : parts.k;
	float y = k * LN2_HIGH_F32 - (log_rest_f32(parts.f) - k * LN2_LOW_F32 - parts.f);
	y = x == 0 ? (float)-MATH_INFINITY : y;
	y = x < 0 ? (float)MATH_NAN : y;
	return x < (float)MATH_INFINITY ? y : x; /* infinity and NaN are their own logarithms */
}

static inline double log_f64(double x)
{
	double normal = x < 0x1p-1022 ? x * 0x1p54 : x;
	struct parts_f64 parts = parts_f64(normal);
	double k = x < 0x1p-1022 ? parts.k - 54 : parts.k;
	double y = k * LN2_HIGH_F64 - (log_rest_f64(parts.f, k * LN2_LOW_F64) - parts.f);
	y = x == 0 ? -MATH_INFINITY : y;
	y = x < 0 ? MATH_NAN : y;
	return x < MATH_INFINITY ? y : x;
}

/* log(1 + x): the rounding error of 1 + x is corrected by a term relative to 1 + x. */
static inline double log1p_f64(double x)
{
	double u = 1 + x;
	double lost = u >= 2 ? 1 - (u - x) : x - (u - 1);
	struct parts_f64 parts = parts_f64(u);
	double f = parts.k == 0 ? x : parts.f, correction = parts.k == 0 ? 0 : lost / u;
	double y = parts.k * LN2_HIGH_F64 - (log_rest_f64(f, parts.k * LN2_LOW_F64 + correction) - f);
	y = x == -1 ? -MATH_INFINITY : y;
	y = x < -1 ? MATH_NAN : y;
	y = x == 0 ? x : y;
	return x < MATH_INFINITY ? y : x;
}

static inline float log1p_f32(float x)
{
	float u = 1 + x;
	float lost = u >= 2 ? 1 - (u - x) : x - (u - 1);
	struct parts_f32 parts = parts_f32(u);
	float f = parts.k == 0 ? x : parts.f, correction = parts.k == 0 ? 0 : lost / u;
	float y = parts.k * LN2_HIGH_F32 - (log_rest_f32(f) - (parts.k * LN2_LOW_F32 + correction) - f);
	y = x == -1 ? (float)-MATH_INFINITY : y;
	y = x < -1 ? (float)MATH_NAN : y;
	y = x == 0 ? x : y;
	return x < (float)MATH_INFINITY ? y : x;
}

/* 1 - 2 / (e^2x + 1); near 0, where that would lose digits, an odd polynomial: 2^-33. */
static inline float tanh_f32(float x)
{
	float a = abs_f32(x), z = x * x;
	float p = 0x1.1976a2p-9f;
	p = mad_f32(p, z, -0x1.0c204ep-7f);
	p = mad_f32(p, z, 0x1.6394c4p-6f);
	p = mad_f32(p, z, -0x1.b9ef7ep-5f);
	p = mad_f32(p, z, 0x1.11106cp-3f);
	p = mad_f32(p, z, -0x1.555554p-2f);
	float small = a + a * z * p, large = 1 - 2 / (exp_f32(2 * a) + 1);
	return sign_f32(a < 0.625f ? small : large, x);
}

static inline double tanh_f64(double x)
{
	double a = abs_f64(x), t = expm1_f64(2 * a);
	double small = t / (t + 2), large = 1 - 2 / (t + 2);
	return sign_f64(a < 0.5 ? small : large, x);
}

/* Below 1, x + x P(x^2): 2^-29. Above, 1 - e^-Q(x), where Q is a fit of -log erfc weighted by erfc: 2^-32. */
static inline float erf_f32(float x)
{
	float a = abs_f32(x), b = a < 4 ? a : 4, z = x * x;
	float p = 0x1.4ac80ep-14f;
	p = mad_f32(p, z, -0x1.a47c9p-11f);
	p = mad_f32(p, z, 0x1.5418d8p-8f);
	p = mad_f32(p, z, -0x1.b7fb96p-6f);
	p = mad_f32(p, z, 0x1.ce2d1ep-4f);
	p = mad_f32(p, z, -0x1.81273ep-2f);
	p = mad_f32(p, z, 0x1.06eba8p-3f);
	float q = 0x1.6bd186p-16f;
	q = mad_f32(q, b, -0x1.cec15ap-12f);
	q = mad_f32(q, b, 0x1.138b52p-8f);
	q = mad_f32(q, b, -0x1.9d0214p-6f);
	q = mad_f32(q, b, 0x1.bc14bap-4f);
	q = mad_f32(q, b, 0x1.443572p-1f);
	q = mad_f32(q, b, 0x1.212c0ap0f);
	q = mad_f32(q, b, -0x1.8a462ep-13f);
	float small = x + x * p, large = sign_f32(1 - exp_f32(-q), x);
	float y = a < 1 ? small : large;
	return x == x ? y : x;
}

/* By e^-|x|, which does not overflow and is at most the 1 that it is added to. */
static inline float sigmoid_f32(float x)
{
	float e = exp_f32(-abs_f32(x)), d = 1 + e, lost = e - (d - 1);
	float y = (x < 0 ? e : 1) / d;
	return y - y * (x < 0 ? 1 - y : y) * lost;
}

static inline double sigmoid_f64(double x)
{
	double e = exp_f64(-abs_f64(x));
	return (x < 0 ? e : 1) / (1 + e);
}

/* log(1 + e^x). */
static inline double softplus_f64(double x)
{
	double tail = log1p_f64(exp_f64(-abs_f64(x)));
	return (x > 0 ? x : 0) + tail;
}

static inline float softplus_f32(float x)
{
	float tail = log1p_f32(exp_f32(-abs_f32(x)));
	return (x > 0 ? x : 0) + tail;
}

/*
 * (e^a +- e^-a) / 2 from e^a - 1. The last factors of 2 are applied at the end: e^a may overflow where the result does
 * not.
 */
static inline double sinh_f64(double x)
{
	double a = abs_f64(x), root = exp_f64(0.5 * a), t = expm1_f64(a);
	double small = 0.5 * (2 * t - t * t / (t + 1)), middle = 0.5 * (t + t / (t + 1)), large = 0.5 * root * root;
	double y = a < 1 ? small : middle;
	return sign_f64(a > 709 ? large : y, x);
}

static inline double cosh_f64(double x)
{
	double a = abs_f64(x), root = exp_f64(0.5 * a), e = exp_f64(a);
	double y = 0.5 * e + 0.5 / e, large = 0.5 * root * root;
	return a > 709 ? large : y;
}

static inline float sinh_f32(float x)
{
	return (float)sinh_f64(x);
}

static inline float cosh_f32(float x)
{
	return (float)cosh_f64(x);
}
