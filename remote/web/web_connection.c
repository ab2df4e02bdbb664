#include "remote/web/web_private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection without a request holds no buffer, so that thousands may be idle. */
enum { READ_BYTES = 64 << 10, BODY_FIRST = 64 << 10, KEPT_OUT = 16 << 10 };

bool dfg_web_connection_is_idle(const struct dfg_web_connection *connection)
{
	return !connection->handled && !connection->begin_ns && connection->out.length == connection->sent;
}

void dfg_web_exchange_free(struct dfg_web_exchange *exchange)
{
	if (!exchange)
		return;
	exchange->web->bodies -= exchange->capacity;
	dfg_text_release(&exchange->answer.body);
	dfg_free(exchange->text);
	dfg_free(exchange->body);
	dfg_free(exchange);
}

void dfg_web_connection_drop(struct dfg_web_connection *connection)
{
	connection->is_dead = connection->web->any_dead = true;
	if (connection->handled)
		atomic_store(&connection->handled->request.gone_ns, 1);
}

void dfg_web_connection_free(struct dfg_web_connection *connection)
{
	struct dfg_web *web = connection->web;
	if (connection->handled)
		connection->handled->connection = NULL;
	dfg_web_exchange_free(connection->receiving);
	close(connection->fd);
	dfg_text_release(&connection->out);
	dfg_free(connection->in);
	*connection->at = connection->next;
	if (connection->next)
		connection->next->at = connection->at;
	web->count--;
	dfg_free(connection);
}

/* Reads no more while a request is handled: later requests of the connection wait in the kernel. */
static void watch(struct dfg_web_connection *connection)
{
	bool reads = !connection->handled && !connection->is_last && !connection->has_ended;
	bool writes = connection->out.length > connection->sent;
	uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0) | (connection->has_ended ? 0 : EPOLLRDHUP);
	struct epoll_event event = {.events = events, .data.u64 = (uintptr_t)connection};
	if (events != connection->watched && epoll_ctl(connection->web->epoll, EPOLL_CTL_MOD, connection->fd, &event))
		dfg_web_connection_drop(connection);
	connection->watched = events;
}

/* All is sent. */
static void end_output(struct dfg_web_connection *connection)
{
	connection->sent = connection->out.length = 0;
	if (connection->out.room > KEPT_OUT)
		dfg_text_release(&connection->out);
	if (connection->is_last || connection->has_ended)
		dfg_web_connection_drop(connection);
}

static void send_output(struct dfg_web_connection *connection)
{
	if (connection->out.length == connection->sent)
		return;
	while (connection->out.length > connection->sent) {
		ssize_t n = send(connection->fd, connection->out.s + connection->sent,
			connection->out.length - connection->sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			dfg_web_connection_drop(connection);
			return;
		}
		connection->sent += (size_t)n;
		connection->sent_ns = dfg_now();
	}
	if (!connection->handled)
		end_output(connection);
}

/* Writes an answer to the output; HTTP/1.1. */
static void put_answer(struct dfg_web_connection *connection, const struct dfg_web_answer *answer)
{
	struct dfg_text *out = &connection->out;
	dfg_text_add(out, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n", answer->status,
		dfg_web_reason(answer->status), answer->type, answer->body.length);
	if (answer->field)
		dfg_text_add(out, "%s\r\n", answer->field);
	dfg_text_add(out, "%s\r\n", connection->is_last ? "connection: close\r\n" : "");
	if (!answer->with_head)
		dfg_text_put(out, answer->body.s, answer->body.length);
	if (out->short_of_memory)
		dfg_web_connection_drop(connection);
}

static void receive_requests(struct dfg_web_connection *connection);

void dfg_web_connection_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	connection->handled = NULL;
	connection->is_last |= !exchange->head.keeps_alive || atomic_load(&connection->web->draining);
	connection->sent_ns = dfg_now();
	put_answer(connection, &exchange->answer);
	if (!connection->is_dead)
		send_output(connection);
	if (!connection->is_dead && !connection->is_last)
		receive_requests(connection);
	if (!connection->is_dead)
		watch(connection);
}

/* Answers a request that was not understood or is too large; the connection ends, because its framing is unknown. */
static void refuse(struct dfg_web_connection *connection, int status, const char *why)
{
	struct dfg_web *web = connection->web;
	struct dfg_web_answer answer = {.status = status, .type = "application/json"};
	web->options.refuse(web->options.arg, status, why, &answer.body);
	connection->is_last = true;
	connection->begin_ns = 0;
	connection->sent_ns = dfg_now();
	put_answer(connection, &answer);
	dfg_text_release(&answer.body);
}

static bool reserve_body(struct dfg_web_exchange *exchange, size_t size)
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

/* Adds bytes to the body of the request; false: refused. */
static bool add_body(struct dfg_web_connection *connection, const uint8_t *bytes, size_t count)
{
	struct dfg_web_exchange *exchange = connection->receiving;
	size_t size = exchange->request.size;
	if (count > connection->web->options.most_body - size) {
		refuse(connection, 413, "the body is too large");
		return false;
	}
	if (!reserve_body(exchange, size + count)) {
		refuse(connection, 503, "the server holds too many bytes of requests");
		return false;
	}
	memcpy(exchange->body + size, bytes, count);
	exchange->request.size += count;
	return true;
}

static void drop_input(struct dfg_web_connection *connection, size_t count)
{
	connection->in_size -= count;
	connection->in_seen = 0;
	memmove(connection->in, connection->in + count, connection->in_size);
}

static void hand_over(struct dfg_web_connection *connection)
{
	struct dfg_web_exchange *exchange = connection->receiving;
	exchange->request.body = exchange->body;
	connection->receiving = NULL;
	connection->handled = exchange;
	connection->begin_ns = 0;
	connection->web->options.handle(connection->web->options.arg, &exchange->request);
}

static bool take_chunks(struct dfg_web_connection *connection)
{
	const uint8_t *in = (const uint8_t *)connection->in, *data;
	size_t at = 0, used, count;
	bool end = false;
	while (!end && at < connection->in_size) {
		if (!dfg_http1_chunk(&connection->chunks, in + at, connection->in_size - at, &used, &data, &count, &end)) {
			refuse(connection, 400, "the chunks of the body are malformed");
			return false;
		}
		if (count && !add_body(connection, data, count))
			return false;
		at += used;
	}
	drop_input(connection, at);
	return end;
}

/* Takes what has come of the body. False: more must come, or the request is refused. */
static bool take_body(struct dfg_web_connection *connection)
{
	struct dfg_web_exchange *exchange = connection->receiving;
	if (exchange->head.is_chunked)
		return take_chunks(connection);
	uint64_t left = exchange->head.length - exchange->request.size;
	size_t count = left < connection->in_size ? (size_t)left : connection->in_size;
	if (count && !add_body(connection, (const uint8_t *)connection->in, count))
		return false;
	drop_input(connection, count);
	return exchange->request.size == exchange->head.length;
}

/* Makes a request of a complete head. False: refused. */
static bool take_head(struct dfg_web_connection *connection, size_t size)
{
	struct dfg_web_exchange *exchange = dfg_zeros(1, sizeof *exchange);
	const char *why;
	char *text = exchange ? dfg_zeros(size + 1, 1) : NULL;
	if (!text) {
		dfg_free(exchange);
		dfg_web_connection_drop(connection);
		return false;
	}
	memcpy(text, connection->in, size);
	drop_input(connection, size);
	exchange->web = connection->web;
	exchange->connection = connection;
	exchange->text = text;
	connection->receiving = exchange;
	connection->chunks = (struct dfg_http1_chunks){0};
	int status = dfg_http1_parse(text, size, &exchange->head, &why);
	if (!status && exchange->head.length > connection->web->options.most_body) {
		status = 413;
		why = "the body is too large";
	}
	if (status) {
		refuse(connection, status, why);
		return false;
	}
	char *question = strchr(exchange->head.target, '?');
	if (question)
		*question = 0;
	exchange->request = (struct dfg_web_request){.method = exchange->head.method,
		.path = exchange->head.target,
		.query = question ? question + 1 : "",
		.field = exchange->head.field,
		.fields = exchange->head.fields,
		.protocol = "http1",
		.begin_ns = connection->begin_ns};
	if (exchange->head.expects_continue && !connection->in_size)
		(void)!send(connection->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
	return true;
}

/* Empty lines before a request line are passed over. */
static void drop_empty_lines(struct dfg_web_connection *connection)
{
	size_t count = 0;
	while (connection->in_size >= count + 2 && !memcmp(connection->in + count, "\r\n", 2))
		count += 2;
	if (count)
		drop_input(connection, count);
}

static bool find_head(struct dfg_web_connection *connection)
{
	drop_empty_lines(connection);
	size_t most = connection->web->options.most_head;
	size_t size = dfg_http1_head_size(connection->in, connection->in_size, connection->in_seen);
	connection->in_seen = connection->in_size;
	if (connection->in_size && !connection->begin_ns)
		connection->begin_ns = dfg_now();
	if (size ? size > most : connection->in_size > most) {
		refuse(connection, 431, "the head of the request is too large");
		return false;
	}
	return size && take_head(connection, size);
}

/* Handles the bytes that have come, up to the end of one request. */
static void receive_requests(struct dfg_web_connection *connection)
{
	while (!connection->handled && !connection->is_last && !connection->is_dead && connection->in_size) {
		if (!connection->receiving && !find_head(connection))
			break;
		if (!take_body(connection))
			break;
		hand_over(connection);
	}
	if (!connection->in_size && connection->in) {
		dfg_free(connection->in);
		connection->in = NULL;
		connection->in_capacity = 0;
	}
}

/* The client sends no more. What it has sent whole is answered. */
static void end_input(struct dfg_web_connection *connection)
{
	connection->has_ended = true;
	if (connection->handled)
		atomic_store(&connection->handled->request.gone_ns, dfg_now());
	else if (connection->out.length == connection->sent)
		dfg_web_connection_drop(connection);
}

static void read_input(struct dfg_web_connection *connection)
{
	if (!dfg_reserve(&connection->in, &connection->in_capacity, connection->in_size + READ_BYTES, 1)) {
		dfg_web_connection_drop(connection);
		return;
	}
	ssize_t n = recv(connection->fd, connection->in + connection->in_size, READ_BYTES, 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		n = 0;
	else if (n < 0)
		dfg_web_connection_drop(connection);
	else if (!n)
		end_input(connection);
	connection->in_size += n > 0 ? (size_t)n : 0;
	if (!connection->is_dead)
		receive_requests(connection);
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
		end_input(connection);
	if (!connection->is_dead)
		send_output(connection);
	if (!connection->is_dead)
		watch(connection);
}

void dfg_web_connection_tick(struct dfg_web_connection *connection, uint64_t now)
{
	uint64_t limit = (uint64_t)connection->web->options.timeout_ms * 1000000;
	bool sends = connection->out.length > connection->sent;
	if (connection->is_dead)
		return;
	if (sends && now > connection->sent_ns + limit) {
		dfg_web_connection_drop(connection);
	} else if (connection->begin_ns && now > connection->begin_ns + limit) {
		refuse(connection, 408, "the request was not complete in time");
		if (!connection->is_dead)
			send_output(connection);
		if (!connection->is_dead)
			watch(connection);
	}
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
	if (web->connections)
		web->connections->at = &connection->next;
	web->connections = connection;
	web->count++;
}
