#include "remote/web/web_private.h"

#include <stdio.h>
#include <string.h>

/* HTTP/1.1 on a connection: one request after the other, each answered before the next is read. */

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {{200, "OK"}, {400, "Bad Request"}, {401, "Unauthorized"}, {404, "Not Found"},
		{405, "Method Not Allowed"}, {406, "Not Acceptable"}, {408, "Request Timeout"}, {413, "Content Too Large"},
		{415, "Unsupported Media Type"}, {417, "Expectation Failed"}, {421, "Misdirected Request"},
		{422, "Unprocessable Content"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"}, {501, "Not Implemented"}, {503, "Service Unavailable"},
		{504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"}};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

/* `framing` is a field, with its line end, or "". */
static void put_head(struct dfg_web_connection *connection, const struct dfg_web_answer *answer, const char *framing)
{
	struct dfg_text *out = &connection->out;
	dfg_text_add(out, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\n%s", answer->status, reason_of(answer->status),
		answer->type, framing);
	if (*answer->field)
		dfg_text_add(out, "%s\r\n", answer->field);
	if (answer->policy)
		dfg_text_add(out, "content-security-policy: %s\r\n", answer->policy);
	dfg_text_add(out, "%s\r\n", connection->is_last ? "connection: close\r\n" : "");
}

static void put_answer(struct dfg_web_connection *connection, const struct dfg_web_answer *answer)
{
	struct dfg_text *out = &connection->out;
	char length[50];
	snprintf(length, sizeof length, "content-length: %zu\r\n", answer->body.length);
	put_head(connection, answer, length);
	if (!answer->with_head)
		dfg_text_put(out, answer->body.s, answer->body.length);
	if (out->short_of_memory)
		dfg_web_connection_drop(connection);
}

/* Answers a request that was not understood or is too large; the connection ends, because its framing is unknown. */
void dfg_web_http1_refuse(struct dfg_web_connection *connection, int status, const char *why)
{
	struct dfg_web *web = connection->web;
	struct dfg_web_answer answer = {0};
	web->options.refuse(web->options.arg, NULL, status, why, &answer);
	connection->is_last = connection->is_refused = true;
	connection->begin_ns = 0;
	connection->sent_ns = dfg_now();
	put_answer(connection, &answer);
	dfg_text_release(&answer.body);
}

static void refuse_body(struct dfg_web_connection *connection)
{
	dfg_web_http1_refuse(connection, 413, "the body is too large");
}

/* Adds bytes to the body of the request; false: refused. */
static bool add_body(struct dfg_web_connection *connection, const uint8_t *bytes, size_t count)
{
	struct dfg_web_exchange *exchange = connection->receiving;
	size_t size = exchange->request.size;
	if (count > connection->web->options.most_body - size) {
		refuse_body(connection);
		return false;
	}
	if (!dfg_web_exchange_reserve(exchange, size + count)) {
		dfg_web_http1_refuse(connection, 503, "the server holds too many bytes of requests");
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
	if (connection->is_ending)
		atomic_store(&exchange->request.gone_ns, dfg_now());
	connection->web->options.handle(connection->web->options.arg, &exchange->request);
}

static bool take_chunks(struct dfg_web_connection *connection)
{
	const uint8_t *in = (const uint8_t *)connection->in, *data;
	size_t at = 0, used, count;
	bool end = false;
	while (!end && at < connection->in_size) {
		if (!dfg_http1_chunk(&connection->chunks, in + at, connection->in_size - at, &used, &data, &count, &end)) {
			dfg_web_http1_refuse(connection, 400, "the chunks of the body are malformed");
			return false;
		}
		if (count && !add_body(connection, data, count))
			return false;
		if (connection->chunks.left > connection->web->options.most_body - connection->receiving->request.size) {
			refuse_body(connection);
			return false;
		}
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
		dfg_web_http1_refuse(connection, status, why);
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
		.begin_ns = connection->begin_ns};
	if (exchange->head.expects_continue && !connection->in_size)
		dfg_text_put(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n", 25);
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
	const char *fault = size ? NULL : dfg_http1_fault(connection->in, connection->in_size, connection->in_seen);
	connection->in_seen = connection->in_size;
	if (connection->in_size && !connection->begin_ns)
		connection->begin_ns = dfg_now();
	if (size ? size > most : connection->in_size > most) {
		dfg_web_http1_refuse(connection, 431, "the head of the request is too large");
		return false;
	}
	if (fault) {
		dfg_web_http1_refuse(connection, 400, fault);
		return false;
	}
	return size && take_head(connection, size);
}

/* The client sends no more, and the last request that it began is not complete. */
static void refuse_cut_off(struct dfg_web_connection *connection)
{
	const struct dfg_web_exchange *exchange = connection->receiving;
	char why[100] = "the request ended within its head";
	if (exchange && exchange->head.is_chunked)
		snprintf(why, sizeof why, "the body ended before its last chunk, after %zu bytes", exchange->request.size);
	else if (exchange)
		snprintf(why, sizeof why, "the body ended after %zu bytes, but Content-Length is %llu", exchange->request.size,
			(unsigned long long)exchange->head.length);
	dfg_web_http1_refuse(connection, 400, why);
}

/* Handles the bytes that have come, until a request is handed over. */
void dfg_web_http1_receive(struct dfg_web_connection *connection)
{
	while (!connection->handled && !connection->is_last && !connection->is_dead && connection->in_size) {
		if (!connection->receiving && !find_head(connection))
			break;
		if (!take_body(connection))
			break;
		hand_over(connection);
	}
	bool is_cut_off = connection->has_ended && !connection->handled && (connection->receiving || connection->in_size);
	if (is_cut_off && !connection->is_last && !connection->is_dead)
		refuse_cut_off(connection);
}

void dfg_web_http1_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	connection->handled = NULL;
	connection->is_last |= !exchange->head.keeps_alive || atomic_load(&connection->web->draining);
	put_answer(connection, &exchange->answer);
	dfg_web_exchange_free(exchange);
	if (!connection->is_dead && !connection->is_last)
		dfg_web_http1_receive(connection);
}

/* The end of the answer frees the exchange, and the next request is read. */
static void end_pieces(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange)
{
	connection->handled = NULL;
	connection->streamed--;
	dfg_web_exchange_free(exchange);
	if (!connection->is_dead && !connection->is_last)
		dfg_web_http1_receive(connection);
}

/* The pieces that have come at once are a chunk. To a client that does not know chunks, the end of the connection is theirs. */
void dfg_web_http1_pieces(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange,
	const struct dfg_text *pieces, bool is_cut_off)
{
	bool is_chunked = !exchange->head.is_1_0;
	struct dfg_text *out = &connection->out;
	if (!exchange->is_begun) {
		connection->is_last |= !is_chunked || !exchange->head.keeps_alive || atomic_load(&connection->web->draining);
		put_head(connection, &exchange->answer, is_chunked ? "transfer-encoding: chunked\r\n" : "");
		exchange->is_begun = true;
	}
	if (pieces->length && is_chunked)
		dfg_text_add(out, "%zx\r\n", pieces->length);
	if (pieces->length)
		dfg_text_put(out, pieces->s, pieces->length);
	if (pieces->length && is_chunked)
		dfg_text_put(out, "\r\n", 2);
	if (exchange->has_all && !is_cut_off && is_chunked)
		dfg_text_put(out, "0\r\n\r\n", 5);
	if (out->short_of_memory || is_cut_off)
		dfg_web_connection_drop(connection);
	if (exchange->has_all)
		end_pieces(connection, exchange);
}
