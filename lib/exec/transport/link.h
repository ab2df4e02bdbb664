#pragma once

#include "lib/graph/tensor.h"

/*
 * A link carries messages between this process and one peer, both ways, each way in order. There are several kinds: what
 * is above knows this page only, and one suite of tests runs against each.
 *
 * Workers are numbered by their position in the list of hosts; who launched them is DFG_LAUNCHER.
 */
#define DFG_LAUNCHER UINT32_MAX

enum { DFG_LINK_DEPTH = 16 }; /* loops around a transfer, at most */

enum dfg_message_kind {
	DFG_MESSAGE_TENSOR,  /* of a transfer of the plan */
	DFG_MESSAGE_CONTROL, /* between launcher and worker: `number` says what, remote/control.h */

	/* Between two rendezvous, of the tensors that one sends to the other: lib/exec/transport/credit.h. They have none. */
	DFG_MESSAGE_TAKEN,   /* `step`: the cost of all that the receiver has taken */
	DFG_MESSAGE_STALLED, /* `step`: what of that the sender knows, who holds something back */
	DFG_MESSAGE_WANTED,  /* the receiver waits for this */
	DFG_MESSAGE_KINDS,
};

/* Which value of a step: the number of the cut edge in the plan's manifest, and an iteration for each loop around it. */
struct dfg_transfer_key {
	uint64_t step;
	uint32_t number;
	uint32_t depth;
	int64_t iteration[DFG_LINK_DEPTH]; /* outermost first */
};

struct dfg_message {
	enum dfg_message_kind kind;
	bool dead; /* there is no tensor: its sender was not live */
	struct dfg_transfer_key key;
	struct dfg_tensor tensor; /* .dtype 0: none. Strings too; no handles and variants */
};

/*
 * Whom a link tells. Called by the thread that reads, which may be one that polls; must not wait. It may be called before
 * the function that makes the link has returned: *out_link is set by then, and can be answered by.
 */
struct dfg_link_sink {
	void *arg;
	void (*deliver)(void *arg, uint32_t peer, struct dfg_message *message); /* takes the tensor */
	void (*lost)(void *arg, uint32_t peer, struct dfg_err *err);            /* takes err; at most once a link */
	/* A tensor for what comes, so that it is read straight into its place; NULL: from the heap. */
	struct dfg_err *(*room)(void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out);
};

/* Of what was delivered, and of what has left; while the link runs they grow, each by itself. */
struct dfg_link_counts {
	uint64_t sent_messages, sent_bytes, received_messages, received_bytes; /* dfg_message_bytes */
};

struct dfg_link {
	const struct dfg_link_kind *kind;
	uint32_t peer;
	struct dfg_link_counts counts;
};

struct dfg_link_kind {
	const char *name; /* as --transport calls it */

	/*
	 * Puts the message on its way, and returns: what the peer has no room for yet stays in a queue. Takes a reference
	 * of the tensor, whose elements must not change after. Small ones overtake large ones only where their keys differ.
	 * Any thread. DFG_UNAVAILABLE once the peer is lost.
	 */
	struct dfg_err *(*send)(struct dfg_link *link, const struct dfg_message *message);

	/* Reads and writes what can be without waiting; true where something was delivered. For threads that would spin. */
	bool (*poll)(struct dfg_link *link);

	/* Whoever polled will do so no more for now: the link's own thread is to look again at once. NULL: it does anyhow. */
	void (*rest)(struct dfg_link *link);

	/*
	 * When the last bytes came, by dfg_now(), be they of a message that is not whole yet: over a slow wire that takes long,
	 * and is no silence. NULL: a message tells, or the link sees to silence by itself.
	 */
	uint64_t (*heard)(const struct dfg_link *link);

	/* Ends it, flushing nothing; no call of the sink comes after. Not from within the sink, nor beside another call. */
	void (*close)(struct dfg_link *link);
};

/* What all kinds ask before they send: DFG_DATA where the message is none that a link carries. */
DFG_MUST_CHECK struct dfg_err *dfg_message_check(const struct dfg_message *message);

/* Bytes of its tensor: those of strings are the strings' own. */
uint64_t dfg_message_bytes(const struct dfg_message *message);

/* A tensor for what comes: the sink's, or one from the heap. */
DFG_MUST_CHECK struct dfg_err *dfg_link_room(const struct dfg_link_sink *sink, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* The later of `since` and of when the peer was last heard on the link. */
static inline uint64_t dfg_link_heard(const struct dfg_link *link, uint64_t since)
{
	uint64_t heard = link && link->kind->heard ? link->kind->heard(link) : 0;
	return heard > since ? heard : since;
}

/* "worker 3", "the launcher", for messages. dfg_peer_words(peer).s lives to the end of the full expression. */
struct dfg_peer_words {
	char s[24];
};
struct dfg_peer_words dfg_peer_words(uint32_t peer);
