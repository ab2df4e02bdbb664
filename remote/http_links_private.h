#pragma once

/* What the files of the hub share. Nobody else includes this. */
#include "lib/base/pool.h"
#include "remote/http_links.h"
#include "remote/message_decoder.h"
#include "remote/send_queue.h"

#include <stdatomic.h>

struct dfg_client;
struct dfg_server;

/*
 * One POST of a link, at either end: what this side says and what it hears. Its transport is a request of the client or a
 * stream of the server; NULL where it does not stand yet, or no more.
 */
struct dfg_exchange {
	struct dfg_http_links_link *link;
	struct dfg_send_queue outlet;
	struct dfg_message_decoder inlet;
	const struct dfg_transport *transport;
	void *of;                /* the transport's */
	bool stands;             /* the server let the client in */
	_Atomic bool has_to_say; /* the outlet was given something */
	_Atomic uint64_t heard_ns;
	uint64_t said_ns;
};

struct dfg_transport {
	/* The outlet has something: pull it, as far as the connection takes it. */
	void (*flush)(void *of);
	/* Breaks off. The exchange is not touched after. */
	void (*end)(void *of);
};

enum { DFG_OURS, DFG_THEIRS }; /* the POST that this side made; the one of the peer */

struct dfg_http_links_link {
	struct dfg_link base; /* first: a dfg_link * of the hub is one of these */
	struct dfg_http_links *hub;
	struct dfg_http_links_link *next;
	struct dfg_exchange exchange[2]; /* DFG_OURS, DFG_THEIRS */
	bool used[2];                    /* between launcher and worker there is but one */
	struct dfg_exchange *carrier;    /* of what is sent */
	struct dfg_exchange *source;     /* of what is received */
	_Atomic uint64_t round;          /* of the hub, when it was last polled */
	struct dfg_err *broken;          /* why it will be lost, as soon as nothing is under way */
	_Atomic bool lost;
	struct dfg_err *why; /* the same code and words, kept; under the hub's `state` lock */
};

struct dfg_http_links {
	uint32_t self;
	char secret[DFG_SECRET_ROOM];
	struct dfg_link_sink sink;
	size_t tensor_bytes;
	_Atomic uint64_t lease_ns;
	_Atomic uint64_t patience_ns;

	/* Who holds `io` moves bytes; whoever gives it back looks at `work` again (dfg_http_links_unlock). */
	pthread_mutex_t io;
	_Atomic bool work; /* some exchange has something to say */
	bool sending;      /* whoever holds io is in a send: the sink is not called from there */
	bool unsettled;    /* a link is broken, or something waits in `arrived` */
	bool delivered;    /* since the last look */
	struct dfg_link_arrival *arrived, **last_arrived;
	struct dfg_http_links_link *links;
	struct dfg_server *server;
	struct dfg_client *client;
	uint64_t tick_ns;        /* when the last was */
	uint64_t drives;         /* how often what was ready was seen to */
	unsigned listened;       /* since epoll was asked, in a row */
	_Atomic uint64_t rounds; /* of polling */
	int epoll;
	uint8_t *buffer; /* for what is read: of whoever holds io */

	pthread_t thread;
	bool runs;
	_Atomic bool stop;
	_Atomic uint32_t polls;        /* grows while others poll */
	_Atomic uint32_t polls_rested; /* what it was when one of them went to sleep */
	struct dfg_event rested;       /* signalled then */
	_Atomic uint64_t sleeps_till;  /* the thread; 0: it is awake */
	int wake;                      /* an eventfd: the thread is to look again */

	pthread_mutex_t state; /* with `changed`: of links that begin to stand or are lost */
	pthread_cond_t changed;
};

enum {
	DFG_HUB_BUFFER = 1 << 20,
	DFG_HUB_TICK_MS = 250,
	DFG_HUB_STAND_MS = 10000,    /* until a connection must stand */
	DFG_HUB_PATIENCE_MS = 30000, /* for a peer whose link was not asked for yet */
};

/* What an event of the epoll is about: the lowest bits of its data; the rest is a socket or a visitor. */
enum { DFG_ABOUT_VISITOR, DFG_ABOUT_LISTENER, DFG_ABOUT_WAKE, DFG_ABOUT_CLIENT, DFG_ABOUT_BITS = 3 };

uint64_t dfg_about_now_ns(void); /* some milliseconds late, and cheap */

/* A limit in nanoseconds, or the patience where that is longer. */
static inline uint64_t dfg_http_links_at_least_patience(const struct dfg_http_links *hub, uint64_t ns)
{
	uint64_t patience = atomic_load(&hub->patience_ns);
	return patience > ns ? patience : ns;
}

/* http_links.c; io is held, but for the first. */
bool dfg_http_links_try_send(struct dfg_http_links *hub); /* takes io where it is free, and writes what there is */
void dfg_http_links_unlock(struct dfg_http_links *hub);
void dfg_http_links_wake(struct dfg_http_links *hub);
bool dfg_http_links_drive(struct dfg_http_links *hub); /* true where something was delivered */
void dfg_http_links_arrives(struct dfg_http_links_link *link, struct dfg_message *message);     /* takes the tensor */
void dfg_http_links_forget(struct dfg_http_links *hub, const struct dfg_http_links_link *link); /* what arrived of it */

/* http_link.c; io is held, but for the first. */
void dfg_exchange_has_to_say(struct dfg_exchange *exchange);
void dfg_exchange_stands(struct dfg_exchange *exchange);
/* false: the exchange is broken */
bool dfg_exchange_hears(struct dfg_exchange *exchange, const uint8_t *bytes, size_t count);
/* Takes err. Ends nothing yet: the thread of the hub does, when no library is in the middle of something. */
void dfg_exchange_breaks(struct dfg_exchange *exchange, struct dfg_err *err);
size_t dfg_exchange_says(struct dfg_exchange *exchange, uint8_t *to, size_t room);

/* The exchange of a peer that came with the secret; NULL where its link was not asked for, or has one already. */
struct dfg_exchange *dfg_http_links_theirs(struct dfg_http_links *hub, uint32_t peer, bool *out_twice);

void dfg_http_links_lose(struct dfg_http_links_link *link); /* for the reason in `broken` */
void dfg_http_links_tick(struct dfg_http_links *hub, uint64_t now);
extern const struct dfg_link_kind dfg_http_links_link_kind;

/* http_client.c */
DFG_MUST_CHECK struct dfg_err *dfg_client_new(struct dfg_http_links *hub, struct dfg_client **out_client);
void dfg_client_free(struct dfg_client *client);
DFG_MUST_CHECK struct dfg_err *dfg_client_post(
	struct dfg_client *client, struct dfg_exchange *exchange, const char *address, const char *fingerprint);
void dfg_client_event(struct dfg_client *client, int fd, uint32_t events);
void dfg_client_due(struct dfg_client *client);              /* what its timer asks for, and what has ended */
void dfg_client_rest(struct dfg_client *client);             /* nobody may come by soon: what was put off is due */
void dfg_client_polled(struct dfg_client *client);           /* somebody came by: after some of these it is, too */
uint64_t dfg_client_due_ns(const struct dfg_client *client); /* UINT64_MAX: never */
DFG_MUST_CHECK struct dfg_err *dfg_client_versions(char curl[32], char openssl[32]);

/* http_server.c */
struct dfg_http_connection;
DFG_MUST_CHECK struct dfg_err *dfg_server_new(
	struct dfg_http_links *hub, const char *address, bool tls, struct dfg_server **out_server);
void dfg_server_free(struct dfg_server *server);
const char *dfg_server_address(const struct dfg_server *server);
const char *dfg_server_fingerprint(const struct dfg_server *server);
void dfg_server_accept(struct dfg_server *server);
bool dfg_server_has_heard(const struct dfg_server *server); /* a peer, that is still linked */
bool dfg_server_listen(struct dfg_server *server);          /* to it; true where it says more */
void dfg_server_take_seen(struct dfg_server *server);       /* after that, and what followed from it */
void dfg_http_connection_event(struct dfg_http_connection *visitor, uint32_t events);
void dfg_server_tick(struct dfg_server *server, uint64_t now);   /* who was too slow */
void dfg_server_admit(struct dfg_server *server, uint32_t peer); /* its link was asked for: it may have come before */
void dfg_server_sweep(struct dfg_server *server);                /* what has ended */
