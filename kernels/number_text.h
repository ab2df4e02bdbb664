#pragma once

#include "lib/graph/tensor.h"

/*
 * Parses the text, without spaces around it, as a number of the dtype (f32, f64, i32, i64, u32, u64); false: invalid.
 */
bool dfg_read_number(struct dfg_string text, enum dfg_dtype dtype, void *out);
