#pragma once

#include "lib/exec/transport/link.h"

#include <pthread.h>

struct dfg_event;

/*
 * What the launcher and its workers say to each other, in control messages: the launcher asks, the worker answers under
 * the same number. A packet is fields in an order that both know. It travels as a head, and behind it the tensors that are
 * too large to stand in the head, each a message of its own, so that none is copied and large ones hold nothing up.
 *
 *     key.number   the packet's kind; DFG_PACKET_TENSOR: one of a packet's tensors
 *     key.step     the packet's number
 *     iteration[0] of a head: how many tensors are behind it; of a tensor: which
 *
 * Integers are eight bytes, little-endian; text is its length, its bytes and a 0.
 */
enum dfg_packet_kind {
	DFG_PACKET_TENSOR,
	DFG_PACKET_ANSWER,    /* a code, then: 0, what was asked for; else the lines of the error */
	DFG_PACKET_SETUP,     /* who all are, and how to run: remote/worker_config.h */
	DFG_PACKET_PART,      /* a graph, in place of the one before with all its state */
	DFG_PACKET_PLAN,      /* feeds, fetches and targets -> the plan's number */
	DFG_PACKET_RUN,       /* step, plan and feeds -> statistics, fetches, events */
	DFG_PACKET_VARIABLES, /* names -> what is known of each */
	DFG_PACKET_READ,      /* name -> value */
	DFG_PACKET_ASSIGN,    /* name and value */
	DFG_PACKET_CAUSE,     /* plan, transfer, iteration -> what dfg_plan_cause says */
	DFG_PACKET_SOURCE,    /* a file of samples that is read here -> its number and type */
	DFG_PACKET_END,       /* nothing more will be asked */
	/* These wait for nothing that is in progress. */
	DFG_PACKET_FAIL, /* a step, a code and words: it has failed elsewhere. No answer */
	DFG_PACKET_PING, /* -> a pong */
	DFG_PACKET_PONG, /* the worker's monotonic clock, in ns */
};

/* A packet in the making, or one that came. A zeroed struct is empty. */
struct dfg_packet {
	enum dfg_packet_kind kind;
	uint64_t number;
	uint32_t peer; /* whom it came from */
	uint8_t *bytes;
	size_t length, room, at; /* at: where the next field is read */
	struct dfg_tensor *tensor;
	size_t tensors, tensor_room;
	bool short_of_memory, malformed; /* remembered, and told at the end */
	size_t due, came;                /* tensors behind a head that came, and those that are there */
	bool headed;
	struct dfg_packet *next;
};
void dfg_packet_release(struct dfg_packet *packet);

void dfg_packet_put(struct dfg_packet *packet, uint64_t value);
void dfg_packet_put_real(struct dfg_packet *packet, double value);
void dfg_packet_put_text(struct dfg_packet *packet, const char *text);
void dfg_packet_put_shape(struct dfg_packet *packet, const struct dfg_shape *shape);
void dfg_packet_put_tensor(struct dfg_packet *packet, const struct dfg_tensor *tensor); /* takes a reference */

/* What another packet has of fields that stand in the head. */
void dfg_packet_put_fields(struct dfg_packet *packet, const struct dfg_packet *from);

/* The code and the words of an error, joined ones too; NULL is a 0. */
void dfg_packet_put_error(struct dfg_packet *packet, const struct dfg_err *err);

/* What is not there reads as 0, "" or no tensor, and is remembered. Text lives as long as the packet. */
uint64_t dfg_packet_get(struct dfg_packet *packet);
double dfg_packet_get_real(struct dfg_packet *packet);
const char *dfg_packet_get_text(struct dfg_packet *packet);
void dfg_packet_get_shape(struct dfg_packet *packet, struct dfg_shape *out_shape);
void dfg_packet_get_tensor(struct dfg_packet *packet, struct dfg_tensor *out_tensor); /* a reference of its own */
DFG_MUST_CHECK struct dfg_err *dfg_packet_get_error(struct dfg_packet *packet);

/* An integer below the limit. One that is not reads as 0, and is remembered like a missing one. */
uint64_t dfg_packet_get_below(struct dfg_packet *packet, uint64_t limit);
static inline uint32_t dfg_packet_get_u32(struct dfg_packet *packet)
{
	return (uint32_t)dfg_packet_get_below(packet, UINT64_C(1) << 32);
}
static inline bool dfg_packet_get_bool(struct dfg_packet *packet)
{
	return dfg_packet_get_below(packet, 2);
}

/* A number of things that follow, each of which takes so many bytes at least; 0 where there cannot be so many. */
uint32_t dfg_packet_get_count(struct dfg_packet *packet, size_t bytes_each);

/* DFG_MEMORY if something could not be put, DFG_PROTOCOL if something that was read was not there. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_check(const struct dfg_packet *packet);

/* Puts it on its way, and releases it. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_send(struct dfg_packet *packet, struct dfg_link *link);

/* A packet of one message, as those are that wait for nothing. */
DFG_MUST_CHECK struct dfg_err *dfg_packet_of(
	uint32_t peer, const struct dfg_message *message, struct dfg_packet *out_packet);

/* Packets that come, put together from their messages, which may come in any order. One that is zeroed but for its event. */
struct dfg_inbox {
	pthread_mutex_t lock;
	struct dfg_event *event; /* signalled when a packet is whole */
	struct dfg_packet *whole, *parts;
	struct dfg_packet **last; /* of the whole ones */
};
DFG_MUST_CHECK struct dfg_err *dfg_inbox_init(struct dfg_inbox *inbox, struct dfg_event *event);
void dfg_inbox_release(struct dfg_inbox *inbox);

/* A control message; takes the tensor. DFG_PROTOCOL where it fits no packet. */
DFG_MUST_CHECK struct dfg_err *dfg_inbox_deliver(struct dfg_inbox *inbox, uint32_t peer, struct dfg_message *message);

/* The next whole packet, which is the caller's to release; false where there is none. */
bool dfg_inbox_take(struct dfg_inbox *inbox, struct dfg_packet *out_packet);

/*
 * Reads the links for some microseconds, so that an answer which comes soon finds its reader awake; less where that was in
 * vain, which *in_vain counts. False where nothing has happened since the event's word was `seen`.
 */
bool dfg_poll_awhile(
	struct dfg_link *const *links, uint32_t count, const struct dfg_event *event, uint32_t seen, unsigned *in_vain);
