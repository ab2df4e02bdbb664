#pragma once

/* What http_server.c and http_connection.c share. */
#include "remote/http_links_private.h"
#include "remote/nghttp2.h"
#include "remote/tls.h"

#include <netinet/in.h>

struct dfg_server {
	struct dfg_http_links *hub;
	int fd;
	bool deaf; /* no descriptors: it does not accept until the next tick */
	char address[80];
	struct dfg_tls *tls;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct dfg_http_connection *visitors;
	struct dfg_http_connection *heard; /* the last that sent bytes of its link; NULL where it is gone */
	size_t seen;                       /* bytes of its that were read, and are still to be taken from the kernel */
};

/* Where the bytes of a visitor are in its frames of HTTP/2. */
struct dfg_frame_meter {
	uint8_t head[9];
	unsigned have; /* bytes of the head */
	uint32_t left; /* bytes of the payload, or of the preface, that are to come before the next head */
};

enum { DFG_PURSE = 100 /* frames that a visitor may send at once, beside the parts of tensors */ };

/* A connection. Its address is a multiple of 8, so what epoll says of it is DFG_ABOUT_VISITOR. */
struct dfg_http_connection {
	struct dfg_http_connection *next;
	struct dfg_server *server;
	struct in6_addr from;
	int fd;
	uint32_t watched; /* events */
	uint64_t since_ns;
	enum dfg_http_connection_state {
		DFG_STRANGER,
		DFG_WAITING, /* it has the secret; its link was not asked for yet */
		DFG_LINKED,
		DFG_ENDING, /* as soon as it was told why */
		DFG_DEAD,
	} state;
	struct dfg_tls_session *tls;
	nghttp2_session *session;
	struct dfg_frame_meter meter;
	double purse;              /* frames that it may send still */
	uint64_t purse_ns, useful; /* when that was worked out; bytes of the link since */
	size_t strange_bytes;      /* read while it was no peer */

	struct dfg_request {
		int32_t stream;
		size_t header_bytes;
		unsigned fields;
		bool is_post, is_link, is_version, has_secret, has_peer;
		uint32_t peer;
	} request;
	struct dfg_exchange *exchange;

	uint8_t *out; /* for the network */
	size_t out_room, out_first, out_end;
};

DFG_MUST_CHECK struct dfg_err *dfg_http_connection_new(
	struct dfg_server *server, int fd, struct dfg_http_connection **out_visitor);
void dfg_http_connection_free(struct dfg_http_connection *visitor);
void dfg_http_connection_flush(struct dfg_http_connection *visitor); /* what there is to write */
void dfg_http_connection_admit(struct dfg_http_connection *visitor); /* links it, where its link is there now */
void dfg_http_connection_answer(struct dfg_http_connection *visitor, const char *status); /* and that is all it gets */
void dfg_http_connection_drop(
	struct dfg_http_connection *visitor, struct dfg_err *err); /* takes err: why its link is lost */
DFG_MUST_CHECK struct dfg_err *dfg_http_connection_callbacks(struct dfg_server *server);

/* http_charge.c. The purse is full for a new visitor. */
void dfg_http_connection_fill_purse(struct dfg_http_connection *visitor, uint64_t now);

/*
 * Of bytes of HTTP/2 that follow those before, and are at least one: how many belong to the frame that begins there or
 * continues. 0 where it cannot pay for that.
 */
size_t dfg_http_connection_pays_for_frame(struct dfg_http_connection *visitor, const uint8_t *bytes, size_t count);

/* Bytes as they come from the network. False where a stranger, or one that was refused, has sent too many. */
bool dfg_http_connection_pays_for_bytes(struct dfg_http_connection *visitor, size_t count);
