#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Factorisations of dense matrices of f64, in C order, on the calling thread. Orders of summation depend on the sizes alone.
 */

/* LU with row exchanges, in place; row[i] is the row of the matrix that became row i. False: a pivot is 0. */
bool dfg_factor_lu(int64_t n, double *a, int64_t *row, int *out_sign);

/* Householder QR of a, rows x columns, in place: r is the upper triangle. q is rows x wide, wide >= min(rows, columns). */
void dfg_factor_qr(int64_t rows, int64_t columns, double *a, int64_t wide, double *q);

/*
 * Eigenvalues in ascending order, and eigenvectors as the columns of v, of the symmetric matrix with a's lower triangle, by
 * Jacobi's rotations. a is overwritten. False: no convergence, as for NaN.
 */
bool dfg_factor_symmetric(int64_t n, double *a, double *value, double *v);

/*
 * Singular values in descending order by one-sided Jacobi rotations. The columns of `a` (rows x columns, rows >= columns)
 * become the left vectors times the values; v, columns x columns, has the right vectors. False: no convergence.
 */
bool dfg_factor_singular(int64_t rows, int64_t columns, double *a, double *value, double *v);

/* Makes columns [done, wide) of u (rows x wide) orthonormal to those before them. */
void dfg_factor_complete(int64_t rows, int64_t wide, int64_t done, double *u);
