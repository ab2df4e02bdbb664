#pragma once

#include "kernels/resource.h"

#include <pthread.h>

/*
 * A queue of elements, which have one tensor for each component; the session owns it, by name. Attempts to put and to
 * take are served strictly in the order of their arrival. An attempt that cannot be served at once is stored, and its
 * node waits without a thread (struct dfg_pause). The semantics are those of TensorFlow's queues
 * (core/kernels/queue_base.h).
 */
enum dfg_queue_order {
	DFG_QUEUE_FIRST,    /* first in, first out */
	DFG_QUEUE_SHUFFLED, /* a random element is next */
	DFG_QUEUE_SMALLEST, /* the element with the smallest component 0, an i64, is next */
};

struct dfg_queue_kind {
	enum dfg_queue_order order;
	const struct dfg_list *types;
	const struct dfg_list *shapes; /* of the components; an empty list: any */
	bool pads;                     /* shapes may be partly unknown: elements taken together are padded to the largest */
	int64_t capacity;              /* in elements; negative: unlimited */
	int64_t least;                 /* elements that are retained while the queue is open */
	uint64_t seed, stream;         /* of the random order; both 0: derived from the name */
};

/* One execution of an op that puts or takes elements, until it is done. */
struct dfg_attempt {
	struct dfg_attempt *next;
	struct dfg_pause *pause; /* the kernel to wake; NULL: it still runs */
	bool takes, fewer;       /* fewer: if the queue is closed, it accepts fewer elements than it requests */
	bool done;
	int64_t wanted; /* elements still to be put or taken */
	struct dfg_tensor *tensor;
	size_t count, allocated,
		first; /* in tensors: those taken, or to be put; allocated; the first that is not put yet */
	struct dfg_err *err;
};

struct dfg_queue {
	struct dfg_resource resource;
	pthread_mutex_t lock;
	struct dfg_queue_kind kind;
	int components;
	struct dfg_shape *shape; /* one for each component, as is dtype */
	uint8_t *dtype;
	bool closed;
	struct dfg_tensor *tensor;      /* elements [first, first + count), one tensor for each component */
	size_t first, count, allocated; /* first and count in elements; allocated: in tensors */
	uint64_t drawn;                 /* random words used */
	struct dfg_attempt *put, *take; /* lists of attempts, the oldest first */
};

extern const char dfg_queue_kind[];

/* The shape function of an op that makes a queue: records the components, after an i64 scalar if it has a priority. */
DFG_MUST_CHECK struct dfg_err *dfg_queue_make_holds(
	struct dfg_infer *node, const struct dfg_list *types, const struct dfg_list *shapes, bool has_priority);

/* Shape functions of the ops that put and take: DFG_DATA where components do not have the types of a queue that is known. */
DFG_MUST_CHECK struct dfg_err *dfg_queue_put_shape(struct dfg_infer *node);
DFG_MUST_CHECK struct dfg_err *dfg_queue_put_many_shape(struct dfg_infer *node);
DFG_MUST_CHECK struct dfg_err *dfg_queue_take_shape(struct dfg_infer *node);
DFG_MUST_CHECK struct dfg_err *dfg_queue_take_many_shape(struct dfg_infer *node);
DFG_MUST_CHECK struct dfg_err *dfg_queue_take_up_to_shape(struct dfg_infer *node);

/* The queue of that name, created if there is none; DFG_DATA if there is one of another kind. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_queue_find(
	struct dfg_state *state, const char *name, const struct dfg_queue_kind *kind, struct dfg_queue **out_queue);

/*
 * Adds the attempt after the others and serves all that can be. attempt->done: it is complete, or has failed with err.
 */
DFG_MUST_CHECK struct dfg_err *dfg_queue_try(struct dfg_queue *queue, struct dfg_attempt *attempt);

/* The pause is woken when the attempt is done. True if it is done already: the pause is not woken then. */
bool dfg_queue_wait(struct dfg_queue *queue, struct dfg_attempt *attempt, struct dfg_pause *pause);

/* Closes the queue: later attempts to put fail. Those that wait are still served, unless cancelled. */
void dfg_queue_close(struct dfg_queue *queue, bool cancel);

/* Withdraws the attempt; the elements that it took are put back. */
void dfg_queue_abandon(struct dfg_queue *queue, struct dfg_attempt *attempt);

int64_t dfg_queue_size(struct dfg_queue *queue);
bool dfg_queue_is_closed(struct dfg_queue *queue);

void dfg_attempt_free(struct dfg_attempt *attempt); /* NULL is fine */
