#pragma once

#include "kernels/device_function.h"

/*
 * Functions of f64 that require branches, for f32 too, with the result rounded. tests/unit/math.c measures their
 * errors.
 */
DFG_DEVICE double dfg_math_sin(double x);
DFG_DEVICE double dfg_math_cos(double x);
DFG_DEVICE double dfg_math_tan(double x);
DFG_DEVICE double dfg_math_asin(double x);
DFG_DEVICE double dfg_math_acos(double x);
DFG_DEVICE double dfg_math_atan(double x);
DFG_DEVICE double dfg_math_atan2(double y, double x);
DFG_DEVICE double dfg_math_asinh(double x);
DFG_DEVICE double dfg_math_acosh(double x);
DFG_DEVICE double dfg_math_atanh(double x);
DFG_DEVICE double dfg_math_erf(double x);
DFG_DEVICE double dfg_math_erfc(double x);
DFG_DEVICE double dfg_math_pow(double x, double y);
DFG_DEVICE double dfg_math_lgamma(double x);
DFG_DEVICE double dfg_math_digamma(double x);
DFG_DEVICE double dfg_math_zeta(double s, double q);      /* the sum of (q + n)^-s over n >= 0 */
DFG_DEVICE double dfg_math_polygamma(double n, double x); /* the nth derivative of digamma */
