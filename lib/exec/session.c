#include "lib/exec/session.h"

#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/linear/linear.h"
#include "lib/exec/replica_private.h"

#include <string.h>

static struct dfg_err *begin_session(struct dfg_session *session)
{
	if (!session->options.backend) {
		DFG_TRY(dfg_buffer_pool_new(&session->buffers));
		DFG_TRY(dfg_prepared_blocks_new(&session->prepared));
		DFG_TRY(dfg_pool_new(session->options.threads, &session->pool));
		dfg_pool_set_denormals(session->pool, session->options.denormals);
		if (session->options.swap)
			DFG_TRY(dfg_spill_new(session->options.swap, session->options.limit, session->buffers, &session->spill));
	}
	DFG_TRY(dfg_state_init(&session->state));
	session->state.files = session->options.files;
	return NULL;
}

struct dfg_err *dfg_session_new(
	const struct dfg_graph *graph, const struct dfg_session_options *options, struct dfg_session **out_session)
{
	struct dfg_session *session = dfg_zeros(1, sizeof *session);
	if (!session)
		return dfg_no_memory("the session");
	if (pthread_mutex_init(&session->lock, NULL)) {
		dfg_free(session);
		return dfg_no_memory("the session");
	}
	session->graph = graph;
	if (options)
		session->options = *options;
	session->clock = (struct profile_clock){dfg_ticks(), dfg_now()};
	struct dfg_err *err = begin_session(session);
	if (err) {
		dfg_prepared_blocks_free(session->prepared);
		dfg_spill_free(session->spill);
		dfg_pool_free(session->pool);
		dfg_buffer_pool_free(session->buffers);
		pthread_mutex_destroy(&session->lock);
		dfg_free(session);
		return err;
	}
	*out_session = session;
	return NULL;
}

void dfg_session_free(struct dfg_session *session)
{
	if (!session)
		return;
	while (session->plans) {
		struct dfg_plan *plan = session->plans;
		session->plans = plan->next;
		dfg_plan_release(plan);
		dfg_free(plan);
	}
	dfg_prepared_blocks_free(session->prepared);
	dfg_state_release(&session->state);
	dfg_spill_free(session->spill);
	dfg_pool_free(session->pool);
	dfg_buffer_pool_free(session->buffers);
	pthread_mutex_destroy(&session->lock);
	dfg_free(session);
}

struct dfg_state *dfg_session_state(struct dfg_session *session)
{
	return &session->state;
}

struct dfg_err *dfg_session_tensor(
	struct dfg_session *session, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	return dfg_buffer_pool_tensor(session->buffers, dtype, shape, out_tensor);
}

static bool same_edges(const struct dfg_edge *a, uint32_t n_a, const struct dfg_edge *b, uint32_t n_b)
{
	if (n_a != n_b)
		return false;
	for (uint32_t i = 0; i < n_a; i++)
		if (!dfg_edge_same(a[i], b[i]))
			return false;
	return true;
}

static bool same_step(const struct dfg_step *a, const struct dfg_step *b)
{
	return same_edges(a->feed, a->n_feed, b->feed, b->n_feed) &&
		   same_edges(a->fetch, a->n_fetch, b->fetch, b->n_fetch) && a->n_target == b->n_target &&
		   (!a->n_target || !memcmp(a->target, b->target, a->n_target * sizeof *a->target));
}

static struct dfg_err *make_plan(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan)
{
	bool made = false;
	if (session->options.shards > 1)
		DFG_TRY(dfg_replica_plan(session, step, plan, &made));
	return made ? NULL : dfg_plan_make(session, step, plan);
}

static struct dfg_err *find_or_make(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan)
{
	for (struct dfg_plan *plan = session->plans; plan; plan = plan->next)
		if (same_step(&plan->step, step)) {
			*out_plan = plan;
			return NULL;
		}
	struct dfg_plan *plan = dfg_zeros(1, sizeof *plan);
	if (!plan)
		return dfg_no_memory("the plan of the step");
	struct dfg_err *err = make_plan(session, step, plan);
	if (err) {
		dfg_free(plan);
		return err;
	}
	plan->next = session->plans;
	*out_plan = session->plans = plan;
	return NULL;
}

struct dfg_err *dfg_session_plan(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan)
{
	uint64_t mode = dfg_float_mode_set(session->options.denormals); /* for constant folding */
	pthread_mutex_lock(&session->lock);
	struct dfg_err *err = find_or_make(session, step, out_plan);
	pthread_mutex_unlock(&session->lock);
	dfg_float_mode_restore(mode);
	return err;
}

struct dfg_err *dfg_plan_check_feeds(const struct dfg_plan *plan, const struct dfg_tensor *feeds)
{
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		const struct dfg_inferred *fact = &plan->feed[i];
		if (feeds[i].dtype != fact->dtype || !dfg_shape_fits(&feeds[i].shape, &fact->shape))
			return DFG_ERR(DFG_DATA, "feed '%s' is %s, must be %s", dfg_slot_words(plan, plan->first_feed + i).s,
				dfg_type_words(feeds[i].dtype, &feeds[i].shape).s, dfg_type_words(fact->dtype, &fact->shape).s);
	}
	return NULL;
}

static struct dfg_err *run_step(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches)
{
	struct dfg_session_backend *backend = plan->session->options.backend;
	if (plan->replica)
		return dfg_replica_run(plan->replica, feeds, out_fetches);
	DFG_TRY(dfg_plan_check_feeds(plan, feeds));
	if (backend)
		return backend->run(backend, plan->backend_plan, feeds, out_fetches);
	return plan->schedule ? dfg_linear_run(plan, feeds, control, out_fetches)
						  : dfg_dataflow_run(plan, feeds, control, out_fetches);
}

bool dfg_plan_has_rounds(const struct dfg_plan *plan)
{
	return plan->replica && plan->replica->has_rounds;
}

static struct dfg_err *not_asynchronous(void)
{
	return DFG_ERR(DFG_BUG, "only a step that trains on replicas with parameter servers can be asynchronous");
}

struct dfg_err *dfg_plan_start(struct dfg_plan *plan, const struct dfg_tensor *feeds)
{
	bool fits = plan->replica && plan->session->options.backend;
	return fits ? dfg_replica_start(plan->replica, feeds) : not_asynchronous();
}

struct dfg_err *dfg_plan_finish(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches, uint64_t *out_staleness)
{
	bool fits = plan->replica && plan->session->options.backend;
	return fits ? dfg_replica_finish(plan->replica, feeds, out_fetches, out_staleness) : not_asynchronous();
}

enum dfg_shard_state dfg_plan_shard(const struct dfg_plan *plan, uint32_t shard, uint64_t *out_clock)
{
	return dfg_replica_shard(plan->replica, shard, out_clock);
}

struct dfg_err *dfg_plan_start_shard(
	struct dfg_plan *plan, const struct dfg_shard *shard, const struct dfg_tensor *feeds, uint64_t *out_lag)
{
	return dfg_replica_start_shard(plan->replica, shard, feeds, out_lag);
}

struct dfg_err *dfg_plan_finish_shard(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, uint32_t wanted, uint32_t *out_shard)
{
	return dfg_replica_finish_shard(plan->replica, feeds, wanted, out_shard);
}

bool dfg_plan_has_step(const struct dfg_plan *plan)
{
	return dfg_replica_has_step(plan->replica);
}

struct dfg_err *dfg_plan_take_step(struct dfg_plan *plan, struct dfg_tensor *out_fetches)
{
	return dfg_replica_take_step(plan->replica, out_fetches);
}

struct dfg_err *dfg_plan_run_controlled(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches)
{
	uint64_t mode = dfg_float_mode_set(plan->session->options.denormals);
	struct dfg_err *err = run_step(plan, feeds, control, out_fetches);
	dfg_float_mode_restore(mode);
	return err;
}

struct dfg_err *dfg_plan_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	return dfg_plan_run_controlled(plan, feeds, NULL, out_fetches);
}

void dfg_plan_stats(const struct dfg_plan *plan, struct dfg_stats *out_stats)
{
	/* for the lock only; the fields that it protects are only read */
	struct dfg_plan *writable = (struct dfg_plan *)plan;
	struct dfg_session_backend *backend = plan->session->options.backend;
	if (plan->replica) {
		dfg_replica_stats(plan->replica, out_stats);
		return;
	}
	if (backend) {
		backend->stats(backend, plan->backend_plan, out_stats);
		return;
	}
	pthread_mutex_lock(&writable->lock);
	*out_stats = plan->stats;
	pthread_mutex_unlock(&writable->lock);
	out_stats->packed_bytes = dfg_prepared_bytes(plan->session->prepared);
	if (plan->session->spill)
		dfg_spill_tell(plan->session->spill, &out_stats->swapped);
}
