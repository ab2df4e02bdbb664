#include "kernels/gradient_helpers.h"

#include "kernels/elementwise_rows.h" /* undefines bool */

/* The derivatives by the order, which is the first input, cannot be expressed by these ops. */
static struct dfg_err *zeta_gradient(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	return dfg_gradient_formula(node, "dq = dz * -x * Zeta(x + 1, q)");
}

static struct dfg_err *polygamma_gradient(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	return dfg_gradient_formula(node, "dx = dz * Polygamma(a + 1, x)");
}

#define exp(x) OF_DIVISIBLE(exp, x)(x)
#define expm1(x) OF_FLOAT(expm1, x)(x)
#define log(x) OF_FLOAT(log, x)(x)
#define log1p(x) OF_FLOAT(log1p, x)(x)
#define sqrt(x) OF_FLOAT(sqrt, x)(x)
#define sin(x) OF_DIVISIBLE(sin, x)(x)
#define cos(x) OF_DIVISIBLE(cos, x)(x)
#define tan(x) OF_FLOAT(tan, x)(x)
#define asin(x) OF_FLOAT(asin, x)(x)
#define acos(x) OF_FLOAT(acos, x)(x)
#define atan(x) OF_FLOAT(atan, x)(x)
#define sinh(x) OF_DIVISIBLE(sinh, x)(x)
#define cosh(x) OF_DIVISIBLE(cosh, x)(x)
#define tanh(x) OF_FLOAT(tanh, x)(x)
#define asinh(x) OF_FLOAT(asinh, x)(x)
#define acosh(x) OF_FLOAT(acosh, x)(x)
#define atanh(x) OF_FLOAT(atanh, x)(x)
#define sigmoid(x) OF_FLOAT(sigmoid, x)(x)
#define erf(x) OF_FLOAT(erf, x)(x)
#define erfc(x) OF_FLOAT(erfc, x)(x)
#define lgamma(x) OF_FLOAT(lgamma, x)(x)
#define digamma(x) OF_FLOAT(digamma, x)(x)
#define atan2(x, y) OF_FLOAT(atan2, x)(x, y)
#define zeta(x, y) OF_FLOAT(zeta, x)(x, y)
#define polygamma(x, y) OF_FLOAT(polygamma, x)(x, y)

#include "kernels/elementwise.def"
