#pragma once

#include "lib/pass/grad/make_ops.h"

/*
 * Scales the gradients by one factor so that their global norm is at most `most`. gradient has `count` float tensors,
 * which are replaced.
 */
DFG_MUST_CHECK struct dfg_err *dfg_clip_by_norm(
	struct dfg_builder *builder, double most, struct dfg_edge *gradient, uint32_t count);
