#include "remote/web/web_private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection without a request holds no buffer, so that thousands may be idle. */
enum { BODY_FIRST = 4 << 10, KEPT_OUT = 16 << 10, LINGER_MS = 2000 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE = sizeof preface - 1 };

bool dfg_web_connection_is_idle(const struct dfg_web_connection *connection)
{
	return !connection->handled && !connection->streams && !connection->begin_ns && !dfg_web_has_output(connection);
}

void dfg_web_exchange_free(struct dfg_web_exchange *exchange)
{
	if (!exchange)
		return;
	exchange->web->bodies -= exchange->capacity;
	exchange->web->answers -= exchange->held;
	dfg_text_release(&exchange->answer.body);
	dfg_text_release(&exchange->pieces);
	dfg_text_release(&exchange->answer.grpc_message);
	dfg_free(exchange->text);
	dfg_arena_release(&exchange->arena);
	dfg_free(exchange->body);
	dfg_free(exchange);
}

void dfg_web_connection_drop(struct dfg_web_connection *connection)
{
	connection->web->dead += !connection->is_dead;
	connection->is_dead = true;
	if (connection->handled)
		atomic_store(&connection->handled->request.gone_ns, 1);
	for (struct dfg_web_exchange *stream = connection->streams; stream; stream = stream->next_stream)
		atomic_store(&stream->request.gone_ns, 1);
	if (connection->streamed)
		dfg_web_stream_gone(connection->web);
}

void dfg_web_connection_free(struct dfg_web_connection *connection)
{
	struct dfg_web *web = connection->web;
	if (connection->handled)
		connection->handled->connection = NULL;
	dfg_web_exchange_free(connection->receiving);
	dfg_web_http2_free(connection);
	dfg_tls_session_free(connection->tls);
	dfg_text_release(&connection->sealed);
	close(connection->fd);
	dfg_text_release(&connection->out);
	dfg_free(connection->in);
	*connection->at = connection->next;
	if (connection->next)
		connection->next->at = connection->at;
	web->count--;
	web->dead -= connection->is_dead;
	web->answers -= connection->held;
	dfg_free(connection);
}

/* Reads no more while a request is handled: later requests of the connection wait in the kernel. */
static void watch(struct dfg_web_connection *connection)
{
	bool reads = !connection->handled && (!connection->is_last || connection->lingers) && !connection->has_ended;
	bool writes = dfg_web_has_output(connection);
	uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0) | (connection->is_ending ? 0 : EPOLLRDHUP);
	struct epoll_event event = {.events = events, .data.u64 = (uintptr_t)connection};
	if (events != connection->watched && epoll_ctl(connection->web->epoll, EPOLL_CTL_MOD, connection->fd, &event))
		dfg_web_connection_drop(connection);
	connection->watched = events;
}

/* All is sent. Unread bytes would reset the connection at its close, and the client would lose the answer: they are read. */
static void end_output(struct dfg_web_connection *connection)
{
	connection->sent = connection->out.length = 0;
	if (connection->out.capacity > KEPT_OUT)
		dfg_text_release(&connection->out);
	if (connection->sealed.capacity > KEPT_OUT)
		dfg_text_release(&connection->sealed);
	if (connection->handled || !(connection->is_last || connection->has_ended))
		return;
	if (connection->is_refused && !connection->has_ended && !connection->lingers) {
		connection->lingers = true;
		shutdown(connection->fd, SHUT_WR);
	} else if (!connection->lingers) {
		dfg_web_connection_drop(connection);
	}
}

/* False: the socket takes no more now, or the connection is dead. */
static bool send_bytes(struct dfg_web_connection *connection, const struct dfg_text *bytes, size_t *sent)
{
	while (bytes->length > *sent) {
		ssize_t n = send(connection->fd, bytes->s + *sent, bytes->length - *sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			dfg_web_connection_drop(connection);
		if (n <= 0)
			return false;
		*sent += (size_t)n;
		connection->sent_ns = dfg_now();
	}
	return true;
}

static bool send_some(struct dfg_web_connection *connection)
{
	if (!connection->tls)
		return send_bytes(connection, &connection->out, &connection->sent);
	while (dfg_web_has_output(connection)) {
		if (!dfg_web_tls_seal(connection)) {
			dfg_web_connection_drop(connection);
			return false;
		}
		if (!send_bytes(connection, &connection->sealed, &connection->sealed_sent))
			return false;
		connection->sealed.length = connection->sealed_sent = 0;
	}
	return true;
}

static void send_output(struct dfg_web_connection *connection)
{
	bool any = false;
	do {
		if (connection->http2 && !dfg_web_http2_pull(connection))
			break;
		any = any || dfg_web_has_output(connection);
		if (!send_some(connection))
			return;
		connection->sent = connection->out.length = 0;
	} while (connection->http2 && dfg_web_http2_has_output(connection));
	if (any && !connection->is_dead)
		end_output(connection);
}

/* Counts the bytes that wait to be sent. */
static void count_output(struct dfg_web_connection *connection)
{
	size_t held = connection->out.length - connection->sent + connection->sealed.length - connection->sealed_sent;
	connection->web->answers += held - connection->held;
	connection->held = held;
}

bool dfg_web_has_space(const struct dfg_web_request *request)
{
	const struct dfg_web *web = ((const struct dfg_web_exchange *)request)->web;
	return web->answers <= web->options.most_answers;
}

void dfg_web_connection_settle(struct dfg_web_connection *connection)
{
	if (!connection->is_dead)
		send_output(connection);
	if (!connection->is_dead)
		watch(connection);
	count_output(connection);
	if (connection->streamed)
		dfg_web_stream_account(connection);
}

void dfg_web_connection_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	connection->sent_ns = dfg_now();
	if (connection->http2)
		dfg_web_http2_answer(connection, exchange);
	else
		dfg_web_http1_answer(connection, exchange);
}

bool dfg_web_exchange_reserve(struct dfg_web_exchange *exchange, size_t size)
{
	struct dfg_web *web = exchange->web;
	size_t capacity = exchange->capacity ? 2 * exchange->capacity : BODY_FIRST;
	if (size <= exchange->capacity)
		return true;
	if (exchange->head.length && !exchange->head.is_chunked && capacity > exchange->head.length)
		capacity = (size_t)exchange->head.length;
	if (capacity < size)
		capacity = size;
	if (web->bodies + capacity - exchange->capacity > web->options.most_bodies)
		return false;
	size_t before = exchange->capacity;
	if (!dfg_reserve(&exchange->body, &exchange->capacity, capacity, 1))
		return false;
	web->bodies += exchange->capacity - before;
	return true;
}

/* The client has ended its side of the connection. Bytes of it, which may be whole requests, may be left to read. */
static void note_end(struct dfg_web_connection *connection)
{
	connection->is_ending = true;
	for (struct dfg_web_exchange *stream = connection->streams; stream; stream = stream->next_stream)
		atomic_store(&stream->request.gone_ns, dfg_now());
	if (connection->handled)
		atomic_store(&connection->handled->request.gone_ns, dfg_now());
}

/* All that the client sent is read. What it has sent whole is answered. */
static void end_input(struct dfg_web_connection *connection)
{
	connection->has_ended = true;
	if (!connection->is_ending)
		note_end(connection);
	if (connection->is_known && !connection->http2)
		dfg_web_http1_receive(connection);
	if (!connection->handled && !dfg_web_has_output(connection) && !connection->streams)
		dfg_web_connection_drop(connection);
}

/* The first bytes of a connection tell its protocol. */
static void receive(struct dfg_web_connection *connection)
{
	size_t n = connection->in_size < PREFACE ? connection->in_size : PREFACE;
	if (!connection->is_known && !memcmp(connection->in, preface, n)) {
		if (n == PREFACE)
			dfg_web_http2_new(connection);
		else if (!connection->begin_ns)
			connection->begin_ns = dfg_now();
	} else {
		connection->is_known = true;
	}
	if (connection->lingers)
		connection->in_size = 0;
	else if (connection->http2)
		dfg_web_http2_receive(connection);
	else if (connection->is_known)
		dfg_web_http1_receive(connection);
}

/* Bytes that are left of what was read into the server's buffer move to one of the connection's own. */
static void keep_input(struct dfg_web_connection *connection)
{
	const char *bytes = connection->in;
	connection->in = NULL;
	if (!connection->in_size || connection->is_dead)
		return;
	if (dfg_reserve(&connection->in, &connection->in_capacity, connection->in_size, 1))
		memcpy(connection->in, bytes, connection->in_size);
	else
		dfg_web_connection_drop(connection);
}

static void drop_empty_input(struct dfg_web_connection *connection)
{
	if (connection->in_size)
		return;
	dfg_free(connection->in);
	connection->in = NULL;
	connection->in_capacity = 0;
}

/* Handles `count` bytes that have come and lie in the server's buffer. False: the connection is dead. */
static bool take_input(struct dfg_web_connection *connection, size_t count)
{
	char *bytes = connection->web->input;
	bool is_lent = !connection->tls && !connection->in_size;
	drop_empty_input(connection);
	if (connection->tls) {
		if (!dfg_web_tls_open(connection, (uint8_t *)bytes, count))
			return false;
	} else if (is_lent) {
		connection->in = bytes;
		connection->in_size = count;
	} else {
		if (!dfg_reserve(&connection->in, &connection->in_capacity, connection->in_size + count, 1))
			return false;
		memcpy(connection->in + connection->in_size, bytes, count);
		connection->in_size += count;
	}
	if (connection->in_size)
		receive(connection);
	if (is_lent)
		keep_input(connection);
	else
		drop_empty_input(connection);
	return true;
}

static void read_input(struct dfg_web_connection *connection)
{
	ssize_t n = recv(connection->fd, connection->web->input, DFG_WEB_READ_BYTES, 0);
	bool waits = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
	if (!n)
		end_input(connection);
	else if (!waits && (n < 0 || !take_input(connection, (size_t)n)))
		dfg_web_connection_drop(connection);
}

void dfg_web_connection_event(struct dfg_web_connection *connection, uint32_t events)
{
	if (connection->is_dead)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		dfg_web_connection_drop(connection);
		return;
	}
	if (events & EPOLLIN)
		read_input(connection);
	else if (events & EPOLLRDHUP)
		note_end(connection);
	dfg_web_connection_settle(connection);
}

void dfg_web_connection_tick(struct dfg_web_connection *connection, uint64_t now)
{
	uint64_t limit = (uint64_t)connection->web->options.timeout_ms * 1000000;
	bool sends = dfg_web_has_output(connection);
	if (connection->is_dead)
		return;
	if ((sends && now > connection->sent_ns + limit) ||
		(connection->lingers && now > connection->sent_ns + (uint64_t)LINGER_MS * 1000000))
		dfg_web_connection_drop(connection);
	else if (connection->http2)
		dfg_web_http2_tick(connection, now);
	else if (connection->tls && !dfg_tls_is_up(connection->tls) && connection->begin_ns &&
			 now > connection->begin_ns + limit)
		dfg_web_connection_drop(connection);
	else if (connection->begin_ns && now > connection->begin_ns + limit)
		dfg_web_http1_refuse(connection, 408, "the request was not complete in time");
	dfg_web_connection_settle(connection);
}

void dfg_web_connection_new(struct dfg_web *web, int fd)
{
	struct dfg_web_connection *connection = dfg_zeros(1, sizeof *connection);
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = (uintptr_t)connection};
	if (!connection || epoll_ctl(web->epoll, EPOLL_CTL_ADD, fd, &event)) {
		dfg_free(connection);
		close(fd);
		return;
	}
	*connection = (struct dfg_web_connection){
		.web = web, .fd = fd, .watched = event.events, .next = web->connections, .at = &web->connections};
	connection->sent_ns = dfg_now();
	pthread_mutex_lock(&web->lock);
	struct dfg_err *err = web->options.tls ? dfg_tls_session_new(web->options.tls, &connection->tls) : NULL;
	pthread_mutex_unlock(&web->lock);
	if (err)
		dfg_web_connection_drop(connection);
	dfg_err_free(err);
	if (web->connections)
		web->connections->at = &connection->next;
	web->connections = connection;
	web->count++;
}
