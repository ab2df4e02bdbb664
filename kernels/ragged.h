#pragma once

#include "lib/graph/tensor.h"

/*
 * DFG_DATA unless splits, those of ragged dimension `number`, are a vector that begins at 0, never decreases and ends at
 * `end` at most; end -1: anywhere.
 */
DFG_MUST_CHECK struct dfg_err *dfg_splits_check(const struct dfg_tensor *splits, int number, int64_t end);
