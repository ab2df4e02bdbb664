#pragma once

#include "cmd/dataset.h"
#include "cmd/metrics.h"
#include "cmd/run.h"
#include "formats/checkpoint.h"

/* Means of fetches over data of their own, after each epoch: of the same graph, or of one that takes its variables. */
struct dfg_evaluation {
	struct dfg_model own; /* of --eval-graph; closed where there is none */
	struct dfg_model *model;
	struct dfg_variables variables;
	struct dfg_dataset dataset;
	struct dfg_edges fetch;
	struct dfg_feeds feeds; /* those of the run that the graph has, then the batch's */
	uint32_t first_batch;
	struct dfg_tensor *value;
	int64_t batch;
	bool wanted;
};
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_open(
	struct dfg_run *run, int64_t batch, struct dfg_evaluation *out_evaluation);

/*
 * Before the first step, once checkpoints are loaded: DFG_DATA where the evaluation needs a variable that would have a new
 * value of its own, as none was loaded, or because the graph that is trained has no variable of its name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_check(struct dfg_evaluation *evaluation, const struct dfg_run *run);
DFG_MUST_CHECK struct dfg_err *dfg_evaluation_run(
	struct dfg_evaluation *evaluation, struct dfg_run *run, struct dfg_gathered *out_means);
void dfg_evaluation_close(struct dfg_evaluation *evaluation);

/* The first INT or TERM is noted, the second ends the program. 0: none came. */
void dfg_stop_catch(void);
int dfg_stop_signal(void);

/* --checkpoint and what goes with it. */
struct dfg_saving {
	struct dfg_checkpoints checkpoints;
	bool wanted;
	uint64_t every_steps; /* 0: at each epoch, or by time */
	double every_seconds;
	double last;        /* when the last was made */
	uint64_t last_step; /* of the last that was made or resumed from */
};

/* Opens the directory, and sets *at, but for its order, and the variables from it with --resume. */
DFG_MUST_CHECK struct dfg_err *dfg_saving_open(
	struct dfg_run *run, struct dfg_saving *out_saving, struct dfg_checkpoint *at);
bool dfg_saving_is_due(const struct dfg_saving *saving, uint64_t step, bool epoch_ended);
DFG_MUST_CHECK struct dfg_err *dfg_saving_commit(
	struct dfg_saving *saving, const struct dfg_run *run, const struct dfg_checkpoint *at);
void dfg_saving_close(struct dfg_saving *saving);
