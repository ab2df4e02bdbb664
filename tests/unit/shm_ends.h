#pragma once

#include "tests/unit/inbox.h"

#include "remote/shm.h"

/* Helpers that the tests of shared memory share. */

enum { HERE = 0, THERE = 1, MS = 20000 };
static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static uint32_t lease_ms = 60000;

static inline struct dfg_err *shm_new(uint32_t self, struct inbox *inbox, struct dfg_shm **out_shm)
{
	return dfg_shm_new(&(struct dfg_shm_options){.self = self,
						   .secret = secret,
						   .sink = inbox_sink(inbox, false),
						   .tensor_bytes = 100 << 20,
						   .lease_ms = lease_ms},
		out_shm);
}

static inline struct dfg_err *put_message(struct dfg_link *link, const struct dfg_message *message)
{
	return link->kind->send(link, message);
}

/* Two ends in this process. */

struct ends {
	struct dfg_shm *a, *b;
	struct dfg_link *link_a, *link_b;
	struct inbox at_a, at_b;
};

static inline void listen_both(struct ends *ends)
{
	inbox_begin(&ends->at_a);
	inbox_begin(&ends->at_b);
	succeeds(shm_new(HERE, &ends->at_a, &ends->a));
	succeeds(shm_new(THERE, &ends->at_b, &ends->b));
}

static inline void free_both(struct ends *ends)
{
	dfg_shm_free(ends->a);
	dfg_shm_free(ends->b);
	inbox_end(&ends->at_a);
	inbox_end(&ends->at_b);
}

static inline void link_both(struct ends *ends)
{
	succeeds(dfg_shm_connect(ends->a, THERE, dfg_shm_address(ends->b), MS, &ends->link_a));
	succeeds(dfg_shm_accept(ends->b, HERE, MS, &ends->link_b));
}
