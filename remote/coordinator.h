#pragma once

#include "formats/samples.h"
#include "lib/exec/group/group.h"
#include "lib/exec/session.h"
#include "lib/pass/partition/partition.h"
#include "remote/payload.h"
#include "remote/worker_config.h"
#include "remote/emulation.h"

/*
 * The coordinator: the launcher's view of the workers of a run. It gives each worker its part of a graph, derives the
 * work of each worker in a step, and is the backend of a session:
 *
 *     dfg_coordinator_new -> links whose sink is dfg_coordinator_sink -> dfg_coordinator_begin
 *     -> dfg_coordinator_load, with a graph -> dfg_session_new
 */
struct dfg_coordinator;

/* A node that ran on a worker; times are on the launcher's clock. */
struct dfg_coordinator_event {
	uint32_t worker;
	uint64_t step;
	struct dfg_trace_event node;
	struct dfg_string tensor; /* of a transfer: the name of its tensor in the whole graph; borrowed */
};
/* Checks that replicas stay equal. Zero: none. */
struct dfg_replica_checks {
	uint64_t every; /* steps between two comparisons of their variables; 0: never */
	/* for tests: after step flip_step of the run, counted from 1, a bit of a variable of replica flip_replica is inverted;
	   0: never */
	uint64_t flip_step;
	uint32_t flip_replica;
	bool staleness; /* each read of a variable is checked to be within options.session.staleness */
	/* for tests: from step stale_step on, counted from 1, replica stale_replica reads old variables; 0: never */
	uint64_t stale_step;
	uint32_t stale_replica;
	struct dfg_emulation emulation; /* delays of the compute runs */
};
struct dfg_coordinator_options {
	const struct dfg_peer *peer; /* by worker; borrowed */
	uint32_t workers;
	uint32_t replicas;     /* of the graph, each on workers / replicas workers in a row; 0: 1 */
	uint32_t min_replicas; /* the run continues with as few; 0: it ends when one is lost */
	uint32_t servers;      /* the last workers of each replica: lanes of parameter servers, which have all variables */
	bool spmd;             /* single program, multiple data: all replicas run each step with the same feeds, divide its
	                          parallel loops among them, and have the same variables after it */
	bool async;            /* each replica updates the variables of its servers by itself */
	bool quorum;           /* steps may take the contributions of some replicas, and not wait for the others */
	struct dfg_replica_checks checks;
	/* called when replicas are lost or join, and the run continues; may be NULL */
	void (*note)(void *arg, const char *line);
	void *note_arg;
	/*
	 * Starting lost workers again. revive() begins to start `count` workers from `first` on, in the background; false: they
	 * cannot be started. may_revive(): revive() could start workers now that it could not start before. revived() says how
	 * far a start is. relink() closes the old link to a worker that has started, and makes a new one. revive NULL: lost
	 * workers are not started again.
	 */
	bool (*revive)(void *arg, uint32_t first, uint32_t count);
	bool (*may_revive)(void *arg);
	enum dfg_revival {
		DFG_REVIVAL_STARTS,
		DFG_REVIVAL_THERE,
		DFG_REVIVAL_FAILED
	} (*revived)(void *arg, uint32_t worker);
	struct dfg_err *(*relink)(void *arg, uint32_t worker, struct dfg_link **out_link);
	void *revive_arg;
	enum dfg_algorithm algorithm; /* by which replicas reduce; in memory where those of a part are linked by shm */
	struct dfg_session_options session; /* the options of the session on each worker */
	double lease;                       /* seconds of silence after which a worker is lost; 0: no limit */
	bool watched;                       /* dfg_coordinator_ended will be called for each process that ends */
	void (*trace)(
		/* called on the thread that runs the step; NULL: no trace */
		void *arg, const struct dfg_coordinator_event *event);
	void *trace_arg;
};
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_new(
	const struct dfg_coordinator_options *options, struct dfg_coordinator **out_coordinator);

/* How a worker rounds matrix products, by the name that it gave: "fma", "mul"; "": it gave none. After dfg_coordinator_begin. */
const char *dfg_coordinator_products(const struct dfg_coordinator *coordinator, uint32_t worker);
struct dfg_link_sink dfg_coordinator_sink(struct dfg_coordinator *coordinator);

/*
 * Seconds for which a worker may be silent while links are made: the lease, plus a time for each pair of workers,
 * because all may be on one busy machine. 0 for a lease of 0.
 */
double dfg_coordinator_patience(double lease, uint32_t workers);

/*
 * Configures all workers: links by worker, borrowed; transport names the link to make between two workers. Takes at
 * most `seconds` seconds. The error names the first worker that fails or is lost, and the others are not waited for.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_begin(struct dfg_coordinator *coordinator, struct dfg_link *const *links,
	double seconds, const char *(*transport)(void *arg, uint32_t one, uint32_t two), void *arg);

/*
 * The first lost worker and the reason; NULL where none is lost. Waits a moment for the better explanation of
 * dfg_coordinator_ended.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_why_lost(struct dfg_coordinator *coordinator);

/*
 * Marks a worker as lost: its link broke, or it was silent. Takes err; the worker's name is put in front. Any thread.
 */
void dfg_coordinator_lost(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_err *err);

/*
 * Gives the workers a graph in place of the one before. Sessions use `graph`, whose nodes have the names they have in
 * the parts; both are borrowed until the next call.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_load(
	struct dfg_coordinator *coordinator, const struct dfg_graph *graph, const struct dfg_parts *parts);
struct dfg_session_backend *dfg_coordinator_backend(struct dfg_coordinator *coordinator);

/* The worker that a node of the graph is placed on, in replica 0. */
uint32_t dfg_coordinator_home(const struct dfg_coordinator *coordinator, uint32_t node);

/* A file of samples read by the worker that its input node is placed on; dfg_rows_new makes batches of it. */
struct dfg_coordinator_source {
	uint32_t number;
	struct dfg_samples all; /* dtype and shape; the parts stay on the worker */
	uint32_t digest;        /* of the first rows: copies of a file have the same */
};

/*
 * Opens FILE or FILE[key], a path on the worker, for an input of the given type; errors name the worker. The file stays
 * open until the worker ends.
 */
struct dfg_array_input;
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_open(struct dfg_coordinator *coordinator, uint32_t node,
	const char *spec, const struct dfg_array_input *input, struct dfg_coordinator_source *out_source);

/* The same on any worker. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_open_on(struct dfg_coordinator *coordinator, uint32_t worker,
	const char *spec, const struct dfg_array_input *input, struct dfg_coordinator_source *out_source);

/* Whether the node is fed on one worker only; a constant may have clones on others. */
bool dfg_coordinator_feeds_one(struct dfg_coordinator *coordinator, uint32_t node);

/*
 * Rows of a source, which its worker reads and sends; several workers at a time. `taken` marks those that are not
 * requested, or have arrived.
 */
struct dfg_coordinator_rows {
	uint32_t worker, source;
	const struct dfg_samples *like; /* dtype and shape of the source's rows; borrowed */
	int64_t *order;                 /* the numbers of n rows, in the source; borrowed */
	int64_t n;
	struct dfg_tensor batch; /* receives the rows */
	bool taken;
};
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_request_rows(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_rows *rows, size_t count);

/*
 * Reports that a worker's process ended. Takes err, which says how; the worker's name is put in front. Any thread. With
 * options.watched, a lost link waits a moment for this better explanation.
 */
void dfg_coordinator_ended(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_err *err);

/* The number of reads of variables that were checked to be within the limit of staleness. */
uint64_t dfg_coordinator_reads_checked(const struct dfg_coordinator *coordinator);

/* Messages of all-reduces that workers have dropped because they were of another epoch, or of a step that was over. */
uint64_t dfg_coordinator_stale(const struct dfg_coordinator *coordinator);

/*
 * Times of a worker, summed over all steps since it started: while any of its buckets was on its way, and from the end of
 * its shards to the last sum.
 */
struct dfg_reduced {
	uint64_t moving_ns, waited_ns;
};
struct dfg_reduced dfg_coordinator_reduced(const struct dfg_coordinator *coordinator, uint32_t worker);

/*
 * Whether the worker was lost. After any worker was lost, the coordinator is broken: no further step can run, unless the
 * run is elastic, and no further graph should be loaded.
 */
bool dfg_coordinator_has_lost(struct dfg_coordinator *coordinator, uint32_t worker);
bool dfg_coordinator_is_broken(struct dfg_coordinator *coordinator);

/* Traffic from one worker to another in the last step, and the time that the receiving _Recv nodes waited for it. */
struct dfg_traffic {
	uint64_t messages, bytes;
	uint64_t waits, waited_ns, longest_ns;
	struct dfg_string longest; /* the tensor of the longest wait; owned by the graph */
};
struct dfg_traffic dfg_coordinator_traffic(const struct dfg_coordinator *coordinator, uint32_t from, uint32_t to);

/* Measures the all-reduce of that many bytes over the replicas, of one worker each. Times are those of replica 0. */
struct dfg_coordinator_bench {
	uint64_t bytes, calls;
	bool verified;
	uint64_t p50_ns, p99_ns, ns; /* of a call; of all */
};
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_bench(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_bench *bench);

/*
 * Measures calls with a payload, from each of some workers, the clients, to some others, the servers, in turn. A server
 * answers with nothing, or with the same payload.
 */
struct dfg_coordinator_probe {
	struct dfg_payload payload;
	const uint32_t *client, *server; /* numbers of workers; no worker is in both lists */
	uint32_t clients, servers;
	bool echoes, verified;
	uint32_t window;         /* calls that a client has in progress at each server at once */
	uint64_t calls;          /* of each client, after some that are not timed */
	uint64_t p50_ns, p99_ns; /* of the calls of all clients */
	double calls_per_s;      /* of all clients together */
	double coding_ns;        /* mean of a call: writing and reading serialized messages, on both sides */
};
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_probe(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_probe *probe);

/* Tells the workers that the run is over. */
void dfg_coordinator_end(struct dfg_coordinator *coordinator);

/* NULL is allowed; no link may call the sink any more. The links remain the caller's. */
void dfg_coordinator_free(struct dfg_coordinator *coordinator);
