#pragma once

#include "lib/exec/group/group.h"
#include "lib/exec/state/state.h"
#include "lib/exec/plan/step.h"

/*
 * A session runs steps of one graph. Variables live in it from step to step. Steps may run concurrently, on any
 * threads.
 *
 *     dfg_session_new -> dfg_session_plan, once for each set of feeds, fetches and targets -> dfg_plan_run, each step
 */
/* The graph is borrowed and must outlive the session; it is not changed. It must have passed dfg_verify. */
struct dfg_session;
DFG_MUST_CHECK struct dfg_err *dfg_session_new(
	const struct dfg_graph *graph, const struct dfg_session_options *options, struct dfg_session **out_session);
void dfg_session_free(struct dfg_session *session); /* NULL is fine; no step may be running */

struct dfg_state *dfg_session_state(struct dfg_session *session);

/*
 * Variables of a local or a distributed session. The session's state knows a variable by "container/shared name", or by
 * its node's name if it has neither; `node` is a node that creates the variable and has run.
 */
struct dfg_variable_ref {
	uint32_t node;
	const char *name;
};
struct dfg_variable_fact {
	enum dfg_dtype dtype;   /* DFG_NO_DTYPE: there is no variable of that name */
	struct dfg_shape shape; /* declared; may be partly unknown */
	bool set;
};
DFG_MUST_CHECK struct dfg_err *dfg_session_variables(struct dfg_session *session, const struct dfg_variable_ref *refs,
	uint32_t count, struct dfg_variable_fact *out_facts);

/*
 * Reads the value: a new reference, or a copy if the variable is on another worker. Assign takes the tensor, also on
 * error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_session_read(
	struct dfg_session *session, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor);
DFG_MUST_CHECK struct dfg_err *dfg_session_assign(
	struct dfg_session *session, const struct dfg_variable_ref *ref, struct dfg_tensor *tensor);

/*
 * A tensor in a buffer of the session's pool; the allocator for values that arrive by a link (sink->allocate). Any thread.
 */
DFG_MUST_CHECK struct dfg_err *dfg_session_tensor(
	struct dfg_session *session, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/*
 * Makes the plan of a step: prunes, infers types and shapes, optimises, plans memory. The session owns the plan and
 * returns the same plan for the same step. DFG_DATA if the step cannot run: an op is unknown or has no kernel, a
 * placeholder is not fed, or shapes do not fit.
 */
struct dfg_plan;
DFG_MUST_CHECK struct dfg_err *dfg_session_plan(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan);

/*
 * Runs one step. feeds are borrowed, and checked against the dtypes and shapes that the graph declares; the caller
 * releases out_fetches. After an error there is nothing to release, and variables have the values that the nodes which
 * ran assigned.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_run(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* The same for a step that may be ended early. A session with a backend does not ask the control, which may be NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_run_controlled(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches);

/*
 * Asynchronous steps of a plan that trains, on replicas that share their variables: several are in progress, each on a
 * replica of its own. Start begins one on an idle replica; the feeds are borrowed until it returns. Finish completes the
 * step whose gradients are there first: it applies the update and gives the fetches. *out_staleness: the updates that were
 * applied since that replica began to read the variables. `feeds` gives the feeds that are not of the batch. One thread;
 * no other step runs meanwhile. After an error no more steps can be started.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_start(struct dfg_plan *plan, const struct dfg_tensor *feeds);
/* Whether queues of the graph make the steps of the replicas wait for each other, so that each round needs all of them. */
bool dfg_plan_has_rounds(const struct dfg_plan *plan);
DFG_MUST_CHECK struct dfg_err *dfg_plan_finish(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches, uint64_t *out_staleness);

/*
 * Asynchronous steps with bounded staleness, options.staleness > 0: shard i of each step is computed by replica i, and its part
 * of the sum of gradients is an update by itself. The clock of a shard is the number of its updates that were applied, which is
 * 0 when the session is opened. A shard begins a step only if it is at most the bound ahead of each other one.
 */
enum dfg_shard_state {
	DFG_SHARD_READY,    /* the next step of the shard may begin */
	DFG_SHARD_COMPUTES, /* it is in progress */
	DFG_SHARD_WAITS,    /* it would be too far ahead of the slowest shard */
};
enum dfg_shard_state dfg_plan_shard(const struct dfg_plan *plan, uint32_t shard, uint64_t *out_clock);

/*
 * Begins the next step of a shard that is ready, which reads the variables as they are now; feeds has the shard's rows only. A
 * shard without rows has done the step at once. *out_lag: how many steps it is ahead of the slowest shard.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_start_shard(
	struct dfg_plan *plan, const struct dfg_shard *shard, const struct dfg_tensor *feeds, uint64_t *out_lag);

/*
 * Applies the update of the shard whose gradients are there first, or of the shard `wanted`; DFG_NONE: of any. DFG_DATA if
 * that one has begun no step.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_finish_shard(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, uint32_t wanted, uint32_t *out_shard);

/* Whether all shards have done the oldest step that was not taken yet; takes its fetches. */
bool dfg_plan_has_step(const struct dfg_plan *plan);
DFG_MUST_CHECK struct dfg_err *dfg_plan_take_step(struct dfg_plan *plan, struct dfg_tensor *out_fetches);

/* Statistics of the plan's last steps. */
void dfg_plan_stats(const struct dfg_plan *plan, struct dfg_stats *out_stats);

/*
 * The reason why the last step of a plan gave no value. With `transfer` 0: why a fetch was dead. With `transfer` n + 1:
 * why the Send of transfer n sent a dead value in that iteration of its loop. The cause is either a Switch of this
 * worker, which `words` names, or a dead value received from another worker, whose transfer and iteration are given so
 * that the caller can ask that worker. Neither is set if the cause is unknown.
 */
struct dfg_cause {
	uint32_t transfer; /* number of the transfer that received the dead value, + 1; 0: none */
	int64_t iteration;
	char words[1200]; /* "fetch 'y:0' is dead" of a fetch; "predicate 'p:0' of node 'x' (Switch) is false" of a Send */
};
void dfg_plan_cause(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct dfg_cause *out_cause);

/* The compute run of a shard, on one of several replicas. All is borrowed; the caller releases the fetches. */
struct dfg_shard_run {
	struct dfg_shard shard;
	uint32_t replica; /* counted over those that take part */
	const struct dfg_tensor *feeds;
	struct dfg_tensor *fetches;
	bool taken; /* set by compute(): its contributions count, and its fetches are set */
};

/*
 * The workers that hold the parts of a session's graph and run its steps; remote/coordinator.h implements it. Its
 * functions have the contracts of those of the session above, with the full graph's node numbers; a plan is identified
 * by a number.
 *
 * There may be several replicas of the graph. A plan then runs on all of them, and replica 0 gives its fetches, except
 * that the runs of a sharded step (lib/exec/replica.c) are each on one of them. Variables are read from replica 0.
 */
#define DFG_LANE_NAME \
	"_dfg/lane" /* the placeholder that an asynchronous step is fed its replica's number with: i32[] */
struct dfg_session_backend {
	uint32_t replicas; /* that take part in steps, 1 or more; changes outside compute() */
	struct dfg_err *(*plan)(struct dfg_session_backend *backend, const struct dfg_step *step, uint32_t *out_plan);
	struct dfg_err *(*run)(struct dfg_session_backend *backend, uint32_t plan, const struct dfg_tensor *feeds,
		struct dfg_tensor *out_fetches);
	/* A sharded step follows, before which replicas may leave and join; recover() only takes replicas away. */
	struct dfg_err *(*begin_step)(struct dfg_session_backend *backend);
	/*
	 * Compute runs of one step of a sharded batch, at most one a replica, all at once; step->number is larger than that
	 * of any step before. Returns when `need` of them have succeeded; the others are ended, and are not taken. A step that
	 * holds contributions may take fewer than all. No fetch is set after an error.
	 */
	struct dfg_err *(*compute)(struct dfg_session_backend *backend, uint32_t plan, const struct dfg_group_step *step,
		struct dfg_shard_run *runs, uint32_t n, uint32_t need);
	/*
	 * The update run of that step, whose `taken` is decided; each replica begins it when the buckets whose tickets it is
	 * fed are complete.
	 */
	struct dfg_err *(*update)(struct dfg_session_backend *backend, uint32_t plan, const struct dfg_group_step *step,
		const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);
	/*
	 * Asynchronous steps, each of one replica, step->only, for backends with parameter servers. start_compute() begins the compute
	 * run, whose fetches are set when finish_compute() has returned its replica; then update() is called for it. With bounded
	 * staleness, the run reads the variables of now, and a shard without rows only moves on its clock. finish_compute() waits
	 * for the replica `wanted`; DFG_NONE: for any.
	 */
	struct dfg_err *(*start_compute)(struct dfg_session_backend *backend, uint32_t plan,
		const struct dfg_group_step *step, const struct dfg_shard_run *run);
	struct dfg_err *(*finish_compute)(struct dfg_session_backend *backend, uint32_t wanted, uint32_t *out_replica);
	/*
	 * A sharded step failed with that error, and no replica has its update. NULL if the caller must repeat the step, as
	 * one with a larger number, on `replicas` replicas; else the error. Takes err.
	 */
	struct dfg_err *(*recover)(struct dfg_session_backend *backend, struct dfg_err *err);
	void (*stats)(struct dfg_session_backend *backend, uint32_t plan, struct dfg_stats *out_stats);
	struct dfg_err *(*variables)(struct dfg_session_backend *backend, const struct dfg_variable_ref *refs,
		uint32_t count, struct dfg_variable_fact *out_facts);
	struct dfg_err *(*read)(
		struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor);
	struct dfg_err *(*assign)(
		struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *tensor);
};
