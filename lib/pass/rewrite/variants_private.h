#pragma once

#include "lib/pass/rewrite/variants.h"

/* The variant that a node belongs to: 1 for training, 0 for inference, -1 for both. */
int dfg_variant_of(const struct dfg_node *node);

/* Gives the node the marks of a variant that is in use, or of one that is not. */
DFG_MUST_CHECK struct dfg_err *dfg_variant_mark(struct dfg_graph *graph, uint32_t node, bool used);

/* Whether two nodes, of variants in use, have the same marks. */
bool dfg_variant_same_marks(const struct dfg_node *a, const struct dfg_node *b);
