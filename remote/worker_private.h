#pragma once

#include "formats/graphdef.h"
#include "lib/base/pool.h"
#include "lib/exec/group/group.h"
#include "lib/exec/parallel/row_exchange.h"
#include "lib/exec/state/buffer_pool.h"
#include "lib/exec/transport/rendezvous.h"
#include "lib/graph/facts.h"
#include "remote/batch_rows.h"
#include "remote/worker.h"

/* Messages of kind DFG_MESSAGE_PROBE, in the order of their arrival, which wait for dfg_worker_probe(). */
struct probes {
	pthread_mutex_t lock;
	struct dfg_event event; /* signalled by a message and by a failure */
	struct probe_message {
		uint32_t peer;
		struct dfg_message message;
	} * list;
	size_t taken, count, capacity; /* the first messages of the list were taken */
	struct dfg_err *failed;        /* a worker is lost; NULL: none is */
	struct buffer_pool *buffers;   /* of what arrives, from the first measurement on; else NULL */
};
DFG_MUST_CHECK struct dfg_err *dfg_probes_init(struct probes *probes);
void dfg_probes_release(struct probes *probes);

/* Takes the tensor. Any thread. */
void dfg_probes_deliver(struct probes *probes, uint32_t peer, struct dfg_message *message);

/* Ends a measurement, the one in progress or the next. Takes err. Any thread. */
void dfg_probes_fail(struct probes *probes, struct dfg_err *err);

/* Internals of a worker: worker.c has the links and the requests, worker_part.c the part and its steps. */
struct dfg_worker {
	struct dfg_worker_options options;
	struct dfg_event event; /* signalled by a request, or the end */
	struct dfg_inbox inbox;
	struct dfg_link *_Atomic launcher; /* NULL: not known yet */
	atomic_bool ended;

	struct dfg_packet words; /* the configuration request, which owns its text */
	struct dfg_arena arena;  /* memory of the configuration */
	struct dfg_worker_config config;
	const char **device; /* by worker */
	const char **name;   /* by worker, the name of its host */
	struct dfg_link **link;
	struct dfg_rendezvous *_Atomic rendezvous; /* NULL: not set up yet */
	struct dfg_sent *before;                   /* by worker: bytes and messages sent when the step began */
	struct dfg_group *_Atomic group;           /* of the replicas of this worker's part; NULL: not set up yet */
	struct dfg_row_exchange
		*_Atomic exchange; /* of the workers of parallel loops; NULL: not set up, or none is divided */
	uint64_t joined;       /* number of the step that the group has begun; 0: none */

	struct dfg_tensor bytes; /* the serialized part, which `part` borrows from */
	struct dfg_arena part_arena;
	struct dfg_graph part;
	struct dfg_facts facts;
	struct dfg_session *session;
	struct lane_state *lane; /* the variables that it shares with other workers of this process; NULL: none */
	uint64_t copied; /* with bounded staleness: updates of all replicas up to that clock are in its copies of them */
	struct planned {
		struct dfg_plan *plan;
		uint32_t n_feed, n_fetch;
		const bool *ticket; /* by feed: it is the number of a bucket that must be complete */
		const char **reads; /* names of the variables that a lane with bounded staleness may read; else NULL */
		uint32_t n_reads;
	} * plan;
	size_t plans, plan_capacity;

	struct dfg_batch_source *source; /* live as long as the worker */
	size_t sources, source_capacity;

	pthread_mutex_t lock; /* guards the fields below: any thread may fail a step */
	uint64_t running;     /* the number of the running step; 0: none */
	uint64_t failed;      /* steps up to this number have failed on another worker */
	uint64_t skipped[4];  /* the last steps that the launcher does not need */
	unsigned skips;       /* number of them so far */
	atomic_bool told;     /* the running step has failed on another worker */
	bool committed;       /* the running step is an update that has begun to write: no failure elsewhere ends it */
	atomic_bool stop;

	pthread_mutex_t trace_lock;
	struct dfg_packet events;
	uint64_t n_events;

	uint64_t parts;   /* number of parts that were given */
	uint64_t benched; /* number of the last step of a measurement */
	struct probes probes;
	bool linked; /* all workers are linked to each other */

	pthread_t guard; /* the thread that watches the lease */
	bool guarded;
	struct dfg_event guard_event;
	_Atomic uint64_t heard; /* time of the last message from the launcher, ns */
};

/* Each function reads its request, executes it, and writes the result into the answer. */
typedef struct dfg_err *dfg_request_fn(
	struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer);
dfg_request_fn dfg_worker_part, dfg_worker_plan, dfg_worker_step, dfg_worker_variables, dfg_worker_read,
	dfg_worker_assign, dfg_worker_source, dfg_worker_rows, dfg_worker_cause, dfg_worker_state, dfg_worker_adopt,
	dfg_worker_epoch, dfg_worker_bench, dfg_worker_probe, dfg_worker_digests, dfg_worker_peer, dfg_worker_clock;

/* The workers of a replica, which have a part of the graph each; and the worker's replica. */
static inline uint32_t dfg_worker_width(const struct dfg_worker *worker)
{
	return worker->config.workers / worker->config.replicas;
}
static inline uint32_t dfg_worker_replica(const struct dfg_worker *worker)
{
	return worker->config.self / dfg_worker_width(worker);
}

/* Whether its part is on a parameter server, with those of the other replicas. */
static inline bool dfg_worker_is_lane(const struct dfg_worker *worker)
{
	return worker->config.self % dfg_worker_width(worker) + worker->config.servers >= dfg_worker_width(worker);
}

/* worker_lane.c: the session of a lane takes the variables that the lanes have in common; after its end, it drops them. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_take_lane(struct dfg_worker *worker, struct dfg_session *session);
void dfg_worker_drop_lane(struct dfg_worker *worker);

/* The step of shards that a run is of, and what the group must do before it and after it. */
struct sharded_run {
	uint64_t step; /* 0: it is of none */
	uint32_t shards, shard;
	bool computes; /* a compute run, of `shard`; else the update run */
	bool waits;    /* the update run only waits for its buckets: it is asked again, when all of the replica have them */
	bool ends;     /* the update run only waits for its buckets, and ends the step */
	bool holds;    /* contributions are held until the update run, which says which count */
	bool partial;  /* the step is one of bounded staleness: struct dfg_group_step */
	bool *taken;   /* by shard: its contribution counts; NULL: those of all do */
	bool *absent;  /* by replica: it takes no part in the step; NULL: all do */
	uint32_t turn; /* of the shards over the replicas: struct dfg_group_step */
	int64_t batch;
	uint64_t delay_ns; /* before a compute run begins */
	bool wants_fetches;
	const char **stream; /* names of the streams of random numbers that all replicas move on */
	uint32_t streams;
};

/* worker_lane.c: the variables that a step may read, of a worker with bounded staleness; allocated with the part. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_find_reads(
	struct dfg_worker *worker, const struct dfg_step *step, struct planned *planned);

/* The update of a lane's replica was applied. */
void dfg_worker_tick(struct dfg_worker *worker);

/* Marks the running step as committed; an error if it has failed elsewhere before. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_commit(struct dfg_worker *worker);

/* worker_replica.c: reads the fields of a run; brackets the run; writes the streams that a compute run has drawn from. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_get_shards(const struct dfg_worker *worker, struct dfg_packet *request,
	struct dfg_arena *scratch, struct sharded_run *out_run);
DFG_MUST_CHECK struct dfg_err *dfg_worker_begin_shards(struct dfg_worker *worker, const struct planned *planned,
	const struct sharded_run *run, const struct dfg_tensor *feeds);
void dfg_worker_end_shards(struct dfg_worker *worker, const struct sharded_run *run);
void dfg_worker_put_streams(const struct dfg_worker *worker, const struct sharded_run *run, struct dfg_packet *answer);
DFG_MUST_CHECK struct dfg_err *dfg_worker_make_group(struct dfg_worker *worker);

/* The exchange of rows, where all replicas run the same steps. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_make_exchange(struct dfg_worker *worker);

/* Lays out the buckets of the part in memory that all replicas share, if they do. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_share_memory(struct dfg_worker *worker);
void dfg_worker_leave_group(struct dfg_worker *worker);

/* Totals of all that was sent to a worker, over transfers and collectives. */
struct dfg_sent dfg_worker_sent(struct dfg_worker *worker, uint32_t to);

void dfg_worker_drop_part(struct dfg_worker *worker);
void dfg_worker_drop_sources(struct dfg_worker *worker);

/* Fails the running step, if it has that number, or a future one. Takes err. */
void dfg_worker_fail(struct dfg_worker *worker, uint64_t step, struct dfg_err *err);

/* Waits for that time, as the running step's computation would. DFG_STOPPED if the step ends meanwhile. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_delay(struct dfg_worker *worker, uint64_t ns);

/* Ends the step of that number alone, now or when it begins. */
void dfg_worker_skip(struct dfg_worker *worker, uint64_t step);
