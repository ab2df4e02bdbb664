#pragma once

#include "lib/pass/grad/make_ops.h"

/*
 * Sums a cotangent over the axes along which its input was broadcast: a Sum over constant axes if the shapes determine
 * them, else BroadcastGradientArgs. in are the n_in inputs of the op, i the index of the one meant; broadcasts: the op
 * broadcasts its inputs to a common shape, so unknown dimensions may differ.
 */
struct dfg_stretched {
	const struct dfg_edge *in;
	uint32_t n_in, i;
	bool broadcasts;
};
DFG_MUST_CHECK struct dfg_err *dfg_unbroadcast(
	const struct dfg_make *make, const struct dfg_stretched *stretched, struct dfg_edge *edge);
