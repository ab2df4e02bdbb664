#pragma once

#include "lib/exec/transport/rendezvous.h"

/*
 * How much of what one worker sends to another may lie about that nobody took: a number of bytes for each pair and
 * direction, and one value more. A Send beyond that is held back: it is not done, so the iteration it is in is not, and the
 * window of its loop (parallel_iterations) ends the run-ahead of the sender. The receiver says now and then what it has
 * taken (TAKEN); a sender that holds something back says so (STALLED), and is told from then on which values are waited for
 * (WANTED): these leave whatever the room.
 *
 * Why that cannot deadlock: take the order in which one device would do everything, a loop one iteration after the other.
 * Inputs come earlier in it than what reads them, and so does what a window waits for, which is whole iterations before.
 * A Recv waits from the beginning of its iteration on, as its only input is that the iteration takes place. So a Send that
 * waits for its Recv to wait depends on earlier things alone, also where there is no room at all. Of all that is not done
 * the earliest in that order can thus go on: whoever waits for a value that is held back is heard, and it leaves.
 *
 * That TAKEN and WANTED are not lost between two: the receiver names all it waits for when it hears STALLED, and each Recv
 * that begins to wait after, until it says TAKEN the next time; then the sender has either nothing held back any more, or
 * says STALLED again. TAKEN, a quarter of the budget at a time, comes at last when all was taken that was sent.
 *
 * One for each peer, under the lock of the rendezvous. It sends nothing itself: what is to be sent it returns.
 */
struct dfg_credit {
	uint64_t limit;
	uint64_t sent, told;  /* cost of what went to the peer; of what the peer says that it took */
	uint64_t taken, said; /* of what came from it and was taken; as it was told */
	bool stalled;         /* we said STALLED since `told` grew */
	bool peer_stalled;    /* it said so since we said TAKEN */
	bool open;            /* it waits for more than is noted here: all may leave until `told` grows */
	struct dfg_wait *held, *last_held;
	struct dfg_transfer_key *wanted; /* by the peer, and not sent yet */
	size_t wanted_count, wanted_room;
};

enum {
	DFG_BUDGET = 256 << 20,    /* bytes */
	DFG_VALUE_COST = 128,      /* of each value, beside its bytes */
	DFG_WANTED_MOST = 1 << 12, /* values that are noted as waited for */
};

static inline uint64_t dfg_credit_cost(const struct dfg_message *message)
{
	return DFG_VALUE_COST + dfg_message_bytes(message);
}

void dfg_credit_release(struct dfg_credit *budget); /* holds nothing back any more */

/* Whether the value may leave now. It is counted if so. */
bool dfg_credit_may_go(struct dfg_credit *budget, const struct dfg_transfer_key *key, uint64_t cost);

/* Keeps a Send back; true where STALLED is to be said. */
bool dfg_credit_hold(struct dfg_credit *budget, struct dfg_wait *wait);

/* The peer took so much: those that leave now, in their order. *out_stalled: STALLED is to be said. */
struct dfg_wait *dfg_credit_taken(struct dfg_credit *budget, uint64_t taken, bool *out_stalled);

/*
 * The peer waits for the value: those that leave now, which is the Send of it if that is held back. Where more is waited
 * for than can be noted, or memory is short, all leave.
 */
struct dfg_wait *dfg_credit_wanted(struct dfg_credit *budget, const struct dfg_transfer_key *key);

/* A value of the peer was taken. */
static inline void dfg_credit_take(struct dfg_credit *budget, uint64_t cost)
{
	budget->taken += cost;
}

/* Whether it is to be told by now; it is counted as told if so. */
bool dfg_credit_tells(struct dfg_credit *budget);

/* A new step begins: what was wanted of older ones is over. */
void dfg_credit_forget(struct dfg_credit *budget, uint64_t before_step);

/* All that is held back, to be told that it will not leave. */
struct dfg_wait *dfg_credit_give_up(struct dfg_credit *budget);

bool dfg_transfer_key_equal(const struct dfg_transfer_key *a, const struct dfg_transfer_key *b);
