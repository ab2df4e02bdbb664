#include "remote/http_connection.h"

/*
 * The charges of a connection. Every frame of HTTP/2 costs one unit, whatever its type, and whether or not libnghttp2
 * reports it (it ignores unknown types, and frames of streams that it refused, without a callback), except a part of a
 * tensor: a DATA frame of some bytes on the stream of a link. So the frames are counted here, from the bytes
 * themselves. The purse fills with time, and with bytes of the link.
 *
 * An unauthenticated peer has an allowance of bytes as well: it bounds the cost of long frames, of TLS records that
 * carry a byte each, and of bytes sent after the connection was refused.
 */
enum {
	PURSE_A_SECOND = 10,
	PURSE_FOR_BYTES = 4096, /* bytes of the link for one more unit */
	SMALL_DATA = 16,        /* a smaller DATA frame can only be the end of a long link frame */
	PREFACE = 24,           /* bytes before the first frame */
	STRANGER_BYTES = 65536, /* a request with the secret takes less than 2000, TLS included */
	PADDED = 8,             /* the PADDED flag; libcurl does not pad */
};

void dfg_http_connection_fill_purse(struct dfg_http_connection *connection, uint64_t now)
{
	connection->purse = DFG_PURSE;
	connection->purse_ns = now;
	connection->meter.left = PREFACE;
}

static bool pay(struct dfg_http_connection *connection)
{
	uint64_t now = dfg_about_now_ns();
	connection->purse +=
		(double)(now - connection->purse_ns) / 1e9 * PURSE_A_SECOND + (double)connection->useful / PURSE_FOR_BYTES;
	connection->purse_ns = now;
	connection->useful = 0;
	if (connection->purse > DFG_PURSE)
		connection->purse = DFG_PURSE;
	return (connection->purse -= 1) >= 0;
}

static uint32_t big_endian(const uint8_t *bytes, int count)
{
	uint32_t value = 0;
	for (int i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Whether the frame carries a part of a tensor, from the 9 bytes of its head: length, type, flags, stream. */
static bool is_part_of_tensor(const struct dfg_http_connection *connection, const uint8_t *head)
{
	return connection->state == DFG_LINKED && head[3] == NGHTTP2_DATA && !(head[4] & PADDED) &&
		   big_endian(head, 3) >= SMALL_DATA &&
		   (int32_t)(big_endian(head + 5, 4) & INT32_MAX) == connection->request.stream;
}

size_t dfg_http_connection_pays_for_frame(struct dfg_http_connection *connection, const uint8_t *bytes, size_t count)
{
	struct dfg_frame_meter *meter = &connection->meter;
	size_t at = 0;
	if (!meter->left) {
		while (at < count && meter->have < sizeof meter->head)
			meter->head[meter->have++] = bytes[at++];
		if (meter->have < sizeof meter->head)
			return at;
		meter->have = 0;
		meter->left = big_endian(meter->head, 3);
		if (!is_part_of_tensor(connection, meter->head) && !pay(connection))
			return 0;
	}
	size_t payload = meter->left < count - at ? meter->left : count - at;
	meter->left -= (uint32_t)payload;
	return at + payload;
}

bool dfg_http_connection_pays_for_bytes(struct dfg_http_connection *connection, size_t count)
{
	if (connection->state == DFG_LINKED)
		return true;
	connection->strange_bytes += count;
	return connection->strange_bytes <= (connection->state == DFG_ENDING ? 2 : 1) * STRANGER_BYTES;
}
