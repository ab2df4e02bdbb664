#pragma once

/* Shared by the files that implement web.h. All but the list of answers belongs to the server's thread. */
#include "lib/base/arena.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/address.h"
#include "remote/tls.h"
#include "remote/web/web.h"

#include <pthread.h>

struct dfg_web_connection;

enum { DFG_WEB_TICK_MS = 250, DFG_WEB_READ_BYTES = 64 << 10 };

/* A request and, later, its answer. */
struct dfg_web_exchange {
	struct dfg_web_request request; /* first member */
	struct dfg_web *web;
	struct dfg_web_connection *connection;             /* NULL: it has ended */
	struct dfg_web_exchange *next;                     /* in the list of answers */
	struct dfg_web_exchange *next_stream, **at_stream; /* HTTP/2: in the list of the connection's streams */
	int32_t stream;                                    /* HTTP/2: its number */
	size_t head_bytes, sent; /* HTTP/2: of the head, that came; of the answer's body, that are sent */
	size_t held;             /* HTTP/2: bytes of the answer that are counted in `answers` of the server */
	uint64_t moved_ns;       /* HTTP/2: of dfg_now(), at which bytes of the answer were last taken to be sent */
	bool is_handled;         /* HTTP/2: handed over, or refused */
	bool is_large;           /* HTTP/2: its fields are more than a request may have, and are not kept */
	bool is_answered;        /* HTTP/2: the session has the answer, and refers to it */
	bool is_closed;          /* HTTP/2: the stream has ended before the answer came */
	atomic_bool is_streamed; /* the answer comes in pieces; the handler sets it */
	bool is_begun;           /* of an answer in pieces: its head is sent */
	bool is_counted;         /* of an answer in pieces: among those that its connection counts */
	bool has_all;            /* of an answer in pieces: its last piece has come from the handler */
	/* For an answer in pieces, guarded by the lock of `web`: */
	struct dfg_text pieces;              /* bytes that the server's thread has not taken yet */
	size_t unsent;                       /* bytes of all pieces that the system has not taken */
	bool is_posted, is_over, is_cut_off; /* it is in the list of answers; no more pieces come; and some are missing */
	struct dfg_arena arena;              /* HTTP/2: the strings of the fields */
	struct dfg_http1_head head;
	char *text;      /* HTTP/1: the bytes of the head, to which the fields point */
	uint8_t *body;   /* the request's body, of which `size` bytes have come */
	size_t capacity; /* of `body` */
	struct dfg_web_answer answer;
};

struct dfg_web_connection {
	struct dfg_web_connection *next, **at; /* in the list of all */
	struct dfg_web *web;
	int fd;
	uint32_t watched; /* epoll events */
	/* Received bytes that are not consumed yet: less than one head, or the requests after the one in progress. */
	char *in;
	size_t in_size, in_capacity, in_seen;
	struct dfg_http1_chunks chunks;
	struct dfg_web_exchange *receiving; /* its head has come, its body has not */
	struct dfg_web_exchange *handled;   /* handed over, not answered yet */
	struct dfg_text out;                /* bytes to send, of which `sent` are sent */
	size_t sent;
	struct dfg_tls_session *tls; /* NULL: the connection is not encrypted */
	struct dfg_text sealed;      /* encrypted bytes to send, of which `sealed_sent` are sent */
	size_t sealed_sent;
	size_t held;                      /* bytes to send that are counted in `answers` of the server */
	uint64_t begin_ns;                /* time of the first byte of the request that is being received; 0: none is */
	uint64_t sent_ns;                 /* time at which the client last took bytes */
	uint64_t number;                  /* of an HTTP/2 connection, from 1 */
	struct dfg_web_http2 *http2;      /* NULL: HTTP/1.1, or nothing has come yet */
	struct dfg_web_exchange *streams; /* HTTP/2: requests that are not answered whole */
	uint32_t streamed;                /* answers in pieces that are in progress */
	bool is_known;                    /* the protocol is known */
	bool is_refused;                  /* the last answer refuses bytes that the client may still be sending */
	bool lingers;                     /* what still comes is read and dropped, until the client ends */
	bool is_last;                     /* no request follows: the connection ends when `out` is sent */
	bool is_ending;                   /* the client has ended its side */
	bool has_ended;                   /* and all that it sent is read */
	bool is_dead;                     /* to be freed */
};

struct dfg_web {
	struct dfg_web_options options;
	int fd, epoll, wake;
	char address[DFG_ADDRESS_BYTES];
	pthread_t thread;
	bool runs;
	atomic_bool stop, draining, drained;
	bool is_deaf; /* does not accept: too many connections, or no descriptors */
	struct dfg_web_connection *connections;
	uint32_t count, dead; /* connections; those of them that are to be freed */
	uint64_t numbers;     /* the last number given to a connection; 0: none was */
	size_t bodies;        /* bytes of bodies that are held */
	size_t answers;       /* bytes of answers that are held */
	uint64_t tick_ns;
	uint64_t settle_ns;   /* of dfg_now(), at which options.settle is due */
	uint64_t drain_ns;    /* of dfg_now(), at which the server began to end; 0: it has not */
	uint64_t lull_ns;     /* until then the thread looks for pieces by itself, every millisecond */
	pthread_mutex_t lock; /* guards `answered`, `naps`, the pieces of answers, and options.tls */
	bool naps;            /* the thread waits for a millisecond only, so that a piece need not wake it */
	pthread_cond_t moved; /* some of the pieces were sent, or a client is gone */
	struct dfg_web_exchange *answered, **last_answered;
	char input[DFG_WEB_READ_BYTES]; /* bytes that were read last, of any connection */
};

/*
 * web_server.c: adds to the list of answers, with the lock held. An urgent one is not one that waits for the end of a nap.
 * True: the thread must be woken.
 */
bool dfg_web_post(struct dfg_web_exchange *exchange, bool is_urgent);
void dfg_web_wake(struct dfg_web *web);

/* web_connection.c */
void dfg_web_connection_new(struct dfg_web *web, int fd); /* closes fd where memory is short */
void dfg_web_connection_event(struct dfg_web_connection *connection, uint32_t events);
void dfg_web_connection_tick(struct dfg_web_connection *connection, uint64_t now);
/* Takes the exchange. The caller settles the connection then. */
void dfg_web_connection_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange);
void dfg_web_connection_settle(struct dfg_web_connection *connection); /* sends what there is */
void dfg_web_connection_drop(struct dfg_web_connection *connection);   /* it is freed later */
void dfg_web_connection_free(struct dfg_web_connection *connection);
static inline bool dfg_web_has_output(const struct dfg_web_connection *connection)
{
	return connection->out.length > connection->sent || connection->sealed.length > connection->sealed_sent;
}
bool dfg_web_connection_is_idle(const struct dfg_web_connection *connection);
void dfg_web_exchange_free(struct dfg_web_exchange *exchange); /* NULL is fine */
/* Reserves memory for a body of `size` bytes; false: memory is short, or all bodies together would be too large. */
bool dfg_web_exchange_reserve(struct dfg_web_exchange *exchange, size_t size);

/* web_stream.c: answers in pieces. */
void dfg_web_stream_init(struct dfg_web *web);
void dfg_web_stream_take(struct dfg_web *web, struct dfg_web_exchange *exchange); /* sends the pieces that have come */
void dfg_web_stream_account(struct dfg_web_connection *connection);               /* after bytes were sent */
void dfg_web_stream_gone(struct dfg_web *web);                                    /* after the client of one is gone */

/* web_tls.c: decrypts `count` bytes that have come, to `in`; encrypts bytes of `out`. False: the connection cannot continue. */
DFG_MUST_CHECK bool dfg_web_tls_open(struct dfg_web_connection *connection, const uint8_t *bytes, size_t count);
DFG_MUST_CHECK bool dfg_web_tls_seal(struct dfg_web_connection *connection);

/* web_http1.c: handles the bytes that have come; answers; refuses, after which the connection ends. */
void dfg_web_http1_receive(struct dfg_web_connection *connection);
void dfg_web_http1_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange);
void dfg_web_http1_pieces(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange,
	const struct dfg_text *pieces, bool is_cut_off);
void dfg_web_http1_refuse(struct dfg_web_connection *connection, int status, const char *why);

/* web_http2.c: the same, by streams. pull() moves bytes of the session to `out`; false: the session has ended. */
void dfg_web_http2_new(struct dfg_web_connection *connection);
void dfg_web_http2_free(struct dfg_web_connection *connection);
void dfg_web_http2_receive(struct dfg_web_connection *connection);
void dfg_web_http2_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange);
void dfg_web_http2_pieces(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange,
	const struct dfg_text *pieces, bool is_cut_off);
bool dfg_web_http2_pull(struct dfg_web_connection *connection);
bool dfg_web_http2_has_output(const struct dfg_web_connection *connection);
void dfg_web_http2_tick(struct dfg_web_connection *connection, uint64_t now);
