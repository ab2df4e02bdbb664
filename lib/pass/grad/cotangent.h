#pragma once

#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/make_ops.h"

/* What several consumers of one tensor give back, until it is summed. Lives in an arena. */
struct dfg_cotangent_sum {
	struct dfg_cotangent cotangent;
	struct dfg_cotangent_sum *next;
};

/* Adds one, in front: the sweep meets consumers last to first, so terms are summed in the file's order. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_sum_add(
	struct dfg_arena *arena, struct dfg_cotangent_sum **head, const struct dfg_cotangent *cotangent);

/* The sum, made once: rows if all are rows, else dense; DFG_NO_COTANGENT for none. like is the tensor they belong to. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_sum_total(const struct dfg_make *make, struct dfg_edge like,
	struct dfg_cotangent_sum *head, struct dfg_cotangent *out_cotangent);

/* A cotangent of like as a tensor of its shape. none must not be. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_dense(const struct dfg_make *make, struct dfg_edge like,
	const struct dfg_cotangent *cotangent, struct dfg_edge *out_edge);
