#include "lib/exec/plan/plan.h"
#include "lib/exec/replica_private.h"

#include <string.h>

/*
 * Asynchronous steps with bounded staleness (stale synchronous parallel, SSP). A step is one of the whole batch, of which
 * each replica computes one shard; as soon as a shard's gradients are there, its part of their sum is an update by itself.
 * Reads of the variables and updates are one after the other, in an order that only depends on which update is next.
 */

/* A step of which not all shards are done, or whose fetches were not taken. */
struct open_step {
	struct open_step *next;
	uint64_t clock; /* the number of steps before it */
	int64_t batch;
	uint32_t left;              /* shards that have not done it */
	struct dfg_tensor *value;   /* fetches of the compute runs, by shard, then by fetch */
	struct dfg_tensor *updated; /* fetches of the last update */
};

struct bounded {
	struct dfg_clocks clocks;
	struct open_step *oldest;
};

static void release(struct dfg_tensor *value, size_t count)
{
	for (size_t i = 0; value && i < count; i++)
		dfg_tensor_release(&value[i]);
}

static void free_step(const struct replica *replica, struct open_step *step)
{
	release(step->value, (size_t)replica->shards * replica->n_compute_fetch);
	release(step->updated, replica->n_update_fetch);
	dfg_free(step->value);
	dfg_free(step->updated);
	dfg_free(step);
}

void dfg_replica_drop_bounded(struct replica *replica)
{
	struct bounded *bounded = replica->bounded;
	replica->bounded = NULL;
	if (!bounded)
		return;
	for (struct open_step *step = bounded->oldest, *next; step; step = next) {
		next = step->next;
		free_step(replica, step);
	}
	dfg_clocks_release(&bounded->clocks);
	dfg_free(bounded);
}

static struct dfg_err *prepare(struct replica *replica)
{
	DFG_TRY(dfg_replica_make_flights(replica));
	if (replica->bounded)
		return NULL;
	replica->bounded = dfg_zeros(1, sizeof *replica->bounded);
	if (!replica->bounded)
		return dfg_no_memory("steps with bounded staleness");
	return dfg_clocks_init(&replica->bounded->clocks, replica->shards, replica->session->options.staleness);
}

enum dfg_shard_state dfg_replica_shard(const struct replica *replica, uint32_t shard, uint64_t *out_clock)
{
	const struct bounded *bounded = replica->bounded;
	*out_clock = bounded ? bounded->clocks.clock[shard] : 0;
	if (!bounded)
		return DFG_SHARD_READY;
	if (replica->flight[shard].flies)
		return DFG_SHARD_COMPUTES;
	return dfg_clocks_may_read(&bounded->clocks, shard) ? DFG_SHARD_READY : DFG_SHARD_WAITS;
}

static struct open_step *new_step(const struct replica *replica, uint64_t clock, int64_t batch)
{
	struct open_step *step = dfg_zeros(1, sizeof *step);
	if (!step)
		return NULL;
	*step = (struct open_step){.clock = clock, .batch = batch, .left = replica->shards};
	step->value = dfg_zeros((size_t)replica->shards * replica->n_compute_fetch + 1, sizeof *step->value);
	step->updated = dfg_zeros((size_t)replica->n_update_fetch + 1, sizeof *step->updated);
	if (step->value && step->updated)
		return step;
	free_step(replica, step);
	return NULL;
}

/* The step of that clock, which the first shard that comes to it makes: they are in ascending order. */
static struct open_step *find_step(struct replica *replica, uint64_t clock, int64_t batch)
{
	struct open_step **at = &replica->bounded->oldest;
	while (*at && (*at)->clock != clock)
		at = &(*at)->next;
	if (!*at)
		*at = new_step(replica, clock, batch);
	return *at;
}

static void tick(struct replica *replica, uint32_t shard)
{
	find_step(replica, replica->bounded->clocks.clock[shard]++, 0)->left--;
}

static struct dfg_err *check_feeds(const struct replica *replica, const struct dfg_tensor *feeds)
{
	struct sharded_step step = {.replica = (struct replica *)replica, .feeds = feeds};
	DFG_TRY(dfg_replica_find_batch(&step));
	return dfg_plan_check_feeds(replica->compute, feeds);
}

struct dfg_err *dfg_replica_start_shard(
	struct replica *replica, const struct dfg_shard *shard, const struct dfg_tensor *feeds, uint64_t *out_lag)
{
	struct dfg_session_backend *backend = replica->session->options.backend;
	struct dfg_group *group;
	DFG_TRY(prepare(replica));
	struct dfg_clocks *clocks = &replica->bounded->clocks;
	struct flight *flight = &replica->flight[shard->number];
	if (flight->flies || !dfg_clocks_may_read(clocks, shard->number))
		return DFG_ERR(DFG_BUG, "shard %u is busy, or too far ahead to begin a step", shard->number);
	if (shard->rows)
		DFG_TRY(check_feeds(replica, feeds));
	DFG_TRY(dfg_group_of(&replica->session->state, &group));
	if (!find_step(replica, clocks->clock[shard->number], shard->batch))
		return dfg_no_memory("a step with bounded staleness");
	flight->at.batch = shard->batch;
	flight->at.partial = true;
	flight->at.clock = clocks->clock[shard->number];
	flight->at.number = dfg_replica_next_number(group);
	*out_lag = flight->at.clock - dfg_clocks_least(clocks);
	const struct dfg_shard_run run = {
		*shard, shard->number, shard->rows ? dfg_replica_feeds(replica, flight, feeds) : NULL, flight->fetches, true};
	DFG_TRY(backend->start_compute(backend, replica->compute->backend_plan, &flight->at, &run));
	flight->flies = shard->rows > 0;
	if (!shard->rows)
		tick(replica, shard->number);
	return NULL;
}

/* The update of a shard; the step keeps its fetches. */
static struct dfg_err *apply(
	struct replica *replica, struct flight *flight, const struct dfg_tensor *feeds, struct open_step *open)
{
	struct sharded_step step = {
		.replica = replica, .feeds = dfg_replica_feeds(replica, flight, feeds), .at = flight->at, .batch = open->batch};
	size_t first = (size_t)(flight->at.only - 1) * replica->n_compute_fetch;
	release(open->updated, replica->n_update_fetch);
	memset(open->updated, 0, replica->n_update_fetch * sizeof *open->updated);
	step.updated = open->updated;
	memcpy(open->value + first, flight->fetches, replica->n_compute_fetch * sizeof *flight->fetches);
	memset(flight->fetches, 0, replica->n_compute_fetch * sizeof *flight->fetches);
	return dfg_replica_update(&step);
}

struct dfg_err *dfg_replica_finish_shard(
	struct replica *replica, const struct dfg_tensor *feeds, uint32_t wanted, uint32_t *out_shard)
{
	struct dfg_session_backend *backend = replica->session->options.backend;
	if (wanted != DFG_NONE && (wanted >= replica->shards || !replica->flight[wanted].flies))
		return DFG_ERR(DFG_DATA,
			"the record says that replica %u updates next, but it is not computing a step: the recorded run had "
			"another staleness bound, or checkpoints or evaluations at other steps",
			wanted);
	DFG_TRY(backend->finish_compute(backend, wanted, out_shard));
	struct flight *flight = &replica->flight[*out_shard];
	struct open_step *open = find_step(replica, flight->at.clock, flight->at.batch);
	flight->flies = false;
	DFG_TRY(apply(replica, flight, feeds, open));
	tick(replica, *out_shard);
	return NULL;
}

bool dfg_replica_has_step(const struct replica *replica)
{
	return replica->bounded && replica->bounded->oldest && !replica->bounded->oldest->left;
}

/* Fetches of the compute runs become one as those of other sharded steps do. */
static struct dfg_err *merge(struct sharded_step *step, struct open_step *open, struct dfg_tensor *out_fetches)
{
	struct replica *replica = step->replica;
	for (uint32_t i = 0; i < replica->shards; i++) {
		struct dfg_tensor *fetches = open->value + (size_t)i * replica->n_compute_fetch;
		const struct dfg_shard_run run = {dfg_shard_of(i, replica->shards, open->batch), i, NULL, fetches, true};
		if (!run.shard.rows)
			continue;
		dfg_group_enter(step->group, &run.shard);
		struct dfg_err *err = dfg_replica_keep(step, &run);
		dfg_group_enter(step->group, NULL);
		DFG_TRY(err);
	}
	return dfg_replica_merge(step, out_fetches);
}

struct dfg_err *dfg_replica_take_step(struct replica *replica, struct dfg_tensor *out_fetches)
{
	struct open_step *open = replica->bounded->oldest;
	struct sharded_step step = {.replica = replica, .batch = open->batch, .updated = open->updated};
	size_t values = (size_t)replica->n_compute_fetch * replica->shards;
	replica->bounded->oldest = open->next;
	step.value = dfg_zeros(values + 1, sizeof *step.value);
	struct dfg_err *err = step.value ? dfg_group_of(&replica->session->state, &step.group)
									 : dfg_no_memory("a step with bounded staleness");
	if (!err) {
		dfg_group_begin(step.group, replica->shards, open->batch);
		err = merge(&step, open, out_fetches);
		dfg_group_end(step.group);
	}
	release(step.value, values);
	dfg_free(step.value);
	free_step(replica, open);
	return err;
}
