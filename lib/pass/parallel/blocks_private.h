#pragma once

#include "lib/pass/parallel/batch_private.h"
#include "lib/pass/parallel/blocks.h"
#include "lib/pass/parallel/coordinates_private.h"

/* One loop at work. */
struct dfg_blocking {
	const struct dfg_block_options *options;
	struct dfg_batch batch;
	struct dfg_coordinates coordinates;
	const struct dfg_loop *frame;
	struct dfg_edge schedule; /* output 0 of its node */
	struct dfg_edge *total;   /* by access: the variable with its partial results; node DFG_NONE: none */
	uint32_t *made;           /* nodes that combine partial results, which wait for the loop itself */
	uint32_t n_made;
};

/* The number of iterations, as i64, from the condition. DFG_DATA: it is not a comparison of counters with bounds. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_count(struct dfg_blocking *k, struct dfg_edge *out_count);

/* The node that finds the slices. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_schedule(struct dfg_blocking *k);

/* Variables for the partial results of accumulators, which are set before the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_partials(struct dfg_blocking *k);

/* Combines them after the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_totals(struct dfg_blocking *k);
