#pragma once

#include "cmd/dataset.h"
#include "cmd/metrics.h"
#include "cmd/run.h"
#include "formats/checkpoint.h"

/*
 * Means of fetches over separate data after each epoch, computed by the same graph or by another one that takes its
 * variables.
 */
struct dfg_evaluation {
	struct dfg_model own; /* the model of --eval-graph; closed without that option */
	struct dfg_model *model;
	struct dfg_variables variables;
	struct dfg_dataset dataset;
	struct dfg_edges fetch;
	struct dfg_feeds feeds; /* the feeds of the run that the graph also has, then those of the batch */
	uint32_t first_batch;
	struct dfg_tensor *value;
	int64_t batch;
	bool wanted;
};
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_open(
	struct dfg_run *run, int64_t batch, struct dfg_evaluation *out_evaluation);

/*
 * Called before the first step, after checkpoints are loaded. DFG_DATA if a variable of the evaluation would be
 * uninitialised, because none was loaded or the trained graph has no variable of that name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_check(struct dfg_evaluation *evaluation, const struct dfg_run *run);
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_run(
	struct dfg_evaluation *evaluation, struct dfg_run *run, struct dfg_gathered *out_means);
void dfg_evaluation_close(struct dfg_evaluation *evaluation);

/*
 * Installs handlers: the first INT or TERM is recorded, the second ends the program. dfg_stop_signal() returns it; 0:
 * none.
 */
void dfg_stop_catch(void);
int dfg_stop_signal(void);

/* --checkpoint and its options. */
struct dfg_saving {
	struct dfg_checkpoints checkpoints;
	bool wanted;
	uint64_t every_steps; /* 0: after each epoch, or by time */
	double every_seconds;
	double last;        /* time of the last checkpoint */
	uint64_t last_step; /* step of the last checkpoint made or resumed from */
};

/* Opens the directory; with --resume, sets the variables and *at, except its order, from the newest checkpoint. */
DFG_MUST_CHECK struct dfg_err *dfg_saving_open(
	struct dfg_run *run, struct dfg_saving *out_saving, struct dfg_checkpoint *at);
bool dfg_saving_is_due(const struct dfg_saving *saving, uint64_t step, bool epoch_ended);
DFG_MUST_CHECK struct dfg_err *dfg_saving_commit(
	struct dfg_saving *saving, const struct dfg_run *run, const struct dfg_checkpoint *at);
void dfg_saving_close(struct dfg_saving *saving);
