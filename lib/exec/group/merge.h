#pragma once

#include "lib/base/err.h"
#include "lib/graph/tensor.h"

/*
 * One value of the values that the shards of a batch gave for a fetch. `value` has `shards` tensors in the order of the
 * shards; a shard without rows has a tensor without a dtype.
 */

/* Rows concatenated along axis 0. DFG_DATA if the other extents differ, or the values have no axis. */
DFG_MUST_CHECK struct dfg_err *dfg_merge_rows(
	const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor);

/* The elementwise sum of integers, wrapping. DFG_DATA if the values are not integers of one shape. */
DFG_MUST_CHECK struct dfg_err *dfg_merge_integers(
	const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor);
