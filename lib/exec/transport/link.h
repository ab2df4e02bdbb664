#pragma once

#include "lib/graph/tensor.h"

/*
 * A link carries messages between this process and one peer, in both directions, each in order. There are several kinds
 * of link; all code above depends on this interface only, and one test suite runs against each kind.
 *
 * Workers are numbered by their position in the list of hosts; the process that launched them is DFG_LAUNCHER.
 */
#define DFG_LAUNCHER UINT32_MAX

enum { DFG_LINK_DEPTH = 16 }; /* most loops around a transfer */

enum dfg_message_kind {
	DFG_MESSAGE_TENSOR,  /* a value of a transfer of the plan */
	DFG_MESSAGE_CONTROL, /* between launcher and worker: `number` is the kind of request, see remote/control.h */

	/* Flow control between two rendezvous: lib/exec/transport/credit.h. These have no tensor. */
	DFG_MESSAGE_TAKEN,   /* `step` is the cost of all values that the receiver has taken */
	DFG_MESSAGE_STALLED, /* `step` is the cost that the sender, which holds back a value, knows to be taken */
	DFG_MESSAGE_WANTED,  /* the receiver waits for the value of the key */

	DFG_MESSAGE_REDUCE, /* a part of an all-reduce, between replicas: lib/exec/group/direct.c */
	DFG_MESSAGE_PROBE,  /* of a measurement of calls between workers: remote/worker_probe.c */
	DFG_MESSAGE_ROWS,   /* rows of a parallel loop's arrays, between its workers: lib/exec/parallel/row_exchange.h */
	DFG_MESSAGE_KINDS,
};

/*
 * Identifies a value in a step: the number of the cut edge in the plan's manifest, and an iteration for each loop
 * around it.
 */
struct dfg_transfer_key {
	uint64_t step;
	uint32_t number;
	uint32_t depth;
	int64_t iteration[DFG_LINK_DEPTH]; /* outermost first */
};

struct dfg_message {
	enum dfg_message_kind kind;
	bool dead; /* there is no tensor: the value is dead */
	struct dfg_transfer_key key;
	struct dfg_tensor tensor; /* .dtype 0: none. May be strings; must not be a handle or a variant */
};

/*
 * The receiver of a link's messages and events. Its functions are called by the thread that reads, which may be one
 * that polls, and must not block. They may be called before the function that makes the link has returned: *out_link is
 * set by then, and can be used for an answer.
 */
struct dfg_link_sink {
	void *arg;
	void (*deliver)(void *arg, uint32_t peer, struct dfg_message *message); /* takes the tensor */
	/* takes err; called at most once for a link */
	void (*lost)(void *arg, uint32_t peer, struct dfg_err *err);
	/* Allocates a tensor for an incoming value, which is read directly into it; NULL: from the heap. */
	struct dfg_err *(*allocate)(void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out);
	/* Takes a descriptor that the peer has passed; NULL: it is closed. */
	void (*passed)(void *arg, uint32_t peer, uint64_t tag, int fd);
};

/* Messages delivered and sent. They grow while the link runs, each independently. */
struct dfg_link_counts {
	uint64_t sent_messages, sent_bytes, received_messages, received_bytes; /* bytes as of dfg_message_bytes */
};

struct dfg_link {
	const struct dfg_link_kind *kind;
	uint32_t peer;
	struct dfg_link_counts counts;
};

struct dfg_link_kind {
	const char *name; /* as in --transport */

	/*
	 * Sends the message asynchronously: it is queued until the peer can receive it. Takes a reference to the tensor,
	 * whose elements must not change afterwards. A small message may overtake a large one only if their keys differ.
	 * Any thread. DFG_UNAVAILABLE once the peer is lost.
	 */
	struct dfg_err *(*send)(struct dfg_link *link, const struct dfg_message *message);

	/*
	 * Passes a descriptor, which stays the caller's, to the peer, in no order with messages. NULL: the peer may be on
	 * another host.
	 */
	struct dfg_err *(*pass)(struct dfg_link *link, uint64_t tag, int fd);

	/* Reads and writes as far as possible without blocking; true if a message was delivered. For threads that spin. */
	bool (*poll)(struct dfg_link *link);

	/* The thread that polled stops polling: the link's own thread must read again at once. NULL: it always does. */
	void (*idle)(struct dfg_link *link);

	/*
	 * Time, as of dfg_now(), at which the last bytes arrived, even if the message is not complete yet: a long message
	 * over a slow link is not silence. NULL: messages suffice, or the link detects silence by itself.
	 */
	uint64_t (*heard)(const struct dfg_link *link);

	/*
	 * Closes the link without flushing; the sink is not called afterwards. Must not be called from the sink, nor
	 * concurrently with another call.
	 */
	void (*close)(struct dfg_link *link);
};

/* The check of a message before it is sent: DFG_DATA if a link cannot carry it. */
DFG_MUST_CHECK struct dfg_err *dfg_message_check(const struct dfg_message *message);

/* Bytes of its tensor: for strings, of their characters. */
uint64_t dfg_message_bytes(const struct dfg_message *message);

/* A tensor for an incoming value: from the sink, or from the heap. */
DFG_MUST_CHECK struct dfg_err *dfg_link_tensor(const struct dfg_link_sink *sink, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* The later of `since` and the time at which the peer was last heard on the link. */
static inline uint64_t dfg_link_heard(const struct dfg_link *link, uint64_t since)
{
	uint64_t heard = link && link->kind->heard ? link->kind->heard(link) : 0;
	return heard > since ? heard : since;
}

/* "worker 3", "the launcher", for messages. dfg_peer_words(peer).s is valid until the end of the full expression. */
struct dfg_peer_words {
	char s[24];
};
struct dfg_peer_words dfg_peer_words(uint32_t peer);
