#pragma once

#include "app/best.h"
#include "app/checkpointing.h"
#include "app/evaluation.h"
#include "app/metrics.h"
#include "app/totals.h"

/* Internals of dfg_run_data(): run_data.c has the steps, run_bounded.c those with bounded staleness. */

/* Steps over data: training if there is a target, else inference over files. */
struct training {
	struct dfg_run *run;
	const struct dfg_data_watch *watch;
	struct dfg_dataset dataset;
	struct dfg_feeds feeds; /* the feeds of each step, then those of the batch */
	uint32_t first_batch;
	struct dfg_plan *plan;
	struct dfg_totals totals; /* of inference: what is summed over the batches */
	struct dfg_edges fetch;   /* the fetches of each step that were asked for */
	struct dfg_tensor *value; /* values of the last step, by totals.fetch, which begins with `fetch` */
	struct dfg_aggregation aggregation;
	struct dfg_metrics metrics;
	struct dfg_evaluation evaluation;
	struct dfg_best_rule best;
	struct dfg_checkpointing checkpointing;
	struct dfg_checkpoint at; /* position: steps done, and epoch and sample of the next step */
	int64_t batch;
	uint64_t epochs, steps; /* limits, of which the earlier ends the run; 0: none */
	bool trains, warned;
	/* Asynchronous steps: number of replicas, 0: steps are synchronous; steps in progress; the next one's first sample. */
	uint32_t async, flying;
	uint32_t round; /* asynchronous steps that wait for each other, as many as there are replicas; 0: none do */
	int64_t next;
	/* Steps with bounded staleness, of which `flying` have begun and are not done. */
	uint32_t bounded;     /* number of shards; 0: they are others */
	uint32_t computing;   /* shards that compute */
	uint64_t begun;       /* the number of steps before the run */
	uint64_t *blocked_ns; /* by shard: since when it waits for the slowest; 0: it does not */
	uint64_t *read;       /* by shard: the number of the last update before it read the variables */
};

/* Whether the run has done its last step. */
bool dfg_training_is_over(const struct training *t);

/* Number of samples of the step that begins with that sample; 0 at the end of the epoch. */
int64_t dfg_training_batch_at(const struct training *t, int64_t sample);

/* Whether no step may begin before those in progress have ended: the last one that has begun is followed by something. */
bool dfg_training_is_boundary(const struct training *t);

/* Names the step that is next to complete in an error. Takes err. */
struct dfg_err *dfg_training_of_step(const struct training *t, struct dfg_err *err);

/* Before the values of the next step, releases those of the last. */
void dfg_training_release(struct training *t);

/* Shows the progress after a step. */
void dfg_training_tell(struct training *t, uint64_t epoch);

/* Evaluates, begins an epoch and saves a checkpoint, where they are due after a step. */
DFG_MUST_CHECK struct dfg_err *dfg_training_after_step(struct training *t);

/* run_bounded.c: all steps of a training with bounded staleness. */
DFG_MUST_CHECK struct dfg_err *dfg_training_bounded(struct training *t);
