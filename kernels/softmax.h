#pragma once

#include "lib/graph/kernel.h"

/* The softmax of a row of n > 0 elements; its logarithm is x - most - log. out may be x. */
void dfg_softmax_row_f32(int64_t n, const float *x, float *out, float *out_most, float *out_log);
void dfg_softmax_row_f64(int64_t n, const double *x, double *out, double *out_most, double *out_log);

/* The number of rows of n elements that are some 20 us of work. */
int64_t dfg_softmax_rows_in_block(int64_t n);
