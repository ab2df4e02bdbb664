#pragma once

#include "lib/graph/tensor.h"

/* Converts n halves of the given dtype to f32 and back: dfg_convert() for callers that know the dtype is a half. */
void dfg_half_widen(enum dfg_dtype half, float *restrict out, const uint16_t *restrict in, int64_t n);
void dfg_half_round(enum dfg_dtype half, uint16_t *restrict out, const float *restrict in, int64_t n);

static inline bool dfg_is_half(enum dfg_dtype dtype)
{
	return dtype == DFG_F16 || dtype == DFG_BF16;
}
