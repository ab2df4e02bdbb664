#pragma once

#include "lib/graph/tensor.h"

/* Samples stand one each leading index of an array, of which there is at least one. A batch is some of them, as a tensor. */

/*
 * n samples, in place of what *batch holds: those from `first` on, as a view, or, where `order` is not NULL, those that
 * order[0..n) numbers, in the room of *batch where nobody else reads that. Numbers have been checked.
 */
DFG_MUST_CHECK struct dfg_err *dfg_samples_take(
	const struct dfg_tensor *all, int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch);
