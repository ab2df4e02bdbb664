#pragma once

#include "remote/frame.h"

#include <pthread.h>

/*
 * What one side says on a stream: messages that wait, and the bytes they become. Any thread puts messages in; one at a
 * time pulls bytes out, straight from the tensors. Control messages and small tensors go before a large tensor and
 * between its frames, but never before one of the same key; control messages keep their order among themselves.
 *
 * No more bytes of messages come out than the peer has given credit for.
 */
struct dfg_send_queue {
	pthread_mutex_t lock; /* of the queues and the counts that follow */
	struct dfg_send_queue_queue {
		struct dfg_send_queue_item *first, **end;
	} small, large;
	uint64_t credit;  /* as the peer has told it */
	uint64_t granted; /* to the peer, by the inlet of the same stream */
	bool tell;        /* the peer is to be told how much that is */

	/* Of the thread that pulls. */
	uint64_t used; /* of the credit */
	uint32_t frames;
	struct dfg_send_queue_item *whole, *item; /* the large one under way; the one that the frame is of */
	uint8_t front[DFG_LINK_FRAME_HEADER + DFG_HEAD_MOST];
	size_t front_done, front_length;
	const uint8_t *body;
	size_t body_left;
	uint32_t crc;
	uint32_t tail_left; /* bytes */
};

enum { DFG_CREDIT = 64 << 20 }; /* bytes that may be under way before the peer says that it has taken some */

DFG_MUST_CHECK struct dfg_err *dfg_send_queue_init(struct dfg_send_queue *outlet);
void dfg_send_queue_release(struct dfg_send_queue *outlet); /* a zeroed one too */

/* Takes a reference of the tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_send_queue_put(struct dfg_send_queue *outlet, const struct dfg_message *message);

/* The peer gave credit, in all; this side gives some; a sign of life is wanted. */
void dfg_send_queue_credit(struct dfg_send_queue *outlet, uint64_t credit);
void dfg_send_queue_grant(struct dfg_send_queue *outlet, uint64_t granted);

/* At most room bytes; 0: there is nothing to say now. */
size_t dfg_send_queue_pull(struct dfg_send_queue *outlet, uint8_t *to, size_t room);
