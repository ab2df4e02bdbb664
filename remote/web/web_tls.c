#include "remote/web/web_private.h"

/* TLS of a connection, between the socket's bytes and those of HTTP. */

enum { PIECE = 16 << 10, SEALED_BYTES = 64 << 10 };

/* Moves the bytes that the handshake, an alert or an answer has to send. */
static bool drain(struct dfg_web_connection *connection)
{
	uint8_t piece[PIECE];
	size_t n;
	if (connection->sealed.length == connection->sealed_sent)
		connection->sealed.length = connection->sealed_sent = 0;
	while ((n = dfg_tls_drain(connection->tls, piece, sizeof piece)))
		dfg_text_put(&connection->sealed, piece, n);
	return !connection->sealed.short_of_memory;
}

bool dfg_web_tls_open(struct dfg_web_connection *connection, const uint8_t *bytes, size_t count)
{
	bool was_up = dfg_tls_is_up(connection->tls);
	int n = 0;
	if (!was_up && !connection->begin_ns)
		connection->begin_ns = dfg_now(); /* the handshake must be complete in time, as a request must */
	if (!dfg_tls_feed(connection->tls, bytes, count) || !drain(connection))
		return false;
	if (!dfg_tls_is_up(connection->tls))
		return true;
	if (!was_up)
		connection->begin_ns = 0;
	do {
		if (!dfg_reserve(&connection->in, &connection->in_capacity, connection->in_size + PIECE, 1))
			return false;
		n = dfg_tls_read(connection->tls, (uint8_t *)connection->in + connection->in_size, PIECE);
		connection->in_size += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return drain(connection) && (n == 0 || connection->in_size);
}

bool dfg_web_tls_seal(struct dfg_web_connection *connection)
{
	while (connection->out.length > connection->sent &&
		   connection->sealed.length - connection->sealed_sent < SEALED_BYTES) {
		size_t left = connection->out.length - connection->sent, n = left < PIECE ? left : PIECE;
		if (!dfg_tls_write(connection->tls, (const uint8_t *)connection->out.s + connection->sent, n))
			return false;
		connection->sent += n;
		if (!drain(connection))
			return false;
	}
	return true;
}
