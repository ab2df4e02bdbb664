#pragma once

#include "lib/graph/kernel.h"

/* Checks that ops on sequences of class scores share; input 0 is [time, batch, classes]. */

/* DFG_DATA if input 0 has another rank or no class, or if input `lengths` is not a number for each sequence of the batch. */
DFG_MUST_CHECK struct dfg_err *dfg_ctc_check_inputs(const struct dfg_infer *node, int lengths);

/* The length of sequence b, element b of input i; DFG_DATA if it is not in [0, time]. */
DFG_MUST_CHECK struct dfg_err *dfg_ctc_length(
	const struct dfg_kernel *ctx, int i, int64_t b, int64_t time, int64_t *out_length);
