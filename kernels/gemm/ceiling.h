#pragma once

/*
 * The largest rate of fused multiply-adds of this processor, in operations on f32 a second (each is two) of one thread: 12
 * chains in registers, the best of `rounds` of about a millisecond. 0 where products do not use vectors of its own.
 */
double dfg_product_ceiling(int rounds);
