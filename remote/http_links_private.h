#pragma once

/* Shared by the files that implement http_links.h; included by no other file. */
#include "lib/base/pool.h"
#include "remote/http_links.h"
#include "remote/message_decoder.h"
#include "remote/send_queue.h"

#include <stdatomic.h>

struct dfg_client;
struct dfg_server;

/*
 * One POST of a link, at either end: its send queue and its message decoder. Its transport is a request of the client
 * or a stream of the server; NULL before it is established and after it ended.
 */
struct dfg_exchange {
	struct dfg_http_links_link *link;
	struct dfg_send_queue send_queue;
	struct dfg_message_decoder decoder;
	const struct dfg_transport *transport;
	void *of;                /* the transport's object */
	bool stands;             /* the server has admitted the client */
	_Atomic bool has_to_say; /* the send queue has something to send */
	_Atomic uint64_t heard_ns;
	uint64_t said_ns;
};

struct dfg_transport {
	/* Pulls from the send queue, as far as the connection takes it. */
	void (*flush)(void *of);
	/* Aborts the POST. The exchange is not touched afterwards. */
	void (*end)(void *of);
};

enum { DFG_OURS, DFG_THEIRS }; /* the POST made by this side; the POST made by the peer */

struct dfg_http_links_link {
	struct dfg_link base; /* first member: a dfg_link * of this kind is one of these */
	struct dfg_http_links *http;
	struct dfg_http_links_link *next;
	struct dfg_exchange exchange[2]; /* DFG_OURS, DFG_THEIRS */
	bool used[2];                    /* between launcher and worker only one is used */
	struct dfg_exchange *carrier;    /* the exchange that carries sent messages */
	struct dfg_exchange *source;     /* the exchange that carries received messages */
	_Atomic uint64_t seen_reads;     /* the value of http->poll_reads when the link was last polled */
	struct dfg_err *broken;          /* the reason for which the link will be lost, as soon as no call is in progress */
	_Atomic bool lost;
	struct dfg_err *why; /* a copy of that error; guarded by the `state` lock */
};

struct dfg_http_links {
	uint32_t self;
	char secret[DFG_SECRET_SIZE];
	struct dfg_link_sink sink;
	size_t tensor_bytes;
	_Atomic uint64_t lease_ns;
	_Atomic uint64_t patience_ns;

	/* The holder of `io` moves bytes; after releasing it, the holder checks `work` again (dfg_http_links_unlock). */
	pthread_mutex_t io;
	_Atomic bool work; /* some exchange has something to send */
	bool sending;      /* the holder of io is in a send: the sink is not called from there */
	bool unsettled;    /* a link is broken, or a message is in `arrived` */
	bool delivered;    /* since the last check */
	struct dfg_link_arrival *arrived, **last_arrived;
	struct dfg_http_links_link *links;
	struct dfg_server *server;
	struct dfg_client *client;
	uint64_t tick_ns;            /* time of the last tick */
	uint64_t drives;             /* number of times that the ready descriptors were handled */
	unsigned listened;           /* consecutive reads since epoll was last asked */
	_Atomic uint64_t poll_reads; /* times that a poll read all links */
	int epoll;
	uint8_t *buffer; /* read buffer; used by the holder of io */

	pthread_t thread;
	bool runs;
	_Atomic bool stop;
	_Atomic uint32_t polls;        /* the number of polls so far */
	_Atomic uint32_t polls_rested; /* its value when a polling thread last went to sleep */
	struct dfg_event rested;       /* signalled when a polling thread goes to sleep */
	_Atomic uint64_t sleeps_till;  /* time until which the thread sleeps; 0: it is awake */
	int wake;                      /* an eventfd that wakes the thread */

	pthread_mutex_t state; /* with `changed`: guards whether links are established or lost */
	pthread_cond_t changed;
};

enum {
	DFG_HTTP_BUFFER = 1 << 20,
	DFG_HTTP_TICK_MS = 250,
	DFG_HTTP_CONNECT_MS = 10000,  /* limit for establishing a connection */
	DFG_HTTP_PATIENCE_MS = 30000, /* limit for a peer whose link was not requested yet */
};

/* The kind of an epoll event, in the lowest bits of its data; the other bits are a socket or a connection. */
enum { DFG_ABOUT_VISITOR, DFG_ABOUT_LISTENER, DFG_ABOUT_WAKE, DFG_ABOUT_CLIENT, DFG_ABOUT_BITS = 3 };

uint64_t dfg_about_now_ns(void); /* a cheap clock, up to some milliseconds late */

/* A limit in nanoseconds, or the patience where that is longer. */
static inline uint64_t dfg_http_links_at_least_patience(const struct dfg_http_links *http, uint64_t ns)
{
	uint64_t patience = atomic_load(&http->patience_ns);
	return patience > ns ? patience : ns;
}

/* http_links.c; the caller holds io, except for the first function. */
bool dfg_http_links_try_send(struct dfg_http_links *http); /* takes io if it is free, and writes pending bytes */
void dfg_http_links_unlock(struct dfg_http_links *http);
void dfg_http_links_wake(struct dfg_http_links *http);
bool dfg_http_links_drive(struct dfg_http_links *http); /* true where something was delivered */
void dfg_http_links_arrives(struct dfg_http_links_link *link, struct dfg_message *message); /* takes the tensor */
/* discards its messages in `arrived` */
void dfg_http_links_forget(struct dfg_http_links *http, const struct dfg_http_links_link *link);

/* http_link.c; the caller holds io, except for the first function. */
void dfg_exchange_has_to_say(struct dfg_exchange *exchange);
void dfg_exchange_stands(struct dfg_exchange *exchange);
/* false: the exchange is broken */
bool dfg_exchange_hears(struct dfg_exchange *exchange, const uint8_t *bytes, size_t count);
/* Takes err. The link ends later, on the thread of the links, when no library call is in progress. */
void dfg_exchange_breaks(struct dfg_exchange *exchange, struct dfg_err *err);
size_t dfg_exchange_says(struct dfg_exchange *exchange, uint8_t *to, size_t capacity);

/* The exchange for an authenticated peer; NULL where its link was not requested, or (*out_twice) already has one. */
struct dfg_exchange *dfg_http_links_theirs(struct dfg_http_links *http, uint32_t peer, bool *out_twice);

void dfg_http_links_lose(struct dfg_http_links_link *link); /* with the reason in `broken` */
void dfg_http_links_tick(struct dfg_http_links *http, uint64_t now);
extern const struct dfg_link_kind dfg_http_links_link_kind;

/* http_client.c */
DFG_MUST_CHECK struct dfg_err *dfg_client_new(struct dfg_http_links *http, struct dfg_client **out_client);
void dfg_client_free(struct dfg_client *client);
DFG_MUST_CHECK struct dfg_err *dfg_client_post(
	struct dfg_client *client, struct dfg_exchange *exchange, const char *address, const char *fingerprint);
void dfg_client_event(struct dfg_client *client, int fd, uint32_t events);
/* handles its expired timer, and requests that have ended */
void dfg_client_due(struct dfg_client *client);
void dfg_client_do_postponed(
	struct dfg_client *client); /* does the work that was put off while the client was polled */
/* a thread polled: after some polls, does the postponed work as well */
void dfg_client_polled(struct dfg_client *client);
uint64_t dfg_client_due_ns(const struct dfg_client *client); /* UINT64_MAX: never */
DFG_MUST_CHECK struct dfg_err *dfg_client_versions(char curl[32], char openssl[32]);

/* http_server.c */
struct dfg_http_connection;
DFG_MUST_CHECK struct dfg_err *dfg_server_new(struct dfg_http_links *http, const char *address, bool tls,
	const uint8_t *key_seed, struct dfg_server **out_server);
void dfg_server_free(struct dfg_server *server);
const char *dfg_server_address(const struct dfg_server *server);
const char *dfg_server_fingerprint(const struct dfg_server *server);
void dfg_server_accept(struct dfg_server *server);
bool dfg_server_has_heard(const struct dfg_server *server); /* a peer that is still linked has sent bytes */
bool dfg_server_listen(struct dfg_server *server);          /* reads from that peer; true where more came */
/* takes the peeked bytes from the kernel, and handles their consequences */
void dfg_server_take_seen(struct dfg_server *server);
void dfg_http_connection_event(struct dfg_http_connection *connection, uint32_t events);
void dfg_server_tick(struct dfg_server *server, uint64_t now); /* ends connections that were too slow */
/* admits a peer that connected before its link was requested */
void dfg_server_admit(struct dfg_server *server, uint32_t peer);
void dfg_server_sweep(struct dfg_server *server); /* frees the connections that have ended */
