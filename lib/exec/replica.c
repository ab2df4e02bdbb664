#include "lib/exec/bucket_trace.h"
#include "lib/exec/plan/plan.h"
#include "lib/exec/replica_private.h"

#include <string.h>

/* All sharded feeds have the batch as their first extent. */
struct dfg_err *dfg_replica_find_batch(struct sharded_step *step)
{
	const struct replica *replica = step->replica;
	step->batch = DFG_UNKNOWN;
	for (uint32_t i = 0; i < replica->n_feed; i++) {
		const struct dfg_shape *shape = &step->feeds[i].shape;
		if (!replica->sharded[i])
			continue;
		if (!shape->rank)
			return DFG_ERR(DFG_DATA, "feed '%s' is a scalar, which has no rows to divide into %u shards",
				dfg_slot_words(replica->compute, replica->compute->first_feed + i).s, replica->shards);
		if (step->batch != DFG_UNKNOWN && shape->dim[0] != step->batch)
			return DFG_ERR(DFG_DATA, "the sharded feeds have %lld and %lld rows, expected the same number",
				(long long)step->batch, (long long)shape->dim[0]);
		step->batch = shape->dim[0];
	}
	return step->batch ? NULL : DFG_ERR(DFG_DATA, "a batch without rows cannot be sharded");
}

/* The rows of a shard; borrows. */
static struct dfg_tensor rows_of(const struct dfg_tensor *all, const struct dfg_shard *shard)
{
	struct dfg_tensor part = *all;
	part.shape.dim[0] = shard->rows;
	part.data = dfg_tensor_at(all, shard->first * (dfg_shape_count(&all->shape) / shard->batch));
	part.capacity = dfg_tensor_bytes(&part);
	return part;
}

/* The k-th shard of each replica, if it has rows; there is one replica where the session has no backend. */
static uint32_t make_shard_runs(struct sharded_step *step, uint32_t k)
{
	struct replica *replica = step->replica;
	uint32_t n = 0;
	for (uint32_t r = 0; r < step->replicas; r++) {
		uint32_t part = (r + step->at.turn) % step->replicas;
		struct dfg_shard range = dfg_group_range(part, step->replicas, replica->shards);
		struct dfg_shard shard = dfg_shard_of((uint32_t)range.first + k, replica->shards, step->batch);
		struct dfg_tensor *feed = &step->shard_feed[(size_t)n * replica->n_feed];
		if (k >= range.rows || !shard.rows || (step->at.taken && !step->taken[shard.number]))
			continue;
		for (uint32_t i = 0; i < replica->n_feed; i++)
			feed[i] = replica->sharded[i] ? rows_of(&step->feeds[i], &shard) : step->feeds[i];
		step->run[n] = (struct dfg_shard_run){shard, r, feed, &step->now[(size_t)n * replica->n_compute_fetch], true};
		n++;
	}
	return n;
}

static struct dfg_err *run_here(struct sharded_step *step, const struct dfg_shard_run *run)
{
	dfg_group_enter(step->group, &run->shard);
	struct dfg_err *err = dfg_plan_run(step->replica->compute, run->feeds, run->fetches);
	dfg_group_enter(step->group, NULL);
	return dfg_err_note(err, "shard %u", run->shard.number);
}

static struct dfg_err *run_on_replicas(struct sharded_step *step, uint32_t n)
{
	const struct dfg_plan *plan = step->replica->compute;
	struct dfg_session_backend *backend = plan->session->options.backend;
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(dfg_plan_check_feeds(plan, step->run[i].feeds));
	uint32_t need = step->at.holds && step->need < n ? step->need : n;
	return backend->compute(backend, plan->backend_plan, &step->at, step->run, n, need);
}

static struct dfg_err *run_round(struct sharded_step *step, uint32_t k)
{
	uint32_t n = make_shard_runs(step, k);
	if (!n || (step->at.holds && !step->need))
		return NULL;
	DFG_TRY(step->replica->session->options.backend ? run_on_replicas(step, n) : run_here(step, &step->run[0]));
	for (uint32_t i = 0; i < n; i++) {
		if (!step->run[i].taken)
			continue;
		if (step->at.holds) {
			step->taken[step->run[i].shard.number] = true;
			step->need--;
		}
		dfg_group_enter(step->group, &step->run[i].shard);
		struct dfg_err *err = dfg_replica_keep(step, &step->run[i]);
		dfg_group_enter(step->group, NULL);
		DFG_TRY(err);
	}
	return NULL;
}

/* Runs the update, which is fed the tickets too; without one, replicas still learn that the step is over. */
static struct dfg_err *run_plan(struct sharded_step *step, const struct dfg_tensor *feed)
{
	struct dfg_plan *update = step->replica->update;
	struct dfg_session_backend *backend = step->replica->session->options.backend;
	if (!backend)
		return update ? dfg_plan_run(update, feed, step->updated) : NULL;
	if (update)
		DFG_TRY(dfg_plan_check_feeds(update, feed));
	struct dfg_group_step at = step->at;
	at.taken = step->quorum ? step->taken : step->at.taken;
	return backend->update(backend, update ? update->backend_plan : DFG_NONE, &at, feed, step->updated);
}

struct dfg_err *dfg_replica_update(struct sharded_step *step)
{
	struct replica *replica = step->replica;
	const struct dfg_graph *graph = replica->session->graph;
	struct dfg_tensor *feed = dfg_zeros((size_t)replica->n_feed + replica->n_ticket, sizeof *feed);
	int64_t *number = dfg_zeros(replica->n_ticket, sizeof *number);
	struct dfg_err *err = feed && number ? NULL : dfg_no_memory("the plan of an update");
	uint32_t n = 0;
	for (uint32_t i = 0; i < replica->n_feed && !err; i++)
		if (!replica->sharded[i])
			feed[n++] = step->feeds[i];
	for (uint32_t i = 0; i < replica->n_ticket && !err; i++) {
		number[i] = dfg_replica_bucket(graph, replica->ticket[i].node);
		feed[n++] = (struct dfg_tensor){DFG_I64, DFG_SHAPE_SCALAR, &number[i], sizeof number[i], NULL};
	}
	if (!err)
		err = run_plan(step, feed);
	dfg_free(number);
	dfg_free(feed);
	return err;
}

static struct dfg_err *run_step(struct sharded_step *step, struct dfg_tensor *out_fetches)
{
	struct replica *replica = step->replica;
	for (uint32_t k = 0; k <= (replica->shards - 1) / step->replicas; k++)
		DFG_TRY(run_round(step, k));
	if (step->at.holds)
		DFG_TRY(dfg_group_take(step->group, step->taken, NULL));
	DFG_TRY(dfg_group_commit(step->group));
	DFG_TRY(dfg_replica_update(step));
	if (!replica->session->options.backend)
		dfg_trace_buckets(step->group, replica->session->options.trace, replica->session->options.trace_arg);
	return dfg_replica_merge(step, out_fetches);
}

static void release_values(struct dfg_tensor *value, size_t count)
{
	for (size_t i = 0; value && i < count; i++)
		dfg_tensor_release(&value[i]);
}

static uint32_t shards_with_rows(const struct sharded_step *step)
{
	uint32_t shards = step->replica->shards;
	return step->batch < shards ? (uint32_t)step->batch : shards;
}

/*
 * Begins a step, or begins it again. Which replica computes which shard changes from step to step, so that a slow one does
 * not always drop the same rows.
 */
static struct dfg_err *begin_step(struct sharded_step *step)
{
	const struct replica *replica = step->replica;
	const struct dfg_quorum *quorum = step->quorum;
	step->at = (struct dfg_group_step){.shards = replica->shards, .batch = step->batch};
	step->at.number = dfg_group_begin(step->group, replica->shards, step->batch);
	if (!quorum)
		return NULL;
	if (quorum->replay) {
		step->at.taken = step->taken;
		return dfg_group_take(step->group, step->taken, NULL);
	}
	dfg_group_hold(step->group);
	step->at.holds = true;
	step->at.turn = (uint32_t)(step->at.number % step->replicas);
	step->need = quorum->need < shards_with_rows(step) ? quorum->need : shards_with_rows(step);
	memset(step->taken, 0, replica->shards * sizeof *step->taken);
	return NULL;
}

/* Runs the step, again where replicas were lost and the others can repeat it. */
static struct dfg_err *run_until_done(struct sharded_step *step, struct dfg_tensor *out_fetches)
{
	struct replica *replica = step->replica;
	struct dfg_session_backend *backend = replica->session->options.backend;
	for (;;) {
		step->replicas = backend ? backend->replicas : 1;
		struct dfg_err *err = begin_step(step);
		if (!err)
			err = run_step(step, out_fetches);
		dfg_group_end(step->group);
		if (err && backend)
			DFG_TRY(backend->recover(backend, err));
		else
			return err;
		release_values(step->value, (size_t)replica->n_compute_fetch * replica->shards);
		release_values(step->updated, replica->n_update_fetch);
	}
}

/* A step that trains takes the shards of a quorum, where the session has one. */
static struct dfg_err *run_with_quorum(struct sharded_step *step, struct dfg_tensor *out_fetches)
{
	const struct replica *replica = step->replica;
	const struct dfg_quorum *quorum = replica->session->options.quorum;
	if (!quorum || !replica->update || !replica->n_ticket)
		return run_until_done(step, out_fetches);
	step->quorum = quorum;
	step->taken = dfg_zeros(replica->shards, sizeof *step->taken);
	struct dfg_err *err = step->taken ? NULL : dfg_no_memory("a sharded step");
	if (!err && quorum->replay)
		err = quorum->replay(quorum->arg, replica->shards, step->taken);
	if (!err)
		err = run_until_done(step, out_fetches);
	if (!err && (err = quorum->taken(quorum->arg, replica->shards, step->taken, shards_with_rows(step))))
		for (uint32_t i = 0; i < replica->n_fetch; i++)
			dfg_tensor_release(&out_fetches[i]);
	dfg_free(step->taken);
	return err;
}

struct dfg_err *dfg_replica_run(struct replica *replica, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_session_backend *backend = replica->session->options.backend;
	if (backend)
		DFG_TRY(backend->begin_step(backend));
	uint32_t replicas = backend ? backend->replicas : 1; /* fewer where the step is repeated */
	size_t values = (size_t)replica->n_compute_fetch * replica->shards;
	struct sharded_step step = {
		.replica = replica,
		.feeds = feeds,
		.run = dfg_zeros(replicas, sizeof *step.run),
		.shard_feed = dfg_zeros((size_t)replica->n_feed * replicas, sizeof *step.shard_feed),
		.value = dfg_zeros(values + 1, sizeof *step.value),
		.now = dfg_zeros((size_t)replica->n_compute_fetch * replicas + 1, sizeof *step.now),
		.updated = dfg_zeros((size_t)replica->n_update_fetch + 1, sizeof *step.updated),
	};
	bool all = step.run && step.shard_feed && step.value && step.now && step.updated;
	struct dfg_err *err = all ? dfg_replica_find_batch(&step) : dfg_no_memory("a sharded step");
	if (!err)
		err = dfg_group_of(&replica->session->state, &step.group);
	if (!err && replica->session->options.trace)
		dfg_group_measure(step.group);
	if (!err)
		err = run_with_quorum(&step, out_fetches);
	release_values(step.value, values);
	release_values(step.now, (size_t)replica->n_compute_fetch * replicas);
	release_values(step.updated, replica->n_update_fetch);
	dfg_free(step.run);
	dfg_free(step.shard_feed);
	dfg_free(step.value);
	dfg_free(step.now);
	dfg_free(step.updated);
	return err;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

void dfg_replica_stats(const struct replica *replica, struct dfg_stats *out_stats)
{
	struct dfg_stats update = {0};
	dfg_plan_stats(replica->compute, out_stats);
	if (!replica->update)
		return;
	dfg_plan_stats(replica->update, &update);
	out_stats->peak_bytes = larger(out_stats->peak_bytes, update.peak_bytes);
	out_stats->live_bytes = larger(out_stats->live_bytes, update.live_bytes);
	out_stats->packed_bytes = larger(out_stats->packed_bytes, update.packed_bytes);
	out_stats->peak_frames = larger(out_stats->peak_frames, update.peak_frames);
	out_stats->iterations += update.iterations;
	out_stats->dead_tokens += update.dead_tokens;
	out_stats->groups += update.groups;
	out_stats->grouped += update.grouped;
	out_stats->saves += update.saves;
	out_stats->left += update.left;
}
