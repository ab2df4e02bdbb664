#pragma once

#include "kernels/resource.h"

/* A tuple of tensors, or none, to which an element of a variant tensor refers. Immutable. */
struct dfg_optional {
	struct dfg_object object;
	int count; /* of values; -1: it has none, which differs from an empty tuple */
	struct dfg_tensor at[];
};

/* A new optional whose values are set by dfg_optional_put(). The caller owns the reference. */
DFG_MUST_CHECK struct dfg_err *dfg_optional_new(int count, struct dfg_optional **out_optional);

/* Sets value i. Takes the tensor's reference, also when it fails. */
DFG_MUST_CHECK struct dfg_err *dfg_optional_put(struct dfg_optional *optional, int i, struct dfg_tensor *value);
