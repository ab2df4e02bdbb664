#pragma once

#include "remote/http_links.h"

/*
 * Links between processes of one host, through memory that both map: a ring of bytes each way. While a thread polls, no
 * system call is made; a sleeping process is woken through a socket of the pair, whose end also tells at once that the
 * peer has died.
 *
 * A process that needs links listens first and tells the others its address (over a trusted channel), then each pair
 * makes its link: one of the two connects, the other accepts. By convention the one with the lower number connects. A
 * peer that connects early is kept until it is accepted.
 *
 * A peer is admitted if it runs as the same user and knows the secret of the run. The bytes that a peer writes to the
 * memory are not trusted: the worst it can do is to end its link (DFG_PROTOCOL).
 *
 * A peer that has died is lost at once, a stopped one when its lease is over: each process increments a heartbeat
 * counter in the shared memory.
 */
struct dfg_shm;

struct dfg_shm_options {
	uint32_t self;      /* this worker's number; DFG_LAUNCHER */
	const char *secret; /* of the run, from dfg_secret_make(); copied */
	struct dfg_link_sink sink;
	size_t tensor_bytes; /* bytes of the largest tensor accepted from a peer; 0: limited by memory */
	uint32_t lease_ms;   /* 0: DFG_LEASE_MS */
};

/* Listens on an abstract socket, which leaves no file behind however the process ends, and starts its thread. */
DFG_MUST_CHECK struct dfg_err *dfg_shm_new(const struct dfg_shm_options *options, struct dfg_shm **out_shm);

/* Closes the remaining links. NULL is allowed. */
void dfg_shm_free(struct dfg_shm *shm);

/*
 * Allows a peer to be silent for `ms` milliseconds where that is longer than the lease; see
 * dfg_http_links_set_patience().
 */
void dfg_shm_set_patience(struct dfg_shm *shm, uint32_t ms);

/* The address for the other processes: one word of letters, digits, '-' and '.', shorter than DFG_SHM_ADDRESS. */
enum { DFG_SHM_ADDRESS = 128 };
const char *dfg_shm_address(const struct dfg_shm *shm);

/* Whether the address, which may be any text, is of this host, network namespace and user; otherwise connect fails. */
bool dfg_shm_reaches(const struct dfg_shm *shm, const char *address);

/*
 * An established link. Both wait for the peer, `ms` milliseconds at most, then DFG_DEADLINE; any thread, several at
 * once for several peers. shm owns the link until it is closed (link->kind->close), which no function of the sink may
 * do.
 *
 * Connect: DFG_UNAVAILABLE where no process listens, DFG_REFUSED where user or secret is wrong, DFG_PROTOCOL where the
 * peer is a different build of dfg.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shm_connect(
	struct dfg_shm *shm, uint32_t peer, const char *address, uint32_t ms, struct dfg_link **out_link);
DFG_MUST_CHECK struct dfg_err *dfg_shm_accept(
	struct dfg_shm *shm, uint32_t peer, uint32_t ms, struct dfg_link **out_link);
