#pragma once

#include "lib/base/err.h"
#include "lib/graph/tensor.h"

/*
 * The sum of the integers that the shards of a batch gave for a fetch, elementwise and wrapping. `value` has `shards`
 * tensors in the order of the shards; a shard without rows has a tensor without a dtype. DFG_DATA if the values are not
 * integers of one shape.
 */
DFG_MUST_CHECK struct dfg_err *dfg_merge_integers(
	const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor);
