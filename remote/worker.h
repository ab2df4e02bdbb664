#pragma once

#include "remote/worker_config.h"

/*
 * A worker holds one part of a graph and runs its steps as the launcher says. It knows links and no transports: whoever
 * makes it gives it those. Requests are handled one after the other, on the thread that calls dfg_worker_run.
 */
struct dfg_worker;
struct dfg_worker_options {
	void *arg;
	/* Links to the other workers, by number; they stay the caller's. */
	struct dfg_err *(*reach)(void *arg, const struct dfg_worker_config *setup, struct dfg_link **out_link);
	/* All workers are linked: from here on who is silent for the lease is lost. NULL: nobody asks. */
	void (*linked)(void *arg);
	/* The launcher is gone, or silent for the lease. Any thread, also while a step runs; the process should end at once. */
	void (*orphaned)(void *arg, enum dfg_code code, const char *why);
	double patience; /* seconds in which a launcher must have set it up; 0: any */
};
DFG_MUST_CHECK struct dfg_err *dfg_worker_new(const struct dfg_worker_options *options, struct dfg_worker **out_worker);

/* What its links tell: those to the other workers, and the launcher's. */
struct dfg_link_sink dfg_worker_sink(struct dfg_worker *worker);

/* Until the launcher says that it is over, or is gone, or has not come. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_run(struct dfg_worker *worker, struct dfg_link *launcher);

void dfg_worker_free(struct dfg_worker *worker); /* NULL is fine; no link may tell it anything any more */
