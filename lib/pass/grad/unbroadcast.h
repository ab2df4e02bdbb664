#pragma once

#include "lib/pass/grad/make_ops.h"

/*
 * Sums a cotangent down to the shape of the input that it belongs to, where the op has stretched that input: a Sum over
 * constant axes where the shapes tell them, else BroadcastGradientArgs. in are the n_in inputs of the op, i the one meant;
 * broadcasts: the op stretches its inputs to a common shape, so dims that are not known may differ.
 */
struct dfg_stretched {
	const struct dfg_edge *in;
	uint32_t n_in, i;
	bool broadcasts;
};
DFG_MUST_CHECK struct dfg_err *dfg_unbroadcast(
	const struct dfg_make *make, const struct dfg_stretched *stretched, struct dfg_edge *edge);
