#define _GNU_SOURCE /* for accept4 */
#include "remote/nghttp2.h"
#include "remote/web/web_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, ACCEPTS = 64 };

/* The listener and the eventfd have small numbers as their epoll data; others have the address of a connection. */
enum { LISTENER, WAKE };

const char *dfg_web_address(const struct dfg_web *web)
{
	return web->address;
}

const char *dfg_web_field(const struct dfg_web_request *request, const char *name)
{
	for (unsigned i = 0; i < request->fields; i++)
		if (!strcmp(request->field[i].name, name))
			return request->field[i].value;
	return NULL;
}

static void listen_or_not(struct dfg_web *web, bool deaf)
{
	struct epoll_event event = {.events = deaf ? 0 : EPOLLIN, .data.u64 = LISTENER};
	if (web->fd >= 0 && web->is_deaf != deaf)
		epoll_ctl(web->epoll, EPOLL_CTL_MOD, web->fd, &event);
	web->is_deaf = deaf;
}

static bool has_unread(const struct dfg_web_connection *connection)
{
	char byte;
	return !connection->has_ended && recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The connection that has been idle for longest; NULL: none is. A request may have come that is not read yet. */
static struct dfg_web_connection *longest_idle(const struct dfg_web *web)
{
	struct dfg_web_connection *idle = NULL;
	for (struct dfg_web_connection *connection = web->connections; connection; connection = connection->next)
		if (!connection->is_dead && dfg_web_connection_is_idle(connection) &&
			(!idle || connection->sent_ns < idle->sent_ns) && (connection->lingers || !has_unread(connection)))
			idle = connection;
	return idle;
}

/* If a connection waits that would be one more than allowed, the longest idle one ends, or it waits until there is one. */
static bool make_way(struct dfg_web *web)
{
	struct pollfd waiting = {.fd = web->fd, .events = POLLIN};
	if (web->count - web->dead < web->options.most_connections || poll(&waiting, 1, 0) <= 0)
		return true;
	struct dfg_web_connection *idle = longest_idle(web);
	if (idle)
		dfg_web_connection_drop(idle);
	return idle != NULL;
}

/* True: there may be more. */
static bool accept_some(struct dfg_web *web)
{
	for (int i = 0; i < ACCEPTS; i++) {
		if (!make_way(web)) {
			listen_or_not(web, true);
			return false;
		}
		int fd = accept4(web->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			listen_or_not(web, errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
			return false;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		dfg_web_connection_new(web, fd);
	}
	return true;
}

static struct dfg_web_exchange *take_answered(struct dfg_web *web)
{
	pthread_mutex_lock(&web->lock);
	struct dfg_web_exchange *first = web->answered;
	web->answered = NULL;
	web->last_answered = &web->answered;
	pthread_mutex_unlock(&web->lock);
	return first;
}

/* Answers of one connection that follow one another are sent together. */
static void send_answers(struct dfg_web *web)
{
	for (struct dfg_web_exchange *exchange = take_answered(web), *next; exchange; exchange = next) {
		struct dfg_web_connection *connection = exchange->connection;
		next = exchange->next;
		if (exchange->is_streamed)
			dfg_web_stream_take(web, exchange);
		else if (connection)
			dfg_web_connection_answer(connection, exchange);
		else
			dfg_web_exchange_free(exchange);
		if (connection && (!next || next->connection != connection))
			dfg_web_connection_settle(connection);
	}
}

bool dfg_web_post(struct dfg_web_exchange *exchange, bool is_urgent)
{
	struct dfg_web *web = exchange->web;
	bool wakes = web->naps ? is_urgent : !web->answered;
	exchange->next = NULL;
	*web->last_answered = exchange;
	web->last_answered = &exchange->next;
	web->naps &= !wakes;
	return wakes;
}

void dfg_web_wake(struct dfg_web *web)
{
	if (!pthread_equal(pthread_self(), web->thread))
		(void)!write(web->wake, &(uint64_t){1}, sizeof(uint64_t));
}

void dfg_web_answer(struct dfg_web_request *request, struct dfg_web_answer *answer)
{
	struct dfg_web_exchange *exchange = (struct dfg_web_exchange *)request;
	struct dfg_web *web = exchange->web;
	exchange->answer = *answer;
	pthread_mutex_lock(&web->lock);
	bool wakes = dfg_web_post(exchange, true);
	pthread_mutex_unlock(&web->lock);
	if (wakes)
		dfg_web_wake(web);
}

static void sweep(struct dfg_web *web)
{
	for (struct dfg_web_connection *connection = web->connections, *next; connection; connection = next) {
		next = connection->next;
		if (connection->is_dead)
			dfg_web_connection_free(connection);
	}
}

/* Connections that the system has made already are served; later ones are refused, and can turn to another server at once. */
static void stop_listening(struct dfg_web *web, uint64_t now)
{
	web->drain_ns = now;
	while (accept_some(web))
		;
	close(web->fd);
	web->fd = -1;
}

static void tick(struct dfg_web *web)
{
	uint64_t now = dfg_now();
	bool draining = atomic_load(&web->draining);
	if (!draining && now < web->tick_ns + (uint64_t)DFG_WEB_TICK_MS * 1000000)
		return;
	web->tick_ns = now;
	if (draining && !web->drain_ns)
		stop_listening(web, now);
	for (struct dfg_web_connection *connection = web->connections; connection; connection = connection->next) {
		dfg_web_connection_tick(connection, now);
		if (draining && dfg_web_connection_is_idle(connection) && !has_unread(connection))
			dfg_web_connection_drop(connection);
	}
	if (!draining)
		listen_or_not(web, false);
}

static void handle_event(struct dfg_web *web, const struct epoll_event *event)
{
	uint64_t count;
	if (event->data.u64 == LISTENER)
		accept_some(web);
	else if (event->data.u64 == WAKE)
		(void)!read(web->wake, &count, sizeof count);
	else
		dfg_web_connection_event((struct dfg_web_connection *)(uintptr_t)event->data.u64, event->events);
}

static void settle(struct dfg_web *web)
{
	if (web->options.settle)
		web->settle_ns = web->options.settle(web->options.arg);
}

static int milliseconds_until(uint64_t then)
{
	uint64_t now = dfg_now(), left = then > now ? (then - now + 999999) / 1000000 : 0;
	return left < DFG_WEB_TICK_MS ? (int)left : DFG_WEB_TICK_MS;
}

/*
 * How long to wait for events. After pieces of an answer the thread takes naps for a while: a step that yields often then
 * does not wake it, and the client, for each piece.
 */
static int milliseconds_to_wait(struct dfg_web *web)
{
	pthread_mutex_lock(&web->lock);
	web->naps = !web->answered && dfg_now() < web->lull_ns;
	int wait = web->answered ? 0 : web->naps ? 1 : milliseconds_until(web->settle_ns);
	pthread_mutex_unlock(&web->lock);
	return wait;
}

static void *live(void *arg)
{
	struct dfg_web *web = arg;
	struct epoll_event event[EVENTS];
	while (!atomic_load(&web->stop)) {
		int n = epoll_wait(web->epoll, event, EVENTS, milliseconds_to_wait(web));
		for (int i = 0; i < n; i++) {
			handle_event(web, &event[i]);
			settle(web);
			send_answers(web); /* which may hand over the next request of a connection */
		}
		send_answers(web);
		settle(web);
		tick(web);
		if (web->dead)
			sweep(web);
		if (atomic_load(&web->draining) && !web->connections)
			atomic_store(&web->drained, true);
	}
	return NULL;
}

/* Splits "HOST:PORT" or "[V6]:PORT". */
static struct dfg_err *split_address(const char *address, char host[72], char port[8])
{
	const char *colon = strrchr(address, ':');
	size_t bracket = address[0] == '[', length = colon ? (size_t)(colon - address) : 0;
	if (!colon || length < 2 * bracket + 1 || length >= 72 || strlen(colon + 1) > 5 || !colon[1] ||
		strspn(colon + 1, "0123456789") != strlen(colon + 1) || strtol(colon + 1, NULL, 10) > 65535)
		return DFG_ERR(DFG_CONFIG, "'%s' is not ADDRESS:PORT", address);
	memcpy(host, address + bracket, length - 2 * bracket);
	host[length - 2 * bracket] = 0;
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	return NULL;
}

static struct dfg_err *listen_at(struct dfg_web *web, const struct addrinfo *at)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENER};
	web->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (web->fd < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create a socket: %s", strerror(errno));
	setsockopt(web->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(web->fd, at->ai_addr, at->ai_addrlen) || listen(web->fd, SOMAXCONN))
		return DFG_ERR(DFG_UNAVAILABLE, "cannot listen on %s: %s", web->options.address, strerror(errno));
	if (epoll_ctl(web->epoll, EPOLL_CTL_ADD, web->fd, &event))
		return DFG_ERR(DFG_MEMORY, "cannot watch a socket: %s", strerror(errno));
	return dfg_address_of_socket(web->fd, web->address);
}

static struct dfg_err *open_listener(struct dfg_web *web)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE};
	struct addrinfo *at;
	char host[72], port[8];
	DFG_TRY(split_address(web->options.address, host, port));
	DFG_TRY(dfg_library_open(&dfg_nghttp2));
	web->epoll = epoll_create1(EPOLL_CLOEXEC);
	web->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (web->epoll < 0 || web->wake < 0 || epoll_ctl(web->epoll, EPOLL_CTL_ADD, web->wake, &event))
		return DFG_ERR(DFG_MEMORY, "cannot create the server's descriptors: %s", strerror(errno));
	if (getaddrinfo(host, port, &hints, &at))
		return DFG_ERR(DFG_CONFIG, "'%s' is not a numeric address", host);
	struct dfg_err *err = listen_at(web, at);
	freeaddrinfo(at);
	return err;
}

/* Signals are handled by the threads of the program. */
static struct dfg_err *start(struct dfg_web *web)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	web->runs = !pthread_create(&web->thread, NULL, live, web);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return web->runs ? NULL : DFG_ERR(DFG_MEMORY, "cannot start the server's thread");
}

struct dfg_err *dfg_web_new(const struct dfg_web_options *options, struct dfg_web **out_web)
{
	struct dfg_web *web = dfg_zeros(1, sizeof *web);
	if (!web)
		return dfg_no_memory("the server");
	web->options = *options;
	web->fd = web->epoll = web->wake = -1;
	web->settle_ns = UINT64_MAX;
	web->last_answered = &web->answered;
	pthread_mutex_init(&web->lock, NULL);
	dfg_web_stream_init(web);
	struct dfg_err *err = open_listener(web);
	if (!err)
		err = start(web);
	if (err)
		dfg_web_free(web);
	else
		*out_web = web;
	return err;
}

struct dfg_tls *dfg_web_set_tls(struct dfg_web *web, struct dfg_tls *tls)
{
	pthread_mutex_lock(&web->lock);
	struct dfg_tls *old = web->options.tls;
	web->options.tls = tls;
	pthread_mutex_unlock(&web->lock);
	return old;
}

void dfg_web_drain(struct dfg_web *web)
{
	atomic_store(&web->draining, true);
	(void)!write(web->wake, &(uint64_t){1}, sizeof(uint64_t));
}

bool dfg_web_is_drained(const struct dfg_web *web)
{
	return atomic_load(&web->drained);
}

void dfg_web_free(struct dfg_web *web)
{
	if (!web)
		return;
	atomic_store(&web->stop, true);
	if (web->runs) {
		(void)!write(web->wake, &(uint64_t){1}, sizeof(uint64_t));
		pthread_join(web->thread, NULL);
	}
	send_answers(web);
	while (web->connections)
		dfg_web_connection_free(web->connections);
	for (int i = 0, fd[] = {web->fd, web->wake, web->epoll}; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	pthread_cond_destroy(&web->moved);
	pthread_mutex_destroy(&web->lock);
	dfg_free(web);
}
