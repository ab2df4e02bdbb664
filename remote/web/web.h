#pragma once

#include "lib/base/text.h"
#include "remote/web/http1.h"

#include <stdatomic.h>

/*
 * An HTTP server for any client: HTTP/1.1, and HTTP/2 by prior knowledge, on one port. One thread moves bytes; requests
 * are handed over whole, and answered whenever the answer is there, from any thread.
 */
struct dfg_tls;
struct dfg_web;
struct dfg_web_answer;
struct dfg_web_request;

struct dfg_web_options {
	const char *address; /* "127.0.0.1:8080", "[::1]:0"; port 0 takes a free one */
	size_t most_body;    /* bytes of a request's body; a larger one is answered 413 */
	size_t most_head;    /* bytes of a request's head; a larger one is answered 431 */
	size_t most_bodies;  /* bytes of all bodies that are held at once; beyond it, a request is answered 503 */
	size_t most_answers; /* bytes of all answers that clients have not taken: dfg_web_has_space() */
	uint32_t most_connections;
	uint32_t timeout_ms; /* from the first byte of a request to its last (408), and for a client that does not read */
	/* Called on the server's thread, which it must not block, for each complete request. */
	void (*handle)(void *arg, struct dfg_web_request *request);
	/*
	 * Called on that thread after requests were handed over, one or several that came together, and when the time of dfg_now()
	 * has come that it returned. NULL: nobody is told.
	 */
	uint64_t (*settle)(void *arg);
	/*
	 * Makes the answer to a request that the server itself refuses with this status, in the form that its client expects.
	 * `request` has the fields that have come; NULL: it has not been understood.
	 */
	void (*refuse)(void *arg, const struct dfg_web_request *request, int status, const char *why,
		struct dfg_web_answer *out_answer);
	struct dfg_tls *tls; /* all connections are encrypted; borrowed; NULL: none is */
	void *arg;
};

/* A request. It belongs to the server; the handler may read it until it has answered. */
struct dfg_web_request {
	const char *method; /* "GET" */
	const char *path;   /* as sent, without the query: "/v2/models/a%20b" */
	const char *query;  /* after the '?'; "" if there is none */
	const struct dfg_http_field *field;
	unsigned fields;
	const uint8_t *body;
	size_t size;
	uint64_t connection; /* the number of a connection that may have several requests at once; 0: one at a time */
	uint64_t begin_ns;   /* of the monotonic clock: its first byte came */
	/* time at which the client ended its side of the connection; 0: it has not; 1: the connection or stream has ended */
	atomic_uint_fast64_t gone_ns;
};

/* The value of a header field, whose name is given in lower case; NULL: there is none. */
const char *dfg_web_field(const struct dfg_web_request *request, const char *name);

/* Whether no more than `most_answers` bytes wait to be taken by clients. Called on the server's thread. */
bool dfg_web_has_space(const struct dfg_web_request *request);

/* An answer. `body` is taken. */
struct dfg_web_answer {
	int status;
	const char *type;   /* the Content-Type; static */
	char field[64];     /* one more header line, such as "retry-after: 1"; "": none */
	const char *policy; /* the Content-Security-Policy of a page, or NULL; borrowed until the server ends */
	struct dfg_text body;
	bool is_grpc;                 /* over HTTP/2: the status and the message follow the body as trailers */
	int grpc_status;              /* if is_grpc */
	struct dfg_text grpc_message; /* if is_grpc: percent-encoded; it is taken */
	bool with_head;               /* the answer to HEAD: the body is not sent, its length is */
};

/* Answers the request, which is freed. Called once for each request, on any thread. */
void dfg_web_answer(struct dfg_web_request *request, struct dfg_web_answer *answer);

/*
 * An answer in pieces, instead of dfg_web_answer(): begin, puts, end, on any thread, one call at a time for a request.
 * HTTP/1.1 sends it in chunks. The answer's own body must be empty, and no gRPC. put() takes the piece; a piece for a client
 * that is gone is dropped. After end() the request is freed; if the answer is not whole, the client sees that it is cut off.
 */
void dfg_web_begin(struct dfg_web_request *request, const struct dfg_web_answer *answer);
void dfg_web_put(struct dfg_web_request *request, struct dfg_text *piece);
void dfg_web_end(struct dfg_web_request *request, bool is_whole);

/*
 * The bytes of the pieces that the system has not taken to send: waits until they are `most` or less, or fewer than
 * `before`, or the client is gone, or until that time of dfg_now().
 */
size_t dfg_web_wait(struct dfg_web_request *request, size_t most, size_t before, uint64_t until_ns);

/* Listens and starts the thread. DFG_UNAVAILABLE where the address cannot be bound. */
DFG_MUST_CHECK struct dfg_err *dfg_web_new(const struct dfg_web_options *options, struct dfg_web **out_web);

/* "127.0.0.1:8080", with the actual port. */
const char *dfg_web_address(const struct dfg_web *web);

/*
 * Later connections are encrypted by `tls`, which is borrowed; the server must have one already. Returns that one, which may
 * be freed: connections that it encrypts continue.
 */
struct dfg_tls *dfg_web_set_tls(struct dfg_web *web, struct dfg_tls *tls);

/* Accepts no more connections, and ends those that are idle; others end with the answer to their request. */
void dfg_web_drain(struct dfg_web *web);

/* Whether all connections have ended after that. */
bool dfg_web_is_drained(const struct dfg_web *web);

/* Ends all connections. All requests must have been answered. NULL is fine. */
void dfg_web_free(struct dfg_web *web);
