#pragma once

#include "lib/base/pool.h"
#include "remote/coordinator.h"

/*
 * Internals of the coordinator: coordinator.c has workers, requests and answers, coordinator_plan.c the plan of each
 * worker for a step, coordinator_replicas.c the steps of several replicas, coordinator_epoch.c the replicas that take part
 * in them, coordinator_clock.c pings, coordinator_step.c the other functions of the session backend.
 */
/* A node of a part. The worker of that number has the part in replica 0. */
struct worker_node {
	uint32_t worker, node;
};

struct worker_state {
	struct dfg_link *link;
	uint64_t asked;           /* the number of the unanswered request that is waited for; 0: none */
	uint64_t sent, answered;  /* numbers of the last request, and of the last that was answered */
	uint64_t mark;            /* the last request before the step before this one, with a quorum */
	uint64_t update[2];       /* the last update runs, latest first */
	uint64_t flight;          /* number of the request of an asynchronous compute run; 0: none, or it was answered */
	struct dfg_packet landed; /* its answer */
	uint64_t arrived;         /* order in which the answer arrived among all answers */
	struct dfg_packet answer;
	struct dfg_err *err;           /* the answer, where it is an error */
	bool told;                     /* the error only repeats another worker's failure, of which this worker was told */
	bool stopped;                  /* it was told that the step in progress failed elsewhere */
	atomic_bool leaves;            /* it has asked to take part in no further step */
	char products[16];             /* how it rounds matrix products; "": not known */
	uint64_t stale;                /* messages that it has dropped since it started */
	uint64_t stale_before;         /* the same, of the processes that had its number before */
	uint64_t moving_ns, waited_ns; /* as in struct dfg_reduced */
	bool lost;                     /* the worker is lost and `why` is set; both are guarded by the coordinator's lock */
	bool ended;                    /* `why` is from dfg_coordinator_ended */
	struct dfg_err *why;
	_Atomic uint64_t heard; /* time of the last message, ns */
	/* time of the ping in flight, ns, whose number is `ping`. This and the fields below are guarded by the lock */
	uint64_t pinged;
	uint64_t ping;
	uint64_t round_trip_ns; /* the shortest round trip so far, ns; 0: none yet */
	int64_t ahead_ns;       /* the offset of the worker's clock to ours, ns */
};

struct replica_state {
	bool member;      /* takes part in steps */
	bool left;        /* by request, or it could not be started: it is not started again on the same hosts */
	bool reviving;    /* its workers are being started again */
	bool done;        /* it was asked, and its workers have answered, without an error */
	bool named_slow;  /* the user was told that the others wait for it */
	bool waited;      /* all its workers had their buckets, so they began the update of the step */
	uint64_t version; /* of its variables: replicas with the same version have the same ones */

	/* An asynchronous compute run in progress: coordinator_async.c. */
	struct step_plan *flight_plan; /* NULL: there is none */
	const struct dfg_group_step *flight_step;
	struct dfg_tensor *flight_fetches;
	uint64_t flight_number; /* of the run, among all runs */

	/* With a quorum: coordinator_quorum.c. */
	bool taken;   /* a contribution of it counts in this step */
	bool torn;    /* an update that was not waited for has failed */
	uint64_t due; /* the version that it has when all its workers have answered; 0: no other than now */
};

/* The part of a step that one worker of each replica runs. */
struct worker_step {
	struct dfg_step step;   /* in the node numbers of the worker's part */
	uint32_t *feed, *fetch; /* indices of these feeds and fetches in the whole step */
	size_t feed_capacity, fetch_capacity, target_capacity;
	uint32_t *target;
	bool runs;
};
struct step_plan {
	struct worker_step *worker_step; /* by part */
	uint32_t *number;                /* by worker: the plan's number there */
	uint32_t n_fetch;
	struct dfg_stats stats;
};

/* A file that a worker has opened. */
struct opened_source {
	uint32_t worker;
	char *spec;
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* expected */
};

/* How long the last compute runs took, in a ring, ns. */
enum { COMPUTE_TIMES = 31 };
struct compute_times {
	uint64_t ns[COMPUTE_TIMES];
	uint64_t count; /* of all so far */
	uint64_t began; /* the run in progress */
	uint64_t due;   /* when its replicas are slow; 0: never, or they were named */
};

struct dfg_coordinator {
	struct dfg_session_backend backend; /* first member */
	struct dfg_coordinator_options options;
	struct dfg_event event;
	struct dfg_inbox inbox;
	struct worker_state *state;   /* by worker */
	struct dfg_link **asked_link; /* links of the workers that have not answered yet; capacity: all workers */
	unsigned in_vain;             /* consecutive polls that found nothing */
	pthread_mutex_t lock;
	pthread_mutex_t request_lock; /* held by the thread that sends requests: one at a time */
	uint64_t asked;               /* the last request number given */
	uint32_t blamed;              /* the worker that answered with the last error; DFG_NONE: the error was no answer */
	_Atomic uint64_t pings;
	uint64_t step;
	uint32_t width;    /* workers of a replica */
	uint64_t arrivals; /* number of answers that have arrived */
	bool *
		absent; /* by replica: it takes no part in this step, since it is more than a step late; all false without a quorum */

	struct compute_times compute_times;
	struct replica_state *replica; /* by replica; the number of members is backend.replicas */
	uint64_t version;              /* of the newest variables */
	uint64_t updates;              /* number of steps with an update so far */
	uint64_t epoch;                /* of the members; 0: all replicas */
	uint32_t suspect;              /* a worker that reported in the last step that another is unavailable; DFG_NONE */
	unsigned unexplained;          /* epochs since the last committed step that began although no worker was lost */

	uint64_t reads_checked;       /* of variables, to be within the limit of staleness */
	uint64_t sharded;             /* number of the sharded step whose traffic is counted; 0: the last run was of none */
	struct opened_source *source; /* in the order of opening */
	size_t sources, source_capacity;
	const char *(*transport)(void *arg, uint32_t one, uint32_t two); /* of dfg_coordinator_begin() */
	void *transport_arg;

	char **stream; /* names of the streams of random numbers that the compute runs of the step have drawn from */
	size_t streams, stream_capacity;

	pthread_t guard;
	bool guarded;
	_Atomic uint64_t silence; /* ns after which a worker is lost */
	_Atomic bool broken;      /* a step failed because a worker was lost */
	atomic_bool ended;
	struct dfg_event guard_event;

	const struct dfg_graph *graph;
	const struct dfg_parts *parts;
	struct dfg_arena arena;   /* memory of `home` and `send`, released with the graph */
	struct worker_node *home; /* by node of the graph, in replica 0 */
	struct worker_node *send; /* by number of a transfer: its _Send node */
	struct step_plan *plan;
	size_t plans, plan_capacity;
	struct dfg_traffic *traffic; /* of the last step; index: from * workers + to */
};

/* Whether the worker is a lane of a parameter server. */
static inline bool dfg_coordinator_is_lane(const struct dfg_coordinator *coordinator, uint32_t worker)
{
	return worker % coordinator->width + coordinator->options.servers >= coordinator->width;
}

/* Sends a request to a worker; releases the packet. */
void dfg_coordinator_ask(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_packet *packet);

/*
 * Waits for all requested answers. In a step, an error or a lost worker fails the step on the other workers, which get
 * some time to answer. Returns the first error that does not repeat another worker's; where it is NULL, the answers are
 * valid until the next request.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_answers(struct dfg_coordinator *coordinator, uint64_t step);

/* The same outside a step; the error of a lost worker begins with the phase of the run. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_answers_in(struct dfg_coordinator *coordinator, const char *phase);

/*
 * Explains an error that a worker answered a step with, as far as the cause is known. Takes err; returns it or a more
 * precise one.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_explain(
	struct dfg_coordinator *coordinator, const struct step_plan *plan, uint32_t worker, struct dfg_err *err);

/* Takes the answers that have arrived, without waiting. */
void dfg_coordinator_take_answers(struct dfg_coordinator *coordinator);

/*
 * Whether a worker has still to answer; *first is set to the first failed worker found, if it was not set. Then waits for
 * the event, or until the deadline, 0: none.
 */
bool dfg_coordinator_poll_answers(struct dfg_coordinator *coordinator, uint32_t *first);
void dfg_coordinator_wait(struct dfg_coordinator *coordinator, uint32_t seen, uint64_t until);

/* How a failure on one worker ends the requests of others. */
enum spread {
	TO_ALL,     /* the step fails on all workers, at once */
	TO_WAITING, /* on those that still wait for a sum; others end their update */
	TO_REPLICA, /* on the workers of the same replica */
};

/*
 * Tells a worker that has not answered that the step failed on another one; false: it knows. Those that still have not
 * answered at the time that grace gives are then lost.
 */
bool dfg_coordinator_fail_on(struct dfg_coordinator *coordinator, uint32_t worker, uint64_t step, uint32_t culprit);
uint64_t dfg_coordinator_grace(const struct dfg_coordinator *coordinator);
void dfg_coordinator_lose_stopped(struct dfg_coordinator *coordinator);

/* dfg_coordinator_answers() in a step, which keeps the answers also on error, for replicas that are `done`. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_outcome(
	struct dfg_coordinator *coordinator, uint64_t step, enum spread spread);

/* The same after `first` was found to have failed; DFG_NONE: none was. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_outcome_after(
	struct dfg_coordinator *coordinator, uint64_t step, enum spread spread, uint32_t first);

/* Sets what replicas are `done` with, from the answers. */
void dfg_coordinator_note_outcome(struct dfg_coordinator *coordinator);

/* coordinator_quorum.c: an answer that no request waits for. */
void dfg_coordinator_take_late(struct dfg_coordinator *coordinator, struct dfg_packet *packet);

/*
 * With a quorum, some replicas may still have requests of earlier steps. Begins a step: those that are more than a step
 * late take no part; waits until at least `need` do.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_begin_quorum(struct dfg_coordinator *coordinator, uint32_t need);

/* Whether the replica has not answered all requests. Waits until all have. */
bool dfg_coordinator_is_busy(const struct dfg_coordinator *coordinator, uint32_t replica);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_catch_up(struct dfg_coordinator *coordinator);

/* Notes the versions of replicas that have done the updates which nothing waited for. */
void dfg_coordinator_settle(struct dfg_coordinator *coordinator);

struct plan_run;
/* dfg_coordinator_outcome() of a run of a step with a quorum. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_quorum(
	struct dfg_coordinator *coordinator, uint64_t step, const struct plan_run *run);

/* coordinator_epoch.c: whether the run survives the loss of a replica, and whether the worker is of one that takes part. */
bool dfg_coordinator_is_elastic(const struct dfg_coordinator *coordinator);
bool dfg_coordinator_takes_part(const struct dfg_coordinator *coordinator, uint32_t worker);

/* The first of the members with the newest variables; that of its workers which has the part of that number. */
uint32_t dfg_coordinator_lead(const struct dfg_coordinator *coordinator);
uint32_t dfg_coordinator_lead_worker(const struct dfg_coordinator *coordinator, uint32_t part);

/* The i-th member. */
uint32_t dfg_coordinator_member(const struct dfg_coordinator *coordinator, uint32_t i);

/*
 * After an error because workers are lost: begins an epoch of the replicas that are left. Takes err; returns NULL, or err
 * if they are too few or the error is another one. With request_lock held.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_regroup(struct dfg_coordinator *coordinator, struct dfg_err *err);

/* Whether a request that gave *err is to be repeated, because dfg_coordinator_regroup() has succeeded. */
bool dfg_coordinator_continues(struct dfg_coordinator *coordinator, struct dfg_err **err);

/*
 * coordinator_slow.c: brackets a compute run; names the replicas that have not answered, if they are slow by now. Returns
 * the time at which they will be; 0: never.
 */
void dfg_coordinator_begin_compute(struct dfg_coordinator *coordinator);
void dfg_coordinator_end_compute(struct dfg_coordinator *coordinator);
uint64_t dfg_coordinator_name_slow(struct dfg_coordinator *coordinator);

/* coordinator_clock.c: sends a ping; handles its pong; learns the offset of the worker's clock before the first step. */
void dfg_coordinator_ping(struct dfg_coordinator *coordinator, uint32_t worker);
void dfg_coordinator_take_pong(struct dfg_coordinator *coordinator, uint32_t peer, const struct dfg_message *message);
void dfg_coordinator_learn_clock(struct dfg_coordinator *coordinator, uint32_t worker);

/* Makes the variables of all members those of the lead. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_make_equal(struct dfg_coordinator *coordinator);

/* coordinator_verify.c: DFG_BUG if a variable differs between members. Inverts a bit of a variable of a replica. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_verify(struct dfg_coordinator *coordinator);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_damage(struct dfg_coordinator *coordinator, uint32_t replica);

/* coordinator_rejoin.c: a replica whose workers are there again takes part. Takes and returns as regroup does. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_let_rejoin(struct dfg_coordinator *coordinator);

/* Begins to start lost replicas again while restarts are left, if their state is in variables. */
void dfg_coordinator_revive_lost(struct dfg_coordinator *coordinator);

/* Requests of a worker that has started again: its configuration, its part, its plans, its files. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_ask_setup(
	struct dfg_coordinator *coordinator, uint32_t worker, double seconds, bool again);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_ask_part(struct dfg_coordinator *coordinator, uint32_t worker);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_send_plan(
	struct dfg_coordinator *coordinator, struct step_plan *plan, uint32_t first, uint32_t end);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_open_again(
	struct dfg_coordinator *coordinator, const struct opened_source *source);

/* Begins an epoch of the members; one line of all joined errors, for the user. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_send_epoch(struct dfg_coordinator *coordinator);
void dfg_coordinator_note(const struct dfg_coordinator *coordinator, const struct dfg_err *err);

/* dfg_session_backend.begin_step: the replicas of workers that leave take no part from now on. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_begin_step(struct dfg_session_backend *backend);

/* dfg_session_backend.recover */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_recover(struct dfg_session_backend *backend, struct dfg_err *err);

/* Releases the answers. */
void dfg_coordinator_drop_answers(struct dfg_coordinator *coordinator);

/* dfg_session_backend.plan, and the release of all plans. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_plan(
	struct dfg_session_backend *backend, const struct dfg_step *step, uint32_t *out_plan);
void dfg_coordinator_drop_plans(struct dfg_coordinator *coordinator);

/* A run of a plan on some replicas. */
struct plan_run {
	const struct dfg_tensor *const *feeds; /* by replica; NULL: the plan does not run there */
	struct dfg_tensor *const *fetches;     /* by replica; NULL: they are not wanted */
	const struct dfg_group_step *sharded;  /* the step that it is of; NULL: none */
	const uint32_t *shard;                 /* by replica; NULL: it is the update run */
	uint32_t need; /* of a compute run that may be ended when as many replicas have done it: their number */
	enum spread spread;
	bool waits;   /* an update run that only waits for its buckets */
	bool of_done; /* it is only on members that are `done` with the run before */
};
/*
 * With request_lock held. Plan NULL: an update run that has nothing to do but to end the step. Fetches are set on the
 * replicas that are `done`. The error of lost workers is in *out_lost if the run is elastic, no compute run, and at least
 * one replica is done.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_run_on(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run, struct dfg_err **out_lost);

/* Sends the requests of a run; takes the results of the replicas that are `done`. */
void dfg_coordinator_ask_runs(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run, uint64_t step);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_take_shares(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run);

/* coordinator_async.c: takes the answer to an asynchronous compute run; false: it is not one. */
bool dfg_coordinator_land(struct dfg_coordinator *coordinator, struct dfg_packet *packet);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_start(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, const struct dfg_shard_run *run);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_finish(
	struct dfg_session_backend *backend, uint32_t wanted, uint32_t *out_replica);

/* coordinator_replicas.c: the values of a run that each replica may have. */
struct run_lists {
	const struct dfg_tensor **feeds; /* by replica */
	struct dfg_tensor **fetches;
	uint32_t *shard;
	struct dfg_tensor *value; /* fetches of each replica, where any may be lost */
};
extern const struct dfg_tensor dfg_coordinator_no_feeds; /* the feeds of a plan that has none */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_new_lists(
	const struct dfg_coordinator *coordinator, uint32_t n_fetch, struct run_lists *out_lists);
void dfg_coordinator_free_lists(struct run_lists *lists, size_t values);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_compute(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, struct dfg_shard_run *runs, uint32_t n, uint32_t need);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_update(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_note_stream(struct dfg_coordinator *coordinator, const char *name);
void dfg_coordinator_drop_streams(struct dfg_coordinator *coordinator);

/* The other functions of the session backend. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_run(
	struct dfg_session_backend *backend, uint32_t plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);
void dfg_coordinator_stats(struct dfg_session_backend *backend, uint32_t plan, struct dfg_stats *out_stats);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_variables(struct dfg_session_backend *backend,
	const struct dfg_variable_ref *refs, uint32_t count, struct dfg_variable_fact *out_facts);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_read(
	struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_assign(
	struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *tensor);

/* Whether all replicas of a worker's part can share memory with the first. DFG_DATA if they must, and cannot. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_find_shared(
	const struct dfg_coordinator *coordinator, uint32_t worker, bool *out_shared);
