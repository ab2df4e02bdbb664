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

struct dfg_err *dfg_secret_make(char out_secret[DFG_SECRET_ROOM])
{
	uint8_t bits[(DFG_SECRET_ROOM - 1) / 2];
	if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "the system has no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof bits; i++) {
		out_secret[2 * i] = "0123456789abcdef"[bits[i] >> 4];
		out_secret[2 * i + 1] = "0123456789abcdef"[bits[i] & 15];
	}
	out_secret[DFG_SECRET_ROOM - 1] = 0;
	return NULL;
}

const char *dfg_http_links_address(const struct dfg_http_links *hub)
{
	return hub->server ? dfg_server_address(hub->server) : NULL;
}

const char *dfg_http_links_fingerprint(const struct dfg_http_links *hub)
{
	return hub->server ? dfg_server_fingerprint(hub->server) : NULL;
}

/* Delivers the arrived messages, in order. */
static void deliver_arrived(struct dfg_http_links *hub)
{
	struct dfg_link_arrival *arrival = hub->arrived;
	hub->arrived = NULL;
	hub->last_arrived = &hub->arrived;
	for (struct dfg_link_arrival *next; arrival; arrival = next) {
		next = arrival->next;
		hub->delivered |= arrival->link != NULL;
		if (arrival->link)
			hub->sink.deliver(hub->sink.arg, arrival->link->base.peer, &arrival->message);
		else
			dfg_tensor_release(&arrival->message.tensor);
		dfg_free(arrival);
	}
}

void dfg_http_links_forget(struct dfg_http_links *hub, const struct dfg_http_links_link *link)
{
	for (struct dfg_link_arrival *arrival = hub->arrived; arrival; arrival = arrival->next)
		if (arrival->link == link)
			arrival->link = NULL;
}

void dfg_http_links_arrives(struct dfg_http_links_link *link, struct dfg_message *message)
{
	struct dfg_http_links *hub = link->hub;
	if (!hub->sending && !hub->arrived) {
		hub->delivered = true;
		hub->sink.deliver(hub->sink.arg, link->base.peer, message);
		return;
	}
	struct dfg_link_arrival *arrival = dfg_zeros(1, sizeof *arrival);
	if (!arrival) {
		dfg_tensor_release(&message->tensor);
		dfg_exchange_breaks(link->carrier, DFG_ERR(DFG_MEMORY, "out of memory"));
		return;
	}
	*arrival = (struct dfg_link_arrival){.link = link, .message = *message};
	*hub->last_arrived = arrival;
	hub->last_arrived = &arrival->next;
	hub->unsettled = true;
}

static void flush(struct dfg_http_links *hub)
{
	while (atomic_load(&hub->work) && atomic_exchange(&hub->work, false))
		for (struct dfg_http_links_link *link = hub->links; link; link = link->next)
			for (int i = 0; i < 2; i++) {
				struct dfg_exchange *exchange = &link->exchange[i];
				if (exchange->stands && exchange->transport && atomic_exchange(&exchange->has_to_say, false))
					exchange->transport->flush(exchange->of);
			}
	if (!hub->client)
		return;
	if (atomic_load(&hub->sleeps_till))
		dfg_client_rest(hub->client);
	dfg_client_due(hub->client);
}

/* Does the postponed work, outside of all library callbacks. */
static void settle(struct dfg_http_links *hub)
{
	if (!hub->unsettled)
		return;
	hub->unsettled = false;
	deliver_arrived(hub);
	for (struct dfg_http_links_link *link = hub->links; link; link = link->next)
		if (link->broken)
			dfg_http_links_lose(link);
	if (hub->server)
		dfg_server_sweep(hub->server);
}

static void dispatch(struct dfg_http_links *hub, const struct epoll_event *event)
{
	uint64_t about = event->data.u64, which = about >> DFG_ABOUT_BITS;
	uint64_t count;
	switch (about & ((1 << DFG_ABOUT_BITS) - 1)) {
	case DFG_ABOUT_LISTENER:
		dfg_server_accept(hub->server);
		break;
	case DFG_ABOUT_WAKE:
		(void)!read(hub->wake, &count, sizeof count);
		break;
	case DFG_ABOUT_CLIENT:
		dfg_client_event(hub->client, (int)which, event->events);
		break;
	default:
		dfg_http_connection_event((struct dfg_http_connection *)(uintptr_t)about, event->events);
	}
}

static void tick(struct dfg_http_links *hub)
{
	uint64_t now = dfg_about_now_ns();
	if (now <= hub->tick_ns + (uint64_t)DFG_HUB_TICK_MS * 1000000)
		return;
	dfg_http_links_tick(hub, now);
	if (hub->server)
		dfg_server_tick(hub->server, now);
	hub->tick_ns = now;
}

/* Handles the consequences of received bytes. */
static bool see_to(struct dfg_http_links *hub)
{
	flush(hub);
	settle(hub);
	flush(hub);
	settle(hub);
	return hub->delivered;
}

static void begin_drive(struct dfg_http_links *hub)
{
	hub->delivered = false;
	hub->drives++;
}

static bool drive(struct dfg_http_links *hub, const struct epoll_event *event, int n)
{
	begin_drive(hub);
	for (int i = 0; i < n; i++)
		dispatch(hub, &event[i]);
	tick(hub);
	return see_to(hub);
}

static bool drive_ready(struct dfg_http_links *hub)
{
	struct epoll_event event[EVENTS];
	hub->listened = 0;
	return drive(hub, event, epoll_wait(hub->epoll, event, EVENTS, 0));
}

/*
 * A polling thread mostly waits for an answer of the peer that it received from last. The socket of that peer is read
 * at once, without epoll; all others are checked now and then.
 */
bool dfg_http_links_drive(struct dfg_http_links *hub)
{
	if (hub->client)
		dfg_client_polled(hub->client);
	if (!hub->server || hub->listened == LISTENS || !dfg_server_has_heard(hub->server))
		return drive_ready(hub);
	hub->listened++;
	begin_drive(hub);
	if (!dfg_server_listen(hub->server))
		return atomic_load(&hub->work) && see_to(hub);
	bool delivered = see_to(hub);
	dfg_server_take_seen(hub->server);
	return delivered;
}

void dfg_http_links_wake(struct dfg_http_links *hub)
{
	(void)!write(hub->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* The time of the thread's next check, without any event. */
static uint64_t due_ns(const struct dfg_http_links *hub)
{
	uint64_t tick = hub->tick_ns + (uint64_t)DFG_HUB_TICK_MS * 1000000;
	uint64_t client = hub->client ? dfg_client_due_ns(hub->client) : UINT64_MAX;
	return client < tick ? client : tick;
}

void dfg_http_links_unlock(struct dfg_http_links *hub)
{
	bool wake;
	do {
		uint64_t till = atomic_load(&hub->sleeps_till);
		wake = till && (hub->unsettled || due_ns(hub) < till);
		pthread_mutex_unlock(&hub->io);
		if (wake)
			dfg_http_links_wake(hub);
	} while (atomic_load(&hub->work) && dfg_http_links_try_send(hub));
}

/* Takes io if it is free, and writes pending bytes. */
bool dfg_http_links_try_send(struct dfg_http_links *hub)
{
	if (pthread_mutex_trylock(&hub->io))
		return false;
	hub->sending = true;
	flush(hub);
	hub->sending = false;
	return true;
}

/* Whether another thread has polled since then, and has not gone to sleep. */
static bool others_poll(const struct dfg_http_links *hub, uint32_t seen)
{
	uint32_t now = atomic_load(&hub->polls);
	return now != seen && now != atomic_load(&hub->polls_rested) && !atomic_load(&hub->stop);
}

/* While other threads poll, they do the work; the longer they do, the less often this thread checks. */
static void leave_to_others(struct dfg_http_links *hub, uint32_t seen)
{
	uint64_t ns = YIELD_NS;
	while (others_poll(hub, seen)) {
		uint32_t word = atomic_load(&hub->rested.word);
		seen = atomic_load(&hub->polls);
		if (seen == atomic_load(&hub->polls_rested))
			return;
		dfg_event_sleep(&hub->rested, word, dfg_now() + ns);
		ns = ns < YIELD_MOST_NS ? 2 * ns : ns;
	}
}

/* Returns the number of events that woke it. */
static int sleep_till(struct dfg_http_links *hub, uint64_t till, struct epoll_event event[EVENTS])
{
	uint64_t now = dfg_about_now_ns();
	int ms = till > now ? (int)((till - now) / 1000000) + 1 : 0;
	uint32_t polls = atomic_load(&hub->polls);
	int n = epoll_wait(hub->epoll, event, EVENTS, ms);
	atomic_store(&hub->sleeps_till, 0);
	leave_to_others(hub, polls);
	return n;
}

/* A polling thread holds the lock nearly always: waiting for the lock would make it wake this thread each time. */
static void lock_where_none_polls(struct dfg_http_links *hub)
{
	for (uint32_t polls = atomic_load(&hub->polls); pthread_mutex_trylock(&hub->io);) {
		if (!others_poll(hub, polls)) {
			pthread_mutex_lock(&hub->io);
			return;
		}
		leave_to_others(hub, polls);
	}
}

static void *live(void *arg)
{
	struct dfg_http_links *hub = arg;
	struct epoll_event event[EVENTS];
	uint64_t drives = 0, till;
	int n = 0;
	while (!atomic_load(&hub->stop)) {
		lock_where_none_polls(hub);
		/* If another thread has handled events since, their objects may have been freed. */
		if (hub->drives == drives)
			drive(hub, event, n);
		else
			drive_ready(hub);
		if (hub->client)
			dfg_client_rest(hub->client);
		flush(hub);
		drives = hub->drives;
		till = due_ns(hub);
		atomic_store(&hub->sleeps_till, till);
		dfg_http_links_unlock(hub);
		n = sleep_till(hub, till, event);
	}
	return NULL;
}

static struct dfg_err *start(struct dfg_http_links *hub)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	hub->runs = !pthread_create(&hub->thread, NULL, live, hub);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return hub->runs ? NULL : DFG_ERR(DFG_MEMORY, "cannot start the network thread");
}

static struct dfg_err *open_wake(struct dfg_http_links *hub)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = DFG_ABOUT_WAKE};
	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	hub->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (hub->epoll < 0 || hub->wake < 0 || epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->wake, &event))
		return DFG_ERR(DFG_MEMORY, "cannot create the network's descriptors: %s", strerror(errno));
	return NULL;
}

static struct dfg_err *check_secret(const char *secret)
{
	size_t length = secret ? strlen(secret) : 0;
	if (length != DFG_SECRET_ROOM - 1 || strspn(secret, "0123456789abcdef") != length)
		return DFG_ERR(DFG_CONFIG, "the secret must have %d hexadecimal digits", DFG_SECRET_ROOM - 1);
	return NULL;
}

static void init_locks(struct dfg_http_links *hub)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&hub->io, NULL);
	pthread_mutex_init(&hub->state, NULL);
	pthread_cond_init(&hub->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void dfg_http_links_set_lease(struct dfg_http_links *hub, uint32_t ms)
{
	atomic_store(&hub->lease_ns, (uint64_t)(ms ? ms : DFG_LEASE_MS) * 1000000);
}

void dfg_http_links_set_patience(struct dfg_http_links *hub, uint32_t ms)
{
	atomic_store(&hub->patience_ns, (uint64_t)ms * 1000000);
}

static size_t memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX / 2;
}

static struct dfg_err *open_hub(struct dfg_http_links *hub, const struct dfg_http_links_options *options)
{
	DFG_TRY(open_wake(hub));
	if (!(hub->buffer = dfg_mem->take(dfg_mem, DFG_HUB_BUFFER, DFG_ALIGN)))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	if (options->address)
		DFG_TRY(dfg_server_new(hub, options->address, options->tls, &hub->server));
	return start(hub);
}

struct dfg_err *dfg_http_links_new(const struct dfg_http_links_options *options, struct dfg_http_links **out_hub)
{
	DFG_TRY(check_secret(options->secret));
	struct dfg_http_links *hub = dfg_zeros(1, sizeof *hub);
	if (!hub)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	init_locks(hub);
	hub->self = options->self;
	memcpy(hub->secret, options->secret, DFG_SECRET_ROOM);
	hub->sink = options->sink;
	hub->tensor_bytes = options->tensor_bytes ? options->tensor_bytes : memory_of_machine();
	dfg_http_links_set_lease(hub, options->lease_ms);
	hub->last_arrived = &hub->arrived;
	hub->tick_ns = dfg_about_now_ns();
	hub->epoll = hub->wake = -1;
	struct dfg_err *err = open_hub(hub, options);
	if (err)
		dfg_http_links_free(hub);
	else
		*out_hub = hub;
	return err;
}

static void stop(struct dfg_http_links *hub)
{
	if (!hub->runs)
		return;
	atomic_store(&hub->stop, true);
	dfg_event_signal(&hub->rested);
	dfg_http_links_wake(hub);
	pthread_join(hub->thread, NULL);
}

void dfg_http_links_free(struct dfg_http_links *hub)
{
	if (!hub)
		return;
	stop(hub);
	while (hub->links)
		dfg_http_links_link_kind.close(&hub->links->base);
	deliver_arrived(hub); /* delivers nothing, only releases the messages */
	dfg_client_free(hub->client);
	dfg_server_free(hub->server);
	if (hub->epoll >= 0)
		close(hub->epoll);
	if (hub->wake >= 0)
		close(hub->wake);
	dfg_free(hub->buffer);
	pthread_cond_destroy(&hub->changed);
	pthread_mutex_destroy(&hub->state);
	pthread_mutex_destroy(&hub->io);
	explicit_bzero(hub->secret, sizeof hub->secret);
	dfg_free(hub);
}
