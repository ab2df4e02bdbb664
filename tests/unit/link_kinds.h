#pragma once

#include "tests/unit/inbox.h"

#include "lib/exec/transport/link_memory.h"
#include "remote/http_links.h"
#include "remote/shm.h"

/* The kinds of link that can make two ends in one process. A new kind is a function that does, and a row. */

struct pair {
	struct dfg_link *a, *b; /* NULL once closed */
	struct inbox at_a, at_b;
	void *of_kind[2];
	void (*between)(struct pair *pair); /* NULL, or: a is made, and b is not yet */
};

struct kind {
	const char *name;
	bool overtakes; /* small messages overtake large ones */
	void (*connect)(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b);
	void (*shut)(struct pair *pair); /* what is left when both links are closed; NULL: nothing */
};

enum { PEER_A = 3, PEER_B = 5, LARGE = 64 << 20 };

/* The ends of memory are made at once. */
static void open_memory(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b)
{
	succeeds(dfg_link_memory_pair(a, PEER_B, b, PEER_A, &pair->a, &pair->b));
}

static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* Two processes' worth of shared memory in one. */
static void open_shm(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b)
{
	struct dfg_shm *at_a, *at_b;
	struct dfg_shm_options options = {.self = PEER_A, .secret = secret, .sink = *a, .lease_ms = 30000};
	succeeds(dfg_shm_new(&options, &at_a));
	options.self = PEER_B;
	options.sink = *b;
	succeeds(dfg_shm_new(&options, &at_b));
	pair->of_kind[0] = at_a;
	pair->of_kind[1] = at_b;
	succeeds(dfg_shm_connect(at_a, PEER_B, dfg_shm_address(at_b), 10000, &pair->a));
	if (pair->between)
		pair->between(pair);
	succeeds(dfg_shm_accept(at_b, PEER_A, 10000, &pair->b));
}

static void shut_shm(struct pair *pair)
{
	dfg_shm_free(pair->of_kind[0]);
	dfg_shm_free(pair->of_kind[1]);
}

static struct dfg_http_links *open_hub(const struct dfg_link_sink *sink, uint32_t self, bool tls)
{
	struct dfg_http_links *http;
	struct dfg_http_links_options options = {
		.self = self, .address = "127.0.0.1", .tls = tls, .secret = secret, .sink = *sink, .lease_ms = 30000};
	succeeds(dfg_http_links_new(&options, &http));
	return http;
}

static void reach(struct dfg_http_links *from, uint32_t peer, struct dfg_http_links *to, struct dfg_link **out_link)
{
	succeeds(dfg_http_links_connect(from, peer, dfg_http_links_address(to), dfg_http_links_fingerprint(to), out_link));
}

static void open_hubs(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b, bool tls)
{
	pair->of_kind[0] = open_hub(a, PEER_A, tls);
	pair->of_kind[1] = open_hub(b, PEER_B, tls);
	reach(pair->of_kind[0], PEER_B, pair->of_kind[1], &pair->a);
	if (pair->between)
		pair->between(pair);
	reach(pair->of_kind[1], PEER_A, pair->of_kind[0], &pair->b);
	succeeds(dfg_http_links_wait(pair->a, 10000));
	succeeds(dfg_http_links_wait(pair->b, 10000));
}

static void open_http(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b)
{
	open_hubs(pair, a, b, false);
}

static void open_https(struct pair *pair, const struct dfg_link_sink *a, const struct dfg_link_sink *b)
{
	open_hubs(pair, a, b, true);
}

static void shut_hubs(struct pair *pair)
{
	dfg_http_links_free(pair->of_kind[0]);
	dfg_http_links_free(pair->of_kind[1]);
}

static const struct kind kinds[] = {
	{"memory", false, open_memory, NULL},
	{"shm", true, open_shm, shut_shm},
	{"http", true, open_http, shut_hubs},
	{"https", true, open_https, shut_hubs},
};

/* A pair whose sinks allocate memory for values, or not. */
static void begin(struct pair *pair, const struct kind *kind, bool allocates)
{
	*pair = (struct pair){0};
	inbox_begin(&pair->at_a);
	inbox_begin(&pair->at_b);
	struct dfg_link_sink a = inbox_sink(&pair->at_a, allocates), b = inbox_sink(&pair->at_b, allocates);
	kind->connect(pair, &a, &b);
}

static void close_link(struct dfg_link **link)
{
	if (*link)
		(*link)->kind->close(*link);
	*link = NULL;
}

/* Conditions that must hold at the end of every claim. */
static void end(struct pair *pair, const struct kind *kind)
{
	close_link(&pair->a);
	close_link(&pair->b);
	if (kind->shut)
		kind->shut(pair);
	struct inbox *inbox[] = {&pair->at_a, &pair->at_b};
	for (int i = 0; i < 2; i++) {
		assert_false(inbox[i]->beside);
		assert_false(inbox[i]->after_end);
		assert_in_range(inbox[i]->lost, 0, 1);
		inbox_end(inbox[i]);
	}
}
