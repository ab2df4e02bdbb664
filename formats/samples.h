#pragma once

#include "lib/graph/tensor.h"

/* Samples are the entries of an array along its leading axis. A batch is a tensor of some of them. */

/*
 * Replaces *batch by n samples: those from `first` on, as a view, or if `order` is not NULL, copies of those numbered
 * order[0..n), which reuse the buffer of *batch if it is not shared. The caller has checked the numbers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_samples_take(
	const struct dfg_tensor *all, int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch);
