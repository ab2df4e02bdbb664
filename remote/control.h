#pragma once

#include "lib/exec/transport/link.h"

#include <pthread.h>

struct dfg_event;

/*
 * Control messages between the launcher and its workers: the launcher sends requests, and a worker answers under the
 * request's number. A packet is a sequence of fields whose order both sides know. It travels as a head message,
 * followed by one message for each tensor that is too large for the head, so that large tensors are not copied and do
 * not delay other messages.
 *
 *     key.number   the packet's kind; DFG_PACKET_TENSOR: one of a packet's tensors
 *     key.step     the packet's number
 *     iteration[0] of a head: the number of tensors that follow; of a tensor: its index
 *
 * Integers are eight bytes, little-endian; text is its length, its bytes and a 0.
 */
enum dfg_packet_kind {
	DFG_PACKET_TENSOR,
	DFG_PACKET_ANSWER,    /* a code; after 0 the result, after another code the lines of the error */
	DFG_PACKET_SETUP,     /* the peers and the options of the run: remote/worker_config.h */
	DFG_PACKET_PART,      /* a graph, which replaces the one before with all its state */
	DFG_PACKET_PLAN,      /* feeds, fetches and targets -> the plan's number */
	DFG_PACKET_RUN,       /* step, plan, the step of shards that it is of, feeds -> statistics, fetches, events */
	DFG_PACKET_VARIABLES, /* names -> the facts known of each variable */
	DFG_PACKET_READ,      /* name -> value */
	DFG_PACKET_ASSIGN,    /* name and value */
	DFG_PACKET_CAUSE,     /* plan, transfer, iteration -> the text of dfg_plan_cause */
	DFG_PACKET_SOURCE,    /* a file of samples that the worker reads -> its number, dtype, shape, digest of rows */
	DFG_PACKET_ROWS,      /* rows of such a file -> their elements */
	DFG_PACKET_STATE,     /* -> names and values of all variables */
	DFG_PACKET_ADOPT,     /* names and values: variables to set */
	DFG_PACKET_PEER, /* workers of another replica have started again: the number, name, transport and addresses of each */
	DFG_PACKET_DIGESTS, /* -> names and digests of all variables */
	DFG_PACKET_EPOCH,   /* the number of an epoch, and the replicas that take part in it */
	DFG_PACKET_CLOCK,   /* a replica's clock, whether it reads, the plan that does -> the number of variables checked */
	DFG_PACKET_BENCH,   /* elements, calls, whether to verify -> times of the all-reduce: p50, p99, all, ns */
	DFG_PACKET_PROBE, /* a payload, calls, clients and servers -> time of all, of coding, and of each call of a client, ns */
	DFG_PACKET_END, /* the last request */
	/* The kinds below are handled at once, also while a step runs. */
	DFG_PACKET_FAIL,  /* a step, a code and words: the step failed on another worker. No answer */
	DFG_PACKET_SKIP,  /* a step: its result is not needed, as other replicas were first. No answer */
	DFG_PACKET_PING,  /* -> a pong */
	DFG_PACKET_PONG,  /* the worker's monotonic clock, in ns */
	DFG_PACKET_LEAVE, /* from a worker: its replica should take part in no further step. No answer */
};

/*
 * The phase of a sharded step that a run is of, in DFG_PACKET_RUN. An update that only waits is followed by one that
 * writes; one that ends the step leaves writing to the first lane of its parameter server.
 */
enum dfg_run_phase { DFG_RUN_UPDATES, DFG_RUN_COMPUTES, DFG_RUN_WAITS, DFG_RUN_ENDS, DFG_RUN_PHASES };

/* A packet that is being written or was received. A zeroed struct is empty. */
struct dfg_packet {
	enum dfg_packet_kind kind;
	uint64_t number;
	uint32_t peer; /* the worker that sent it */
	uint8_t *bytes;
	size_t length, capacity, at; /* at: the offset of the next field to read */
	struct dfg_tensor *tensor;
	size_t tensors, tensor_capacity;
	bool short_of_memory, malformed; /* sticky errors, reported by dfg_packet_check */
	size_t due, came;                /* of a received head: the number of its tensors, and of those that have arrived */
	bool headed;
	struct dfg_packet *next;
};
void dfg_packet_release(struct dfg_packet *packet);

void dfg_packet_put(struct dfg_packet *packet, uint64_t value);
void dfg_packet_put_real(struct dfg_packet *packet, double value);
void dfg_packet_put_text(struct dfg_packet *packet, const char *text);
void dfg_packet_put_shape(struct dfg_packet *packet, const struct dfg_shape *shape);
void dfg_packet_put_tensor(struct dfg_packet *packet, const struct dfg_tensor *tensor); /* takes a reference */

/* Copies the fields in the head of another packet. */
void dfg_packet_put_fields(struct dfg_packet *packet, const struct dfg_packet *from);

/* Writes the code and the words of an error, each line of a joined one; NULL is written as 0. */
void dfg_packet_put_error(struct dfg_packet *packet, const struct dfg_err *err);

/*
 * A missing field reads as 0, "" or no tensor, and is reported by dfg_packet_check. Text lives as long as the packet.
 */
uint64_t dfg_packet_get(struct dfg_packet *packet);
double dfg_packet_get_real(struct dfg_packet *packet);
const char *dfg_packet_get_text(struct dfg_packet *packet);
void dfg_packet_get_shape(struct dfg_packet *packet, struct dfg_shape *out_shape);
void dfg_packet_get_tensor(struct dfg_packet *packet, struct dfg_tensor *out_tensor); /* the caller owns a reference */
DFG_MUST_CHECK struct dfg_err *dfg_packet_get_error(struct dfg_packet *packet);

/* An integer below the limit. A larger one reads as 0 and is reported like a missing field. */
uint64_t dfg_packet_get_below(struct dfg_packet *packet, uint64_t limit);
static inline uint32_t dfg_packet_get_u32(struct dfg_packet *packet)
{
	return (uint32_t)dfg_packet_get_below(packet, UINT64_C(1) << 32);
}
static inline bool dfg_packet_get_bool(struct dfg_packet *packet)
{
	return dfg_packet_get_below(packet, 2);
}

/*
 * The number of items that follow, each of which takes at least bytes_each bytes; 0 where the packet is too short for
 * them.
 */
uint32_t dfg_packet_get_count(struct dfg_packet *packet, size_t bytes_each);

/* DFG_MEMORY if a field could not be written, DFG_PROTOCOL if a field that was read was missing or out of range. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_check(const struct dfg_packet *packet);

/* Sends the packet and releases it. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_send(struct dfg_packet *packet, struct dfg_link *link);

/* The packet of a single message, as the kinds are that are handled at once. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_of(
	uint32_t peer, const struct dfg_message *message, struct dfg_packet *out_packet);

/* Assembles packets from their messages, which may arrive in any order. A zeroed struct with its event is valid. */
struct dfg_inbox {
	pthread_mutex_t lock;
	struct dfg_event *event; /* signalled when a packet is complete; borrowed */
	struct dfg_packet *whole, *parts;
	struct dfg_packet **last; /* the end of the list of complete packets */
};
DFG_MUST_CHECK struct dfg_err *dfg_inbox_init(struct dfg_inbox *inbox, struct dfg_event *event);
void dfg_inbox_release(struct dfg_inbox *inbox);

/* Adds a control message; takes its tensor. DFG_PROTOCOL where the message belongs to no packet. */
DFG_MUST_CHECK struct dfg_err *dfg_inbox_deliver(struct dfg_inbox *inbox, uint32_t peer, struct dfg_message *message);

/* The next complete packet, which the caller releases; false where there is none. */
bool dfg_inbox_take(struct dfg_inbox *inbox, struct dfg_packet *out_packet);

/*
 * Polls the links for some microseconds, so that an answer that comes soon finds its reader awake; for less time after
 * polls that found nothing, which *in_vain counts. False where the event's word is still `seen`.
 */
bool dfg_poll_awhile(
	struct dfg_link *const *links, uint32_t count, const struct dfg_event *event, uint32_t seen, unsigned *in_vain);
