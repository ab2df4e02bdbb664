#pragma once

#include "lib/graph/dtype.h"

#include <stddef.h>

/*
 * Adasum of two gradients, elements of f32 or f64, into `to`: a + b, less half of what each has of the other's direction,
 *
 *     (1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b
 *
 * so that equal ones give themselves, orthogonal ones their sum. Inner products are in f64, in an order of `count` alone.
 * Maleki et al., Scaling Distributed Training with Adaptive Summation, 2020.
 */
void dfg_adasum(enum dfg_dtype dtype, size_t count, void *to, const void *from);
