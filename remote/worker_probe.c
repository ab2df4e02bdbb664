#include "remote/payload.h"
#include "remote/worker_private.h"

/*
 * Measures calls between workers: a client sends a payload to a server, which answers with nothing, or with the same
 * payload. A client has a fixed number of calls in progress at once, so a server knows how many it must remember.
 */
enum kind { PAYLOAD, ANSWER, FAILED, KINDS };
enum { CALL_MOST = 1 << 24, WINDOW_MOST = 1 << 10, WAITING_MOST = 1 << 20 };

/* A call in progress, on either side. */
struct probe_call {
	struct dfg_payload_call of;
	bool begun;
	uint32_t arrived; /* messages */
	uint64_t sent_ns;
	struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS];
};

struct probe {
	struct dfg_worker *worker;
	struct dfg_payload payload;
	struct dfg_tensor all; /* what this client sends if nothing is verified */
	struct dfg_encoder encoder;
	const uint32_t *client, *server; /* numbers of workers */
	uint32_t clients, servers;
	uint32_t rank; /* of this worker, among the clients or the servers */
	bool serves, echoes, verified;
	uint32_t window;       /* calls in progress, of a client at a server */
	uint64_t calls, warm;  /* of each client; the first of them are not timed */
	struct probe_call *at; /* a client's: by number; a server's: by client, then by number. Both modulo their count */
	uint64_t sent, done;
	uint64_t began_ns, coding_ns;
	uint64_t *ns; /* by call that is timed */
	unsigned in_vain;
};

/* The messages of probes that have arrived. */

struct dfg_err *dfg_probes_init(struct probes *probes)
{
	return pthread_mutex_init(&probes->lock, NULL) ? dfg_no_memory("the worker") : NULL;
}

void dfg_probes_release(struct probes *probes)
{
	for (size_t i = 0; i < probes->count; i++)
		dfg_tensor_release(&probes->list[i].message.tensor);
	dfg_free(probes->list);
	dfg_err_free(probes->failed);
	dfg_buffer_pool_free(probes->buffers);
	pthread_mutex_destroy(&probes->lock);
}

static struct dfg_err *add_message(struct probes *probes, uint32_t peer, const struct dfg_message *message)
{
	if (probes->count == WAITING_MOST)
		return DFG_ERR(DFG_PROTOCOL, "worker %u sent more calls than may be in progress", peer);
	if (!dfg_reserve(&probes->list, &probes->capacity, probes->count + 1, sizeof *probes->list))
		return dfg_no_memory("a message");
	probes->list[probes->count++] = (struct probe_message){peer, *message};
	return NULL;
}

void dfg_probes_fail(struct probes *probes, struct dfg_err *err)
{
	pthread_mutex_lock(&probes->lock);
	struct dfg_err *later = probes->failed ? err : NULL;
	probes->failed = later ? probes->failed : err;
	pthread_mutex_unlock(&probes->lock);
	dfg_err_free(later);
	dfg_event_signal(&probes->event);
}

void dfg_probes_deliver(struct probes *probes, uint32_t peer, struct dfg_message *message)
{
	pthread_mutex_lock(&probes->lock);
	struct dfg_err *err = add_message(probes, peer, message);
	pthread_mutex_unlock(&probes->lock);
	if (err)
		dfg_tensor_release(&message->tensor);
	if (err)
		dfg_probes_fail(probes, err);
	else
		dfg_event_signal(&probes->event);
}

/* The oldest message; false: there is none. */
static bool take_message(struct probes *probes, struct probe_message *out_message)
{
	pthread_mutex_lock(&probes->lock);
	bool any = probes->taken < probes->count;
	if (any)
		*out_message = probes->list[probes->taken++];
	if (probes->taken == probes->count)
		probes->taken = probes->count = 0;
	pthread_mutex_unlock(&probes->lock);
	return any;
}

static struct dfg_err *why_failed(struct probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	struct dfg_err *err = dfg_err_copy(probes->failed);
	pthread_mutex_unlock(&probes->lock);
	return err;
}

/* Sending. */

static struct dfg_err *send_one(
	struct probe *probe, uint32_t to, enum kind kind, uint64_t call, uint32_t number, const struct dfg_tensor *tensor)
{
	struct dfg_link *link = probe->worker->link[to];
	const struct dfg_message message = {.kind = DFG_MESSAGE_PROBE,
		.key = {.step = call, .number = number, .depth = 1, .iteration = {kind}},
		.tensor = tensor ? *tensor : (struct dfg_tensor){0}};
	if (!link)
		return DFG_ERR(DFG_PROTOCOL, "there is no link to worker %u", to);
	return dfg_err_note(link->kind->send(link, &message), "%s", probe->worker->name[to]);
}

static struct dfg_err *send_serialized(struct probe *probe, uint32_t to, enum kind kind, uint64_t call,
	const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	struct dfg_tensor message;
	uint64_t before = dfg_now();
	DFG_TRY(dfg_payload_write(&probe->encoder, buffer, &message));
	probe->coding_ns += dfg_now() - before;
	struct dfg_err *err = send_one(probe, to, kind, call, 0, &message);
	dfg_tensor_release(&message);
	return err;
}

static struct dfg_err *send_buffers(struct probe *probe, uint32_t to, enum kind kind, const struct dfg_payload_call *of,
	const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	if (probe->payload.serialized)
		return send_serialized(probe, to, kind, of->number, buffer);
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		if (dfg_payload_has(of, i))
			DFG_TRY(send_one(probe, to, kind, of->number, i, &buffer[i]));
	return NULL;
}

static void release_buffers(struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		dfg_tensor_release(&buffer[i]);
}

/* Sends the payload of a client's next call. Elements on their way must not change, so each verified call has its own. */
static struct dfg_err *begin_call(struct probe *probe, struct probe_call *call)
{
	struct dfg_tensor made = {0}, buffer[DFG_PAYLOAD_BUFFERS];
	*call = (struct probe_call){.begun = true, .sent_ns = dfg_now()};
	call->of = dfg_payload_call(&probe->payload, probe->worker->config.self, probe->sent++);
	if (probe->verified)
		DFG_TRY(dfg_payload_make(&probe->payload, &call->of, &made));
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		buffer[i] = dfg_payload_buffer(&call->of, probe->verified ? &made : &probe->all, i);
	uint32_t to = probe->server[call->of.number % probe->servers];
	struct dfg_err *err = send_buffers(probe, to, PAYLOAD, &call->of, buffer);
	release_buffers(buffer);
	dfg_tensor_release(&made);
	return err;
}

/* Receiving. */

static struct dfg_err *wrong(const struct probe_message *from)
{
	const struct dfg_transfer_key *key = &from->message.key;
	return DFG_ERR(DFG_PROTOCOL, "worker %u sent message %lld.%u of call %llu, which is not expected now", from->peer,
		(long long)key->iteration[0], key->number, (unsigned long long)key->step);
}

static uint32_t rank_of(const uint32_t *list, uint32_t count, uint32_t worker)
{
	uint32_t i = 0;
	while (i < count && list[i] != worker)
		i++;
	return i;
}

/* The call that a message belongs to; NULL: there is none. */
static struct probe_call *find_call(struct probe *probe, const struct probe_message *from)
{
	uint64_t number = from->message.key.step, turn = number % probe->servers;
	if (number >= probe->calls)
		return NULL;
	if (!probe->serves) {
		struct probe_call *call = &probe->at[number % (probe->window * probe->servers)];
		bool fits = call->begun && call->of.number == number && probe->server[turn] == from->peer;
		return fits ? call : NULL;
	}
	uint32_t client = rank_of(probe->client, probe->clients, from->peer);
	if (client == probe->clients || turn != probe->rank)
		return NULL;
	struct probe_call *call = &probe->at[client * probe->window + number / probe->servers % probe->window];
	if (!call->begun) {
		*call = (struct probe_call){.begun = true};
		call->of = dfg_payload_call(&probe->payload, from->peer, number);
	}
	return call->of.number == number ? call : NULL;
}

/* All messages of the payload are there: what the buffers are is known from now on. */
static struct dfg_err *complete(struct probe *probe, struct probe_call *call)
{
	if (probe->payload.serialized) {
		struct dfg_tensor message = call->buffer[0];
		uint64_t before = dfg_now();
		call->buffer[0] = (struct dfg_tensor){0};
		struct dfg_err *err = dfg_payload_read(&message, call->buffer);
		dfg_tensor_release(&message);
		DFG_TRY(err);
		probe->coding_ns += dfg_now() - before;
	}
	return probe->verified ? dfg_payload_verify(&call->of, call->buffer) : NULL;
}

static struct dfg_err *answer_call(struct probe *probe, struct probe_call *call)
{
	if (probe->echoes)
		return send_buffers(probe, call->of.from, ANSWER, &call->of, call->buffer);
	return send_one(probe, call->of.from, ANSWER, call->of.number, 0, NULL);
}

static void note_time(struct probe *probe, const struct probe_call *call)
{
	uint64_t now = dfg_now();
	if (call->of.number >= probe->warm)
		probe->ns[call->of.number - probe->warm] = now - call->sent_ns;
}

/* Takes a part of a call, and its tensor; the last one completes the call. */
static struct dfg_err *take_part(struct probe *probe, struct probe_message *from)
{
	const uint32_t number = from->message.key.number;
	struct probe_call *call = find_call(probe, from);
	bool carries = probe->serves || probe->echoes;
	if (!call || number >= DFG_PAYLOAD_BUFFERS || call->buffer[number].dtype || !from->message.tensor.dtype == carries)
		return wrong(from);
	call->buffer[number] = from->message.tensor;
	from->message.tensor = (struct dfg_tensor){0};
	if (++call->arrived < (carries ? dfg_payload_messages(&probe->payload, &call->of) : 1))
		return NULL;
	struct dfg_err *err = carries ? complete(probe, call) : NULL;
	if (!err && probe->serves)
		err = answer_call(probe, call);
	else if (!err)
		note_time(probe, call);
	release_buffers(call->buffer);
	call->begun = false;
	probe->done++;
	return err;
}

static struct dfg_err *take(struct probe *probe, struct probe_message *from)
{
	int64_t kind = from->message.key.iteration[0];
	struct dfg_err *err;
	if (kind == FAILED) {
		probe->worker->told = true;
		err = DFG_ERR(DFG_UNAVAILABLE, "%s has failed", probe->worker->name[from->peer]);
	} else {
		err = kind == (probe->serves ? PAYLOAD : ANSWER) ? take_part(probe, from) : wrong(from);
	}
	dfg_tensor_release(&from->message.tensor);
	return err;
}

/* Waits for a message, and takes it. */
static struct dfg_err *take_next(struct probe *probe)
{
	struct probes *probes = &probe->worker->probes;
	const uint32_t *peer = probe->serves ? probe->client : probe->server;
	uint32_t peers = probe->serves ? probe->clients : probe->servers, count = 0;
	struct dfg_link *link[DFG_LINK_DEPTH]; /* more are read by their own threads */
	struct probe_message message;
	for (uint32_t i = 0; i < peers && count < DFG_LINK_DEPTH; i++)
		if (probe->worker->link[peer[i]] && probe->worker->link[peer[i]]->kind->poll)
			link[count++] = probe->worker->link[peer[i]];
	for (;;) {
		uint32_t seen = atomic_load(&probes->event.word);
		if (take_message(probes, &message))
			return take(probe, &message);
		DFG_TRY(why_failed(probes));
		if (!dfg_poll_awhile(link, count, &probes->event, seen, &probe->in_vain))
			dfg_event_sleep(&probes->event, seen, 0);
	}
}

/* The run of a probe. */

static struct dfg_err *run_client(struct probe *probe)
{
	const uint32_t most = probe->window * probe->servers;
	probe->began_ns = dfg_now();
	while (probe->done < probe->calls) {
		struct probe_call *call = &probe->at[probe->sent % most];
		bool may_send = probe->sent < probe->calls && !call->begun;
		uint64_t done = probe->done;
		DFG_TRY(may_send ? begin_call(probe, call) : take_next(probe));
		if (probe->done == probe->warm && done != probe->done)
			probe->began_ns = dfg_now();
	}
	return NULL;
}

static struct dfg_err *run_server(struct probe *probe)
{
	uint64_t each = probe->calls / probe->servers + (probe->rank < probe->calls % probe->servers);
	while (probe->done < each * probe->clients)
		DFG_TRY(take_next(probe));
	return NULL;
}

static struct dfg_err *make_payload(struct probe *probe)
{
	const struct dfg_payload_call call = dfg_payload_call(&probe->payload, probe->worker->config.self, 0);
	probe->ns = dfg_zeros(probe->calls - probe->warm, sizeof *probe->ns);
	return probe->ns ? dfg_payload_make(&probe->payload, &call, &probe->all) : dfg_no_memory("the times of the calls");
}

/* Messages that arrive from now on use memory that was used before. */
static struct dfg_err *make_pool(struct dfg_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	struct dfg_err *err = worker->probes.buffers ? NULL : dfg_buffer_pool_new(&worker->probes.buffers);
	pthread_mutex_unlock(&worker->lock);
	return err;
}

static struct dfg_err *run_probe(struct probe *probe)
{
	const size_t calls = (size_t)probe->window * (probe->serves ? probe->clients : probe->servers);
	DFG_TRY(make_pool(probe->worker));
	if (!(probe->at = dfg_zeros(calls, sizeof *probe->at)))
		return dfg_no_memory("the calls in progress");
	if (!probe->serves)
		DFG_TRY(make_payload(probe));
	struct dfg_err *err = probe->serves ? run_server(probe) : run_client(probe);
	for (size_t i = 0; i < calls; i++)
		release_buffers(probe->at[i].buffer);
	return err;
}

/* The others would wait for this worker. */
static void tell_failure(struct probe *probe)
{
	const uint32_t *peer = probe->serves ? probe->client : probe->server;
	uint32_t peers = probe->serves ? probe->clients : probe->servers;
	for (uint32_t i = 0; i < peers && !probe->worker->told; i++)
		dfg_err_free(send_one(probe, peer[i], FAILED, 0, 0, NULL)); /* a lost peer knows it by itself */
}

/* Workers, each of them another one than this. */
static struct dfg_err *get_workers(
	const struct dfg_worker *worker, struct dfg_packet *request, const uint32_t **out_list, uint32_t *out_count)
{
	uint32_t count = dfg_packet_get_count(request, sizeof(uint64_t));
	uint32_t *list = dfg_zeros(count ? count : 1, sizeof *list);
	for (uint32_t i = 0; i < count && list; i++)
		list[i] = (uint32_t)dfg_packet_get_below(request, worker->config.workers);
	*out_list = list;
	*out_count = count;
	return list ? NULL : dfg_no_memory("a measurement");
}

static struct dfg_err *get_probe(struct probe *probe, struct dfg_packet *request)
{
	const struct dfg_worker *worker = probe->worker;
	probe->payload.count = (int64_t)dfg_packet_get_below(request, INT64_MAX / 4);
	probe->payload.pattern = (enum dfg_payload_pattern)dfg_packet_get_below(request, DFG_PAYLOAD_PATTERNS);
	probe->payload.serialized = dfg_packet_get_bool(request);
	probe->echoes = dfg_packet_get_bool(request);
	probe->verified = dfg_packet_get_bool(request);
	probe->window = (uint32_t)dfg_packet_get_below(request, WINDOW_MOST);
	probe->calls = dfg_packet_get_below(request, CALL_MOST);
	probe->warm = dfg_packet_get_below(request, CALL_MOST);
	DFG_TRY(get_workers(worker, request, &probe->client, &probe->clients));
	DFG_TRY(get_workers(worker, request, &probe->server, &probe->servers));
	DFG_TRY(dfg_packet_check(request));
	uint32_t client = rank_of(probe->client, probe->clients, worker->config.self);
	uint32_t server = rank_of(probe->server, probe->servers, worker->config.self);
	probe->serves = server < probe->servers;
	probe->rank = probe->serves ? server : client;
	bool takes_part = probe->serves != (client < probe->clients) && probe->clients && probe->servers;
	if (!takes_part || !probe->window || probe->payload.count < 1 || probe->calls <= probe->warm)
		return DFG_ERR(DFG_PROTOCOL, "calls from %u workers to %u others cannot be measured on this worker",
			probe->clients, probe->servers);
	return NULL;
}

static struct dfg_err *put_times(const struct probe *probe, struct dfg_packet *answer)
{
	uint64_t ns = dfg_now() - probe->began_ns, timed = probe->serves ? 0 : probe->calls - probe->warm;
	struct dfg_tensor times;
	DFG_TRY(dfg_tensor_new(DFG_U64, &DFG_SHAPE_VECTOR((int64_t)timed), &times));
	for (uint64_t i = 0; i < timed; i++)
		((uint64_t *)times.data)[i] = probe->ns[i];
	dfg_packet_put(answer, ns);
	dfg_packet_put(answer, probe->coding_ns);
	dfg_packet_put_tensor(answer, &times);
	dfg_tensor_release(&times);
	return NULL;
}

struct dfg_err *dfg_worker_probe(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct probe probe = {.worker = worker};
	struct dfg_err *err = get_probe(&probe, request);
	if (!err && (err = run_probe(&probe)))
		tell_failure(&probe);
	if (!err)
		err = put_times(&probe, answer);
	dfg_tensor_release(&probe.all);
	dfg_encoder_release(&probe.encoder);
	dfg_free((void *)probe.client);
	dfg_free((void *)probe.server);
	dfg_free(probe.at);
	dfg_free(probe.ns);
	return err;
}
