#pragma once

#include "remote/worker_config.h"

/*
 * A worker holds one part of a graph and runs its steps on request of the launcher. It does not depend on transports:
 * its creator provides the links. Requests are handled one after the other, on the thread that calls dfg_worker_run.
 */
struct dfg_worker;
struct dfg_worker_options {
	void *arg;
	/* Makes the links to the other workers, by number; they remain the caller's. */
	struct dfg_err *(*reach)(void *arg, const struct dfg_worker_config *config, struct dfg_link **out_link);
	/* Replaces the link to a worker that has started again, which may be NULL: it is closed. *link is NULL on failure. */
	struct dfg_err *(*relink)(
		void *arg, uint32_t number, const struct dfg_peer *peer, double seconds, struct dfg_link **link);
	/* All workers are linked: from now on a worker that is silent for the lease is lost. May be NULL. */
	void (*linked)(void *arg);
	/*
	 * The launcher is lost, or silent for the lease. Any thread, also while a step runs; the process should end at
	 * once.
	 */
	void (*orphaned)(void *arg, enum dfg_code code, const char *why);
	const char *products;      /* how its matrix products are rounded, which the launcher compares; NULL: not known */
	double patience;           /* seconds within which a launcher must have configured it; 0: no limit */
	struct dfg_device *device; /* that computes what it has a kernel for; borrowed; NULL: the host computes all */
	struct dfg_lanes *lanes;   /* the workers of this process with which it shares variables; borrowed; NULL: none */
};

/* The variables that several workers of a process, a parameter server, have in common. */
DFG_MUST_CHECK struct dfg_err *dfg_lanes_new(struct dfg_lanes **out_lanes);
void dfg_lanes_free(struct dfg_lanes *lanes); /* NULL is allowed; the workers have been freed */

DFG_MUST_CHECK struct dfg_err *dfg_worker_new(const struct dfg_worker_options *options, struct dfg_worker **out_worker);

/* The sink of its links: those to the other workers, and the launcher's. */
struct dfg_link_sink dfg_worker_sink(struct dfg_worker *worker);

/* Returns when the launcher ends the run, is lost, or has not come. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_run(struct dfg_worker *worker, struct dfg_link *launcher);

/*
 * Asks the launcher to end this worker after the step that runs. False if the run is not elastic, or the launcher is not
 * known: then the process should end at once. Any thread.
 */
bool dfg_worker_leave(struct dfg_worker *worker);

void dfg_worker_free(struct dfg_worker *worker); /* NULL is allowed; no link may call the sink any more */
