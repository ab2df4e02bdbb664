#pragma once

#include "lib/exec/transport/rendezvous.h"

/*
 * Credit-based flow control of the values that one worker has sent to another and that were not yet taken: a number of
 * bytes for each pair and direction, exceeded by at most one value. A Send beyond that is held back: it is not
 * finished, nor is its iteration, so the window of its loop (parallel_iterations) stops the sender from running ahead.
 * The receiver reports from time to time what it has taken (TAKEN). A sender that holds back a value reports that
 * (STALLED), and from then on the receiver reports which values it waits for (WANTED): these leave without credit.
 *
 * Proof that this cannot deadlock: consider the order in which one device would run everything, a loop one iteration
 * after the other. In it a node comes after its inputs, and an iteration after all those that the window makes it wait
 * for. A Recv waits from the beginning of its iteration, as its only input is that the iteration takes place. So a Send
 * that waits for its Recv to wait depends on earlier nodes only, even without any credit. Therefore the earliest
 * unfinished node in that order can always continue: if it waits for a value that is held back, the sender is told, and
 * the value leaves.
 *
 * TAKEN and WANTED cannot miss each other: on STALLED the receiver names all values it waits for, and then each Recv
 * that begins to wait, until its next TAKEN; after that the sender either holds nothing back, or sends STALLED again.
 * TAKEN is sent for each quarter of the credit, and when everything sent was taken.
 *
 * There is one for each peer, under the lock of the rendezvous. It sends no messages itself: it returns what is to be
 * sent.
 */
struct dfg_credit {
	uint64_t limit;
	uint64_t sent, told;  /* cost of the values sent to the peer; of those that the peer reports as taken */
	uint64_t taken, said; /* cost of the values from the peer that were taken here; of those that were reported */
	bool stalled;         /* this worker sent STALLED since `told` grew */
	bool peer_stalled;    /* the peer sent STALLED since this worker sent TAKEN */
	bool open;            /* the peer waits for more values than can be stored here: all may leave until `told` grows */
	struct dfg_wait *held, *last_held;
	struct dfg_transfer_key *wanted; /* keys that the peer waits for and that were not sent yet */
	size_t wanted_count, wanted_capacity;
};

enum {
	DFG_CREDIT = 256 << 20,    /* bytes */
	DFG_VALUE_COST = 128,      /* of each value, in addition to its bytes */
	DFG_WANTED_MOST = 1 << 12, /* capacity of `wanted` */
};

static inline uint64_t dfg_credit_cost(const struct dfg_message *message)
{
	return DFG_VALUE_COST + dfg_message_bytes(message);
}

void dfg_credit_release(struct dfg_credit *credit); /* it must hold back no values any more */

/* Whether the value may leave now; if so, it is counted. */
bool dfg_credit_may_go(struct dfg_credit *credit, const struct dfg_transfer_key *key, uint64_t cost);

/* Holds a Send back; true if STALLED must be sent. */
bool dfg_credit_hold(struct dfg_credit *credit, struct dfg_wait *wait);

/* On TAKEN: returns the Sends that leave now, in order. *out_stalled: STALLED must be sent. */
struct dfg_wait *dfg_credit_taken(struct dfg_credit *credit, uint64_t taken, bool *out_stalled);

/*
 * On WANTED: returns the Sends that leave now, which is the Send of that value if it is held back; or all of them, if
 * more keys are wanted than can be stored, or memory is short.
 */
struct dfg_wait *dfg_credit_wanted(struct dfg_credit *credit, const struct dfg_transfer_key *key);

/* A value of the peer was taken here. */
static inline void dfg_credit_take(struct dfg_credit *credit, uint64_t cost)
{
	credit->taken += cost;
}

/* Whether TAKEN must be sent now; if so, it is counted as sent. */
bool dfg_credit_tells(struct dfg_credit *credit);

/* A new step begins: forgets the keys wanted by older ones. */
void dfg_credit_forget(struct dfg_credit *credit, uint64_t before_step);

/* Returns all Sends that are held back, which must be told that they will not leave. */
struct dfg_wait *dfg_credit_give_up(struct dfg_credit *credit);

bool dfg_transfer_key_equal(const struct dfg_transfer_key *a, const struct dfg_transfer_key *b);
