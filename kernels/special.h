#pragma once

/*
 * Functions of f64 that require branches, for f32 too, with the result rounded. tests/unit/math.c measures their
 * errors.
 */
double dfg_math_sin(double x);
double dfg_math_cos(double x);
double dfg_math_tan(double x);
double dfg_math_asin(double x);
double dfg_math_acos(double x);
double dfg_math_atan(double x);
double dfg_math_atan2(double y, double x);
double dfg_math_asinh(double x);
double dfg_math_acosh(double x);
double dfg_math_atanh(double x);
double dfg_math_erf(double x);
double dfg_math_erfc(double x);
double dfg_math_pow(double x, double y);
double dfg_math_lgamma(double x);
double dfg_math_digamma(double x);
double dfg_math_zeta(double s, double q);      /* the sum of (q + n)^-s over n >= 0 */
double dfg_math_polygamma(double n, double x); /* the nth derivative of digamma */
