#pragma once

#include "lib/graph/build.h"

/*
 * The VALUE of --feed NAME=VALUE, for a tensor of that fact (dtype and shape as far as they are known):
 *
 *     3.5  true  hello         a scalar in the tensor's dtype; what that cannot hold is DFG_DATA
 *     f32[2,3]:1,2,3,4,5,6     all elements in C order
 *     zeros:f32[2,3]  ones:f32[2,3]  normal:f32[2,3]:seed=1  uniform:f32[2,3]:seed=1
 *     @FILE.npy  @FILE.npz[key]  @-
 */
DFG_MUST_CHECK struct dfg_err *dfg_feed_value(
	const char *text, const struct dfg_inferred *fact, struct dfg_tensor *out_tensor);

/* Parses one number or word of `length` bytes as an element of a tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_feed_element(const char *text, size_t length, struct dfg_tensor *tensor, int64_t i);
