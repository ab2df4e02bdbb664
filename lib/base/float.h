#pragma once

#include <stdint.h>

/*
 * The float nearest to x, except that an inexact result is the neighbour of x whose last bit is odd. Rounding it to a type
 * with at least two bits fewer gives what rounding x to that type at once would give (Boldo and Melquiond, "When double
 * rounding is odd", 2005). NaN stays NaN; a finite x beyond the floats becomes the largest finite one.
 */
static inline float dfg_round_to_odd(double x)
{
	union {
		float value;
		uint32_t bits;
	} near = {(float)x};
	double back = near.value;
	if (back == x || x != x || near.bits & 1)
		return near.value;
	near.bits += (x < 0 ? -x : x) > (back < 0 ? -back : back) ? 1u : -1u;
	return near.value;
}
