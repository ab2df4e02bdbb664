#pragma once

/* Shared by http_server.c and http_connection.c. */
#include "remote/address.h"
#include "remote/http_links_private.h"
#include "remote/nghttp2.h"
#include "remote/tls.h"

#include <netinet/in.h>

struct dfg_server {
	struct dfg_http_links *http;
	int fd;
	bool deaf; /* no descriptors are left: it does not accept until the next tick */
	char address[DFG_ADDRESS_BYTES];
	struct dfg_tls *tls;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct dfg_http_connection *connections;
	/* the connection that last received bytes of its link; NULL after it is closed */
	struct dfg_http_connection *heard;
	/* bytes of that connection that were peeked at, and are still to be taken from the kernel */
	size_t seen;
};

/* Tracks the boundaries of a connection's HTTP/2 frames. */
struct dfg_frame_meter {
	uint8_t head[9];
	unsigned have; /* bytes of the head that have come */
	uint32_t left; /* bytes of the payload, or of the preface, that come before the next head */
};

enum { DFG_PURSE = 100 /* frames that a connection may send at once, in addition to parts of tensors */ };

/* A connection. Its address is a multiple of 8, so the lowest bits of its epoll data are DFG_ABOUT_VISITOR. */
struct dfg_http_connection {
	struct dfg_http_connection *next;
	struct dfg_server *server;
	struct in6_addr from;
	int fd;
	uint32_t watched; /* epoll events */
	uint64_t since_ns;
	enum dfg_http_connection_state {
		DFG_STRANGER,
		DFG_WAITING, /* it has sent the secret; its link was not requested here yet */
		DFG_LINKED,
		DFG_ENDING, /* it closes after its answer was sent */
		DFG_DEAD,
	} state;
	struct dfg_tls_session *tls;
	nghttp2_session *session;
	struct dfg_frame_meter meter;
	double purse;              /* the number of frames that it may still send */
	uint64_t purse_ns, useful; /* the time of the last refill, ns; bytes of the link since then */
	size_t strange_bytes;      /* bytes read before it was authenticated */

	struct dfg_request {
		int32_t stream;
		size_t header_bytes;
		unsigned fields;
		bool is_post, is_link, is_version, is_other_version, is_other_build, has_secret, has_peer;
		uint32_t peer;
	} request;
	struct dfg_exchange *exchange;

	uint8_t *out; /* bytes for the network */
	size_t out_capacity, out_first, out_end;
};

DFG_MUST_CHECK struct dfg_err *dfg_http_connection_new(
	struct dfg_server *server, int fd, struct dfg_http_connection **out_visitor);
void dfg_http_connection_free(struct dfg_http_connection *connection);
void dfg_http_connection_flush(struct dfg_http_connection *connection); /* writes the pending output */
/* links it, if its link has been requested by now */
void dfg_http_connection_admit(struct dfg_http_connection *connection);
/* the only answer that it gets */
void dfg_http_connection_answer(struct dfg_http_connection *connection, const char *status);
void dfg_http_connection_drop(
	struct dfg_http_connection *connection, struct dfg_err *err); /* takes err, the reason why its link is lost */
DFG_MUST_CHECK struct dfg_err *dfg_http_connection_callbacks(struct dfg_server *server);

/*
 * http_charge.c: limits the frames and bytes of a connection by a token bucket, the purse. It is full for a new
 * connection.
 */
void dfg_http_connection_fill_purse(struct dfg_http_connection *connection, uint64_t now);

/*
 * The number of the `count` (at least 1) next bytes of HTTP/2 that belong to the frame that begins or continues there;
 * 0 where the connection has no credit left for that frame.
 */
size_t dfg_http_connection_pays_for_frame(struct dfg_http_connection *connection, const uint8_t *bytes, size_t count);

/*
 * Accounts for bytes as they come from the network. False where an unauthenticated or refused peer has sent too many.
 */
bool dfg_http_connection_pays_for_bytes(struct dfg_http_connection *connection, size_t count);
