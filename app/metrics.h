#pragma once

#include "app/aggregation.h"

/*
 * A line of JSON for each step and evaluation, written immediately. A resumed run keeps the lines of the steps that its
 * checkpoint includes, so that the file ends as after an uninterrupted run. Zero-initialised: closed.
 */
struct dfg_metrics {
	const char *path;
	int fd;
	bool open;
	double since; /* with --times: start of training in seconds of the monotonic clock, without the time between runs */
	bool times;
};

/* path "-" is stdout, NULL: all functions do nothing. steps_done: the number of steps of the resumed run; 0: a new file. */
DFG_MUST_CHECK struct dfg_err *dfg_metrics_open(
	const char *path, bool times, uint64_t steps_done, struct dfg_metrics *out_metrics);

/* Values by fetch; an evaluation has means instead. */
DFG_MUST_CHECK struct dfg_err *dfg_metrics_step(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_tensor *value);
DFG_MUST_CHECK struct dfg_err *dfg_metrics_eval(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_aggregation *means);
DFG_MUST_CHECK struct dfg_err *dfg_metrics_close(struct dfg_metrics *metrics);
