#pragma once

#include "app/run.h"

/*
 * Scalars of several trainings, which differ in their seeds: the fetches of their last steps and of their last evaluations.
 * Zero-initialised: no training yet.
 */
struct dfg_seed_scores {
	struct dfg_seed_score {
		char *name; /* of the fetch, or eval_NAME; owned */
		double *value;
		size_t count, capacity;
	} * score;
	size_t count, capacity;
};

/* Adds those of a training. DFG_DATA: it does not have the scalars of the first one. */
DFG_MUST_CHECK struct dfg_err *dfg_seed_scores_add(
	struct dfg_seed_scores *scores, const struct dfg_run *run, const struct dfg_arrays *results);

/*
 * For each name f64[trainings], then NAME/mean and NAME/deviation: the square root of the squared distances from the mean over
 * the number of trainings less one; nan for one training.
 */
DFG_MUST_CHECK struct dfg_err *dfg_seed_scores_results(
	const struct dfg_seed_scores *scores, struct dfg_arrays *out_results);
void dfg_seed_scores_release(struct dfg_seed_scores *scores);
