#include "remote/http_connection.h"

#include <errno.h>
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

void dfg_http_connection_drop(struct dfg_http_connection *visitor, struct dfg_err *err)
{
	struct dfg_exchange *exchange = visitor->exchange;
	visitor->exchange = NULL;
	visitor->state = DFG_DEAD;
	visitor->server->hub->unsettled = true;
	if (exchange) {
		exchange->transport = NULL;
		dfg_exchange_breaks(exchange, err);
	} else {
		dfg_err_free(err);
	}
}

/* Pending output is still sent, within the time limit of an unauthenticated peer. */
static void end(struct dfg_http_connection *visitor, struct dfg_err *err)
{
	dfg_http_connection_drop(visitor, err);
	visitor->state = DFG_ENDING;
	visitor->since_ns = dfg_about_now_ns();
}

/* Sends ENHANCE_YOUR_CALM, if the connection can still be written. */
static void refuse_more(struct dfg_http_connection *visitor)
{
	dfg_nghttp2_session_terminate_session(visitor->session, NGHTTP2_ENHANCE_YOUR_CALM);
	end(visitor, DFG_ERR(DFG_PROTOCOL, "sends too many frames without data"));
}

/* Compares in constant time. */
static bool is_secret(const char *secret, const uint8_t *value, size_t length)
{
	static const char bearer[] = "Bearer ";
	unsigned differs = 0;
	if (length != sizeof bearer - 1 + DFG_SECRET_ROOM - 1 || memcmp(value, bearer, sizeof bearer - 1))
		return false;
	value += sizeof bearer - 1;
	for (int i = 0; i < DFG_SECRET_ROOM - 1; i++)
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
	struct dfg_http_connection *visitor = arg;
	(void)session;
	if (visitor->request.stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	visitor->request.stream = frame->hd.stream_id;
	return 0;
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
	const uint8_t *value, size_t length, uint8_t flags, void *arg)
{
	struct dfg_http_connection *visitor = arg;
	struct dfg_request *request = &visitor->request;
	(void)session;
	(void)flags;
	request->header_bytes += name_length + length + HEADER_EACH;
	if (frame->hd.stream_id != request->stream || ++request->fields > HEADER_FIELDS ||
		request->header_bytes > HEADER_BYTES || (is(name, name_length, ":path") && length > PATH_BYTES)) {
		dfg_http_connection_drop(visitor, NULL);
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	if (is(name, name_length, ":method"))
		request->is_post = is(value, length, "POST");
	else if (is(name, name_length, ":path"))
		request->is_link = is(value, length, "/link");
	else if (is(name, name_length, "dfg-link"))
		request->is_version = is(value, length, "1");
	else if (is(name, name_length, "authorization"))
		request->has_secret = is_secret(visitor->server->hub->secret, value, length);
	else if (is(name, name_length, "dfg-peer"))
		request->peer = number(value, length, &request->has_peer);
	return 0;
}

void dfg_http_connection_answer(struct dfg_http_connection *visitor, const char *status)
{
	nghttp2_nv field = {(uint8_t *)":status", (uint8_t *)status, 7, 3, NGHTTP2_NV_FLAG_NONE};
	dfg_nghttp2_submit_response(visitor->session, visitor->request.stream, &field, 1, NULL);
	end(visitor, NULL);
}

/* The body of the response: bytes of the exchange's send queue. */
static ssize_t say(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room, uint32_t *flags,
	nghttp2_data_source *source, void *arg)
{
	struct dfg_http_connection *visitor = arg;
	(void)session;
	(void)stream;
	(void)flags;
	(void)source;
	size_t count = visitor->exchange ? dfg_exchange_says(visitor->exchange, to, room) : 0;
	visitor->useful += count;
	return count ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
}

static void flush_visitor(void *of)
{
	struct dfg_http_connection *visitor = of;
	dfg_nghttp2_session_resume_data(visitor->session, visitor->request.stream);
	dfg_http_connection_flush(visitor);
}

static void end_visitor(void *of)
{
	struct dfg_http_connection *visitor = of;
	visitor->exchange = NULL;
	visitor->state = DFG_DEAD;
	visitor->server->hub->unsettled = true;
}

void dfg_http_connection_admit(struct dfg_http_connection *visitor)
{
	static const struct dfg_transport transport = {.flush = flush_visitor, .end = end_visitor};
	static const nghttp2_nv field = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE};
	bool twice;
	struct dfg_exchange *exchange = dfg_http_links_theirs(visitor->server->hub, visitor->request.peer, &twice);
	if (twice) {
		dfg_http_connection_answer(visitor, "409");
		return;
	}
	visitor->state = exchange ? DFG_LINKED : DFG_WAITING;
	if (!exchange)
		return;
	nghttp2_data_provider body = {.read_callback = say};
	visitor->exchange = exchange;
	dfg_nghttp2_session_set_local_window_size(visitor->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
	dfg_nghttp2_session_set_local_window_size(visitor->session, NGHTTP2_FLAG_NONE, visitor->request.stream, WINDOW);
	dfg_nghttp2_submit_response(visitor->session, visitor->request.stream, &field, 1, &body);
	exchange->of = visitor;
	exchange->transport = &transport;
	dfg_exchange_stands(exchange);
}

/* The header is complete. Without the secret, the answer is the same for every other error. */
static void decide(struct dfg_http_connection *visitor)
{
	const struct dfg_request *request = &visitor->request;
	if (!request->has_secret)
		dfg_http_connection_answer(visitor, "401");
	else if (!request->is_version)
		dfg_http_connection_answer(visitor, "505");
	else if (!request->is_post || !request->is_link || !request->has_peer)
		dfg_http_connection_answer(visitor, "404");
	else
		dfg_http_connection_admit(visitor);
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct dfg_http_connection *visitor = arg;
	(void)session;
	if (frame->hd.type == NGHTTP2_HEADERS && visitor->state == DFG_STRANGER)
		decide(visitor);
	return 0;
}

static int take_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *arg)
{
	struct dfg_http_connection *visitor = arg;
	(void)session;
	(void)flags;
	(void)stream;
	visitor->useful += count;
	visitor->server->heard = visitor;
	if (visitor->exchange)
		dfg_exchange_hears(visitor->exchange, bytes, count);
	return 0;
}

static int close_stream(nghttp2_session *session, int32_t stream, uint32_t code, void *arg)
{
	struct dfg_http_connection *visitor = arg;
	(void)session;
	(void)code;
	if (visitor->exchange && stream == visitor->request.stream)
		dfg_http_connection_drop(visitor, DFG_ERR(DFG_UNAVAILABLE, "closed the link"));
	return 0;
}

struct dfg_err *dfg_http_connection_callbacks(struct dfg_server *server)
{
	if (dfg_nghttp2_session_callbacks_new(&server->callbacks) || dfg_nghttp2_option_new(&server->option))
		return DFG_ERR(DFG_MEMORY, "out of memory");
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
	struct dfg_http_connection *visitor = dfg_zeros(1, sizeof *visitor);
	if (!visitor)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	uint64_t now = dfg_about_now_ns();
	*visitor = (struct dfg_http_connection){.server = server, .fd = fd, .since_ns = now};
	dfg_http_connection_fill_purse(visitor, now);
	struct dfg_err *err = server->tls ? dfg_tls_session_new(server->tls, &visitor->tls) : NULL;
	if (!err && dfg_nghttp2_session_server_new2(&visitor->session, server->callbacks, visitor, server->option))
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (!err && dfg_nghttp2_submit_settings(visitor->session, NGHTTP2_FLAG_NONE, settings, 2))
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (err) {
		visitor->fd = -1;
		dfg_http_connection_free(visitor);
		return err;
	}
	*out_visitor = visitor;
	return NULL;
}

void dfg_http_connection_free(struct dfg_http_connection *visitor)
{
	if (visitor->server->heard == visitor)
		visitor->server->heard = NULL;
	if (visitor->fd >= 0)
		close(visitor->fd);
	dfg_nghttp2_session_del(visitor->session);
	dfg_tls_session_free(visitor->tls);
	dfg_free(visitor->out);
	dfg_free(visitor);
}

/* Appends to `out`. */
static bool put_out(struct dfg_http_connection *visitor, const uint8_t *bytes, size_t count)
{
	if (!visitor->tls) {
		if (!dfg_reserve(&visitor->out, &visitor->out_room, visitor->out_end + count, 1))
			return false;
		memcpy(visitor->out + visitor->out_end, bytes, count);
		visitor->out_end += count;
		return true;
	}
	if (!dfg_tls_write(visitor->tls, bytes, count))
		return false;
	for (size_t got = 1; got; visitor->out_end += got) {
		if (!dfg_reserve(&visitor->out, &visitor->out_room, visitor->out_end + STRANGER_READS, 1))
			return false;
		got = dfg_tls_drain(visitor->tls, visitor->out + visitor->out_end, STRANGER_READS);
	}
	return true;
}

/* Collects more output, up to a bound. */
static bool gather(struct dfg_http_connection *visitor)
{
	if (visitor->tls && !dfg_tls_is_up(visitor->tls))
		return put_out(visitor, NULL, 0);
	while (visitor->out_end < OUT_BYTES) {
		const uint8_t *bytes;
		ssize_t count = dfg_nghttp2_session_mem_send(visitor->session, &bytes);
		if (count == 0)
			return true;
		if (count < 0 || !put_out(visitor, bytes, (size_t)count))
			return false;
	}
	return true;
}

/* False if the connection was lost. */
static bool write_out(struct dfg_http_connection *visitor)
{
	size_t left = visitor->out_end - visitor->out_first;
	ssize_t count = left ? send(visitor->fd, visitor->out + visitor->out_first, left, MSG_NOSIGNAL) : 0;
	if (count < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	visitor->out_first += count > 0 ? (size_t)count : 0;
	if (visitor->out_first == visitor->out_end)
		visitor->out_first = visitor->out_end = 0;
	return true;
}

static void watch(struct dfg_http_connection *visitor)
{
	uint32_t wants = EPOLLIN | (visitor->out_end ? EPOLLOUT : 0);
	if (wants == visitor->watched)
		return;
	struct epoll_event event = {.events = wants, .data.u64 = (uintptr_t)visitor};
	epoll_ctl(visitor->server->hub->epoll, visitor->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, visitor->fd, &event);
	visitor->watched = wants;
}

void dfg_http_connection_flush(struct dfg_http_connection *visitor)
{
	size_t gathered;
	if (visitor->state == DFG_DEAD)
		return;
	do {
		if (!gather(visitor)) {
			dfg_http_connection_drop(visitor, DFG_ERR(DFG_PROTOCOL, "violated HTTP/2"));
			return;
		}
		gathered = visitor->out_end;
		if (!write_out(visitor)) {
			dfg_http_connection_drop(
				visitor, DFG_ERR(dfg_code_of_errno(errno, DFG_UNAVAILABLE), "connection lost: %s", strerror(errno)));
			return;
		}
	} while (gathered >= OUT_BYTES && !visitor->out_end);
	bool over = !dfg_nghttp2_session_want_read(visitor->session) && !dfg_nghttp2_session_want_write(visitor->session);
	if (over && !visitor->out_end && visitor->state != DFG_ENDING)
		end(visitor, DFG_ERR(DFG_PROTOCOL, "violated HTTP/2"));
	if (visitor->state == DFG_ENDING && !visitor->out_end)
		shutdown(visitor->fd, SHUT_WR);
	watch(visitor);
}

/* Reads HTTP/2 one frame at a time, because the cost of a frame depends on those before it. */
static bool hear(struct dfg_http_connection *visitor, const uint8_t *bytes, size_t count)
{
	while (count && visitor->state < DFG_ENDING) {
		size_t frame = dfg_http_connection_pays_for_frame(visitor, bytes, count);
		if (!frame)
			refuse_more(visitor);
		else if (dfg_nghttp2_session_mem_recv(visitor->session, bytes, frame) != (ssize_t)frame)
			return false;
		bytes += frame;
		count -= frame;
	}
	return true;
}

static bool hear_sealed(struct dfg_http_connection *visitor, uint8_t *buffer, size_t count)
{
	if (!dfg_tls_feed(visitor->tls, buffer, count))
		return false;
	for (int got; dfg_tls_is_up(visitor->tls) && visitor->state < DFG_ENDING;) {
		if ((got = dfg_tls_read(visitor->tls, buffer, DFG_HUB_BUFFER)) <= 0)
			return got == 0;
		if (!hear(visitor, buffer, (size_t)got))
			return false;
	}
	return true;
}

static void take_in(struct dfg_http_connection *visitor, uint8_t *bytes, size_t count)
{
	bool good = visitor->tls ? hear_sealed(visitor, bytes, count) : hear(visitor, bytes, count);
	if (!good && visitor->state != DFG_DEAD) {
		/* the peer is told the reason, if the connection can still be written */
		(void)(gather(visitor) && write_out(visitor));
		dfg_http_connection_drop(visitor, DFG_ERR(DFG_PROTOCOL, "violated HTTP/2"));
	}
}

/* Handles a recv() that returned no bytes. */
static void is_gone(struct dfg_http_connection *visitor, ssize_t count)
{
	const char *words = count ? strerror(errno) : "";
	dfg_http_connection_drop(visitor, DFG_ERR(dfg_code_of_errno(count ? errno : 0, DFG_UNAVAILABLE), "%s%s",
										  count ? "connection lost: " : "closed the connection", words));
}

static bool is_nothing(ssize_t count)
{
	return count < 0 && (errno == EAGAIN || errno == EINTR);
}

static void read_in(struct dfg_http_connection *visitor)
{
	uint8_t *buffer = visitor->server->hub->buffer;
	ssize_t count = recv(visitor->fd, buffer, visitor->state == DFG_LINKED ? DFG_HUB_BUFFER : STRANGER_READS, 0);
	if (is_nothing(count))
		return;
	if (count <= 0)
		is_gone(visitor, count);
	else if (dfg_http_connection_pays_for_bytes(visitor, (size_t)count)) {
		if (visitor->state != DFG_ENDING)
			take_in(visitor, buffer, (size_t)count);
	} else if (visitor->state == DFG_ENDING)
		dfg_http_connection_drop(visitor, NULL);
	else
		refuse_more(visitor);
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
	struct dfg_http_connection *visitor = server->heard;
	ssize_t count = recv(visitor->fd, server->hub->buffer, GLANCE_BYTES, MSG_PEEK);
	if (is_nothing(count))
		return false;
	if (count <= 0 || count == GLANCE_BYTES) {
		dfg_http_connection_event(visitor, EPOLLIN);
		return true;
	}
	server->seen = (size_t)count;
	take_in(visitor, server->hub->buffer, (size_t)count);
	dfg_http_connection_flush(visitor);
	return true;
}

void dfg_server_take_seen(struct dfg_server *server)
{
	size_t left = server->seen;
	ssize_t count = 1;
	server->seen = 0;
	for (; left && server->heard && count > 0; left -= (size_t)count)
		if ((count = recv(server->heard->fd, server->hub->buffer, left, MSG_TRUNC)) <= 0)
			is_gone(server->heard, count);
}

void dfg_http_connection_event(struct dfg_http_connection *visitor, uint32_t events)
{
	if (visitor->state != DFG_DEAD && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		read_in(visitor);
	dfg_http_connection_flush(visitor);
}
