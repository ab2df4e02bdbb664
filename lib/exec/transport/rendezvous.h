#pragma once

#include "lib/exec/transport/link.h"

/*
 * The rendezvous of one worker's Sends and Recvs (OSDI'16, section 3.3): a Send leaves its value and continues; a Recv
 * waits, without a thread, until its value is there. Values for other workers are sent over their links; values
 * received from links are put here. Each worker has one rendezvous for all its steps, which run one at a time.
 */
struct dfg_rendezvous;

struct dfg_rendezvous_options {
	uint32_t self;             /* this worker's number */
	const char *const *device; /* by worker, such as "/job:worker/task:0/device:CPU:0"; borrowed */
	const char *const *name;   /* host name for messages, by worker; NULL: none. Borrowed */
	uint32_t workers;
	struct dfg_link *const *link; /* by worker; NULL for this worker, and if the plan has no transfer to it; borrowed */
	/* Limits for values of steps that have not begun here; a step that exceeds them fails. 0: the default */
	uint64_t early_values, early_bytes;
	/* Credit in bytes of each peer, lib/exec/transport/credit.h: must be equal on all workers. 0: DFG_CREDIT */
	uint64_t credit;
};
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_new(
	const struct dfg_rendezvous_options *options, struct dfg_rendezvous **out_rendezvous);
void dfg_rendezvous_free(struct dfg_rendezvous *rendezvous); /* NULL is fine; no step may be running */

/* The worker of a device's full name; DFG_DATA, listing the devices, if there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_worker(
	const struct dfg_rendezvous *rendezvous, const char *device, uint32_t *out_worker);

/*
 * Begins a step, whose number must be larger than the last. Drops values that older steps left; values that arrived
 * early for this step are available. dfg_rendezvous_end returns the number of values that were not received; more than
 * 0 is a bug.
 */
void dfg_rendezvous_begin(struct dfg_rendezvous *rendezvous, uint64_t step);
uint64_t dfg_rendezvous_end(struct dfg_rendezvous *rendezvous);

/* Sends a value of the running step; key->step is filled in. tensor NULL: dead. Takes a reference. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_send(struct dfg_rendezvous *rendezvous, uint32_t to,
	const struct dfg_transfer_key *key, const struct dfg_tensor *tensor);

/*
 * A Recv that waits, or a Send that is held back. Owned by the caller; it must exist until `come` is called, once, by
 * the thread that delivers the value or has sent it.
 */
struct dfg_wait {
	struct dfg_wait *next;
	struct dfg_transfer_key key;
	uint32_t from;           /* of a Recv: the sender; of a Send: the receiver */
	bool dead;               /* of a Send: the value is dead */
	struct dfg_tensor value; /* of a Send that is held back: the rendezvous's reference to the value */
	uint64_t cost;
	/*
	 * Completion. Of a Recv: takes the tensor (dead: there is none), or err if the value will not arrive. Of a Send:
	 * the value has left, or err, which is taken. Called without any lock.
	 */
	void (*come)(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err);
};

/*
 * As dfg_rendezvous_send, to wait->from with wait->key. If the peer's credit is used up, `wait` is kept, with a
 * reference to the tensor, until there is credit again: *out_held.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_offer(
	struct dfg_rendezvous *rendezvous, struct dfg_wait *wait, const struct dfg_tensor *tensor, bool *out_held);

/*
 * Receives the value of wait->key (the caller fills in `wait`, except key.step). If the value is there, *out_there is
 * set and the caller owns it (dead: no tensor). Otherwise `wait` is kept until completion. An error if the step has
 * failed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_receive(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	struct dfg_tensor *out_tensor, bool *out_dead, bool *out_there);

/*
 * Handles a message from a link, of any kind except DFG_MESSAGE_CONTROL. Takes the tensor. Drops messages of steps that
 * are over.
 */
void dfg_rendezvous_deliver(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message);

/* Fails the running step: all current and future waits in it end with err's text and code. Takes err. Any thread. */
void dfg_rendezvous_fail(struct dfg_rendezvous *rendezvous, struct dfg_err *err);

/* The peer is lost for good: fails the running step and all later ones. Takes err. Any thread. */
void dfg_rendezvous_lost(struct dfg_rendezvous *rendezvous, uint32_t peer, struct dfg_err *err);

/* Reads all links once without blocking; true if a message arrived. */
bool dfg_rendezvous_poll(struct dfg_rendezvous *rendezvous);

/* The thread that polled stops polling: see dfg_link_kind.idle. */
void dfg_rendezvous_rest(struct dfg_rendezvous *rendezvous);

/* Totals of what was sent to a worker, including this one; a dead value is a message without bytes. */
struct dfg_sent {
	uint64_t messages, dead, bytes;
};
void dfg_rendezvous_sent(const struct dfg_rendezvous *rendezvous, uint32_t worker, struct dfg_sent *out_sent);

/* The time that Recvs of the last step waited for values of a worker. A value that was there at once is not counted. */
struct dfg_waited {
	uint64_t waits, ns, longest_ns;
	uint32_t longest; /* number of the transfer */
};
void dfg_rendezvous_waited(struct dfg_rendezvous *rendezvous, uint32_t from, uint32_t number, uint64_t ns);
struct dfg_waited dfg_rendezvous_waits(const struct dfg_rendezvous *rendezvous, uint32_t from);
