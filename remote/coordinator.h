#pragma once

#include "lib/exec/session.h"
#include "lib/pass/partition/partition.h"
#include "remote/worker_config.h"

/*
 * The workers of a run, as the launcher sees them. It gives each its part of a graph, works out what each must do for a
 * step, and is the fleet of a session:
 *
 *     dfg_coordinator_new -> links that tell dfg_coordinator_sink -> dfg_coordinator_begin -> dfg_coordinator_load, a graph -> dfg_session_new
 */
struct dfg_coordinator;

/* A node that ran on a worker; times are of the launcher's clock. */
struct dfg_coordinator_event {
	uint32_t worker;
	uint64_t step;
	struct dfg_trace_event node;
};
struct dfg_coordinator_options {
	const struct dfg_peer *peer; /* by worker; borrowed */
	uint32_t workers;
	struct dfg_session_options session; /* of each worker */
	double lease;                       /* seconds of silence after which a worker is lost; 0: any */
	bool watched;                       /* dfg_coordinator_ended will be told of each process that ends */
	void (*trace)(
		void *arg, const struct dfg_coordinator_event *event); /* by the thread that runs the step; NULL: none */
	void *trace_arg;
};
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_new(
	const struct dfg_coordinator_options *options, struct dfg_coordinator **out_crew);
struct dfg_link_sink dfg_coordinator_sink(struct dfg_coordinator *crew);

/*
 * Seconds for which a worker may be silent while links are made: the lease, and a time for each pair of workers, because
 * all may be on one busy machine. 0 for a lease of 0.
 */
double dfg_coordinator_patience(double lease, uint32_t workers);

/*
 * Sets all up, each for itself: links by worker, borrowed; transport says of each pair how they are to be connected, and
 * that takes so many seconds at most. Where a worker fails or is lost, it is named, and the others are not waited for.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_begin(struct dfg_coordinator *crew, struct dfg_link *const *links,
	double seconds, const char *(*transport)(void *arg, uint32_t one, uint32_t two), void *arg);

/* The first worker that is lost, and why; NULL where none is. Waits a moment for the explanation, as of an answer. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_why_lost(struct dfg_coordinator *crew);

/* The link says that it is gone, or its silence. Takes err; the worker's name is put in front. Any thread. */
void dfg_coordinator_lost(struct dfg_coordinator *crew, uint32_t worker, struct dfg_err *err);

/*
 * Gives the workers a graph in place of the one before. Sessions are of `graph`, whose nodes are those of the parts by
 * name; both are borrowed until the next.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_load(
	struct dfg_coordinator *crew, const struct dfg_graph *graph, const struct dfg_parts *parts);
struct dfg_session_backend *dfg_coordinator_fleet(struct dfg_coordinator *crew);

/* The worker on which a node of the graph stands. */
uint32_t dfg_coordinator_home(const struct dfg_coordinator *crew, uint32_t node);

/* A file of samples that the worker reads on which the node stands that they are for: dfg_rows_new makes batches of it. */
struct dfg_coordinator_source {
	uint32_t number;
	struct dfg_tensor all; /* its type; the elements stay there */
};

/* FILE or FILE[key], as the worker sees it, for an input of that type; errors name the worker. It stays open for as long as the worker is there. */
struct dfg_array_input;
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_open(struct dfg_coordinator *crew, uint32_t node, const char *spec,
	const struct dfg_array_input *input, struct dfg_coordinator_source *out_source);

/*
 * Who watches the worker's process saw it end. Takes err, which says how; the worker's name is put in front. Any thread.
 * Where that is promised (options.watched), a link that is lost waits a moment for the better explanation.
 */
void dfg_coordinator_ended(struct dfg_coordinator *crew, uint32_t worker, struct dfg_err *err);

/* Whether the worker was lost. If any was, or one by another, nothing can run any more. */
bool dfg_coordinator_has_lost(struct dfg_coordinator *crew, uint32_t worker);
bool dfg_coordinator_is_broken(struct dfg_coordinator *crew);

/* What went from one worker to another in the last step, and what Recvs there waited for it, if they did. */
struct dfg_traffic {
	uint64_t messages, bytes;
	uint64_t waits, waited_ns, longest_ns;
	struct dfg_string longest; /* the tensor of the longest wait; the graph's */
};
struct dfg_traffic dfg_coordinator_traffic(const struct dfg_coordinator *crew, uint32_t from, uint32_t to);

/* Tells the workers that it is over. */
void dfg_coordinator_end(struct dfg_coordinator *crew);

/* NULL is fine; no link may tell it anything any more, and links are the caller's. */
void dfg_coordinator_free(struct dfg_coordinator *crew);
