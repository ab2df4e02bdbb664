#pragma once

#include "kernels/resource.h"

/* A tuple of tensors, or the absence of one, behind an element of a variant tensor. It never changes. */
struct dfg_optional {
	struct dfg_object object;
	int count; /* -1: nothing */
	struct dfg_tensor at[];
};

/* One that is to be filled. */
DFG_MUST_CHECK struct dfg_err *dfg_optional_new(int count, struct dfg_optional **out_optional);

/* Value i, taken, also where it fails. */
DFG_MUST_CHECK struct dfg_err *dfg_optional_put(struct dfg_optional *optional, int i, struct dfg_tensor *value);
