#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The Schur form a = q t q*, of a complex matrix n x n in C order: t is an upper triangle with the eigenvalues on its
 * diagonal, and replaces a; q is unitary. By Householder reflections and shifted QR steps, whose order depends on the elements
 * alone. False: no convergence, as for NaN.
 */
bool dfg_schur(int64_t n, double _Complex *a, double _Complex *q);

/* out = x y, of n x n matrices; out is neither of them. With `adjoint`, x y*. */
void dfg_complex_product(
	int64_t n, const double _Complex *x, const double _Complex *y, bool adjoint, double _Complex *out);

/* The principal square root, whose real part is not negative; and the absolute value. */
double _Complex dfg_complex_root(double _Complex x);
double dfg_complex_size(double _Complex x);
