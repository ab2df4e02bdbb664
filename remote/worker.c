#include "remote/worker.h"

#include "remote/worker_private.h"

#include <unistd.h>

struct dfg_err *dfg_worker_new(const struct dfg_worker_options *options, struct dfg_worker **out_worker)
{
	struct dfg_worker *worker = dfg_zeros(1, sizeof *worker);
	if (!worker)
		return dfg_no_memory("the worker");
	worker->options = *options;
	struct dfg_err *err = dfg_inbox_init(&worker->inbox, &worker->event);
	if (!err && (pthread_mutex_init(&worker->lock, NULL) || pthread_mutex_init(&worker->trace_lock, NULL)))
		err = dfg_no_memory("the worker");
	if (!err)
		err = dfg_probes_init(&worker->probes);
	if (err)
		dfg_free(worker);
	else
		*out_worker = worker;
	return err;
}

static void end(struct dfg_worker *worker)
{
	atomic_store(&worker->ended, true);
	dfg_event_signal(&worker->event);
}

static void stop_guard(struct dfg_worker *worker)
{
	if (!worker->guarded)
		return;
	end(worker);
	dfg_event_signal(&worker->guard_event);
	pthread_join(worker->guard, NULL);
	worker->guarded = false;
}

void dfg_worker_free(struct dfg_worker *worker)
{
	if (!worker)
		return;
	stop_guard(worker);
	dfg_worker_drop_part(worker);
	dfg_worker_drop_sources(worker);
	dfg_rendezvous_free(worker->rendezvous);
	dfg_group_free(worker->group);
	dfg_probes_release(&worker->probes);
	dfg_row_exchange_free(worker->exchange);
	dfg_inbox_release(&worker->inbox);
	dfg_packet_release(&worker->words);
	dfg_packet_release(&worker->events);
	dfg_free(worker->plan);
	dfg_arena_release(&worker->arena);
	pthread_mutex_destroy(&worker->lock);
	pthread_mutex_destroy(&worker->trace_lock);
	dfg_free(worker);
}

/* The process ends: it cannot report an error, because the launcher is lost. */
static void orphan(struct dfg_worker *worker, enum dfg_code code, const char *why)
{
	if (atomic_exchange(&worker->ended, true))
		return;
	if (worker->options.orphaned)
		worker->options.orphaned(worker->options.arg, code, why);
	dfg_event_signal(&worker->event);
}

/*
 * If this process was stopped itself, as ^Z stops all together, it has received nothing: the launcher is not blamed for
 * that.
 */
static void *guard(void *arg)
{
	struct dfg_worker *worker = arg;
	uint64_t lease = (uint64_t)(worker->config.lease * 1e9), last = dfg_now();
	while (!atomic_load(&worker->ended)) {
		uint32_t seen = atomic_load(&worker->guard_event.word);
		uint64_t now = dfg_now();
		if (now - last > lease / 2)
			atomic_store(&worker->heard, now);
		last = now;
		if (now >= dfg_link_heard(atomic_load(&worker->launcher), atomic_load(&worker->heard)) + lease) {
			orphan(worker, DFG_UNAVAILABLE, "the launcher is silent");
			break;
		}
		dfg_event_wait_until(&worker->guard_event, seen, now + lease / 10);
	}
	return NULL;
}

/* Makes the links to the other workers, and the rendezvous. */
static struct dfg_err *connect_all(struct dfg_worker *worker)
{
	uint32_t workers = worker->config.workers;
	worker->device = dfg_arena_zeros(&worker->arena, workers, sizeof *worker->device);
	worker->name = dfg_arena_zeros(&worker->arena, workers, sizeof *worker->name);
	worker->link = dfg_arena_zeros(&worker->arena, workers, sizeof *worker->link);
	worker->before = dfg_arena_zeros(&worker->arena, workers, sizeof *worker->before);
	if (!worker->device || !worker->name || !worker->link || !worker->before)
		return dfg_no_memory("the worker");
	uint32_t width = dfg_worker_width(worker), first = dfg_worker_replica(worker) * width;
	for (uint32_t i = 0; i < workers; i++) {
		/* a plan names the devices of the first replica; only those of this worker's own are known by it */
		worker->device[i] = i - first < width ? worker->config.peer[i - first].device : "";
		worker->name[i] = worker->config.peer[i].name;
	}
	DFG_TRY(worker->options.reach(worker->options.arg, &worker->config, worker->link));
	struct dfg_rendezvous_options options = {.self = worker->config.self,
		.device = worker->device,
		.name = worker->name,
		.workers = workers,
		.link = worker->link};
	struct dfg_rendezvous *rendezvous;
	DFG_TRY(dfg_rendezvous_new(&options, &rendezvous));
	atomic_store(&worker->rendezvous, rendezvous);
	if (worker->config.spmd)
		DFG_TRY(dfg_worker_make_exchange(worker));
	return dfg_worker_make_group(worker);
}

static struct dfg_err *set_up(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	if (worker->rendezvous)
		return DFG_ERR(DFG_PROTOCOL, "this worker is already configured");
	worker->words = *request; /* text that was read from it points into it */
	*request = (struct dfg_packet){0};
	dfg_packet_put_text(answer, worker->options.products ? worker->options.products : "");
	DFG_TRY(dfg_worker_config_get(&worker->words, &worker->arena, &worker->config));
	return connect_all(worker);
}

/* The first request after the configuration: the launcher knows that all workers are linked. */
static struct dfg_err *begin_work(struct dfg_worker *worker)
{
	if (worker->options.linked)
		worker->options.linked(worker->options.arg);
	worker->linked = true;
	atomic_store(&worker->heard, dfg_now());
	if (!(worker->config.lease > 0))
		return NULL;
	worker->guarded = !pthread_create(&worker->guard, NULL, guard, worker);
	return worker->guarded ? NULL : DFG_ERR(DFG_MEMORY, "cannot start a thread");
}

static struct dfg_err *do_request(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	static const struct {
		enum dfg_packet_kind kind;
		dfg_request_fn *run;
	} row[] = {
		{DFG_PACKET_SETUP, set_up},
		{DFG_PACKET_PART, dfg_worker_part},
		{DFG_PACKET_PLAN, dfg_worker_plan},
		{DFG_PACKET_RUN, dfg_worker_step},
		{DFG_PACKET_VARIABLES, dfg_worker_variables},
		{DFG_PACKET_READ, dfg_worker_read},
		{DFG_PACKET_ASSIGN, dfg_worker_assign},
		{DFG_PACKET_SOURCE, dfg_worker_source},
		{DFG_PACKET_ROWS, dfg_worker_rows},
		{DFG_PACKET_CAUSE, dfg_worker_cause},
		{DFG_PACKET_STATE, dfg_worker_state},
		{DFG_PACKET_ADOPT, dfg_worker_adopt},
		{DFG_PACKET_EPOCH, dfg_worker_epoch},
		{DFG_PACKET_DIGESTS, dfg_worker_digests},
		{DFG_PACKET_CLOCK, dfg_worker_clock},
		{DFG_PACKET_BENCH, dfg_worker_bench},
		{DFG_PACKET_PROBE, dfg_worker_probe},
		{DFG_PACKET_PEER, dfg_worker_peer},
	};
	if (!worker->rendezvous && request->kind != DFG_PACKET_SETUP)
		return DFG_ERR(DFG_PROTOCOL, "this worker is not configured yet");
	if (worker->rendezvous && !worker->linked)
		DFG_TRY(begin_work(worker));
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (row[i].kind == request->kind)
			return row[i].run(worker, request, answer);
	return DFG_ERR(DFG_PROTOCOL, "a request has the unknown kind %u", (unsigned)request->kind);
}

static struct dfg_err *answer_request(struct dfg_worker *worker, struct dfg_packet *request)
{
	struct dfg_packet answer = {0}, body = {.kind = DFG_PACKET_ANSWER, .number = request->number};
	worker->told = false;
	dfg_packet_put_error(&body, NULL);
	struct dfg_err *err = do_request(worker, request, &body);
	if (!err)
		err = dfg_packet_check(&body);
	if (!err)
		return dfg_packet_send(&body, worker->launcher);
	answer.kind = body.kind;
	answer.number = body.number;
	dfg_packet_release(&body);
	dfg_packet_put_error(&answer, err);
	dfg_packet_put(&answer, worker->told);
	dfg_err_free(err);
	return dfg_packet_send(&answer, worker->launcher);
}

struct dfg_err *dfg_worker_run(struct dfg_worker *worker, struct dfg_link *launcher)
{
	struct dfg_err *err = NULL;
	unsigned in_vain = 0;
	uint64_t until = dfg_now() + (uint64_t)(worker->options.patience * 1e9);
	atomic_store(&worker->launcher, launcher);
	atomic_store(&worker->heard, dfg_now());
	while (!err && !atomic_load(&worker->ended)) {
		struct dfg_packet request;
		bool waits = worker->options.patience > 0 && !worker->rendezvous;
		if (waits && dfg_now() >= until) {
			err = DFG_ERR(DFG_UNAVAILABLE, "no launcher has come within %g s", worker->options.patience);
			break;
		}
		uint32_t seen = atomic_load(&worker->event.word);
		if (!dfg_inbox_take(&worker->inbox, &request)) {
			if (!dfg_poll_awhile(&launcher, 1, &worker->event, seen, &in_vain))
				dfg_event_sleep(&worker->event, seen, waits ? until : 0);
			continue;
		}
		if (request.kind == DFG_PACKET_END)
			atomic_store(&worker->ended, true);
		else
			err = answer_request(worker, &request);
		dfg_packet_release(&request);
	}
	stop_guard(worker);
	return err;
}

static void pong(struct dfg_worker *worker, uint64_t number)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_PONG, .number = number};
	struct dfg_link *launcher = atomic_load(&worker->launcher);
	if (!launcher)
		return;
	dfg_packet_put(&packet, dfg_now());
	dfg_err_free(dfg_packet_send(&packet, launcher)); /* on failure the end of the link is reported separately */
}

bool dfg_worker_leave(struct dfg_worker *worker)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_LEAVE};
	struct dfg_link *launcher = atomic_load(&worker->launcher);
	if (!atomic_load(&worker->group) || !worker->config.elastic || !launcher)
		return false;
	struct dfg_err *err = dfg_packet_send(&packet, launcher);
	bool sent = !err;
	dfg_err_free(err); /* the launcher is lost: the end of the link is reported separately */
	return sent;
}

/* Handles the requests that do not wait for a running step. */
static struct dfg_err *do_at_once(struct dfg_worker *worker, const struct dfg_message *message)
{
	struct dfg_packet packet;
	if (message->key.number == DFG_PACKET_PING) {
		pong(worker, message->key.step);
		return NULL;
	}
	DFG_TRY(dfg_packet_of(DFG_LAUNCHER, message, &packet));
	uint64_t step = dfg_packet_get(&packet);
	bool skips = message->key.number == DFG_PACKET_SKIP;
	struct dfg_err *err = skips ? NULL : dfg_packet_get_error(&packet);
	dfg_packet_release(&packet);
	if (skips && atomic_load(&worker->rendezvous))
		dfg_worker_skip(worker, step);
	if (err)
		dfg_worker_fail(worker, step, err);
	return NULL;
}

static struct dfg_err *take_control(struct dfg_worker *worker, uint32_t peer, struct dfg_message *message)
{
	if (peer != DFG_LAUNCHER)
		return DFG_ERR(DFG_PROTOCOL, "another worker sent a request that only the launcher may send");
	atomic_store(&worker->heard, dfg_now());
	bool at_once = message->key.number == DFG_PACKET_PING || message->key.number == DFG_PACKET_FAIL ||
				   message->key.number == DFG_PACKET_SKIP;
	if (at_once)
		return do_at_once(worker, message);
	return dfg_inbox_deliver(&worker->inbox, peer, message);
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct dfg_worker *worker = arg;
	if (message->kind == DFG_MESSAGE_REDUCE && worker->group) {
		uint32_t width = dfg_worker_width(worker);
		bool same_part = peer % width == worker->config.self % width;
		dfg_group_deliver(worker->group, same_part ? peer / width : DFG_NONE, message);
		return;
	}
	if (message->kind == DFG_MESSAGE_PROBE) {
		dfg_probes_deliver(&worker->probes, peer, message);
		return;
	}
	if (message->kind == DFG_MESSAGE_ROWS && worker->exchange) {
		dfg_row_exchange_deliver(worker->exchange, peer, message);
		return;
	}
	if (message->kind != DFG_MESSAGE_CONTROL && worker->rendezvous) {
		dfg_rendezvous_deliver(worker->rendezvous, peer, message);
		return;
	}
	struct dfg_err *err = message->kind == DFG_MESSAGE_CONTROL ? take_control(worker, peer, message) : NULL;
	dfg_tensor_release(&message->tensor);
	if (err)
		orphan(worker, err->code, err->text);
	dfg_err_free(err);
}

/* The running step reports the loss to the launcher; if none runs, the next one does. */
static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct dfg_worker *worker = arg;
	if (peer == DFG_LAUNCHER) {
		orphan(worker, err->code, err->text);
		dfg_err_free(err);
		return;
	}
	if (worker->group)
		dfg_group_lost(worker->group, peer / dfg_worker_width(worker),
			DFG_ERR(err->code, "worker w%u is lost: %s", peer, err->text));
	dfg_probes_fail(&worker->probes, DFG_ERR(err->code, "worker w%u is lost: %s", peer, err->text));
	if (worker->exchange)
		dfg_row_exchange_lost(worker->exchange, DFG_ERR(err->code, "worker w%u is lost: %s", peer, err->text));
	bool same_replica = worker->rendezvous && peer / dfg_worker_width(worker) == dfg_worker_replica(worker);
	if (same_replica) /* no tensor goes to another one */
		dfg_rendezvous_lost(worker->rendezvous, peer, err);
	else
		dfg_err_free(err);
}

/* Allocates from the session's buffers, which are reused from step to step. */
static struct dfg_err *allocate(
	void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	struct dfg_worker *worker = arg;
	pthread_mutex_lock(&worker->lock);
	struct dfg_err *err;
	if (worker->session)
		err = dfg_session_tensor(worker->session, dtype, shape, out_tensor);
	else if (worker->probes.buffers)
		err = dfg_buffer_pool_tensor(worker->probes.buffers, dtype, shape, out_tensor);
	else
		err = dfg_tensor_new(dtype, shape, out_tensor);
	pthread_mutex_unlock(&worker->lock);
	return err;
}

/* Memory that the replicas of this worker's part share. */
static void passed(void *arg, uint32_t peer, uint64_t tag, int fd)
{
	struct dfg_worker *worker = arg;
	bool known = worker->group && peer != DFG_LAUNCHER;
	uint32_t width = known ? dfg_worker_width(worker) : 1;
	if (known && peer % width == worker->config.self % width)
		dfg_group_passed(worker->group, peer / width, tag, fd);
	else
		close(fd);
}

struct dfg_link_sink dfg_worker_sink(struct dfg_worker *worker)
{
	return (struct dfg_link_sink){
		.arg = worker, .deliver = deliver, .lost = lost, .allocate = allocate, .passed = passed};
}
