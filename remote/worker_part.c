#include "remote/worker_private.h"

#include "formats/bundle.h"
#include "lib/exec/bucket_trace.h"
#include "lib/pass/verify/verify.h"

static void note_event(void *arg, const struct dfg_trace_event *event)
{
	struct dfg_worker *worker = arg;
	struct dfg_packet *to = &worker->events;
	pthread_mutex_lock(&worker->trace_lock);
	dfg_packet_put_text(to, event->node);
	dfg_packet_put_text(to, event->op);
	dfg_packet_put_text(to, event->frame ? event->frame : "");
	dfg_packet_put(to, (uint64_t)event->depth);
	for (int i = 0; i < event->depth; i++)
		dfg_packet_put(to, (uint64_t)event->iteration[i]);
	dfg_packet_put(to, (uint64_t)event->thread);
	dfg_packet_put(to, event->dead);
	dfg_packet_put(to, event->sends);
	dfg_packet_put(to, event->transfer);
	dfg_packet_put(to, event->bucket);
	dfg_packet_put(to, event->begin_ns);
	dfg_packet_put(to, event->end_ns);
	dfg_packet_put(to, event->sent_ns);
	dfg_packet_put(to, event->reduced_ns);
	worker->n_events++;
	pthread_mutex_unlock(&worker->trace_lock);
}

void dfg_worker_drop_part(struct dfg_worker *worker)
{
	dfg_worker_leave_group(worker);
	pthread_mutex_lock(&worker->lock);
	struct dfg_session *session = worker->session;
	worker->session = NULL;
	pthread_mutex_unlock(&worker->lock);
	dfg_session_free(session);
	dfg_worker_drop_lane(worker);
	dfg_facts_release(&worker->facts);
	dfg_graph_release(&worker->part);
	dfg_arena_release(&worker->part_arena);
	dfg_tensor_release(&worker->bytes);
	worker->facts = (struct dfg_facts){0};
	worker->part = (struct dfg_graph){0};
	worker->plans = 0;
}

struct dfg_err *dfg_worker_part(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)answer;
	struct dfg_graph_options options = {0};
	struct dfg_verify_options verify = {0};
	struct dfg_session_options session = worker->config.session;
	dfg_worker_drop_part(worker);
	dfg_packet_get_tensor(request, &worker->bytes);
	DFG_TRY(dfg_packet_check(request));
	if (worker->bytes.dtype != DFG_U8)
		return DFG_ERR(DFG_PROTOCOL, "the launcher sent the graph as a tensor of type %s, expected u8",
			dfg_dtype_name(worker->bytes.dtype));
	DFG_TRY(dfg_graphdef_read(
		worker->bytes.data, dfg_tensor_bytes(&worker->bytes), &options, &worker->part_arena, &worker->part));
	worker->part.source = worker->config.peer[worker->config.self].name;
	DFG_TRY(dfg_verify(&worker->part, &verify, &worker->facts));
	session.rendezvous = worker->rendezvous;
	session.cancel = &worker->stop;
	session.trace = worker->config.trace ? note_event : NULL;
	session.trace_arg = worker;
	session.files = &dfg_bundle_files;
	session.device = worker->options.device;
	session.copies = dfg_worker_is_lane(worker) && worker->config.staleness;
	struct dfg_session *made;
	DFG_TRY(dfg_session_new(&worker->part, &session, &made));
	struct dfg_err *err = dfg_group_share(worker->group, dfg_session_state(made));
	dfg_group_measure(worker->group);
	if (!err && worker->exchange)
		err = dfg_row_exchange_share(worker->exchange, dfg_session_state(made));
	if (!err)
		err = dfg_worker_share_memory(worker);
	if (!err)
		err = dfg_worker_take_lane(worker, made);
	if (err) {
		dfg_session_free(made);
		dfg_worker_drop_lane(worker);
		return err;
	}
	pthread_mutex_lock(&worker->lock);
	worker->session = made;
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

static struct dfg_err *no_part(void)
{
	return DFG_ERR(DFG_PROTOCOL, "this worker has no part of a graph yet");
}

static struct dfg_err *get_edges(
	struct dfg_worker *worker, struct dfg_packet *request, const struct dfg_edge **out_edge, uint32_t *out_count)
{
	uint32_t count = *out_count = dfg_packet_get_count(request, 2 * sizeof(uint64_t));
	struct dfg_edge *edge = dfg_arena_zeros(&worker->part_arena, count, sizeof *edge);
	if (!edge)
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < count; i++) {
		edge[i] = (struct dfg_edge){dfg_packet_get_u32(request), (int32_t)dfg_packet_get(request)};
		bool there = edge[i].node < worker->part.count && edge[i].port >= 0 &&
					 (uint32_t)edge[i].port < dfg_facts_outputs(&worker->facts, edge[i].node);
		if (!there)
			return DFG_ERR(DFG_PROTOCOL,
				"the launcher requests output %d of node %u, which this worker's part of %u nodes does not have",
				edge[i].port, edge[i].node, worker->part.count);
	}
	*out_edge = edge;
	return NULL;
}

/* A handle has no meaning in another process: refused before the step, so that the launcher need not run it. */
static struct dfg_err *check_fetches(const struct dfg_worker *worker, const struct dfg_step *step)
{
	for (uint32_t i = 0; i < step->n_fetch; i++) {
		const struct dfg_edge *fetch = &step->fetch[i];
		enum dfg_dtype dtype = dfg_facts_of(&worker->facts, *fetch)->dtype;
		if (dfg_dtype_is_handle(dtype))
			return DFG_ERR(DFG_DATA, "fetch '%s:%d' is a %s, which cannot leave its worker",
				worker->part.node[fetch->node].name, fetch->port, dfg_dtype_name(dtype));
	}
	return NULL;
}

static struct dfg_err *get_targets(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_step *step)
{
	step->n_target = dfg_packet_get_count(request, sizeof(uint64_t));
	uint32_t *target = dfg_arena_zeros(&worker->part_arena, step->n_target, sizeof *target);
	if (!target)
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < step->n_target; i++)
		if ((target[i] = dfg_packet_get_u32(request)) >= worker->part.count)
			return DFG_ERR(DFG_PROTOCOL, "the launcher requests node %u, but this worker's part has %u nodes",
				target[i], worker->part.count);
	step->target = target;
	return NULL;
}

struct dfg_err *dfg_worker_plan(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct dfg_step step = {0};
	struct dfg_plan *plan;
	if (!worker->session)
		return no_part();
	DFG_TRY(get_edges(worker, request, &step.feed, &step.n_feed));
	DFG_TRY(get_edges(worker, request, &step.fetch, &step.n_fetch));
	DFG_TRY(get_targets(worker, request, &step));
	DFG_TRY(dfg_packet_check(request));
	DFG_TRY(check_fetches(worker, &step));
	DFG_TRY(dfg_session_plan(worker->session, &step, &plan));
	if (!dfg_reserve(&worker->plan, &worker->plan_capacity, worker->plans + 1, sizeof *worker->plan))
		return dfg_no_memory("the plan of the step");
	bool *ticket = dfg_arena_zeros(&worker->part_arena, step.n_feed, sizeof *ticket);
	if (!ticket)
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < step.n_feed; i++) {
		const struct dfg_op *op = worker->part.node[step.feed[i].node].op;
		ticket[i] = op && op->flags & DFG_CONTRIBUTES;
	}
	dfg_packet_put(answer, worker->plans);
	struct planned planned = {plan, step.n_feed, step.n_fetch, ticket, NULL, 0};
	DFG_TRY(dfg_worker_find_reads(worker, &step, &planned));
	worker->plan[worker->plans++] = planned;
	return NULL;
}

void dfg_worker_fail(struct dfg_worker *worker, uint64_t step, struct dfg_err *err)
{
	pthread_mutex_lock(&worker->lock);
	bool now = worker->running && worker->running <= step && !worker->committed;
	if (worker->failed < step)
		worker->failed = step;
	if (now) {
		atomic_store(&worker->stop, true);
		worker->told = true;
		dfg_group_fail(worker->group, DFG_ERR(err->code, "%s", err->text));
		if (worker->exchange)
			dfg_row_exchange_fail(worker->exchange, DFG_ERR(err->code, "%s", err->text));
		dfg_rendezvous_fail(worker->rendezvous, err);
	}
	pthread_mutex_unlock(&worker->lock);
	dfg_event_signal(&worker->event);
	if (!now)
		dfg_err_free(err);
}

enum { SKIPS = sizeof((struct dfg_worker *)NULL)->skipped / sizeof(uint64_t) };

void dfg_worker_skip(struct dfg_worker *worker, uint64_t step)
{
	pthread_mutex_lock(&worker->lock);
	worker->skipped[worker->skips++ % SKIPS] = step;
	bool now = worker->running == step;
	if (now) {
		atomic_store(&worker->stop, true);
		worker->told = true;
		dfg_group_fail(
			worker->group, DFG_ERR(DFG_STOPPED, "the step ended without this replica: enough others have finished it"));
		dfg_rendezvous_fail(worker->rendezvous,
			DFG_ERR(DFG_STOPPED, "the step ended without this replica: enough others have finished it"));
	}
	pthread_mutex_unlock(&worker->lock);
	dfg_event_signal(&worker->event);
}

struct dfg_err *dfg_worker_delay(struct dfg_worker *worker, uint64_t ns)
{
	uint64_t until = dfg_now() + ns;
	for (;;) {
		uint32_t seen = atomic_load(&worker->event.word);
		if (atomic_load(&worker->stop) || atomic_load(&worker->ended))
			return DFG_ERR(DFG_STOPPED, "the step has failed elsewhere");
		if (dfg_now() >= until)
			return NULL;
		dfg_event_wait_until(&worker->event, seen, until);
	}
}

static bool is_skipped(const struct dfg_worker *worker, uint64_t step)
{
	for (unsigned i = 0; i < SKIPS; i++)
		if (worker->skipped[i] == step)
			return true;
	return false;
}

static struct dfg_err *begin_step(struct dfg_worker *worker, uint64_t step)
{
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&worker->lock);
	bool ended = step <= worker->failed || is_skipped(worker, step);
	if (ended)
		err = DFG_ERR(DFG_STOPPED, "the step has failed elsewhere");
	worker->told = ended;
	if (!err) {
		atomic_store(&worker->stop, false);
		dfg_rendezvous_begin(worker->rendezvous, step);
		if (worker->exchange)
			dfg_row_exchange_begin(worker->exchange, step, worker->config.session.timeout);
		worker->running = step;
	}
	pthread_mutex_unlock(&worker->lock);
	return err;
}

struct dfg_err *dfg_worker_commit(struct dfg_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	struct dfg_err *err = worker->told ? DFG_ERR(DFG_STOPPED, "the step has failed elsewhere") : NULL;
	worker->committed = !err;
	pthread_mutex_unlock(&worker->lock);
	return err;
}

/* The number of values that were not received. */
static uint64_t end_step(struct dfg_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->running = 0;
	worker->committed = false;
	uint64_t left = dfg_rendezvous_end(worker->rendezvous);
	pthread_mutex_unlock(&worker->lock);
	return left;
}

/* Writes for which workers it waited, and how long. */
static void put_waits(const struct dfg_worker *worker, struct dfg_packet *answer)
{
	uint64_t peers = 0;
	for (uint32_t i = 0; i < worker->config.workers; i++)
		peers += dfg_rendezvous_waits(worker->rendezvous, i).waits != 0;
	dfg_packet_put(answer, peers);
	for (uint32_t i = 0; i < worker->config.workers; i++) {
		struct dfg_waited waited = dfg_rendezvous_waits(worker->rendezvous, i);
		if (!waited.waits)
			continue;
		dfg_packet_put(answer, i);
		dfg_packet_put(answer, waited.waits);
		dfg_packet_put(answer, waited.ns);
		dfg_packet_put(answer, waited.longest_ns);
		dfg_packet_put(answer, waited.longest);
	}
}

static void put_stats(
	struct dfg_worker *worker, const struct planned *planned, uint64_t left, struct dfg_packet *answer)
{
	struct dfg_stats stats = {0};
	if (planned->plan)
		dfg_plan_stats(planned->plan, &stats);
	dfg_packet_put(answer, stats.peak_bytes);
	dfg_packet_put(answer, stats.live_bytes);
	dfg_packet_put(answer, stats.packed_bytes);
	dfg_packet_put(answer, stats.iterations);
	dfg_packet_put(answer, stats.dead_tokens);
	dfg_packet_put(answer, stats.saves);
	dfg_packet_put(answer, stats.peak_frames);
	dfg_packet_put(answer, stats.left + left);
	for (uint32_t i = 0; i < worker->config.workers; i++) {
		struct dfg_sent now = dfg_worker_sent(worker, i);
		dfg_packet_put(answer, now.messages - worker->before[i].messages);
		dfg_packet_put(answer, now.bytes - worker->before[i].bytes);
		worker->before[i] = now;
	}
	put_waits(worker, answer);
	dfg_packet_put(answer, dfg_group_stale(worker->group));
	struct dfg_group_times times = dfg_group_times(worker->group);
	dfg_packet_put(answer, times.moving_ns);
	dfg_packet_put(answer, times.waited_ns);
}

static void put_events(struct dfg_worker *worker, struct dfg_packet *answer)
{
	pthread_mutex_lock(&worker->trace_lock);
	dfg_packet_put(answer, worker->n_events);
	dfg_packet_put_fields(answer, &worker->events);
	dfg_packet_release(&worker->events);
	worker->n_events = 0;
	pthread_mutex_unlock(&worker->trace_lock);
}

/* An update without a plan only ends the step of shards. */
static struct dfg_err *run_plan(struct dfg_worker *worker, const struct planned *planned,
	const struct sharded_run *shards, const struct dfg_tensor *feeds, struct dfg_tensor *fetch)
{
	DFG_TRY(dfg_worker_begin_shards(worker, planned, shards, feeds));
	bool runs = planned->plan && !shards->waits && !shards->ends;
	struct dfg_err *err = runs ? dfg_plan_run(planned->plan, feeds, fetch) : NULL;
	if (!err && worker->config.trace && shards->step && !shards->computes && !shards->waits)
		dfg_trace_buckets(worker->group, note_event, worker);
	dfg_worker_end_shards(worker, shards);
	if (!err && shards->partial && !shards->computes && !shards->waits)
		dfg_worker_tick(worker);
	return err;
}

static struct dfg_err *run_part(struct dfg_worker *worker, uint64_t step, const struct planned *planned,
	const struct sharded_run *shards, const struct dfg_tensor *feeds, struct dfg_packet *answer)
{
	struct dfg_tensor *fetch = dfg_zeros(planned->n_fetch, sizeof *fetch);
	if (!fetch)
		return dfg_no_memory("the results of the step");
	/* between the runs of a sharded step, sums are sent too */
	for (uint32_t i = 0; i < worker->config.workers && (!shards->step || worker->joined != shards->step); i++)
		worker->before[i] = dfg_worker_sent(worker, i);
	struct dfg_err *err = begin_step(worker, step);
	if (err) {
		dfg_free(fetch);
		return err;
	}
	err = run_plan(worker, planned, shards, feeds, fetch);
	uint64_t left = end_step(worker);
	if (!err)
		put_stats(worker, planned, left, answer);
	for (uint32_t i = 0; !err && i < planned->n_fetch; i++) {
		if (shards->wants_fetches)
			dfg_packet_put_tensor(answer, &fetch[i]);
		dfg_tensor_release(&fetch[i]);
	}
	if (!err)
		put_events(worker, answer);
	if (!err)
		dfg_worker_put_streams(worker, shards, answer);
	dfg_free(fetch);
	return err;
}

static struct dfg_err *run_step(struct dfg_worker *worker, struct dfg_packet *request, uint64_t step,
	const struct planned *planned, const struct sharded_run *shards, struct dfg_packet *answer)
{
	struct dfg_tensor *feed = dfg_zeros(planned->n_feed, sizeof *feed);
	if (!feed)
		return dfg_no_memory("the feeds of the step");
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < planned->n_feed && !err; i++)
		err = dfg_rows_get(request, worker->source, worker->sources, &feed[i]);
	if (!err)
		err = dfg_packet_check(request);
	if (!err)
		err = run_part(worker, step, planned, shards, feed, answer);
	for (uint32_t i = 0; i < planned->n_feed; i++)
		dfg_tensor_release(&feed[i]);
	dfg_free(feed);
	return err;
}

struct dfg_err *dfg_worker_step(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	static const struct planned none;
	uint64_t step = dfg_packet_get(request), number = dfg_packet_get(request);
	struct dfg_arena scratch = {0};
	struct sharded_run shards;
	if (!worker->session)
		return no_part();
	struct dfg_err *err = dfg_worker_get_shards(worker, request, &scratch, &shards);
	bool ends = shards.step && !shards.computes && number == DFG_NONE;
	if (!err && (!step || (number >= worker->plans && !ends)))
		err = DFG_ERR(DFG_PROTOCOL, "step %llu is to run plan number %llu, but this worker has %llu plans",
			(unsigned long long)step, (unsigned long long)number, (unsigned long long)worker->plans);
	if (!err)
		err = run_step(worker, request, step, ends ? &none : &worker->plan[number], &shards, answer);
	dfg_arena_release(&scratch);
	return err;
}

struct dfg_err *dfg_worker_cause(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	uint64_t number = dfg_packet_get(request);
	uint32_t transfer = dfg_packet_get_u32(request);
	int64_t iteration = (int64_t)dfg_packet_get(request);
	struct dfg_cause cause;
	DFG_TRY(dfg_packet_check(request));
	if (!worker->session)
		return no_part();
	if (number >= worker->plans)
		return DFG_ERR(DFG_PROTOCOL, "the launcher asks about plan number %llu, but this worker has %llu plans",
			(unsigned long long)number, (unsigned long long)worker->plans);
	dfg_plan_cause(worker->plan[number].plan, transfer, iteration, &cause);
	dfg_packet_put(answer, cause.transfer);
	dfg_packet_put(answer, (uint64_t)cause.iteration);
	dfg_packet_put_text(answer, cause.words);
	return NULL;
}

struct dfg_err *dfg_worker_variables(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	uint32_t count = dfg_packet_get_count(request, sizeof(uint64_t) + 1);
	if (!worker->session)
		return no_part();
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_variable_ref ref = {0, dfg_packet_get_text(request)};
		struct dfg_variable_fact fact;
		DFG_TRY(dfg_session_variables(worker->session, &ref, 1, &fact));
		dfg_packet_put(answer, fact.dtype);
		dfg_packet_put_shape(answer, &fact.shape);
		dfg_packet_put(answer, fact.set);
	}
	return dfg_packet_check(request);
}

struct dfg_err *dfg_worker_read(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct dfg_variable_ref ref = {0, dfg_packet_get_text(request)};
	struct dfg_tensor value;
	DFG_TRY(dfg_packet_check(request));
	if (!worker->session)
		return no_part();
	DFG_TRY(dfg_session_read(worker->session, &ref, &value));
	dfg_packet_put_tensor(answer, &value);
	dfg_tensor_release(&value);
	return NULL;
}

struct dfg_err *dfg_worker_assign(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)answer;
	struct dfg_variable_ref ref = {0, dfg_packet_get_text(request)};
	struct dfg_tensor value;
	dfg_packet_get_tensor(request, &value);
	struct dfg_err *err = dfg_packet_check(request);
	if (!err && !worker->session)
		err = no_part();
	if (!err)
		return dfg_session_assign(worker->session, &ref, &value);
	dfg_tensor_release(&value);
	return err;
}
