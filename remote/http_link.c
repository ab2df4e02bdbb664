#include "remote/http_links_private.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { SIGN_OF_LIFE_MS = 4000, ASLEEP_MS = 1000 };

/* The decoder's callback for a message. */
static void message_arrived(void *arg, struct dfg_message *message)
{
	struct dfg_exchange *exchange = arg;
	struct dfg_http_links_link *link = exchange->link;
	if (link->broken || exchange != link->source) {
		dfg_tensor_release(&message->tensor);
		dfg_exchange_breaks(exchange, DFG_ERR(DFG_PROTOCOL, "sent a message on a stream that may carry only credit"));
		return;
	}
	__atomic_fetch_add(&link->base.counts.received_messages, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&link->base.counts.received_bytes, dfg_message_bytes(message), __ATOMIC_RELAXED);
	dfg_http_links_arrives(link, message);
}

static void credit_arrived(void *arg, uint64_t credit)
{
	struct dfg_exchange *exchange = arg;
	dfg_send_queue_credit(&exchange->send_queue, credit);
	dfg_exchange_has_to_say(exchange);
}

void dfg_exchange_has_to_say(struct dfg_exchange *exchange)
{
	atomic_store(&exchange->has_to_say, true);
	atomic_store(&exchange->link->http->work, true);
}

void dfg_exchange_stands(struct dfg_exchange *exchange)
{
	struct dfg_http_links *http = exchange->link->http;
	exchange->said_ns = dfg_about_now_ns();
	atomic_store_explicit(&exchange->heard_ns, exchange->said_ns, memory_order_relaxed);
	pthread_mutex_lock(&http->state);
	exchange->stands = true;
	pthread_cond_broadcast(&http->changed);
	pthread_mutex_unlock(&http->state);
	dfg_exchange_has_to_say(exchange);
}

static void give_credit(struct dfg_exchange *exchange)
{
	struct dfg_message_decoder *decoder = &exchange->decoder;
	if (decoder->credit_given - decoder->taken > DFG_CREDIT / 4 * 3)
		return;
	decoder->credit_given = decoder->taken + DFG_CREDIT;
	dfg_send_queue_grant(&exchange->send_queue, decoder->credit_given);
	dfg_exchange_has_to_say(exchange);
}

bool dfg_exchange_hears(struct dfg_exchange *exchange, const uint8_t *bytes, size_t count)
{
	if (exchange->link->broken)
		return false;
	atomic_store_explicit(&exchange->heard_ns, dfg_about_now_ns(), memory_order_relaxed);
	struct dfg_err *err = dfg_message_decoder_push(&exchange->decoder, bytes, count);
	if (err)
		dfg_exchange_breaks(exchange, err);
	else
		give_credit(exchange);
	return !exchange->link->broken;
}

size_t dfg_exchange_says(struct dfg_exchange *exchange, uint8_t *to, size_t capacity)
{
	size_t count = exchange->link->broken ? 0 : dfg_send_queue_pull(&exchange->send_queue, to, capacity);
	if (count)
		exchange->said_ns = dfg_about_now_ns();
	return count;
}

void dfg_exchange_breaks(struct dfg_exchange *exchange, struct dfg_err *err)
{
	struct dfg_http_links_link *link = exchange->link;
	if (link->broken || atomic_load(&link->lost)) {
		dfg_err_free(err);
		return;
	}
	link->broken = dfg_err_note(err, "%s", dfg_peer_words(link->base.peer).s);
	link->http->unsettled = true;
}

static void end_exchanges(struct dfg_http_links_link *link)
{
	for (int i = 0; i < 2; i++) {
		struct dfg_exchange *exchange = &link->exchange[i];
		const struct dfg_transport *transport = exchange->transport;
		exchange->transport = NULL;
		if (transport)
			transport->end(exchange->of);
	}
}

void dfg_http_links_lose(struct dfg_http_links_link *link)
{
	struct dfg_http_links *http = link->http;
	struct dfg_err *err = link->broken;
	end_exchanges(link);
	pthread_mutex_lock(&http->state);
	link->why = DFG_ERR(err->code, "%s", err->text);
	link->broken = NULL;
	atomic_store(&link->lost, true);
	pthread_cond_broadcast(&http->changed);
	pthread_mutex_unlock(&http->state);
	http->sink.lost(http->sink.arg, link->base.peer, err);
}

/* Checks the peer's silence, and sends our heartbeats. */
static void tick_exchange(struct dfg_exchange *exchange, uint64_t now)
{
	const struct dfg_http_links *http = exchange->link->http;
	uint64_t lease = atomic_load(&http->lease_ns), sign = (uint64_t)SIGN_OF_LIFE_MS * 1000000;
	uint64_t silent = now - exchange->heard_ns;
	if (!exchange->stands) {
		if (silent >
			dfg_http_links_at_least_patience(http, (uint64_t)(DFG_HTTP_CONNECT_MS + DFG_HTTP_PATIENCE_MS) * 1000000))
			dfg_exchange_breaks(exchange, DFG_ERR(DFG_UNAVAILABLE, "did not answer the request"));
	} else if (silent > dfg_http_links_at_least_patience(http, lease)) {
		dfg_exchange_breaks(exchange, DFG_ERR(DFG_UNAVAILABLE, "silent for %.1f s", (double)silent / 1e9));
	} else if (now - exchange->said_ns > (lease / 4 < sign ? lease / 4 : sign)) {
		dfg_send_queue_grant(&exchange->send_queue, exchange->decoder.credit_given);
		dfg_exchange_has_to_say(exchange);
	}
}

void dfg_http_links_tick(struct dfg_http_links *http, uint64_t now)
{
	/* If this process itself was stopped, the messages that arrived meanwhile are read first. */
	bool was_asleep = now - http->tick_ns > (uint64_t)ASLEEP_MS * 1000000;
	for (struct dfg_http_links_link *link = http->links; link; link = link->next)
		for (int i = 0; i < 2; i++) {
			struct dfg_exchange *exchange = &link->exchange[i];
			if (!exchange->transport || link->broken)
				continue;
			if (was_asleep)
				exchange->heard_ns = now;
			tick_exchange(exchange, now);
		}
}

static struct dfg_err *is_lost(struct dfg_http_links_link *link)
{
	pthread_mutex_lock(&link->http->state);
	struct dfg_err *err = DFG_ERR(DFG_UNAVAILABLE, "%s", link->why->text);
	pthread_mutex_unlock(&link->http->state);
	return err;
}

static struct dfg_err *link_send(struct dfg_link *base, const struct dfg_message *message)
{
	struct dfg_http_links_link *link = (struct dfg_http_links_link *)base;
	if (atomic_load(&link->lost))
		return is_lost(link);
	DFG_TRY(dfg_send_queue_put(&link->carrier->send_queue, message));
	__atomic_fetch_add(&base->counts.sent_messages, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&base->counts.sent_bytes, dfg_message_bytes(message), __ATOMIC_RELAXED);
	dfg_exchange_has_to_say(link->carrier);
	if (dfg_http_links_try_send(link->http))
		dfg_http_links_unlock(link->http);
	return NULL;
}

/* All links are read at once, by the thread that polls next. */
static bool link_poll(struct dfg_link *base)
{
	struct dfg_http_links_link *link = (struct dfg_http_links_link *)base;
	struct dfg_http_links *http = link->http;
	uint64_t reads = atomic_load_explicit(&http->poll_reads, memory_order_relaxed);
	if (atomic_load_explicit(&link->seen_reads, memory_order_relaxed) != reads) {
		atomic_store_explicit(&link->seen_reads, reads, memory_order_relaxed);
		return false;
	}
	atomic_fetch_add_explicit(&http->polls, 1, memory_order_relaxed);
	if (pthread_mutex_trylock(&http->io))
		return false;
	bool delivered = dfg_http_links_drive(http);
	atomic_store_explicit(&http->poll_reads, reads + 1, memory_order_relaxed);
	atomic_store_explicit(&link->seen_reads, reads + 1, memory_order_relaxed);
	dfg_http_links_unlock(http);
	return delivered;
}

static void link_idle(struct dfg_link *base)
{
	struct dfg_http_links *http = ((struct dfg_http_links_link *)base)->http;
	atomic_store(&http->polls_rested, atomic_load(&http->polls));
	dfg_event_signal(&http->rested);
}

static uint64_t link_heard(const struct dfg_link *base)
{
	const struct dfg_http_links_link *link = (const struct dfg_http_links_link *)base;
	return atomic_load_explicit(&link->source->heard_ns, memory_order_relaxed);
}

static void free_link(struct dfg_http_links_link *link)
{
	for (int i = 0; i < 2; i++) {
		dfg_message_decoder_release(&link->exchange[i].decoder);
		dfg_send_queue_release(&link->exchange[i].send_queue);
	}
	dfg_err_free(link->broken);
	dfg_err_free(link->why);
	dfg_free(link);
}

static void link_close(struct dfg_link *base)
{
	struct dfg_http_links_link *link = (struct dfg_http_links_link *)base, **at;
	struct dfg_http_links *http = link->http;
	pthread_mutex_lock(&http->io);
	end_exchanges(link);
	for (at = &http->links; *at && *at != link; at = &(*at)->next)
		continue;
	if (*at)
		*at = link->next;
	dfg_http_links_forget(http, link);
	dfg_http_links_unlock(http);
	free_link(link);
}

const struct dfg_link_kind dfg_http_links_link_kind = {.name = "libcurl",
	.send = link_send,
	.poll = link_poll,
	.idle = link_idle,
	.heard = link_heard,
	.close = link_close};

static struct dfg_err *init_exchange(struct dfg_http_links_link *link, int which)
{
	struct dfg_exchange *exchange = &link->exchange[which];
	link->used[which] = true;
	exchange->link = link;
	exchange->decoder = (struct dfg_message_decoder){.sink = link->http->sink,
		.limit = link->http->tensor_bytes,
		.arg = exchange,
		.message = message_arrived,
		.credit = credit_arrived,
		.credit_given = DFG_CREDIT};
	return dfg_send_queue_init(&exchange->send_queue);
}

static struct dfg_err *new_link(
	struct dfg_http_links *http, uint32_t peer, bool ours, struct dfg_http_links_link **out_link)
{
	bool one = peer == DFG_LAUNCHER || http->self == DFG_LAUNCHER;
	struct dfg_http_links_link *link = dfg_zeros(1, sizeof *link);
	if (!link)
		return dfg_no_memory("an HTTP link");
	*link = (struct dfg_http_links_link){.base = {.kind = &dfg_http_links_link_kind, .peer = peer}, .http = http};
	link->carrier = &link->exchange[ours ? DFG_OURS : DFG_THEIRS];
	link->source = one ? link->carrier : &link->exchange[DFG_THEIRS];
	struct dfg_err *err = ours || !one ? init_exchange(link, DFG_OURS) : NULL;
	if (!err && (!ours || !one))
		err = init_exchange(link, DFG_THEIRS);
	if (err)
		free_link(link);
	else
		*out_link = link;
	return err;
}

/* Adds the link to the list, unless the peer has one already; the caller holds io. */
static struct dfg_err *enlist(struct dfg_http_links_link *link)
{
	struct dfg_http_links *http = link->http;
	for (struct dfg_http_links_link *other = http->links; other; other = other->next)
		if (other->base.peer == link->base.peer)
			return DFG_ERR(DFG_BUG, "internal error: there is already a link to %s", dfg_peer_words(link->base.peer).s);
	link->next = http->links;
	http->links = link;
	return NULL;
}

static struct dfg_err *open_link(
	struct dfg_http_links *http, struct dfg_http_links_link *link, const char *address, const char *fingerprint)
{
	DFG_TRY(enlist(link));
	if (link->used[DFG_OURS]) {
		if (!http->client)
			DFG_TRY(dfg_client_new(http, &http->client));
		DFG_TRY(dfg_client_post(http->client, &link->exchange[DFG_OURS], address, fingerprint));
	}
	if (link->used[DFG_THEIRS])
		dfg_server_admit(http->server, link->base.peer);
	return NULL;
}

static struct dfg_err *make_link(struct dfg_http_links *http, struct dfg_http_links_link *link, const char *address,
	const char *fingerprint, struct dfg_link **out_link)
{
	pthread_mutex_lock(&http->io);
	*out_link = &link->base; /* before it is opened: a waiting peer may have sent messages already */
	struct dfg_err *err = open_link(http, link, address, fingerprint);
	if (err)
		*out_link = NULL;
	dfg_http_links_unlock(http);
	dfg_http_links_wake(http);
	err = dfg_err_note(err, "%s", dfg_peer_words(link->base.peer).s);
	if (err)
		link_close(&link->base);
	return err;
}

struct dfg_err *dfg_http_links_connect(struct dfg_http_links *http, uint32_t peer, const char *address,
	const char *fingerprint, struct dfg_link **out_link)
{
	struct dfg_http_links_link *link;
	if (!http->server && http->self != DFG_LAUNCHER)
		return DFG_ERR(DFG_BUG, "internal error: a worker that does not listen cannot have links to other workers");
	DFG_TRY(new_link(http, peer, true, &link));
	return make_link(http, link, address, fingerprint, out_link);
}

struct dfg_err *dfg_http_links_expect(struct dfg_http_links *http, uint32_t peer, struct dfg_link **out_link)
{
	struct dfg_http_links_link *link;
	if (!http->server || (peer != DFG_LAUNCHER && http->self != DFG_LAUNCHER))
		return DFG_ERR(DFG_BUG, "internal error: %s never connects to this process", dfg_peer_words(peer).s);
	DFG_TRY(new_link(http, peer, false, &link));
	return make_link(http, link, NULL, NULL, out_link);
}

struct dfg_exchange *dfg_http_links_theirs(struct dfg_http_links *http, uint32_t peer, bool *out_twice)
{
	for (struct dfg_http_links_link *link = http->links; link; link = link->next)
		if (link->base.peer == peer && link->used[DFG_THEIRS] && !atomic_load(&link->lost)) {
			*out_twice = link->exchange[DFG_THEIRS].transport != NULL;
			return *out_twice ? NULL : &link->exchange[DFG_THEIRS];
		}
	*out_twice = false;
	return NULL;
}

static bool stands(const struct dfg_http_links_link *link)
{
	return (!link->used[DFG_OURS] || link->exchange[DFG_OURS].stands) &&
		   (!link->used[DFG_THEIRS] || link->exchange[DFG_THEIRS].stands);
}

struct dfg_err *dfg_http_links_wait(struct dfg_link *base, uint32_t ms)
{
	struct dfg_http_links_link *link = (struct dfg_http_links_link *)base;
	struct dfg_http_links *http = link->http;
	uint64_t until = dfg_now() + (uint64_t)ms * 1000000;
	struct timespec deadline = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
	int status = 0;
	pthread_mutex_lock(&http->state);
	while (!stands(link) && !link->why && status != ETIMEDOUT)
		status = pthread_cond_timedwait(&http->changed, &http->state, &deadline);
	struct dfg_err *err = NULL;
	if (link->why)
		err = DFG_ERR(link->why->code, "%s", link->why->text);
	else if (!stands(link))
		err = DFG_ERR(DFG_DEADLINE, "no link with %s after %.1f s", dfg_peer_words(base->peer).s, ms / 1e3);
	pthread_mutex_unlock(&http->state);
	return err;
}
