#pragma once

#include "lib/exec/transport/link.h"

/*
 * Where the Sends and the Recvs of one worker meet (OSDI'16 section 3.3): a Send leaves its value and goes on, a Recv
 * waits without a thread until its value is there. Values for other workers leave by their links; what comes by the links
 * is put here. One a worker, for all its steps, one step at a time.
 */
struct dfg_rendezvous;

struct dfg_rendezvous_options {
	uint32_t self;             /* this worker's number */
	const char *const *device; /* by worker: "/job:worker/task:0/device:CPU:0"; borrowed */
	const char *const *name;   /* by worker, of its host: for messages; NULL: none. Borrowed */
	uint32_t workers;
	struct dfg_link *const *link; /* by worker; NULL for itself, and where the plan has no transfer; borrowed */
	/* What may come of steps that have not begun here: more than that, and the step it is of fails. 0: as much as is sane */
	uint64_t early_values, early_bytes;
	/* Bytes to each peer that it has not taken, lib/exec/transport/credit.h: the same on all workers. 0: DFG_BUDGET */
	uint64_t budget;
};
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_new(
	const struct dfg_rendezvous_options *options, struct dfg_rendezvous **out_rendezvous);
void dfg_rendezvous_free(struct dfg_rendezvous *rendezvous); /* NULL is fine; no step may be running */

/* The worker of a device, by its full name; DFG_DATA, naming those there are, where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_worker(
	const struct dfg_rendezvous *rendezvous, const char *device, uint32_t *out_worker);

/*
 * A new step, larger than the last. What is left of older ones is dropped, and what came early for this one is there.
 * End says how many values nobody took: none, or something is broken.
 */
void dfg_rendezvous_begin(struct dfg_rendezvous *rendezvous, uint64_t step);
uint64_t dfg_rendezvous_end(struct dfg_rendezvous *rendezvous);

/* Of the step that began last; key->step is filled in. tensor NULL: dead. Takes a reference. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_send(struct dfg_rendezvous *rendezvous, uint32_t to,
	const struct dfg_transfer_key *key, const struct dfg_tensor *tensor);

/*
 * A Recv that waits, or a Send that is held back. Lives with the caller until `come` is called, once, by the thread that
 * brings the value, or has sent it.
 */
struct dfg_wait {
	struct dfg_wait *next;
	struct dfg_transfer_key key;
	uint32_t from;           /* of a Send: where it goes */
	bool dead;               /* of a Send, as the value */
	struct dfg_tensor value; /* the rendezvous', of what it holds back; likewise */
	uint64_t cost;
	/*
	 * Takes the tensor; dead: there is none. err, taken too: nothing will come. Of a Send: it has left, or err. Called
	 * without any lock.
	 */
	void (*come)(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err);
};

/*
 * As send, to wait->from, by wait->key; but where the peer has too much already that it did not take, `wait` is kept, with a
 * reference of the tensor, until there is room for it: *out_held.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_offer(
	struct dfg_rendezvous *rendezvous, struct dfg_wait *wait, const struct dfg_tensor *tensor, bool *out_held);

/*
 * Where the value is there, *out_there, and it is the caller's (dead: no tensor). Else `wait` is kept; its key, but for
 * the step, and the rest are the caller's to fill in before. An error where the step has failed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rendezvous_receive(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	struct dfg_tensor *out_tensor, bool *out_dead, bool *out_there);

/* What came by a link: of any kind but DFG_MESSAGE_CONTROL. Takes the tensor. Of a step that is over it is dropped. */
void dfg_rendezvous_deliver(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message);

/* Ends the running step: all that wait, and will, get err's words and code. Takes err. Any thread. */
void dfg_rendezvous_fail(struct dfg_rendezvous *rendezvous, struct dfg_err *err);

/* The peer is gone, for good: as fail, now and in all steps to come. Takes err. Any thread. */
void dfg_rendezvous_lost(struct dfg_rendezvous *rendezvous, uint32_t peer, struct dfg_err *err);

/* Reads all links once without waiting; true where something came. */
bool dfg_rendezvous_poll(struct dfg_rendezvous *rendezvous);

/* Whoever polled goes to sleep: the links look after themselves. */
void dfg_rendezvous_rest(struct dfg_rendezvous *rendezvous);

/* What was sent to a worker, itself too, since the beginning; dead values are messages without bytes. */
struct dfg_sent {
	uint64_t messages, dead, bytes;
};
void dfg_rendezvous_sent(const struct dfg_rendezvous *rendezvous, uint32_t worker, struct dfg_sent *out_sent);

/* How long Recvs of the last step waited for values of a worker: those that were there at once did not. */
struct dfg_waited {
	uint64_t waits, ns, longest_ns;
	uint32_t longest; /* the transfer's number */
};
void dfg_rendezvous_waited(struct dfg_rendezvous *rendezvous, uint32_t from, uint32_t number, uint64_t ns);
struct dfg_waited dfg_rendezvous_waits(const struct dfg_rendezvous *rendezvous, uint32_t from);
