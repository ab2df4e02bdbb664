#pragma once

/* The HTTP links of two workers in one process, with a link between them, and what came by it. For tests of remote/http_links.h. */
#include "tests/unit/test.h"

#include "lib/base/pool.h"
#include "remote/http_links.h"

#include <time.h>

enum { HTTP_PAIR_KEEP = 4096 };

struct http_pair_end {
	struct dfg_http_links *http;
	struct dfg_link *link;
	struct dfg_event event;
	_Atomic uint32_t came;
	struct dfg_message message[HTTP_PAIR_KEEP]; /* a ring */
	_Atomic bool lost;
	struct dfg_err *why;
	void (*reply)(struct http_pair_end *end, struct dfg_message *message); /* instead of keeping it; takes the tensor */
	void *arg;
};

static void http_pair_deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct http_pair_end *end = arg;
	(void)peer;
	if (end->reply) {
		end->reply(end, message);
		return;
	}
	end->message[atomic_load(&end->came) % HTTP_PAIR_KEEP] = *message;
	atomic_fetch_add(&end->came, 1);
	dfg_event_signal(&end->event);
}

static void http_pair_lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct http_pair_end *end = arg;
	(void)peer;
	end->why = err;
	atomic_store(&end->lost, true);
	dfg_event_signal(&end->event);
}

/* Waits until `messages` messages have arrived, or the link is lost. */
static inline void http_pair_await(struct http_pair_end *end, uint32_t messages)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t until = (uint64_t)(now.tv_sec + 120) * 1000000000;
	for (;;) {
		uint32_t seen = atomic_load(&end->event.word);
		if (atomic_load(&end->came) >= messages || atomic_load(&end->lost))
			return;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((uint64_t)now.tv_sec * 1000000000 > until)
			fail_msg("%u messages in 120 s, not %u", atomic_load(&end->came), messages);
		dfg_event_wait_until(&end->event, seen, until);
	}
}

static inline void http_pair_open_end(struct http_pair_end *end, struct dfg_http_links_options options, uint32_t self)
{
	options.self = self;
	options.sink = (struct dfg_link_sink){.arg = end, .deliver = http_pair_deliver, .lost = http_pair_lost};
	succeeds(dfg_http_links_new(&options, &end->http));
}

/* Two workers, 0 and 1; or, with launcher, the launcher and worker 0. */
static inline void http_pair_open(struct http_pair_end end[2], bool launcher, bool tls)
{
	char secret[DFG_SECRET_SIZE];
	succeeds(dfg_secret_make(secret));
	struct dfg_http_links_options options = {.address = "127.0.0.1", .tls = tls, .secret = secret};
	http_pair_open_end(&end[1], options, launcher ? 0 : 1);
	const char *to = dfg_http_links_address(end[1].http), *pin = dfg_http_links_fingerprint(end[1].http);
	if (launcher) {
		options.address = NULL;
		http_pair_open_end(&end[0], options, DFG_LAUNCHER);
		succeeds(dfg_http_links_connect(end[0].http, 0, to, pin, &end[0].link));
		succeeds(dfg_http_links_expect(end[1].http, DFG_LAUNCHER, &end[1].link));
	} else {
		http_pair_open_end(&end[0], options, 0);
		const char *back = dfg_http_links_address(end[0].http), *its_pin = dfg_http_links_fingerprint(end[0].http);
		succeeds(dfg_http_links_connect(end[0].http, 1, to, pin, &end[0].link));
		succeeds(dfg_http_links_connect(end[1].http, 0, back, its_pin, &end[1].link));
	}
	succeeds(dfg_http_links_wait(end[0].link, 10000));
	succeeds(dfg_http_links_wait(end[1].link, 10000));
}

static inline void http_pair_close(struct http_pair_end end[2])
{
	for (int i = 0; i < 2; i++) {
		if (end[i].link)
			end[i].link->kind->close(end[i].link);
		dfg_http_links_free(end[i].http);
		dfg_err_free(end[i].why);
	}
}
