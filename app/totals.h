#pragma once

#include "app/aggregation.h"
#include "app/feeds.h"
#include "app/model.h"

/*
 * Sums over the batches of a run: `total(x)` of the language is x in one step, and over many batches the sum of x. A
 * fetch that depends on totals is computed once, after the last batch, from the sums. In the graph a total is an
 * Identity marked `_dfg_total`. Zero-initialised: there are none.
 */
struct dfg_totals {
	struct dfg_edges fetch; /* of each batch: the fetches asked for that depend on no total, then the totals */
	struct dfg_edges last;  /* the fetches that depend on totals, computed after the last batch */
	uint32_t *fetch_number; /* number among the fetches asked for: of each of `last`, and before these of `fetch` */
	struct dfg_total {
		struct dfg_edge edge; /* the output of the marked node */
		enum dfg_dtype dtype;
		struct dfg_shape shape;
		double *sum; /* by element; NULL before the first batch */
	} * total;
	uint32_t n_total, n_direct; /* n_direct: the fetches asked for that are among `fetch` */
};

/*
 * Finds the totals that the fetches depend on. The tables are in the model's arena. DFG_DATA if a total depends on
 * another one, because the sum of the latter is not known before the last batch.
 */
DFG_MUST_CHECK struct dfg_err *dfg_totals_find(struct dfg_model *model, const struct dfg_feeds *feeds,
	const struct dfg_edges *fetch, struct dfg_totals *out_totals);

/*
 * Adds the values of a batch of n samples, by totals->fetch, to the sums and to the aggregation, whose fetches are those
 * asked for. Takes the values, also on failure. DFG_DATA: the shapes of two batches differ.
 */
DFG_MUST_CHECK struct dfg_err *dfg_totals_add(struct dfg_totals *totals, const struct dfg_edges *fetch,
	struct dfg_tensor *value, int64_t n, struct dfg_aggregation *aggregation);

/*
 * Computes totals->last from the sums, with these feeds, which must not be of a batch, as values of the aggregation.
 * DFG_DATA: one depends on the rows of a batch in another way than by totals.
 */
DFG_MUST_CHECK struct dfg_err *dfg_totals_finish(const struct dfg_totals *totals, struct dfg_model *model,
	const struct dfg_feeds *feeds, struct dfg_aggregation *aggregation);

/* Sets the sums to zero. */
void dfg_totals_reset(struct dfg_totals *totals);
