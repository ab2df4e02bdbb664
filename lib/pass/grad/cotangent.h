#pragma once

#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/make_ops.h"

/* The cotangents of one tensor from its consumers, until they are summed. In an arena. */
struct dfg_cotangent_sum {
	struct dfg_cotangent cotangent;
	struct dfg_cotangent_sum *next;
};

/* Adds a cotangent at the front: consumers are visited last to first, so terms are summed in the file's order. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_sum_add(
	struct dfg_arena *arena, struct dfg_cotangent_sum **head, const struct dfg_cotangent *cotangent);

/*
 * The sum, made once: rows if all terms are rows, else dense; DFG_NO_COTANGENT if there is none. like: the tensor that
 * the cotangents belong to.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_sum_total(const struct dfg_make *make, struct dfg_edge like,
	struct dfg_cotangent_sum *head, struct dfg_cotangent *out_cotangent);

/* A cotangent of `like` as a dense tensor of its shape; it must not be DFG_NO_COTANGENT. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_dense(const struct dfg_make *make, struct dfg_edge like,
	const struct dfg_cotangent *cotangent, struct dfg_edge *out_edge);
