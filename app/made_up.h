#pragma once

#include "lib/graph/build.h"

/*
 * A value for an input that nobody feeds, of its dtype and shape, in which dimensions of unknown size are `batch`: floats are
 * noise, all else is zeros, because an index or label of 0 is usually valid; with `bits`, integers and booleans are 0 or 1
 * at random. Equal arguments give equal values. DFG_DATA if its rank is unknown.
 */
struct dfg_made_up {
	int64_t batch;
	uint64_t seed;
	bool bits;
};
DFG_MUST_CHECK struct dfg_err *dfg_made_up_value(
	const struct dfg_inferred *fact, const struct dfg_made_up *how, struct dfg_tensor *out_value);
