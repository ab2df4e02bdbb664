#pragma once

/* What rendezvous.c and rendezvous_credit.c share. Nobody else includes this. */
#include "lib/exec/transport/credit.h"

#include <pthread.h>
#include <string.h>

struct value {
	struct value *next; /* in its bucket; or that is free */
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
	uint64_t step; /* that runs; else the first that may come */
	struct dfg_err *failed;
	struct dfg_err *lost; /* a peer: no step goes on */
	struct dfg_err *late; /* what the step `late_step` will fail with */
	uint64_t late_step;
	uint64_t early_values, early_bytes;
	struct peer {
		struct dfg_sent sent;
		struct dfg_waited waited;
		struct dfg_credit budget;
	} * peer; /* by worker */
};

static inline void dfg_transfer_key_copy(struct dfg_transfer_key *to, const struct dfg_transfer_key *from)
{
	to->step = from->step;
	to->number = from->number;
	to->depth = from->depth;
	memcpy(to->iteration, from->iteration, from->depth * sizeof *from->iteration);
}

/* With the lock held, which is given up: the running step ends with err, which is taken. */
void dfg_rendezvous_fail_locked(struct dfg_rendezvous *rendezvous, struct dfg_err *err);

/* rendezvous_credit.c. Without the lock. */
DFG_MUST_CHECK struct dfg_err *dfg_say(
	struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, const struct dfg_transfer_key *key);
/* What came of saying something. Takes err. */
void dfg_said(struct dfg_rendezvous *rendezvous, struct dfg_err *err);
void dfg_say_number(struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, uint64_t number);
void dfg_tell_peers(struct dfg_rendezvous *rendezvous);

/* Keeps the Send back where its peer has no room for so much. With the lock held, before and after. */
DFG_MUST_CHECK struct dfg_err *dfg_hold(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	const struct dfg_message *message, uint64_t cost, bool *out_held);

/* Something of the peer's was taken, perhaps: it is told. With the lock held, which is given up. */
void dfg_unlock_and_tell(struct dfg_rendezvous *rendezvous, uint32_t peer);

/* What came by a link, without a tensor. */
void dfg_hear_of_room(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_message *message);
