#pragma once

/* Shared by the files that implement web.h. All but the list of answers belongs to the server's thread. */
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/web/web.h"

#include <pthread.h>

struct dfg_web_connection;

/* A request and, later, its answer. */
struct dfg_web_exchange {
	struct dfg_web_request request; /* first member */
	struct dfg_web *web;
	struct dfg_web_connection *connection; /* NULL: it has ended */
	struct dfg_web_exchange *next;         /* in the list of answers */
	struct dfg_http1_head head;
	char *text;      /* the bytes of the head, to which the fields point */
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
	uint64_t begin_ns; /* time of the first byte of the request that is being received; 0: none is */
	uint64_t sent_ns;  /* time at which the client last took bytes */
	bool is_last;      /* no request follows: the connection ends when `out` is sent */
	bool has_ended;    /* the client sends no more */
	bool is_dead;      /* to be freed */
};

struct dfg_web {
	struct dfg_web_options options;
	int fd, epoll, wake;
	char address[80];
	pthread_t thread;
	bool runs;
	atomic_bool stop, draining, drained;
	bool is_deaf; /* does not accept: too many connections, or no descriptors */
	bool any_dead;
	struct dfg_web_connection *connections;
	uint32_t count;
	size_t bodies; /* bytes of bodies that are held */
	uint64_t tick_ns;
	pthread_mutex_t lock; /* guards `answered` */
	struct dfg_web_exchange *answered, **last_answered;
};

enum { DFG_WEB_TICK_MS = 250 };

/* web_connection.c */
void dfg_web_connection_new(struct dfg_web *web, int fd); /* closes fd where memory is short */
void dfg_web_connection_event(struct dfg_web_connection *connection, uint32_t events);
void dfg_web_connection_tick(struct dfg_web_connection *connection, uint64_t now);
void dfg_web_connection_answer(struct dfg_web_connection *connection, struct dfg_web_exchange *exchange);
void dfg_web_connection_drop(struct dfg_web_connection *connection); /* it is freed later */
void dfg_web_connection_free(struct dfg_web_connection *connection);
bool dfg_web_connection_is_idle(const struct dfg_web_connection *connection);
void dfg_web_exchange_free(struct dfg_web_exchange *exchange);
