#pragma once

#include "remote/http_links.h"

/*
 * Links between processes of one host, through memory that both map: a ring of bytes each way. While somebody polls,
 * nothing of it enters the kernel; who sleeps is woken through a socket of the pair, whose end also tells at once that the
 * peer has died.
 *
 * Who wants links listens first and tells the others its address (over a channel they trust), then each pair makes its
 * link: one of the two connects, the other accepts. By convention the one with the lower number connects. The two need
 * not agree on when: a peer that comes early is kept until it is accepted.
 *
 * Let in is who runs as the same user and knows the secret of the run. What a peer writes to the memory is not trusted:
 * the worst it can do is to end its link (DFG_PROTOCOL).
 *
 * A peer that has died is lost at once, one that is stopped when its lease is over: each process shows the others now and
 * then that it runs.
 */
struct dfg_shm;

struct dfg_shm_options {
	uint32_t self;      /* this worker's number; DFG_LAUNCHER */
	const char *secret; /* of the run, as dfg_secret_make() makes them; copied */
	struct dfg_link_sink sink;
	size_t tensor_bytes; /* the largest tensor that is taken from a peer; 0: what memory there is */
	uint32_t lease_ms;   /* 0: DFG_LEASE_MS */
};

/* Listens, on a name that leaves nothing behind whatever end the process takes, with a thread of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_shm_new(const struct dfg_shm_options *options, struct dfg_shm **out_shm);

/* Closes the links that are left. NULL is fine. */
void dfg_shm_free(struct dfg_shm *shm);

/* A peer may be silent for so long, where that is longer than the lease: as dfg_http_links_set_patience(). */
void dfg_shm_set_patience(struct dfg_shm *shm, uint32_t ms);

/* Where the others find it: one word of letters, digits, '-' and '.'; less than DFG_SHM_ADDRESS characters. */
enum { DFG_SHM_ADDRESS = 128 };
const char *dfg_shm_address(const struct dfg_shm *shm);

/* Is the address, which may be anybody's text, one of this host, network namespace and user? Else connect is no use. */
bool dfg_shm_reaches(const struct dfg_shm *shm, const char *address);

/*
 * A link that stands. Both wait for the peer, `ms` milliseconds at most: DFG_DEADLINE after that; any thread, several at
 * once for several peers. It belongs to shm until it is closed (link->kind->close), which no function of the sink may do.
 *
 * Connect: DFG_UNAVAILABLE where nobody listens, DFG_REFUSED where user or secret is not the right one, DFG_PROTOCOL where
 * the peer is another build of dfg.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shm_connect(
	struct dfg_shm *shm, uint32_t peer, const char *address, uint32_t ms, struct dfg_link **out_link);
DFG_MUST_CHECK struct dfg_err *dfg_shm_accept(
	struct dfg_shm *shm, uint32_t peer, uint32_t ms, struct dfg_link **out_link);
