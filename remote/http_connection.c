#include "remote/http_connection.h"

#include "lib/base/build_id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A connection is unauthenticated until its one request has shown the secret; until then it has one stream, the
 * smallest windows, a header of bounded size and no body. Then the windows open completely, and the credits of the
 * frames bound the bytes in flight.
 *
 * Frames that carry no data are charged: http_charge.c.
 */
enum {
	STRANGER_READS = 16384,
	HEADER_BYTES = 16384,
	HEADER_FIELDS = 100,
	HEADER_EACH = 32, /* the cost of a field in addition to its bytes, by RFC 9113 */
	PATH_BYTES = 8192,
	OUT_BYTES = 256 << 10,
	GLANCE_BYTES = 4096,
	WINDOW = INT32_MAX,
};

void dfg_http_connection_drop(struct dfg_http_connection *connection, struct dfg_err *err)
{
	struct dfg_exchange *exchange = connection->exchange;
	connection->exchange = NULL;
	connection->state = DFG_DEAD;
	connection->server->http->unsettled = true;
	if (exchange) {
		exchange->transport = NULL;
		dfg_exchange_breaks(exchange, err);
	} else {
		dfg_err_free(err);
	}
}

/* Pending output is still sent, within the time limit of an unauthenticated peer. */
static void end(struct dfg_http_connection *connection, struct dfg_err *err)
{
	dfg_http_connection_drop(connection, err);
	connection->state = DFG_ENDING;
	connection->since_ns = dfg_about_now_ns();
}

/* Sends ENHANCE_YOUR_CALM, if the connection can still be written. */
static void refuse_more(struct dfg_http_connection *connection)
{
	dfg_nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM);
	end(connection, DFG_ERR(DFG_PROTOCOL, "sent too many frames without data"));
}

/* Compares in constant time. */
static bool is_secret(const char *secret, const uint8_t *value, size_t length)
{
	static const char bearer[] = "Bearer ";
	unsigned differs = 0;
	if (length != sizeof bearer - 1 + DFG_SECRET_SIZE - 1 || memcmp(value, bearer, sizeof bearer - 1))
		return false;
	value += sizeof bearer - 1;
	for (int i = 0; i < DFG_SECRET_SIZE - 1; i++)
		differs |= (unsigned)((uint8_t)secret[i] ^ value[i]);
	return !differs;
}

static bool is(const uint8_t *bytes, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(bytes, word, length);
}

/* A number of at most ten digits. */
static uint32_t number(const uint8_t *digits, size_t length, bool *out_good)
{
	uint64_t value = 0;
	*out_good = length > 0 && length <= 10;
	for (size_t i = 0; *out_good && i < length; i++) {
		*out_good = digits[i] >= '0' && digits[i] <= '9';
		value = value * 10 + (uint64_t)(digits[i] - '0');
	}
	*out_good = *out_good && value <= UINT32_MAX;
	return (uint32_t)value;
}

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct dfg_http_connection *connection = arg;
	(void)session;
	if (connection->request.stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	connection->request.stream = frame->hd.stream_id;
	return 0;
}

static bool is_own_build(const uint8_t *value, size_t length)
{
	char id[64];
	snprintf(id, sizeof id, "%.*s", length < sizeof id ? (int)length : 0, (const char *)value);
	return dfg_build_ids_agree(id, dfg_build_id());
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
	const uint8_t *value, size_t length, uint8_t flags, void *arg)
{
	struct dfg_http_connection *connection = arg;
	struct dfg_request *request = &connection->request;
	(void)session;
	(void)flags;
	request->header_bytes += name_length + length + HEADER_EACH;
	if (frame->hd.stream_id != request->stream || ++request->fields > HEADER_FIELDS ||
		request->header_bytes > HEADER_BYTES || (is(name, name_length, ":path") && length > PATH_BYTES)) {
		dfg_http_connection_drop(connection, NULL);
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	if (is(name, name_length, ":method"))
		request->is_post = is(value, length, "POST");
	else if (is(name, name_length, ":path"))
		request->is_link = is(value, length, "/link");
	else if (is(name, name_length, "dfg-link"))
		request->is_version = is(value, length, "1");
	else if (is(name, name_length, "dfg-version"))
		request->is_other_version = !is(value, length, DFG_VERSION);
	else if (is(name, name_length, "dfg-build"))
		request->is_other_build = !is_own_build(value, length);
	else if (is(name, name_length, "authorization"))
		request->has_secret = is_secret(connection->server->http->secret, value, length);
	else if (is(name, name_length, "dfg-peer"))
		request->peer = number(value, length, &request->has_peer);
	return 0;
}

void dfg_http_connection_answer(struct dfg_http_connection *connection, const char *status)
{
	const char *build = dfg_build_id();
	const nghttp2_nv field[] = {{(uint8_t *)":status", (uint8_t *)status, 7, 3, NGHTTP2_NV_FLAG_NONE},
		{(uint8_t *)"dfg-version", (uint8_t *)DFG_VERSION, 11, sizeof DFG_VERSION - 1, NGHTTP2_NV_FLAG_NONE},
		{(uint8_t *)"dfg-build", (uint8_t *)build, 9, strlen(build), NGHTTP2_NV_FLAG_NONE}};
	bool tells = !strcmp(status, "505"); /* which only a peer with the secret gets */
	dfg_nghttp2_submit_response(connection->session, connection->request.stream, field, tells ? 3 : 1, NULL);
	end(connection, NULL);
}

/* The body of the response: bytes of the exchange's send queue. */
static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t capacity, uint32_t *flags,
	nghttp2_data_source *source, void *arg)
{
	struct dfg_http_connection *connection = arg;
	(void)session;
	(void)stream;
	(void)flags;
	(void)source;
	size_t count = connection->exchange ? dfg_exchange_says(connection->exchange, to, capacity) : 0;
	connection->useful += count;
	return count ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
}

static void flush_visitor(void *of)
{
	struct dfg_http_connection *connection = of;
	dfg_nghttp2_session_resume_data(connection->session, connection->request.stream);
	dfg_http_connection_flush(connection);
}

static void end_visitor(void *of)
{
	struct dfg_http_connection *connection = of;
	connection->exchange = NULL;
	connection->state = DFG_DEAD;
	connection->server->http->unsettled = true;
}

void dfg_http_connection_admit(struct dfg_http_connection *connection)
{
	static const struct dfg_transport transport = {.flush = flush_visitor, .end = end_visitor};
	static const nghttp2_nv field = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE};
	bool twice;
	struct dfg_exchange *exchange = dfg_http_links_theirs(connection->server->http, connection->request.peer, &twice);
	if (twice) {
		dfg_http_connection_answer(connection, "409");
		return;
	}
	connection->state = exchange ? DFG_LINKED : DFG_WAITING;
	if (!exchange)
		return;
	nghttp2_data_provider body = {.read_callback = read_body};
	connection->exchange = exchange;
	dfg_nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
	dfg_nghttp2_session_set_local_window_size(
		connection->session, NGHTTP2_FLAG_NONE, connection->request.stream, WINDOW);
	dfg_nghttp2_submit_response(connection->session, connection->request.stream, &field, 1, &body);
	exchange->of = connection;
	exchange->transport = &transport;
	dfg_exchange_stands(exchange);
}

/* The header is complete. Without the secret, the answer is the same for every other error. */
static void decide(struct dfg_http_connection *connection)
{
	const struct dfg_request *request = &connection->request;
	if (!request->has_secret)
		dfg_http_connection_answer(connection, "401");
	else if (!request->is_version || request->is_other_version || request->is_other_build)
		dfg_http_connection_answer(connection, "505");
	else if (!request->is_post || !request->is_link || !request->has_peer)
		dfg_http_connection_answer(connection, "404");
	else
		dfg_http_connection_admit(connection);
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct dfg_http_connection *connection = arg;
	(void)session;
	if (frame->hd.type == NGHTTP2_HEADERS && connection->state == DFG_STRANGER)
		decide(connection);
	return 0;
}

static int take_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *arg)
{
	struct dfg_http_connection *connection = arg;
	(void)session;
	(void)flags;
	(void)stream;
	connection->useful += count;
	connection->server->heard = connection;
	if (connection->exchange)
		dfg_exchange_hears(connection->exchange, bytes, count);
	return 0;
}

static int close_stream(nghttp2_session *session, int32_t stream, uint32_t code, void *arg)
{
	struct dfg_http_connection *connection = arg;
	(void)session;
	(void)code;
	if (connection->exchange && stream == connection->request.stream)
		dfg_http_connection_drop(connection, DFG_ERR(DFG_UNAVAILABLE, "closed the link"));
	return 0;
}

struct dfg_err *dfg_http_connection_callbacks(struct dfg_server *server)
{
	if (dfg_nghttp2_session_callbacks_new(&server->callbacks) || dfg_nghttp2_option_new(&server->option))
		return dfg_no_memory("an HTTP connection");
	nghttp2_session_callbacks *callbacks = server->callbacks;
	dfg_nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
	dfg_nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
	dfg_nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
	dfg_nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
	dfg_nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
	dfg_nghttp2_option_set_max_outbound_ack(server->option, DFG_PURSE);
	dfg_nghttp2_option_set_max_settings(server->option, 32);
	return NULL;
}

struct dfg_err *dfg_http_connection_new(struct dfg_server *server, int fd, struct dfg_http_connection **out_visitor)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}, {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES}};
	struct dfg_http_connection *connection = dfg_zeros(1, sizeof *connection);
	if (!connection)
		return dfg_no_memory("an HTTP connection");
	uint64_t now = dfg_about_now_ns();
	*connection = (struct dfg_http_connection){.server = server, .fd = fd, .since_ns = now};
	dfg_http_connection_fill_purse(connection, now);
	struct dfg_err *err = server->tls ? dfg_tls_session_new(server->tls, &connection->tls) : NULL;
	if (!err && dfg_nghttp2_session_server_new2(&connection->session, server->callbacks, connection, server->option))
		err = dfg_no_memory("an HTTP connection");
	if (!err && dfg_nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 2))
		err = dfg_no_memory("an HTTP connection");
	if (err) {
		connection->fd = -1;
		dfg_http_connection_free(connection);
		return err;
	}
	*out_visitor = connection;
	return NULL;
}

void dfg_http_connection_free(struct dfg_http_connection *connection)
{
	if (connection->server->heard == connection)
		connection->server->heard = NULL;
	if (connection->fd >= 0)
		close(connection->fd);
	dfg_nghttp2_session_del(connection->session);
	dfg_tls_session_free(connection->tls);
	dfg_free(connection->out);
	dfg_free(connection);
}

/* Appends to `out`. */
static bool put_out(struct dfg_http_connection *connection, const uint8_t *bytes, size_t count)
{
	if (!connection->tls) {
		if (!dfg_reserve(&connection->out, &connection->out_capacity, connection->out_end + count, 1))
			return false;
		memcpy(connection->out + connection->out_end, bytes, count);
		connection->out_end += count;
		return true;
	}
	if (!dfg_tls_write(connection->tls, bytes, count))
		return false;
	for (size_t got = 1; got; connection->out_end += got) {
		if (!dfg_reserve(&connection->out, &connection->out_capacity, connection->out_end + STRANGER_READS, 1))
			return false;
		got = dfg_tls_drain(connection->tls, connection->out + connection->out_end, STRANGER_READS);
	}
	return true;
}

/* Collects more output, up to a bound. */
static bool gather(struct dfg_http_connection *connection)
{
	if (connection->tls && !dfg_tls_is_up(connection->tls))
		return put_out(connection, NULL, 0);
	while (connection->out_end < OUT_BYTES) {
		const uint8_t *bytes;
		ssize_t count = dfg_nghttp2_session_mem_send(connection->session, &bytes);
		if (count == 0)
			return true;
		if (count < 0 || !put_out(connection, bytes, (size_t)count))
			return false;
	}
	return true;
}

/* False if the connection was lost. */
static bool write_out(struct dfg_http_connection *connection)
{
	size_t left = connection->out_end - connection->out_first;
	ssize_t count = left ? send(connection->fd, connection->out + connection->out_first, left, MSG_NOSIGNAL) : 0;
	if (count < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	connection->out_first += count > 0 ? (size_t)count : 0;
	if (connection->out_first == connection->out_end)
		connection->out_first = connection->out_end = 0;
	return true;
}

static void watch(struct dfg_http_connection *connection)
{
	uint32_t wants = EPOLLIN | (connection->out_end ? EPOLLOUT : 0);
	if (wants == connection->watched)
		return;
	struct epoll_event event = {.events = wants, .data.u64 = (uintptr_t)connection};
	epoll_ctl(
		connection->server->http->epoll, connection->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, connection->fd, &event);
	connection->watched = wants;
}

void dfg_http_connection_flush(struct dfg_http_connection *connection)
{
	size_t gathered;
	if (connection->state == DFG_DEAD)
		return;
	do {
		if (!gather(connection)) {
			dfg_http_connection_drop(connection, DFG_ERR(DFG_PROTOCOL, "violated the HTTP/2 protocol"));
			return;
		}
		gathered = connection->out_end;
		if (!write_out(connection)) {
			dfg_http_connection_drop(
				connection, DFG_ERR(dfg_code_of_errno(errno, DFG_UNAVAILABLE), "connection lost: %s", strerror(errno)));
			return;
		}
	} while (gathered >= OUT_BYTES && !connection->out_end);
	bool over =
		!dfg_nghttp2_session_want_read(connection->session) && !dfg_nghttp2_session_want_write(connection->session);
	if (over && !connection->out_end && connection->state != DFG_ENDING)
		end(connection, DFG_ERR(DFG_PROTOCOL, "violated the HTTP/2 protocol"));
	if (connection->state == DFG_ENDING && !connection->out_end)
		shutdown(connection->fd, SHUT_WR);
	watch(connection);
}

/* Reads HTTP/2 one frame at a time, because the cost of a frame depends on those before it. */
static bool receive_frames(struct dfg_http_connection *connection, const uint8_t *bytes, size_t count)
{
	while (count && connection->state < DFG_ENDING) {
		size_t frame = dfg_http_connection_pays_for_frame(connection, bytes, count);
		if (!frame)
			refuse_more(connection);
		else if (dfg_nghttp2_session_mem_recv(connection->session, bytes, frame) != (ssize_t)frame)
			return false;
		bytes += frame;
		count -= frame;
	}
	return true;
}

static bool receive_sealed(struct dfg_http_connection *connection, uint8_t *buffer, size_t count)
{
	if (!dfg_tls_feed(connection->tls, buffer, count))
		return false;
	for (int got; dfg_tls_is_up(connection->tls) && connection->state < DFG_ENDING;) {
		if ((got = dfg_tls_read(connection->tls, buffer, DFG_HTTP_BUFFER)) <= 0)
			return got == 0;
		if (!receive_frames(connection, buffer, (size_t)got))
			return false;
	}
	return true;
}

static void take_in(struct dfg_http_connection *connection, uint8_t *bytes, size_t count)
{
	bool good = connection->tls ? receive_sealed(connection, bytes, count) : receive_frames(connection, bytes, count);
	if (!good && connection->state != DFG_DEAD) {
		/* the peer is told the reason, if the connection can still be written */
		(void)(gather(connection) && write_out(connection));
		dfg_http_connection_drop(connection, DFG_ERR(DFG_PROTOCOL, "violated the HTTP/2 protocol"));
	}
}

/* Handles a recv() that returned no bytes. */
static void is_gone(struct dfg_http_connection *connection, ssize_t count)
{
	const char *words = count ? strerror(errno) : "";
	dfg_http_connection_drop(connection, DFG_ERR(dfg_code_of_errno(count ? errno : 0, DFG_UNAVAILABLE), "%s%s",
											 count ? "connection lost: " : "closed the connection", words));
}

static bool is_nothing(ssize_t count)
{
	return count < 0 && (errno == EAGAIN || errno == EINTR);
}

static void read_in(struct dfg_http_connection *connection)
{
	uint8_t *buffer = connection->server->http->buffer;
	ssize_t count = recv(connection->fd, buffer, connection->state == DFG_LINKED ? DFG_HTTP_BUFFER : STRANGER_READS, 0);
	if (is_nothing(count))
		return;
	if (count <= 0)
		is_gone(connection, count);
	else if (dfg_http_connection_pays_for_bytes(connection, (size_t)count)) {
		if (connection->state != DFG_ENDING)
			take_in(connection, buffer, (size_t)count);
	} else if (connection->state == DFG_ENDING)
		dfg_http_connection_drop(connection, NULL);
	else
		refuse_more(connection);
}

bool dfg_server_has_heard(const struct dfg_server *server)
{
	return server->heard && server->heard->state == DFG_LINKED;
}

/*
 * Taking bytes from the kernel sends an acknowledgement, which takes as long as sending an answer: so a short message
 * is only peeked at, and taken after the messages that it caused were sent.
 */
bool dfg_server_listen(struct dfg_server *server)
{
	struct dfg_http_connection *connection = server->heard;
	ssize_t count = recv(connection->fd, server->http->buffer, GLANCE_BYTES, MSG_PEEK);
	if (is_nothing(count))
		return false;
	if (count <= 0 || count == GLANCE_BYTES) {
		dfg_http_connection_event(connection, EPOLLIN);
		return true;
	}
	server->seen = (size_t)count;
	take_in(connection, server->http->buffer, (size_t)count);
	dfg_http_connection_flush(connection);
	return true;
}

void dfg_server_take_seen(struct dfg_server *server)
{
	size_t left = server->seen;
	ssize_t count = 1;
	server->seen = 0;
	for (; left && server->heard && count > 0; left -= (size_t)count)
		if ((count = recv(server->heard->fd, server->http->buffer, left, MSG_TRUNC)) <= 0)
			is_gone(server->heard, count);
}

void dfg_http_connection_event(struct dfg_http_connection *connection, uint32_t events)
{
	if (connection->state != DFG_DEAD && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		read_in(connection);
	dfg_http_connection_flush(connection);
}
