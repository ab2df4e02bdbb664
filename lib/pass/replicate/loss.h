#pragma once

#include "lib/pass/replicate/local.h"

/* Whether a local number is a mean or a sum over the rows of the batch, by the arithmetic that makes it. */
enum dfg_loss_kind {
	DFG_LOSS_CONSTANT, /* not local */
	DFG_LOSS_MEAN,     /* every local term is a mean over the batch */
	DFG_LOSS_SUM,      /* every term is a sum over the batch */
	DFG_LOSS_MIXED,    /* a sum with a term that is a mean or not local */
	DFG_LOSS_OTHER,
};

/* *out_node: the node that decides; of a MIXED or OTHER number the one that is the reason. */
enum dfg_loss_kind dfg_loss_kind(const struct dfg_local *local, struct dfg_edge loss, uint32_t *out_node);
