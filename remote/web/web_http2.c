#include "remote/nghttp2.h"
#include "remote/web/web_private.h"

#include <stdio.h>
#include <string.h>

/*
 * HTTP/2 on a connection: libnghttp2 reads and writes frames, each stream is a request. A request's body is bounded as with
 * HTTP/1.1. Frames that make work without asking for any (RST_STREAM, SETTINGS, PING, empty DATA) are counted; a client
 * that sends more of them than its requests explain is told to calm down, and the connection ends.
 */
enum {
	STREAMS = 100,
	WINDOW = 1 << 20,
	OUT_BYTES = 256 << 10,
	FRAMES = 500,
	FRAMES_A_REQUEST = 4,
	FRAMES_A_PIECE = 2,
	PAYING_BYTES = 1024,
	PREFACE_BYTES = 24,
	NOTICE_NS = 250000000,
	ANSWER_BYTES_A_FRAME = 4096
};

struct dfg_web_http2 {
	nghttp2_session *session;
	double frames; /* that it may still send */
	/* Where the bytes that come are among the frames: */
	uint32_t left;   /* bytes of the frame, or the preface, that have not come */
	uint8_t head[9]; /* the head of the next frame: length, type, flags, stream */
	unsigned have;   /* bytes of `head` that have come */
	enum { SERVES, ANNOUNCES, REFUSES } drain;
};

static struct dfg_web_exchange *stream_of(const struct dfg_web_connection *connection, int32_t stream)
{
	struct dfg_web_exchange *exchange = connection->streams;
	while (exchange && exchange->stream != stream)
		exchange = exchange->next_stream;
	return exchange;
}

static void unlink_stream(struct dfg_web_exchange *exchange)
{
	*exchange->at_stream = exchange->next_stream;
	if (exchange->next_stream)
		exchange->next_stream->at_stream = exchange->at_stream;
	exchange->connection = NULL;
}

/* False: the connection is ending. */
static bool charge(struct dfg_web_connection *connection)
{
	struct dfg_web_http2 *http2 = connection->http2;
	if ((http2->frames -= 1) >= 0)
		return true;
	dfg_nghttp2_session_terminate_session(http2->session, NGHTTP2_ENHANCE_YOUR_CALM);
	return false;
}

/*
 * The number of bytes, of those that have come, up to the end of a frame or of the head of the next one, whose frame is
 * charged. They are counted here because libnghttp2 drops frames of unknown types, and of streams that have ended,
 * without a callback. DATA of a kilobyte is paid by its bytes. 0: the connection is ending.
 */
static size_t next_frame(struct dfg_web_connection *connection, const uint8_t *bytes, size_t count)
{
	struct dfg_web_http2 *http2 = connection->http2;
	size_t at = 0;
	while (!http2->left && at < count && http2->have < sizeof http2->head)
		http2->head[http2->have++] = bytes[at++];
	if (http2->have == sizeof http2->head) {
		http2->have = 0;
		http2->left = (uint32_t)http2->head[0] << 16 | (uint32_t)http2->head[1] << 8 | http2->head[2];
		bool pays = http2->head[3] == NGHTTP2_DATA && http2->left >= PAYING_BYTES;
		if (!pays && !charge(connection))
			return 0;
	}
	size_t payload = http2->left < count - at ? http2->left : count - at;
	http2->left -= (uint32_t)payload;
	return at + payload;
}

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct dfg_web_connection *connection = arg;
	(void)session;
	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	struct dfg_web_exchange *exchange = dfg_zeros(1, sizeof *exchange);
	if (!exchange)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	*exchange = (struct dfg_web_exchange){.web = connection->web,
		.connection = connection,
		.stream = frame->hd.stream_id,
		.next_stream = connection->streams,
		.at_stream = &connection->streams,
		.request = {.method = "", .path = "", .query = "", .connection = connection->number, .begin_ns = dfg_now()}};
	exchange->request.field = exchange->head.field;
	if (connection->streams)
		connection->streams->at_stream = &exchange->next_stream;
	connection->streams = exchange;
	return 0;
}

/* ":authority" counts as Host, which a request may have instead. */
static bool keep_field(struct dfg_web_exchange *exchange, const char *name, const char *value)
{
	struct dfg_http1_head *head = &exchange->head;
	if (!strcmp(name, ":method")) {
		exchange->request.method = value;
	} else if (!strcmp(name, ":path")) {
		char *question = strchr(value, '?');
		exchange->request.path = value;
		exchange->request.query = question ? question + 1 : "";
		if (question)
			*question = 0;
	} else if (name[0] != ':' || !strcmp(name, ":authority")) {
		if (head->fields == DFG_HTTP1_FIELDS)
			return false;
		head->field[head->fields++] = (struct dfg_http_field){name[0] == ':' ? "host" : name, value};
		exchange->request.fields = head->fields;
	}
	return true;
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
	const uint8_t *value, size_t length, uint8_t flags, void *arg)
{
	struct dfg_web_connection *connection = arg;
	struct dfg_web_exchange *exchange = stream_of(connection, frame->hd.stream_id);
	(void)session, (void)flags;
	if (!exchange || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0; /* a trailer */
	exchange->head_bytes += name_length + length + 32;
	exchange->is_large |= exchange->head_bytes > connection->web->options.most_head;
	if (exchange->is_large)
		return 0;
	const char *name_copy = dfg_arena_copy(&exchange->arena, name, name_length);
	const char *value_copy = dfg_arena_copy(&exchange->arena, value, length);
	if (!name_copy || !value_copy)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	exchange->is_large = !keep_field(exchange, name_copy, value_copy);
	return 0;
}

static nghttp2_nv field_of(const char *name, size_t name_length, const char *value)
{
	return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, name_length, strlen(value), NGHTTP2_NV_FLAG_NONE};
}

/* The status and message of gRPC, after the body. */
static bool put_trailers(nghttp2_session *session, int32_t stream, const struct dfg_web_answer *answer)
{
	char status[8];
	nghttp2_nv field[2];
	snprintf(status, sizeof status, "%d", answer->grpc_status);
	field[0] = field_of("grpc-status", 11, status);
	field[1] = field_of("grpc-message", 12, answer->grpc_message.s ? answer->grpc_message.s : "");
	return !dfg_nghttp2_submit_trailer(session, stream, field, answer->grpc_message.length ? 2 : 1);
}

static ssize_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *to, size_t capacity, uint32_t *flags,
	nghttp2_data_source *source, void *arg)
{
	struct dfg_web_exchange *exchange = source->ptr;
	const struct dfg_text *body = &exchange->answer.body;
	size_t left = body->length - exchange->sent, n = left < capacity ? left : capacity;
	bool is_all = !exchange->is_streamed || exchange->has_all;
	(void)arg;
	if (!n && !is_all)
		return NGHTTP2_ERR_DEFERRED;
	if (n)
		memcpy(to, body->s + exchange->sent, n);
	exchange->sent += n;
	exchange->moved_ns = dfg_now();
	exchange->connection->http2->frames += /* for its WINDOW_UPDATEs */
		exchange->is_streamed ? FRAMES_A_PIECE : (double)n / ANSWER_BYTES_A_FRAME;
	if (exchange->sent == body->length && is_all)
		*flags |= NGHTTP2_DATA_FLAG_EOF | (exchange->answer.is_grpc ? NGHTTP2_DATA_FLAG_NO_END_STREAM : 0);
	if (exchange->sent == body->length && exchange->answer.is_grpc && !put_trailers(session, stream, &exchange->answer))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return (ssize_t)n;
}

/* The stream refers to the exchange until it ends: close_stream(). */
void dfg_web_http2_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	const struct dfg_web_answer *answer = &exchange->answer;
	char status[4], length[24];
	nghttp2_nv field[5];
	size_t n = 2;
	nghttp2_data_provider body = {.source.ptr = exchange, .read_callback = read_answer};
	snprintf(status, sizeof status, "%d", answer->is_grpc ? 200 : answer->status);
	snprintf(length, sizeof length, "%zu", answer->body.length);
	field[0] = field_of(":status", 7, status);
	field[1] = field_of("content-type", 12, answer->type);
	if (!answer->is_grpc && !exchange->is_streamed)
		field[n++] = field_of("content-length", 14, length);
	exchange->is_answered = true;
	exchange->moved_ns = dfg_now();
	exchange->held = exchange->is_streamed ? 0 : answer->body.length;
	exchange->web->answers += exchange->held;
	const char *colon = strchr(answer->field, ':');
	if (colon)
		field[n++] = field_of(answer->field, (size_t)(colon - answer->field), colon + 2);
	if (answer->policy)
		field[n++] = field_of("content-security-policy", 23, answer->policy);
	if (exchange->is_closed) {
		unlink_stream(exchange);
		dfg_web_exchange_free(exchange);
	} else if (dfg_nghttp2_submit_response(
				   connection->http2->session, exchange->stream, field, n, answer->with_head ? NULL : &body)) {
		dfg_web_connection_drop(connection);
	}
}

/* Whether a handler still refers to the exchange. */
static bool is_handlers(const struct dfg_web_exchange *exchange)
{
	return exchange->is_handled && !(exchange->is_streamed ? exchange->has_all : exchange->is_answered);
}

/* The pieces are appended to a body whose front is dropped once it is sent. */
static void add_pieces(struct dfg_web_exchange *exchange, const struct dfg_text *pieces)
{
	struct dfg_text *body = &exchange->answer.body;
	if (exchange->sent) {
		memmove(body->s, body->s + exchange->sent, body->length - exchange->sent);
		body->length -= exchange->sent;
		exchange->sent = 0;
	}
	if (pieces->length)
		dfg_text_put(body, pieces->s, pieces->length);
}

void dfg_web_http2_pieces(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange,
	const struct dfg_text *pieces, bool is_cut_off)
{
	nghttp2_session *session = connection->http2->session;
	int32_t stream = exchange->stream;
	connection->streamed -= exchange->has_all;
	if (exchange->is_closed) {
		if (exchange->has_all) {
			unlink_stream(exchange);
			dfg_web_exchange_free(exchange);
		}
		return;
	}
	add_pieces(exchange, pieces);
	if (is_cut_off || exchange->answer.body.short_of_memory) {
		(void)dfg_nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
	} else if (!exchange->is_begun) {
		exchange->is_begun = true;
		dfg_web_http2_answer(connection, exchange);
	} else {
		(void)dfg_nghttp2_session_resume_data(session, stream); /* fails where it was not deferred */
	}
}

static void refuse(
	struct dfg_web_connection *connection, struct dfg_web_exchange *exchange, int status, const char *why)
{
	struct dfg_web *web = connection->web;
	exchange->is_handled = true;
	exchange->answer = (struct dfg_web_answer){0};
	web->options.refuse(web->options.arg, &exchange->request, status, why, &exchange->answer);
	dfg_web_http2_answer(connection, exchange);
}

static int take_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *arg)
{
	struct dfg_web_connection *connection = arg;
	struct dfg_web_exchange *exchange = stream_of(connection, stream);
	(void)session, (void)flags;
	if (!exchange || exchange->is_handled)
		return 0;
	size_t size = exchange->request.size;
	if (count > connection->web->options.most_body - size) {
		refuse(connection, exchange, 413, "the body is too large");
	} else if (!dfg_web_exchange_reserve(exchange, size + count)) {
		refuse(connection, exchange, 503, "the server holds too many bytes of requests");
	} else {
		memcpy(exchange->body + size, bytes, count);
		exchange->request.size += count;
	}
	return 0;
}

static void hand_over(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	exchange->is_handled = true;
	exchange->request.body = exchange->body;
	connection->http2->frames += FRAMES_A_REQUEST;
	if (connection->http2->frames > FRAMES)
		connection->http2->frames = FRAMES;
	connection->web->options.handle(connection->web->options.arg, &exchange->request);
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct dfg_web_connection *connection = arg;
	struct dfg_web_exchange *exchange = stream_of(connection, frame->hd.stream_id);
	bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
	(void)session;
	if (!exchange || !is_request)
		return 0;
	if (exchange->is_large && !exchange->is_handled)
		refuse(connection, exchange, 431, "the head of the request is too large");
	else if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM && !exchange->is_handled)
		hand_over(connection, exchange);
	return 0;
}

/* A request whose answer is still being computed stays until that is there. */
static int close_stream(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	struct dfg_web_exchange *exchange = stream_of(arg, stream);
	(void)session, (void)error;
	if (!exchange)
		return 0;
	exchange->is_closed = true;
	atomic_store(&exchange->request.gone_ns, 1);
	if (exchange->is_streamed)
		dfg_web_stream_gone(exchange->web);
	if (!is_handlers(exchange)) {
		unlink_stream(exchange);
		dfg_web_exchange_free(exchange);
	}
	return 0;
}

static bool open_session(struct dfg_web_connection *connection)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	if (dfg_nghttp2_session_callbacks_new(&callbacks))
		return false;
	if (dfg_nghttp2_option_new(&option)) {
		dfg_nghttp2_session_callbacks_del(callbacks);
		return false;
	}
	dfg_nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
	dfg_nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
	dfg_nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
	dfg_nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
	dfg_nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
	dfg_nghttp2_option_set_max_outbound_ack(option, FRAMES);
	dfg_nghttp2_option_set_max_settings(option, 32);
	bool good = !dfg_nghttp2_session_server_new2(&connection->http2->session, callbacks, connection, option);
	dfg_nghttp2_session_callbacks_del(callbacks);
	dfg_nghttp2_option_del(option);
	return good && !dfg_nghttp2_submit_settings(connection->http2->session, NGHTTP2_FLAG_NONE, settings, 2) &&
		   !dfg_nghttp2_session_set_local_window_size(connection->http2->session, NGHTTP2_FLAG_NONE, 0, 16 * WINDOW);
}

void dfg_web_http2_new(struct dfg_web_connection *connection)
{
	connection->is_known = true;
	connection->begin_ns = 0;
	connection->number = ++connection->web->numbers;
	connection->http2 = dfg_zeros(1, sizeof *connection->http2);
	if (!connection->http2 || !open_session(connection))
		dfg_web_connection_drop(connection);
	else
		*connection->http2 =
			(struct dfg_web_http2){.session = connection->http2->session, .frames = FRAMES, .left = PREFACE_BYTES};
}

void dfg_web_http2_free(struct dfg_web_connection *connection)
{
	if (!connection->http2)
		return;
	dfg_nghttp2_session_del(connection->http2->session); /* NULL is fine */
	dfg_free(connection->http2);
	for (struct dfg_web_exchange *exchange = connection->streams, *next; exchange; exchange = next) {
		bool is_waiting = is_handlers(exchange);
		next = exchange->next_stream;
		exchange->connection = NULL;
		atomic_store(&exchange->request.gone_ns, 1);
		if (!is_waiting)
			dfg_web_exchange_free(exchange);
	}
	connection->streams = NULL;
}

void dfg_web_http2_receive(struct dfg_web_connection *connection)
{
	if (connection->is_dead)
		return;
	const uint8_t *in = (const uint8_t *)connection->in;
	size_t at = 0, count;
	while (at < connection->in_size && (count = next_frame(connection, in + at, connection->in_size - at))) {
		if (dfg_nghttp2_session_mem_recv(connection->http2->session, in + at, count) < 0) {
			dfg_web_connection_drop(connection);
			break;
		}
		at += count;
	}
	connection->in_size = 0;
}

bool dfg_web_http2_has_output(const struct dfg_web_connection *connection)
{
	return dfg_nghttp2_session_want_write(connection->http2->session);
}

bool dfg_web_http2_pull(struct dfg_web_connection *connection)
{
	nghttp2_session *session = connection->http2->session;
	const uint8_t *bytes;
	ssize_t n = 0;
	while (connection->out.length - connection->sent < OUT_BYTES &&
		   (n = dfg_nghttp2_session_mem_send(session, &bytes)) > 0)
		dfg_text_put(&connection->out, bytes, (size_t)n);
	if (n < 0 || connection->out.short_of_memory) {
		dfg_web_connection_drop(connection);
		return false;
	}
	bool ends = !dfg_nghttp2_session_want_read(session) && !dfg_nghttp2_session_want_write(session);
	connection->is_last |= ends;
	if (ends && connection->out.length == connection->sent)
		dfg_web_connection_drop(connection);
	return !connection->is_dead;
}

/*
 * The server ends when the streams have. Clients are told, and requests that they had sent before they heard of it are
 * answered; later ones are not handled, as the client knows from the number in the second GOAWAY.
 */
static void drain(struct dfg_web_connection *connection, uint64_t now)
{
	struct dfg_web_http2 *http2 = connection->http2;
	if (!connection->streams) {
		dfg_nghttp2_session_terminate_session(http2->session, NGHTTP2_NO_ERROR);
	} else if (http2->drain == SERVES) {
		dfg_nghttp2_submit_shutdown_notice(http2->session);
		http2->drain = ANNOUNCES;
	} else if (http2->drain == ANNOUNCES && now > connection->web->drain_ns + NOTICE_NS) {
		dfg_nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE,
			dfg_nghttp2_session_get_last_proc_stream_id(http2->session), NGHTTP2_NO_ERROR, NULL, 0);
		http2->drain = REFUSES;
	}
}

/*
 * The client may still be sending a request that is refused. Its stream is not reset at once, because curl and others would
 * then lose the answer.
 */
void dfg_web_http2_tick(struct dfg_web_connection *connection, uint64_t now)
{
	nghttp2_session *session = connection->http2->session;
	uint64_t limit = (uint64_t)connection->web->options.timeout_ms * 1000000;
	for (struct dfg_web_exchange *exchange = connection->streams, *next; exchange; exchange = next) {
		next = exchange->next_stream;
		if (!exchange->is_handled && now > exchange->request.begin_ns + limit)
			refuse(connection, exchange, 408, "the request was not complete in time");
		else if (exchange->is_answered && !exchange->is_streamed && now > exchange->moved_ns + limit)
			(void)dfg_nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, exchange->stream,
				exchange->sent == exchange->answer.body.length ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
	}
	if (atomic_load(&connection->web->draining))
		drain(connection, now);
}
