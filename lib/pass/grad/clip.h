#pragma once

#include "lib/pass/grad/make_ops.h"

/* Scales the gradients so that the norm of all of them together is no larger than most. */
DFG_MUST_CHECK struct dfg_err *dfg_clip_by_norm(
	struct dfg_builder *builder, double most, struct dfg_edge *gradient, uint32_t count);
