#pragma once

#include "app/aggregation.h"
#include "app/dataset.h"
#include "app/run.h"
#include "app/totals.h"

/*
 * Means of fetches, and metrics by total() of the language, over separate data, after each epoch or every N steps.
 * They are computed by the same graph or by another one that takes its variables.
 */
struct dfg_evaluation {
	struct dfg_model own;           /* the model of --eval-graph; closed without that option */
	struct dfg_model *model;        /* the one to evaluate: `own`, or that of the run */
	struct dfg_variables variables; /* of `own` */
	struct dfg_dataset dataset;
	struct dfg_edges fetch;   /* those asked for */
	struct dfg_totals totals; /* the fetches of each batch, and what is summed over them */
	struct dfg_feeds feeds;   /* the feeds of the run that the graph also has, then those of the batch */
	uint32_t first_batch;     /* number of the first feed of the batch */
	struct dfg_tensor *value; /* by totals.fetch */
	int64_t batch;
	bool wanted; /* whether the run has an evaluation: if not, dfg_evaluation_run() is not called */
};

/* Opens what the options eval_data, eval_fetch and eval_graph of the run name; batch -1: not given. */
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_open(
	struct dfg_run *run, int64_t batch, struct dfg_evaluation *out_evaluation);

/*
 * Called before the first step, after checkpoints are loaded. DFG_DATA if a variable of the evaluation would be
 * uninitialised, because none was loaded or the trained graph has no variable of that name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_check(struct dfg_evaluation *evaluation, const struct dfg_run *run);

/* Evaluates the variables as they are after `step`, which errors name. */
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_run(
	struct dfg_evaluation *evaluation, struct dfg_run *run, uint64_t step, struct dfg_aggregation *out_means);
void dfg_evaluation_close(struct dfg_evaluation *evaluation);
