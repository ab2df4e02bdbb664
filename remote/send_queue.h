#pragma once

#include "remote/frame.h"

#include <pthread.h>

/*
 * The send queue of a stream: messages that wait, and the bytes they become. Any thread puts messages in; one thread at
 * a time pulls bytes out, straight from the tensors. Control messages and small tensors overtake a large tensor and go
 * between its frames, but never overtake one of the same key; control messages keep their order.
 *
 * No more bytes of messages are sent than the peer has given credit for.
 */
struct dfg_send_queue {
	pthread_mutex_t lock; /* guards the queues and the counts below */
	struct dfg_send_queue_queue {
		struct dfg_send_queue_item *first, **end;
	} small, large;
	uint64_t credit;  /* total bytes that the peer accepts */
	uint64_t granted; /* total granted to the peer, by the decoder of the same stream */
	bool tell;        /* the peer is to be told of `granted` */

	/* Used only by the thread that pulls. */
	uint64_t used; /* bytes of the credit */
	uint32_t frames;
	struct dfg_send_queue_item *whole, *item; /* the large message being sent; the message of the current frame */
	uint8_t front[DFG_LINK_FRAME_HEADER + DFG_HEAD_MOST];
	size_t front_done, front_length;
	const uint8_t *body;
	size_t body_left;
	uint32_t crc;
	uint32_t tail_left; /* bytes */
};

enum { DFG_CREDIT = 64 << 20 }; /* bytes in flight before the peer must acknowledge some */

DFG_MUST_CHECK struct dfg_err *dfg_send_queue_init(struct dfg_send_queue *queue);
void dfg_send_queue_release(struct dfg_send_queue *queue); /* a zeroed one is allowed */

/* Takes a reference of the tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_send_queue_put(struct dfg_send_queue *queue, const struct dfg_message *message);

/* Sets the peer's total credit; sets the total granted to the peer, and sends it, also as a heartbeat. */
void dfg_send_queue_credit(struct dfg_send_queue *queue, uint64_t credit);
void dfg_send_queue_grant(struct dfg_send_queue *queue, uint64_t granted);

/* Writes at most `capacity` bytes; 0: there is nothing to send now. */
size_t dfg_send_queue_pull(struct dfg_send_queue *queue, uint8_t *to, size_t capacity);
