#pragma once

/* Shared by rendezvous.c and rendezvous_credit.c. */
#include "lib/exec/transport/credit.h"

#include <pthread.h>
#include <string.h>

struct value {
	struct value *next; /* in its bucket, or in the free list */
	struct dfg_transfer_key key;
	uint32_t from;
	bool dead;
	uint64_t cost;
	struct dfg_tensor tensor;
};

struct bucket {
	struct value *value;
	struct dfg_wait *wait;
};

struct dfg_rendezvous {
	struct dfg_rendezvous_options options;
	pthread_mutex_t lock;
	struct bucket *bucket;
	size_t buckets, values, waits;
	struct value *free_value;
	bool running;
	uint64_t step; /* the running step; else the first that may begin */
	struct dfg_err *failed;
	struct dfg_err *lost; /* the error of a lost peer: no step can run */
	struct dfg_err *late; /* the error with which the step `late_step` will fail */
	uint64_t late_step;
	uint64_t early_values, early_bytes;
	struct peer {
		struct dfg_sent sent;
		struct dfg_waited waited;
		struct dfg_credit credit;
	} * peer; /* by worker */
};

static inline void dfg_transfer_key_copy(struct dfg_transfer_key *to, const struct dfg_transfer_key *from)
{
	to->step = from->step;
	to->number = from->number;
	to->depth = from->depth;
	memcpy(to->iteration, from->iteration, from->depth * sizeof *from->iteration);
}

/* Ends the running step with err, which is taken. The lock is held before, and released. */
void dfg_rendezvous_fail_locked(struct dfg_rendezvous *rendezvous, struct dfg_err *err);

/* rendezvous_credit.c. Sends a message without a tensor. Without the lock. */
DFG_MUST_CHECK struct dfg_err *dfg_say(
	struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, const struct dfg_transfer_key *key);
/* Handles the result of sending: an error fails the step. Takes err. */
void dfg_said(struct dfg_rendezvous *rendezvous, struct dfg_err *err);
void dfg_say_number(struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, uint64_t number);
void dfg_tell_peers(struct dfg_rendezvous *rendezvous);

/* Holds the Send back if its peer's credit is used up. The lock is held before and after. */
DFG_MUST_CHECK struct dfg_err *dfg_hold(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	const struct dfg_message *message, uint64_t cost, bool *out_held);

/* Sends TAKEN to the peer if it is due. The lock is held before, and released. */
void dfg_unlock_and_tell(struct dfg_rendezvous *rendezvous, uint32_t peer);

/* Handles a flow control message. */
void dfg_rendezvous_flow_control(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_message *message);
