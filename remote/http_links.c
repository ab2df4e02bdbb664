#include "remote/http_links.h"

#include "remote/http_links_private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 64, LISTENS = 3, YIELD_NS = 100000, YIELD_MOST_NS = 800000 };

struct dfg_link_arrival {
	struct dfg_link_arrival *next;
	struct dfg_http_links_link *link;
	struct dfg_message message;
};

uint64_t dfg_about_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct dfg_err *dfg_secret_make(char out_secret[DFG_SECRET_SIZE])
{
	uint8_t bits[(DFG_SECRET_SIZE - 1) / 2];
	if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "the system has no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof bits; i++) {
		out_secret[2 * i] = "0123456789abcdef"[bits[i] >> 4];
		out_secret[2 * i + 1] = "0123456789abcdef"[bits[i] & 15];
	}
	out_secret[DFG_SECRET_SIZE - 1] = 0;
	return NULL;
}

const char *dfg_http_links_address(const struct dfg_http_links *http)
{
	return http->server ? dfg_server_address(http->server) : NULL;
}

const char *dfg_http_links_fingerprint(const struct dfg_http_links *http)
{
	return http->server ? dfg_server_fingerprint(http->server) : NULL;
}

/* Delivers the arrived messages, in order. */
static void deliver_arrived(struct dfg_http_links *http)
{
	struct dfg_link_arrival *arrival = http->arrived;
	http->arrived = NULL;
	http->last_arrived = &http->arrived;
	for (struct dfg_link_arrival *next; arrival; arrival = next) {
		next = arrival->next;
		http->delivered |= arrival->link != NULL;
		if (arrival->link)
			http->sink.deliver(http->sink.arg, arrival->link->base.peer, &arrival->message);
		else
			dfg_tensor_release(&arrival->message.tensor);
		dfg_free(arrival);
	}
}

void dfg_http_links_forget(struct dfg_http_links *http, const struct dfg_http_links_link *link)
{
	for (struct dfg_link_arrival *arrival = http->arrived; arrival; arrival = arrival->next)
		if (arrival->link == link)
			arrival->link = NULL;
}

void dfg_http_links_arrives(struct dfg_http_links_link *link, struct dfg_message *message)
{
	struct dfg_http_links *http = link->http;
	if (!http->sending && !http->arrived) {
		http->delivered = true;
		http->sink.deliver(http->sink.arg, link->base.peer, message);
		return;
	}
	struct dfg_link_arrival *arrival = dfg_zeros(1, sizeof *arrival);
	if (!arrival) {
		dfg_tensor_release(&message->tensor);
		dfg_exchange_breaks(link->carrier, dfg_no_memory("the HTTP links"));
		return;
	}
	*arrival = (struct dfg_link_arrival){.link = link, .message = *message};
	*http->last_arrived = arrival;
	http->last_arrived = &arrival->next;
	http->unsettled = true;
}

static void flush(struct dfg_http_links *http)
{
	while (atomic_load(&http->work) && atomic_exchange(&http->work, false))
		for (struct dfg_http_links_link *link = http->links; link; link = link->next)
			for (int i = 0; i < 2; i++) {
				struct dfg_exchange *exchange = &link->exchange[i];
				if (exchange->stands && exchange->transport && atomic_exchange(&exchange->has_to_say, false))
					exchange->transport->flush(exchange->of);
			}
	if (!http->client)
		return;
	if (atomic_load(&http->sleeps_till))
		dfg_client_do_postponed(http->client);
	dfg_client_due(http->client);
}

/* Does the postponed work, outside of all library callbacks. */
static void settle(struct dfg_http_links *http)
{
	if (!http->unsettled)
		return;
	http->unsettled = false;
	deliver_arrived(http);
	for (struct dfg_http_links_link *link = http->links; link; link = link->next)
		if (link->broken)
			dfg_http_links_lose(link);
	if (http->server)
		dfg_server_sweep(http->server);
}

static void dispatch(struct dfg_http_links *http, const struct epoll_event *event)
{
	uint64_t about = event->data.u64, which = about >> DFG_ABOUT_BITS;
	uint64_t count;
	switch (about & ((1 << DFG_ABOUT_BITS) - 1)) {
	case DFG_ABOUT_LISTENER:
		dfg_server_accept(http->server);
		break;
	case DFG_ABOUT_WAKE:
		(void)!read(http->wake, &count, sizeof count);
		break;
	case DFG_ABOUT_CLIENT:
		dfg_client_event(http->client, (int)which, event->events);
		break;
	default:
		dfg_http_connection_event((struct dfg_http_connection *)(uintptr_t)about, event->events);
	}
}

static void tick(struct dfg_http_links *http)
{
	uint64_t now = dfg_about_now_ns();
	if (now <= http->tick_ns + (uint64_t)DFG_HTTP_TICK_MS * 1000000)
		return;
	dfg_http_links_tick(http, now);
	if (http->server)
		dfg_server_tick(http->server, now);
	http->tick_ns = now;
}

/* Handles the consequences of received bytes. */
static bool see_to(struct dfg_http_links *http)
{
	flush(http);
	settle(http);
	flush(http);
	settle(http);
	return http->delivered;
}

static void begin_drive(struct dfg_http_links *http)
{
	http->delivered = false;
	http->drives++;
}

static bool drive(struct dfg_http_links *http, const struct epoll_event *event, int n)
{
	begin_drive(http);
	for (int i = 0; i < n; i++)
		dispatch(http, &event[i]);
	tick(http);
	return see_to(http);
}

static bool drive_ready(struct dfg_http_links *http)
{
	struct epoll_event event[EVENTS];
	http->listened = 0;
	return drive(http, event, epoll_wait(http->epoll, event, EVENTS, 0));
}

/*
 * A polling thread mostly waits for an answer of the peer that it received from last. The socket of that peer is read
 * at once, without epoll; all others are checked now and then.
 */
bool dfg_http_links_drive(struct dfg_http_links *http)
{
	if (http->client)
		dfg_client_polled(http->client);
	if (!http->server || http->listened == LISTENS || !dfg_server_has_heard(http->server))
		return drive_ready(http);
	http->listened++;
	begin_drive(http);
	if (!dfg_server_listen(http->server))
		return atomic_load(&http->work) && see_to(http);
	bool delivered = see_to(http);
	dfg_server_take_seen(http->server);
	return delivered;
}

void dfg_http_links_wake(struct dfg_http_links *http)
{
	(void)!write(http->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* The time of the thread's next check, without any event. */
static uint64_t due_ns(const struct dfg_http_links *http)
{
	uint64_t tick = http->tick_ns + (uint64_t)DFG_HTTP_TICK_MS * 1000000;
	uint64_t client = http->client ? dfg_client_due_ns(http->client) : UINT64_MAX;
	return client < tick ? client : tick;
}

void dfg_http_links_unlock(struct dfg_http_links *http)
{
	bool wake;
	do {
		uint64_t till = atomic_load(&http->sleeps_till);
		wake = till && (http->unsettled || due_ns(http) < till);
		pthread_mutex_unlock(&http->io);
		if (wake)
			dfg_http_links_wake(http);
	} while (atomic_load(&http->work) && dfg_http_links_try_send(http));
}

/* Takes io if it is free, and writes pending bytes. */
bool dfg_http_links_try_send(struct dfg_http_links *http)
{
	if (pthread_mutex_trylock(&http->io))
		return false;
	http->sending = true;
	flush(http);
	http->sending = false;
	return true;
}

/* Whether another thread has polled since then, and has not gone to sleep. */
static bool others_poll(const struct dfg_http_links *http, uint32_t seen)
{
	uint32_t now = atomic_load(&http->polls);
	return now != seen && now != atomic_load(&http->polls_rested) && !atomic_load(&http->stop);
}

/* While other threads poll, they do the work; the longer they do, the less often this thread checks. */
static void leave_to_others(struct dfg_http_links *http, uint32_t seen)
{
	uint64_t ns = YIELD_NS;
	while (others_poll(http, seen)) {
		uint32_t word = atomic_load(&http->rested.word);
		seen = atomic_load(&http->polls);
		if (seen == atomic_load(&http->polls_rested))
			return;
		dfg_event_sleep(&http->rested, word, dfg_now() + ns);
		ns = ns < YIELD_MOST_NS ? 2 * ns : ns;
	}
}

/* Returns the number of events that woke it. */
static int sleep_till(struct dfg_http_links *http, uint64_t till, struct epoll_event event[EVENTS])
{
	uint64_t now = dfg_about_now_ns();
	int ms = till > now ? (int)((till - now) / 1000000) + 1 : 0;
	uint32_t polls = atomic_load(&http->polls);
	int n = epoll_wait(http->epoll, event, EVENTS, ms);
	atomic_store(&http->sleeps_till, 0);
	leave_to_others(http, polls);
	return n;
}

/* A polling thread holds the lock nearly always: waiting for the lock would make it wake this thread each time. */
static void lock_where_none_polls(struct dfg_http_links *http)
{
	for (uint32_t polls = atomic_load(&http->polls); pthread_mutex_trylock(&http->io);) {
		if (!others_poll(http, polls)) {
			pthread_mutex_lock(&http->io);
			return;
		}
		leave_to_others(http, polls);
	}
}

static void *live(void *arg)
{
	struct dfg_http_links *http = arg;
	struct epoll_event event[EVENTS];
	uint64_t drives = 0, till;
	int n = 0;
	while (!atomic_load(&http->stop)) {
		lock_where_none_polls(http);
		/* If another thread has handled events since, their objects may have been freed. */
		if (http->drives == drives)
			drive(http, event, n);
		else
			drive_ready(http);
		if (http->client)
			dfg_client_do_postponed(http->client);
		flush(http);
		drives = http->drives;
		till = due_ns(http);
		atomic_store(&http->sleeps_till, till);
		dfg_http_links_unlock(http);
		n = sleep_till(http, till, event);
	}
	return NULL;
}

static struct dfg_err *start(struct dfg_http_links *http)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	http->runs = !pthread_create(&http->thread, NULL, live, http);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return http->runs ? NULL : DFG_ERR(DFG_MEMORY, "cannot start the network thread");
}

static struct dfg_err *open_wake(struct dfg_http_links *http)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = DFG_ABOUT_WAKE};
	http->epoll = epoll_create1(EPOLL_CLOEXEC);
	http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (http->epoll < 0 || http->wake < 0 || epoll_ctl(http->epoll, EPOLL_CTL_ADD, http->wake, &event))
		return DFG_ERR(DFG_MEMORY, "cannot create the network's descriptors: %s", strerror(errno));
	return NULL;
}

static struct dfg_err *check_secret(const char *secret)
{
	size_t length = secret ? strlen(secret) : 0;
	if (length != DFG_SECRET_SIZE - 1 || strspn(secret, "0123456789abcdef") != length)
		return DFG_ERR(DFG_CONFIG, "the secret must have %d hexadecimal digits", DFG_SECRET_SIZE - 1);
	return NULL;
}

static void init_locks(struct dfg_http_links *http)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&http->io, NULL);
	pthread_mutex_init(&http->state, NULL);
	pthread_cond_init(&http->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void dfg_http_links_set_lease(struct dfg_http_links *http, uint32_t ms)
{
	atomic_store(&http->lease_ns, (uint64_t)(ms ? ms : DFG_LEASE_MS) * 1000000);
}

void dfg_http_links_set_patience(struct dfg_http_links *http, uint32_t ms)
{
	atomic_store(&http->patience_ns, (uint64_t)ms * 1000000);
}

static size_t memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX / 2;
}

static struct dfg_err *open_hub(struct dfg_http_links *http, const struct dfg_http_links_options *options)
{
	DFG_TRY(open_wake(http));
	if (!(http->buffer = dfg_mem->take(dfg_mem, DFG_HTTP_BUFFER, DFG_ALIGN)))
		return dfg_no_memory("the HTTP links");
	if (options->address)
		DFG_TRY(dfg_server_new(http, options->address, options->tls, options->key_seed, &http->server));
	return start(http);
}

struct dfg_err *dfg_http_links_new(const struct dfg_http_links_options *options, struct dfg_http_links **out_hub)
{
	DFG_TRY(check_secret(options->secret));
	struct dfg_http_links *http = dfg_zeros(1, sizeof *http);
	if (!http)
		return dfg_no_memory("the HTTP links");
	init_locks(http);
	http->self = options->self;
	memcpy(http->secret, options->secret, DFG_SECRET_SIZE);
	http->sink = options->sink;
	http->tensor_bytes = options->tensor_bytes ? options->tensor_bytes : memory_of_machine();
	dfg_http_links_set_lease(http, options->lease_ms);
	http->last_arrived = &http->arrived;
	http->tick_ns = dfg_about_now_ns();
	http->epoll = http->wake = -1;
	struct dfg_err *err = open_hub(http, options);
	if (err)
		dfg_http_links_free(http);
	else
		*out_hub = http;
	return err;
}

static void stop(struct dfg_http_links *http)
{
	if (!http->runs)
		return;
	atomic_store(&http->stop, true);
	dfg_event_signal(&http->rested);
	dfg_http_links_wake(http);
	pthread_join(http->thread, NULL);
}

void dfg_http_links_free(struct dfg_http_links *http)
{
	if (!http)
		return;
	stop(http);
	while (http->links)
		dfg_http_links_link_kind.close(&http->links->base);
	deliver_arrived(http); /* delivers nothing, only releases the messages */
	dfg_client_free(http->client);
	dfg_server_free(http->server);
	if (http->epoll >= 0)
		close(http->epoll);
	if (http->wake >= 0)
		close(http->wake);
	dfg_free(http->buffer);
	pthread_cond_destroy(&http->changed);
	pthread_mutex_destroy(&http->state);
	pthread_mutex_destroy(&http->io);
	explicit_bzero(http->secret, sizeof http->secret);
	dfg_free(http);
}
