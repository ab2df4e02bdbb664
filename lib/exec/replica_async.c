#include "lib/exec/plan/plan.h"
#include "lib/exec/replica_private.h"

#include <string.h>

/*
 * Asynchronous steps. Each is one replica's: its compute run, and then its update of the variables, which all replicas
 * have in common. Updates are applied one after the other, in the order in which compute runs end; a replica reads the
 * variables while others update them. In the terms of a sharded step, it takes one shard of as many as there are replicas.
 */

void dfg_replica_drop_fetches(const struct replica *replica, struct flight *flight)
{
	for (uint32_t i = 0; flight->fetches && i < replica->n_compute_fetch; i++)
		dfg_tensor_release(&flight->fetches[i]);
}

void dfg_replica_drop_flights(struct replica *replica)
{
	for (uint32_t i = 0; replica->flight && i < replica->shards; i++) {
		dfg_replica_drop_fetches(replica, &replica->flight[i]);
		dfg_free(replica->flight[i].fetches);
		dfg_free(replica->flight[i].feeds);
		dfg_free((void *)replica->flight[i].at.taken);
	}
	dfg_free(replica->flight);
	replica->flight = NULL;
}

struct dfg_err *dfg_replica_make_flights(struct replica *replica)
{
	if (replica->flight)
		return NULL;
	replica->flight = dfg_zeros(replica->shards, sizeof *replica->flight);
	bool all = replica->flight != NULL;
	for (uint32_t i = 0; i < replica->shards && all; i++) {
		struct flight *flight = &replica->flight[i];
		bool *taken = dfg_zeros(replica->shards, sizeof *taken);
		flight->at = (struct dfg_group_step){.shards = replica->shards, .taken = taken, .only = i + 1};
		flight->fetches = dfg_zeros((size_t)replica->n_compute_fetch + 1, sizeof *flight->fetches);
		flight->feeds = dfg_zeros((size_t)replica->n_feed + 1, sizeof *flight->feeds);
		flight->lane = (int32_t)i;
		all = taken && flight->fetches && flight->feeds;
		if (taken)
			taken[i] = true;
	}
	if (all)
		return NULL;
	dfg_replica_drop_flights(replica);
	return dfg_no_memory("asynchronous steps");
}

const struct dfg_tensor *dfg_replica_feeds(
	const struct replica *replica, struct flight *flight, const struct dfg_tensor *feeds)
{
	memcpy(flight->feeds, feeds, replica->n_feed * sizeof *feeds);
	if (replica->lane_feed)
		flight->feeds[replica->lane_feed - 1] =
			(struct dfg_tensor){DFG_I32, DFG_SHAPE_SCALAR, &flight->lane, sizeof flight->lane, NULL};
	return flight->feeds;
}

uint64_t dfg_replica_next_number(struct dfg_group *group)
{
	uint64_t number = dfg_group_begin(group, 1, 1);
	dfg_group_end(group);
	return number;
}

struct dfg_err *dfg_replica_start(struct replica *replica, const struct dfg_tensor *feeds)
{
	struct dfg_session_backend *backend = replica->session->options.backend;
	struct sharded_step step = {.replica = replica, .feeds = feeds};
	uint32_t idle = 0;
	DFG_TRY(dfg_replica_find_batch(&step));
	DFG_TRY(dfg_plan_check_feeds(replica->compute, feeds));
	DFG_TRY(dfg_group_of(&replica->session->state, &step.group));
	DFG_TRY(dfg_replica_make_flights(replica));
	while (idle < replica->shards && replica->flight[idle].flies)
		idle++;
	if (idle == replica->shards)
		return DFG_ERR(DFG_BUG, "all %u replicas are busy", replica->shards);
	struct flight *flight = &replica->flight[idle];
	flight->at.batch = step.batch * replica->shards;
	flight->at.number = dfg_replica_next_number(step.group);
	flight->begun = replica->applied;
	const struct dfg_shard_run run = {dfg_shard_of(idle, replica->shards, flight->at.batch), idle,
		dfg_replica_feeds(replica, flight, feeds), flight->fetches, true};
	DFG_TRY(backend->start_compute(backend, replica->compute->backend_plan, &flight->at, &run));
	flight->flies = true;
	return NULL;
}

/* The fetches of the compute run as those of one shard; then the update. */
static struct dfg_err *complete(struct sharded_step *step, struct flight *flight, struct dfg_tensor *out_fetches)
{
	const struct dfg_shard_run run = {dfg_shard_of(step->at.only - 1, step->at.shards, step->at.batch),
		step->at.only - 1, NULL, flight->fetches, true};
	DFG_TRY(dfg_group_take(step->group, step->at.taken, NULL));
	dfg_group_enter(step->group, &run.shard);
	struct dfg_err *err = dfg_replica_keep(step, &run);
	dfg_group_enter(step->group, NULL);
	if (!err)
		err = dfg_group_commit(step->group);
	if (!err)
		err = dfg_replica_update(step);
	return err ? err : dfg_replica_merge(step, out_fetches);
}

struct dfg_err *dfg_replica_finish(
	struct replica *replica, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches, uint64_t *out_staleness)
{
	struct dfg_session_backend *backend = replica->session->options.backend;
	size_t values = (size_t)replica->n_compute_fetch * replica->shards;
	uint32_t done;
	struct sharded_step step = {.replica = replica};
	DFG_TRY(dfg_group_of(&replica->session->state, &step.group));
	DFG_TRY(backend->finish_compute(backend, DFG_NONE, &done));
	struct flight *flight = &replica->flight[done];
	flight->flies = false;
	step.at = flight->at;
	step.feeds = dfg_replica_feeds(replica, flight, feeds);
	step.batch = flight->at.batch;
	step.value = dfg_zeros(values + 1, sizeof *step.value);
	step.updated = dfg_zeros((size_t)replica->n_update_fetch + 1, sizeof *step.updated);
	struct dfg_err *err = step.value && step.updated ? NULL : dfg_no_memory("an asynchronous step");
	dfg_group_begin(step.group, step.at.shards, step.at.batch);
	if (!err)
		err = complete(&step, flight, out_fetches);
	dfg_group_end(step.group);
	*out_staleness = replica->applied - flight->begun;
	replica->applied++;
	for (size_t i = 0; step.value && i < values; i++)
		dfg_tensor_release(&step.value[i]);
	for (uint32_t i = 0; step.updated && i < replica->n_update_fetch; i++)
		dfg_tensor_release(&step.updated[i]);
	dfg_free(step.value);
	dfg_free(step.updated);
	dfg_replica_drop_fetches(replica, flight);
	return err;
}
