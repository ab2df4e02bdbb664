#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * Folds batch norms, and other scales and offsets of channels, into the constant weights of the convolution or product before
 * them: y = conv(x, w) * a + b becomes conv(x, w * a) + b. At inference a batch norm has the means and variances of the
 * training, which must be constants here (dfg_freeze).
 *
 * Values change by rounding: w * a is rounded once, by f64. A chain is folded up to the last node that is not in `keep` and has
 * one reader, the one after it excepted; only channels in the last dimension, outside of loops. O(nodes + edges + bytes).
 */
DFG_MUST_CHECK struct dfg_err *dfg_fold_batch_norms(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
