#pragma once

/*
 * Measures the peak rate of one thread, in f32 operations per second, of which a fused multiply-add is two: the best of
 * `rounds` runs of about a millisecond each, with 12 independent chains in registers. 0 if products do not use AVX2 or
 * AVX-512.
 */
double dfg_product_ceiling(int rounds);
