#pragma once

#include "app/evaluation.h"
#include "formats/checkpoint.h"

/*
 * The best evaluation of a training, by one metric: its variables are kept in a file (option keep_best), and the training
 * ends when no evaluation has been better for some time (option stop_early). Zero-initialised: not wanted.
 */
struct dfg_best_rule {
	bool wanted, is_larger; /* is_larger: the larger value is the better one */
	uint32_t metric;        /* number among the fetches of the evaluation */
	const char *name;       /* of the metric */
	uint64_t patience;      /* evaluations without a better one that end the training; 0: any number */
	const char *file;       /* of the variables after the best evaluation; NULL: none */
};

/* Reads the options. DFG_USAGE: the metric is not evaluated, or the text is not NAME:K or NAME:K:max. */
DFG_MUST_CHECK struct dfg_err *dfg_best_open(
	const struct dfg_run *run, const struct dfg_evaluation *evaluation, struct dfg_best_rule *out_rule);

/*
 * Compares an evaluation after `step` with *best and updates that. If it is the best so far, writes the variables.
 * DFG_DATA: the metric is not a scalar.
 */
DFG_MUST_CHECK struct dfg_err *dfg_best_see(const struct dfg_best_rule *rule, const struct dfg_run *run,
	const struct dfg_aggregation *values, uint64_t step, struct dfg_best *best);

/* Whether the training is to end. */
bool dfg_best_ends(const struct dfg_best_rule *rule, const struct dfg_best *best);

/* Reports the best evaluation, and if the training ends early, why. */
void dfg_best_report(
	const struct dfg_best_rule *rule, const struct dfg_run *run, uint64_t step, const struct dfg_best *best);
