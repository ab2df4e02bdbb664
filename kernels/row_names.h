#pragma once

#include "kernels/row_functions.h"

/*
 * The functions by the names that the expressions of rows use (kernels/arithmetic.def). To be included last: the names are
 * those of the C library.
 */
#define abs(x) OF_FLOAT(abs, x)(x)
#define acos(x) OF_FLOAT(acos, x)(x)
#define acosh(x) OF_FLOAT(acosh, x)(x)
#define asin(x) OF_FLOAT(asin, x)(x)
#define asinh(x) OF_FLOAT(asinh, x)(x)
#define atan(x) OF_FLOAT(atan, x)(x)
#define atan2(x, y) OF_FLOAT(atan2, x)(x, y)
#define atanh(x) OF_FLOAT(atanh, x)(x)
#define ceil(x) OF_FLOAT(ceil, x)(x)
#define cos(x) OF_DIVISIBLE(cos, x)(x)
#define cosh(x) OF_DIVISIBLE(cosh, x)(x)
#define digamma(x) OF_FLOAT(digamma, x)(x)
#define divide(x, y) OF_NUMERIC(divide, x)(x, y)
#define erf(x) OF_FLOAT(erf, x)(x)
#define erfc(x) OF_FLOAT(erfc, x)(x)
#define exp(x) OF_DIVISIBLE(exp, x)(x)
#define expm1(x) OF_FLOAT(expm1, x)(x)
#define fabs(x) OF_FLOAT(abs, x)(x)
#define floor(x) OF_FLOAT(floor, x)(x)
#define floor_div(x, y) OF_NUMBER(floor_div, x)(x, y)
#define floor_mod(x, y) OF_NUMBER(floor_mod, x)(x, y)
#define lgamma(x) OF_FLOAT(lgamma, x)(x)
#define log(x) OF_FLOAT(log, x)(x)
#define log1p(x) OF_FLOAT(log1p, x)(x)
#define polygamma(x, y) OF_FLOAT(polygamma, x)(x, y)
#define power(x, y) OF_NUMBER(power, x)(x, y)
#define rint(x) OF_FLOAT(rint, x)(x)
#define round(x) OF_NUMBER(round, x)(x)
#define shift_count(y) OF_INT(shift_count, y)(y)
#define sigmoid(x) OF_FLOAT(sigmoid, x)(x)
#define sin(x) OF_DIVISIBLE(sin, x)(x)
#define sinh(x) OF_DIVISIBLE(sinh, x)(x)
#define softplus(x) OF_FLOAT(softplus, x)(x)
#define sqrt(x) OF_FLOAT(sqrt, x)(x)
#define tan(x) OF_FLOAT(tan, x)(x)
#define tanh(x) OF_FLOAT(tanh, x)(x)
#define truncate_div(x, y) OF_NUMBER(truncate_div, x)(x, y)
#define truncate_mod(x, y) OF_NUMBER(truncate_mod, x)(x, y)
#define zeta(x, y) OF_FLOAT(zeta, x)(x, y)

#define INFINITE ((element)MATH_INFINITY)

/*
 * The constants for which Selu keeps mean 0 and variance 1 (Klambauer et al. 2017); alpha is multiplied by the scale.
 */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_ALPHA 1.7580993408473768599402175208123
