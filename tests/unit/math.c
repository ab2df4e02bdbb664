#include "kernels/math.h"
#include "kernels/softmax.h"
#include "kernels/special.h"
#include "lib/graph/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

/* The reference is the C library's long double, 64 bits of mantissa. */
struct function {
	const char *name;
	float (*f32)(float);
	double (*f64)(double);
	long double (*reference)(long double);
	double low, high; /* tested where both are; |x| is spread evenly over exponents */
	double ulp32, ulp64;
};

#define BOTH(name) #name, name##_f32, name##_f64
#define WIDE(name) #name, NULL, dfg_math_##name

static long double sigmoid(long double x)
{
	return 1 / (1 + expl(-x));
}

static long double softplus(long double x)
{
	return x > 60 ? x : log1pl(expl(x));
}

static const struct function functions[] = {
	{BOTH(exp), expl, -104, 88.7, 1.1, 1.1},
	{BOTH(expm1), expm1l, -30, 88.7, 2, 2},
	{BOTH(log), logl, 0, 100, 1.1, 1.1},
	{BOTH(log1p), log1pl, -0.99999, 100, 1.5, 1.5},
	{BOTH(tanh), tanhl, -20, 20, 1.5, 2.5},
	{BOTH(sigmoid), sigmoid, -80, 80, 2, 2.5},
	{BOTH(softplus), softplus, -80, 80, 2, 2},
	{BOTH(sinh), sinhl, -89, 89, 0.51, 2},
	{BOTH(cosh), coshl, -89, 89, 0.51, 2},
	{"erf", erf_f32, dfg_math_erf, erfl, -6, 6, 2, 2},
	{WIDE(erfc), erfcl, -6, 26, 0, 4},
	{WIDE(sin), sinl, -1e4, 1e4, 0, 1},
	{WIDE(cos), cosl, -1e6, 1e6, 0, 1},
	{WIDE(tan), tanl, -1e6, 1e6, 0, 2},
	{WIDE(asin), asinl, -1, 1, 0, 2.5},
	{WIDE(acos), acosl, -1, 1, 0, 2},
	{WIDE(atan), atanl, -9, 9, 0, 2},
	{WIDE(asinh), asinhl, -100, 100, 0, 3},
	{WIDE(acosh), acoshl, 1, 100, 0, 3},
	{WIDE(atanh), atanhl, -0.9999, 0.9999, 0, 3},
	{WIDE(lgamma), lgammal, 1e-9, 30, 0, 6},
};

/* Distance from the true value in units in the last place of a number with that many bits. */
static double ulps(long double got, long double want, int bits)
{
	int exponent;
	frexpl(want, &exponent);
	int least = bits == 24 ? -125 : -1021;
	return (double)(fabsl(got - want) / ldexpl(1, (exponent > least ? exponent : least) - bits));
}

/* A number in [low, high], dense near both 0 and the ends. */
static double sample(const struct function *f, uint64_t i)
{
	uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	double unit = (double)(hash >> 11) * 0x1p-53;
	if (i % 2)
		return f->low + unit * (f->high - f->low);
	double end = hash & 1 && f->low < 0 ? f->low : f->high;
	return end * exp2(-40 * unit);
}

static void stays_within_its_units(void **state)
{
	(void)state;
	int failed = 0;
	for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
		const struct function *f = &functions[k];
		double worst32 = 0, worst64 = 0, at32 = 0, at64 = 0;
		for (uint64_t i = 0; i < 200000; i++) {
			double x = sample(f, i);
			if (x < f->low || x > f->high)
				continue;
			if (f->f32 && ulps(f->f32((float)x), f->reference((float)x), 24) > worst32)
				worst32 = ulps(f->f32((float)x), f->reference((float)x), 24), at32 = (float)x;
			if (ulps(f->f64(x), f->reference(x), 53) > worst64)
				worst64 = ulps(f->f64(x), f->reference(x), 53), at64 = x;
		}
		if (worst32 > f->ulp32 || worst64 > f->ulp64)
			failed++, print_error("%s: f32 %.2f units at %a, f64 %.2f at %a\n", f->name, worst32, at32, worst64, at64);
	}
	assert_int_equal(failed, 0);
}

static void powers_are_within_a_unit(void **state)
{
	(void)state;
	double worst = 0, worst_x = 0, worst_y = 0;
	const struct function positive = {.low = 1e-300, .high = 1e10}, exponent = {.low = -300, .high = 300};
	for (uint64_t i = 0; i < 200000; i++) {
		double x = sample(&positive, i), y = sample(&exponent, i * 7 + 3);
		long double want = powl(x, y);
		if (want > 1.7e308L || want < 2.3e-308L)
			continue;
		double off = ulps(dfg_math_pow(x, y), want, 53);
		if (off > worst)
			worst = off, worst_x = x, worst_y = y;
	}
	if (worst > 1.01)
		print_error("pow: %.2f units at %a, %a\n", worst, worst_x, worst_y);
	assert_true(worst <= 1.01);
}

static void powers_have_their_limits(void **state)
{
	(void)state;
	const double special[] = {
		0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 2, -2, 0.5, -0.5, 3, -3, 1e300, 1e-320, -1e-320, 0x1p53};
	size_t n = sizeof special / sizeof *special;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double want = pow(special[i], special[j]), got = dfg_math_pow(special[i], special[j]);
			if (!((isnan(want) && isnan(got)) || (fabs(got - want) <= 1e-15 * fabs(want)) ||
					(want == got && signbit(want) == signbit(got))))
				print_error("%g ^ %g: %g, not %g\n", special[i], special[j], got, want);
			assert_true((isnan(want) && isnan(got)) || (want == got && signbit(want) == signbit(got)) ||
						(!isinf(want) && fabs(got - want) <= 1e-15 * fabs(want)));
		}
}

static void near_exponentials_have_the_same_bits(void **state)
{
	(void)state;
	const struct function range = {.low = EXP_NEAR_F32, .high = 88}, wide = {.low = EXP_NEAR_F64, .high = 708};
	for (uint64_t i = 0; i < 200000; i++) {
		double x = sample(&range, i), y = sample(&wide, i);
		assert_int_equal(bits_f32(exp_near_f32((float)x)), bits_f32(exp_f32((float)x)));
		assert_int_equal(bits_f64(exp_near_f64(y)), bits_f64(exp_f64(y)));
	}
	assert_int_equal(bits_f32(exp_near_f32(EXP_NEAR_F32)), bits_f32(exp_f32(EXP_NEAR_F32)));
	assert_int_equal(bits_f64(exp_near_f64(EXP_NEAR_F64)), bits_f64(exp_f64(EXP_NEAR_F64)));
}

extern const struct dfg_op dfg_op_Exp, dfg_op_Expm1, dfg_op_Log, dfg_op_Log1p, dfg_op_Tanh, dfg_op_Sigmoid, dfg_op_Erf;

/* The rows of ops run what this processor is best at; the functions here are compiled for any, where mad_f32 is fmaf. */
static void rows_have_the_bits_of_any_processor(void **state)
{
	(void)state;
	static const struct {
		const struct dfg_op *op;
		float (*function)(float);
	} rows[] = {{&dfg_op_Exp, exp_f32}, {&dfg_op_Expm1, expm1_f32}, {&dfg_op_Log, log_f32}, {&dfg_op_Log1p, log1p_f32},
		{&dfg_op_Tanh, tanh_f32}, {&dfg_op_Sigmoid, sigmoid_f32}, {&dfg_op_Erf, erf_f32}};
	enum { N = 4099 };
	static const struct function range = {.low = -110, .high = 110};
	static float x[N] = {
		INFINITY, -INFINITY, 0.0f, -0.0f, 0x1p-140f, -0x1p-140f, 88.72f, 88.73f, -87.4f, -103.9f, -104.1f};
	static float y[N];
	for (int i = 11; i < N; i++)
		x[i] = (float)sample(&range, (uint64_t)i);
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		rows[k].op->row[DFG_F32](N, y, (const void *[]){x}, NULL);
		for (int i = 0; i < N; i++)
			assert_true(
				isnan(y[i]) ? isnan(rows[k].function(x[i])) : bits_f32(y[i]) == bits_f32(rows[k].function(x[i])));
	}
}

/* An exponential of 0 after the others adds nothing, but is not within the range of the quick ones. */
static void softmax_of_near_and_far_elements_have_the_same_bits(void **state)
{
	(void)state;
	enum { N = 1023 };
	static const struct function range = {.low = -40, .high = 40};
	static float x[N + 1], near[N + 1], far[N + 1];
	for (int i = 0; i < N; i++)
		x[i] = (float)sample(&range, (uint64_t)i);
	for (int n = 1; n <= N; n += n < 140 ? 1 : 97) {
		float most[2], log[2], last = x[n];
		dfg_softmax_row_f32(n, x, near, &most[0], &log[0]);
		x[n] = -INFINITY;
		dfg_softmax_row_f32(n + 1, x, far, &most[1], &log[1]);
		x[n] = last;
		assert_true(most[0] == most[1] && log[0] == log[1] && far[n] == 0);
		assert_memory_equal(near, far, (size_t)n * sizeof *near);
	}
}

static void ends_and_not_a_numbers(void **state)
{
	(void)state;
	assert_true(exp_f32(-INFINITY) == 0 && exp_f32(INFINITY) == INFINITY && isnan(exp_f32(NAN)));
	assert_true(exp_f64(-INFINITY) == 0 && exp_f64(INFINITY) == INFINITY && isnan(exp_f64(NAN)));
	assert_true(log_f32(0) == -INFINITY && isnan(log_f32(-1)) && log_f32(INFINITY) == INFINITY && isnan(log_f32(NAN)));
	assert_true(log_f64(0) == -INFINITY && isnan(log_f64(-1)) && log_f64(INFINITY) == INFINITY && isnan(log_f64(NAN)));
	assert_true(
		log1p_f32(-1) == -INFINITY && isnan(log1p_f32(-2)) && signbit(log1p_f32(-0.0f)) && isnan(log1p_f32(NAN)));
	assert_true(expm1_f32(-INFINITY) == -1 && expm1_f32(INFINITY) == INFINITY && signbit(expm1_f32(-0.0f)));
	assert_true(softplus_f32(-INFINITY) == 0 && softplus_f32(INFINITY) == INFINITY && isnan(softplus_f32(NAN)));
	assert_true(log1p_f64(-1) == -INFINITY && isnan(log1p_f64(-2)) && signbit(log1p_f64(-0.0)));
	assert_true(expm1_f64(-INFINITY) == -1 && expm1_f64(INFINITY) == INFINITY && signbit(expm1_f64(-0.0)));
	assert_true(
		tanh_f32(INFINITY) == 1 && tanh_f32(-INFINITY) == -1 && isnan(tanh_f32(NAN)) && signbit(tanh_f32(-0.0f)));
	assert_true(
		tanh_f64(INFINITY) == 1 && tanh_f64(-INFINITY) == -1 && isnan(tanh_f64(NAN)) && signbit(tanh_f64(-0.0)));
	assert_true(sigmoid_f32(-INFINITY) == 0 && sigmoid_f32(INFINITY) == 1 && isnan(sigmoid_f32(NAN)));
	assert_true(sinh_f64(INFINITY) == INFINITY && cosh_f64(-INFINITY) == INFINITY && sinh_f64(710) < INFINITY);
	assert_true(erf_f32(INFINITY) == 1 && erf_f32(-INFINITY) == -1 && isnan(erf_f32(NAN)) && signbit(erf_f32(-0.0f)));
	assert_true(dfg_math_erf(INFINITY) == 1 && dfg_math_erfc(-INFINITY) == 2 && dfg_math_erfc(INFINITY) == 0);
	assert_true(isnan(dfg_math_sin(INFINITY)) && isnan(dfg_math_asin(1.5)) && isnan(dfg_math_acosh(0.5)));
	assert_true(dfg_math_lgamma(-3) == INFINITY && dfg_math_lgamma(1) == 0 && dfg_math_lgamma(2) == 0);
}

/* Far from 0 a reduction that keeps too few bits of pi has no right digit left. */
static void angles_of_any_size(void **state)
{
	(void)state;
	for (int e = 20; e < 1023; e++) {
		double x = ldexp(1.2345678901234567, e);
		assert_true(ulps(dfg_math_sin(x), sinl(x), 53) < 1 || fabs(sin(x) - dfg_math_sin(x)) < 1e-16);
		assert_true(ulps(dfg_math_cos(-x), cosl(x), 53) < 1 || fabs(cos(x) - dfg_math_cos(x)) < 1e-16);
	}
}

static void near(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		print_error("%.17g, not %.17g\n", got, want);
	assert_true(fabs(got - want) <= relative * fabs(want));
}

/* Closed forms: psi(1) = -gamma, psi(1/2) = -gamma - 2 log 2, psi'(1) = pi^2/6, zeta(4) = pi^4/90, ... */
static void derivatives_of_gamma(void **state)
{
	(void)state;
	const double euler = 0.57721566490153286061, pi = 3.14159265358979323846;
	near(dfg_math_digamma(1), -euler, 1e-15);
	near(dfg_math_digamma(0.5), -euler - 2 * 0.69314718055994530942, 1e-15);
	near(dfg_math_digamma(0.25), -euler - pi / 2 - 3 * 0.69314718055994530942, 1e-15);
	near(dfg_math_digamma(-0.5), 2 - euler - 2 * 0.69314718055994530942, 1e-13);
	near(dfg_math_digamma(11), 2.9289682539682539683 - euler, 1e-15);
	near(dfg_math_polygamma(1, 1), pi * pi / 6, 1e-15);
	near(dfg_math_polygamma(1, 0.5), pi * pi / 2, 1e-15);
	near(dfg_math_polygamma(3, 1), pi * pi * pi * pi / 15, 1e-15);
	near(dfg_math_zeta(4, 1), pi * pi * pi * pi / 90, 1e-15);
	assert_true(isnan(dfg_math_digamma(-1)) && dfg_math_digamma(INFINITY) == INFINITY);
}

static void quadrants_of_atan2(void **state)
{
	(void)state;
	const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.3, -7, 1e-300, 1e300};
	for (size_t i = 0; i < 11; i++)
		for (size_t j = 0; j < 11; j++) {
			double want = atan2(special[i], special[j]), got = dfg_math_atan2(special[i], special[j]);
			assert_true(
				isnan(want) ? isnan(got) : fabs(got - want) <= 4e-16 * fabs(want) && signbit(got) == signbit(want));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_within_its_units),
		cmocka_unit_test(powers_are_within_a_unit),
		cmocka_unit_test(powers_have_their_limits),
		cmocka_unit_test(near_exponentials_have_the_same_bits),
		cmocka_unit_test(rows_have_the_bits_of_any_processor),
		cmocka_unit_test(softmax_of_near_and_far_elements_have_the_same_bits),
		cmocka_unit_test(ends_and_not_a_numbers),
		cmocka_unit_test(angles_of_any_size),
		cmocka_unit_test(derivatives_of_gamma),
		cmocka_unit_test(quadrants_of_atan2),
	};
	return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
