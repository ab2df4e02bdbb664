#pragma once

#include "cmd/gather.h"

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
DFG_MUST_CHECK struct dfg_err *dfg_metrics_open(
	const char *path, bool times, uint64_t steps_done, struct dfg_metrics *out_metrics);
DFG_MUST_CHECK struct dfg_err *dfg_metrics_step(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_tensor *value);
DFG_MUST_CHECK struct dfg_err *dfg_metrics_eval(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_gathered *means);
DFG_MUST_CHECK struct dfg_err *dfg_metrics_close(struct dfg_metrics *metrics);

/* Progress of a training: on a terminal a line that is updated, elsewhere a line every ten seconds. */
struct dfg_progress {
	bool terminal;
	double since, last;
	uint64_t first;         /* steps done before this run */
	uint64_t steps, epochs; /* total number to do; 0: unknown */
};
void dfg_progress_start(struct dfg_progress *progress, uint64_t done, uint64_t steps, uint64_t epochs);
void dfg_progress_step(struct dfg_progress *progress, uint64_t step, uint64_t epoch, const char *name, double value);
void dfg_progress_end(const struct dfg_progress *progress);
