#pragma once

#include "lib/exec/group/group.h"
#include "lib/exec/session_private.h"
#include "lib/exec/table/clock.h"

/*
 * A step of a sharded batch: the compute run, once for each shard that has rows, contributes to the all-reduce and gives
 * the fetches that do not depend on it; then the update run, which is fed the tickets in place of the contributions,
 * gives the others and writes the variables. Nothing is written unless all compute runs have succeeded. replica_plan.c
 * makes the two runs, replica.c runs them, replica_fetch.c makes the values of the shards one.
 */

/* How the values of a fetch become one; the values of the mark _dfg_merge (lib/pass/replicate/replicate.h) come first. */
enum replica_merge { MERGE_UNKNOWN, MERGE_ROWS, MERGE_MEAN, MERGE_SUM, MERGE_SAME, OF_UPDATE };

struct replica {
	struct dfg_session *session;
	uint32_t shards;
	struct dfg_plan *compute, *update; /* update NULL: there is none */
	const struct dfg_edge *fetch;
	uint32_t n_feed, n_fetch;
	bool *sharded;  /* by feed */
	uint8_t *merge; /* enum replica_merge, by fetch */
	uint32_t *at;   /* by fetch: its number in its run */
	uint32_t n_compute_fetch, n_update_fetch, n_ticket;
	const struct dfg_edge *ticket; /* by bucket of the step */
	uint32_t fetch_bucket;         /* buckets of fetches have numbers from here on, those of gradients are below */

	/* Asynchronous steps: replica_async.c. */
	struct flight {
		bool flies;
		uint64_t begun; /* the number of updates that were applied before */
		struct dfg_group_step at;
		struct dfg_tensor *fetches;
		struct dfg_tensor *feeds; /* those of all replicas, with its own number for lane_feed; borrowed values */
		int32_t lane;
	} * flight;              /* by replica; NULL: no step was started */
	uint64_t applied;        /* updates */
	struct bounded *bounded; /* steps with bounded staleness: replica_bounded.c. NULL: none has begun */
	bool has_rounds;         /* queues of the graph say when variables are updated: all is in the compute run */
	uint32_t lane_feed;      /* the feed that is the replica's number, + 1; 0: there is none */
};

/* A step in progress. */
struct sharded_step {
	struct replica *replica;
	const struct dfg_tensor *feeds;
	struct dfg_group *group;
	int64_t batch;
	struct dfg_group_step at;        /* as all replicas know it */
	const struct dfg_quorum *quorum; /* NULL: the step takes all shards */
	bool *taken;                     /* by shard: in a step with a quorum, those that it takes */
	uint32_t need;                   /* shards that a step which holds contributions still waits for */
	uint32_t replicas;               /* on which the compute runs are */
	struct dfg_shard_run *run;       /* those in progress, at most one a replica */
	struct dfg_tensor *shard_feed;   /* their feeds: views of the shards' rows */
	struct dfg_tensor *now;          /* their fetches */
	struct dfg_tensor *value;        /* by fetch of the compute run, then by shard */
	struct dfg_tensor *updated;      /* fetches of the update run */
};

/*
 * Makes the plan of a step. *out_made is false, and the plan is not made, if no tensor that the step feeds is marked as
 * sharded, or nothing depends on such a tensor.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replica_plan(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan, bool *out_made);
void dfg_replica_release(struct replica *replica);

DFG_MUST_CHECK struct dfg_err *dfg_replica_run(
	struct replica *replica, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* replica_async.c: dfg_plan_start() and dfg_plan_finish(). */
DFG_MUST_CHECK struct dfg_err *dfg_replica_start(struct replica *replica, const struct dfg_tensor *feeds);
DFG_MUST_CHECK struct dfg_err *dfg_replica_finish(
	struct replica *replica, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches, uint64_t *out_staleness);
void dfg_replica_drop_flights(struct replica *replica);
DFG_MUST_CHECK struct dfg_err *dfg_replica_make_flights(struct replica *replica); /* if there are none */
void dfg_replica_drop_fetches(const struct replica *replica, struct flight *flight);

/* The feeds of a replica's compute run, which the flight keeps. A number that no other sharded step has. */
const struct dfg_tensor *dfg_replica_feeds(
	const struct replica *replica, struct flight *flight, const struct dfg_tensor *feeds);
uint64_t dfg_replica_next_number(struct dfg_group *group);

/* replica_bounded.c: dfg_plan_shard() and the functions below it in session.h. */
enum dfg_shard_state dfg_replica_shard(const struct replica *replica, uint32_t shard, uint64_t *out_clock);
DFG_MUST_CHECK struct dfg_err *dfg_replica_start_shard(
	struct replica *replica, const struct dfg_shard *shard, const struct dfg_tensor *feeds, uint64_t *out_lag);
DFG_MUST_CHECK struct dfg_err *dfg_replica_finish_shard(
	struct replica *replica, const struct dfg_tensor *feeds, uint32_t wanted, uint32_t *out_shard);
bool dfg_replica_has_step(const struct replica *replica);
DFG_MUST_CHECK struct dfg_err *dfg_replica_take_step(struct replica *replica, struct dfg_tensor *out_fetches);
void dfg_replica_drop_bounded(struct replica *replica);

/* replica.c: finds the rows of the step's batch; runs the update. */
DFG_MUST_CHECK struct dfg_err *dfg_replica_find_batch(struct sharded_step *step);
DFG_MUST_CHECK struct dfg_err *dfg_replica_update(struct sharded_step *step);

/* Statistics of both runs together. */
void dfg_replica_stats(const struct replica *replica, struct dfg_stats *out_stats);

/* The number of a bucket, by the node that contributes to it. */
int64_t dfg_replica_bucket(const struct dfg_graph *graph, uint32_t start);

/* Takes the fetches of a compute run, whose shard the group has entered, and keeps them until all shards have theirs. */
DFG_MUST_CHECK struct dfg_err *dfg_replica_keep(struct sharded_step *step, const struct dfg_shard_run *run);

/* Makes the step's fetches of those kept, in the order of the shards, and of those of the update run. */
DFG_MUST_CHECK struct dfg_err *dfg_replica_merge(struct sharded_step *step, struct dfg_tensor *out_fetches);
