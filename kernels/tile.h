#pragma once

#include "kernels/blas.h"

/* Products in loops of our own, on this thread: right for any sizes, fast for small and thin ones. */
void dfg_tile_f32(const struct dfg_product *p, const float *a, const float *b, float *c);
void dfg_tile_f64(const struct dfg_product *p, const double *a, const double *b, double *c);

/* What they are compiled for. */
const char *dfg_tile_name(void);
