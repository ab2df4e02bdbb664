#include "kernels/double_double.h"
#include "kernels/gradient_helpers.h"

#include "kernels/elementwise_rows.h" /* undefines bool */

/*
 * Incomplete gamma and beta functions. Where both parameters are moderate, a series or a continued fraction (Abramowitz and
 * Stegun 6.5.29, 6.5.31, 26.5.8); for a gamma function with a large parameter Temme's uniform expansion (DLMF 8.12).
 */
enum { MOST_TERMS = 20000 };
#define LARGE 1e6 /* parameters from here on take the uniform expansion */
#define TINY 0x1p-53
#define ROOT_2_PI 0x1.40d931ff62706p+1

/* mu - log(1 + mu) for mu > -1, exact near 0. */
static double minus_log1p(double mu)
{
	static const double odd[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};
	if (abs_f64(mu) > 0.25)
		return mu - log1p_f64(mu);
	double s = mu / (2 + mu);
	return s * (mu - 2 * s * s * series(odd, sizeof odd / sizeof *odd, s * s));
}

/* log gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2, for a >= 20. */
static double stirling(double a)
{
	static const double c[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
	return series(c, sizeof c / sizeof *c, 1 / a / a) / a;
}

/* x^a e^-x / gamma(a + 1) */
static double gamma_factor(double a, double x)
{
	if (a < 20)
		return exp_f64(a * log_f64(x) - x - dfg_math_lgamma(a + 1));
	return exp_f64(-a * minus_log1p((x - a) / a) - stirling(a)) / (ROOT_2_PI * __builtin_sqrt(a));
}

/* A value, and its derivative by a. */
struct by_a {
	double value, slope;
};

/* The part below x, for x <= a + 1: the series of positive terms. */
static struct by_a lower_series(double a, double x)
{
	double term = 1, sum = 1, slope = 0, of_term = 0, factor = gamma_factor(a, x);
	for (int n = 1; n < MOST_TERMS && term > TINY * sum; n++) {
		term *= x / (a + n);
		of_term -= 1 / (a + n);
		sum += term;
		slope += term * of_term;
	}
	return (struct by_a){factor * sum, factor * (slope + sum * (log_f64(x) - dfg_math_digamma(a + 1)))};
}

/* Numerator or denominator of a continued fraction at two terms in a row, with their derivatives by a. */
struct convergents {
	struct by_a before, last;
};

static void next_convergent(struct convergents *c, double y, double z, double n)
{
	const struct by_a next = {c->last.value * z - c->before.value * y * n,
		c->last.slope * z - c->last.value - c->before.slope * y * n + c->before.value * n};
	c->before = c->last;
	c->last = next;
}

static void scale_convergents(struct convergents *c, double by)
{
	c->before.value *= by;
	c->before.slope *= by;
	c->last.value *= by;
	c->last.slope *= by;
}

/* The part above x, for x > 1 and x > a: the continued fraction. */
static struct by_a upper_fraction(double a, double x)
{
	double y = 1 - a, z = x + y + 1, factor = a * gamma_factor(a, x);
	struct convergents top = {{1, 0}, {x + 1, 0}}, bottom = {{x, 0}, {z * x, -x}};
	struct by_a ratio = {top.last.value / bottom.last.value, 0};
	ratio.slope = -ratio.value * bottom.last.slope / bottom.last.value;
	for (int n = 1; n < MOST_TERMS; n++) {
		const struct by_a old = ratio;
		y += 1;
		z += 2;
		next_convergent(&top, y, z, n);
		next_convergent(&bottom, y, z, n);
		if (bottom.last.value != 0) {
			ratio.value = top.last.value / bottom.last.value;
			ratio.slope = (top.last.slope - ratio.value * bottom.last.slope) / bottom.last.value;
		}
		if (abs_f64(bottom.last.value) > 0x1p400) {
			scale_convergents(&top, 0x1p-400);
			scale_convergents(&bottom, 0x1p-400);
		}
		if (abs_f64(ratio.value - old.value) <= TINY * abs_f64(ratio.value) &&
			abs_f64(ratio.slope - old.slope) <= TINY * abs_f64(ratio.slope))
			break;
	}
	return (struct by_a){
		factor * ratio.value, factor * (ratio.slope + ratio.value * (log_f64(x) - dfg_math_digamma(a)))};
}

/* The correction of the normal distribution at eta, and its derivative by eta: the first terms of DLMF 8.12.11. */
static struct by_a correction(double a, double eta)
{
	static const double c0[] = {
		-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600, 1.0 / 25515, -571.0 / 261273600};
	static const double c1[] = {-1.0 / 540, -1.0 / 288, 1.0 / 378, -77.0 / 77760, 1.0 / 4860};
	double slope = 0;
	for (int k = sizeof c0 / sizeof *c0 - 1; k > 0; k--)
		slope = slope * eta + k * c0[k];
	return (struct by_a){
		series(c0, sizeof c0 / sizeof *c0, eta) + series(c1, sizeof c1 / sizeof *c1, eta) / a + 25.0 / 6048 / (a * a),
		slope};
}

/* The part below x, or above it, for a large a; the slope is that of the part below. */
static struct by_a uniform(double a, double x, int above)
{
	double mu = (x - a) / a, eta = sign_f64(__builtin_sqrt(2 * minus_log1p(mu)), mu), root = __builtin_sqrt(a);
	double half = 0.5 * dfg_math_erfc((above ? eta : -eta) * root * 0x1.6a09e667f3bcdp-1);
	if (abs_f64(eta) * root > 40)
		return (struct by_a){half, 0};
	const struct by_a c = correction(a, eta);
	double density = exp_f64(-0.5 * a * eta * eta) / ROOT_2_PI;
	double ratio = abs_f64(mu) < 1e-8 ? 1 + mu / 3 : mu / eta, eta_slope = -ratio / a;
	double z_slope = eta_slope * root + 0.5 * eta / root, of_c = c.value / root;
	double slope = z_slope * (1 + eta * root * of_c) + 0.5 * of_c / a - c.slope * eta_slope / root;
	return (struct by_a){half + (above ? density : -density) * of_c, density * slope};
}

/* Whether a or x is at an end of its range, or outside of it: no formula is required for the part below x. */
static int is_simple(double a, double x, double *out_lower)
{
	if (!(x >= 0 && a > 0) || (a == MATH_INFINITY && x == MATH_INFINITY))
		*out_lower = MATH_NAN;
	else if (x == 0 || a == MATH_INFINITY)
		*out_lower = 0;
	else if (x == MATH_INFINITY)
		*out_lower = 1;
	else
		return 0;
	return 1;
}

static double igamma_f64(double a, double x)
{
	double lower;
	if (is_simple(a, x, &lower))
		return lower;
	if (a >= LARGE)
		return uniform(a, x, 0).value;
	return x > 1 && x > a ? 1 - upper_fraction(a, x).value : lower_series(a, x).value;
}

static double igammac_f64(double a, double x)
{
	double lower;
	if (is_simple(a, x, &lower))
		return 1 - lower;
	if (a >= LARGE)
		return uniform(a, x, 1).value;
	return x > 1 && x > a ? upper_fraction(a, x).value : 1 - lower_series(a, x).value;
}

static double igamma_grad_a_f64(double a, double x)
{
	double lower;
	if (is_simple(a, x, &lower))
		return lower == lower ? 0 : lower;
	if (a >= LARGE)
		return uniform(a, x, 0).slope;
	return x > 1 && x > a ? -upper_fraction(a, x).slope : lower_series(a, x).slope;
}

/* x^a (1 - x)^b / B(a, b) */
static double beta_factor(double a, double b, double x)
{
	double n = a + b;
	if (a < 20 || b < 20)
		return exp_f64(
			a * log_f64(x) + b * log1p_f64(-x) + dfg_math_lgamma(n) - dfg_math_lgamma(a) - dfg_math_lgamma(b));
	double off = x * n - a;
	return exp_f64(stirling(n) - stirling(a) - stirling(b) - a * minus_log1p(off / a) - b * minus_log1p(-off / b)) *
		   __builtin_sqrt(a / n) * __builtin_sqrt(b) / ROOT_2_PI;
}

/* The continued fraction by Lentz's method, for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;
	for (int n = 1; n < MOST_TERMS; n++) {
		double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
		double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
		d = 1 / (1 + even * d);
		c = 1 + even / c;
		value *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		value *= c * d;
		if (abs_f64(c * d - 1) <= 2 * TINY)
			break;
	}
	return value;
}

static double betainc_f64(double a, double b, double x)
{
	if (!(a > 0 && b > 0 && x >= 0 && x <= 1))
		return MATH_NAN;
	if (x == 0 || x == 1)
		return x;
	if (x * (a + b + 2) < a + 1)
		return beta_factor(a, b, x) / a * beta_fraction(a, b, x);
	return 1 - beta_factor(b, a, 1 - x) / b * beta_fraction(b, a, 1 - x);
}

/* The slope of a gamma number by a, where the distribution function is constant. */
static double random_gamma_grad_f64(double a, double x)
{
	if (x == 0)
		return 0;
	return -igamma_grad_a_f64(a, x) / exp_f64((a - 1) * log_f64(x) - x - dfg_math_lgamma(a));
}

#define NARROW(function)                                    \
	static float function##_f32(float a, float x)           \
	{                                                       \
		return (float)function##_f64((double)a, (double)x); \
	}
NARROW(igamma)
NARROW(igammac)
NARROW(igamma_grad_a)
NARROW(random_gamma_grad)

static float betainc_f32(float a, float b, float x)
{
	return (float)betainc_f64((double)a, (double)b, (double)x);
}

/* A scalar has any shape; the others have one shape. */
static struct dfg_err *betainc_shape(struct dfg_infer *node)
{
	struct dfg_shape shape = *node->in[0];
	for (int i = 1; i < 3; i++) {
		const struct dfg_shape *other = node->in[i];
		if (shape.rank != 0 && other->rank != 0 && !dfg_shape_fits(&shape, other))
			return DFG_ERR(DFG_DATA, "inputs must have equal shapes or be scalars, not %s and %s",
				dfg_shape_words(&shape).s, dfg_shape_words(other).s);
		shape = shape.rank == 0 ? *other : other->rank == 0 ? shape : dfg_shape_merge(&shape, other);
	}
	node->out[0] = shape;
	return NULL;
}

static struct dfg_err *betainc_gradient(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	DFG_TRY(dfg_adjoint_refuse(node, 1));
	return dfg_gradient_formula(
		node, "dx = dz * Exp(Xlogy(a - 1, x) + Xlog1py(b - 1, -x) + Lgamma(a + b) - Lgamma(a) - Lgamma(b))");
}

static struct dfg_err *gradient_of_slope(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	return dfg_gradient_formula(node, "dx = dz * Exp((a - 1) * Log(x) - x - Lgamma(a)) * (Log(x) - Digamma(a))");
}

/* clang-format off */
#define OF_A_AND_X "(a: T, x: T) -> (z: T)"
#define DENSITY "Exp((a - 1) * Log(x) - x - Lgamma(a))"
BINARY_AS(Igamma, OF_A_AND_X, float, 0, OF_FLOAT(igamma, x)(x, y),
	"da, dx = dz * IgammaGradA(a, x), dz * " DENSITY, "regularized lower incomplete gamma function")
BINARY_AS(Igammac, OF_A_AND_X, float, 0, OF_FLOAT(igammac, x)(x, y),
	"da, dx = -(dz * IgammaGradA(a, x)), -(dz * " DENSITY ")", "regularized upper incomplete gamma function: 1 - Igamma")
BINARY_AS(IgammaGradA, OF_A_AND_X, float, 0, OF_FLOAT(igamma_grad_a, x)(x, y),
	NULL, "derivative of Igamma with respect to a", .gradient_fn = gradient_of_slope)
BINARY_AS(RandomGammaGrad, "(alpha: T, sample: T) -> (output: T)", float, DFG_NO_GRADIENT,
	OF_FLOAT(random_gamma_grad, x)(x, y), NULL, "derivative, with respect to alpha, of numbers that RandomGamma has drawn")
TERNARY_AS(Betainc, "(a: T, b: T, x: T) -> (z: T)", float, 0, OF_FLOAT(betainc, x)(x, y, z),
	NULL, "regularized incomplete beta function", .gradient_fn = betainc_gradient, .shape = betainc_shape)
