#pragma once

#include "kernels/resource.h"

#include <pthread.h>

/*
 * A queue of elements, each a tensor a component; it lives in the session, by name. Attempts to put and to take are served
 * strictly in the order in which they came: one that cannot be served at once is kept, and its node waits without a thread
 * (struct dfg_pause). Semantics are those of TensorFlow's queues (core/kernels/queue_base.h).
 */
enum dfg_queue_order {
	DFG_QUEUE_FIRST,    /* in, first out */
	DFG_QUEUE_SHUFFLED, /* any */
	DFG_QUEUE_SMALLEST, /* by component 0, an i64 */
};

struct dfg_queue_kind {
	enum dfg_queue_order order;
	const struct dfg_list *types;
	const struct dfg_list *shapes; /* of the components; none: any */
	bool pads;             /* shapes may be known in part: several taken at once are made as large as the largest */
	int64_t capacity;      /* elements; negative: any number */
	int64_t least;         /* that stay while it is open */
	uint64_t seed, stream; /* of what is drawn; both 0: by the name */
};

/* One node's wish, until it is met. */
struct dfg_attempt {
	struct dfg_attempt *next;
	struct dfg_pause *pause; /* whom to wake; NULL: whoever made it still runs */
	bool takes, fewer;       /* fewer: where the queue is closed, less than it wants will do */
	bool done;
	int64_t wanted; /* elements still to put, or to take */
	struct dfg_tensor *tensor;
	size_t count, room, first; /* tensors: of a put those from first on are still to go, of a take these have come */
	struct dfg_err *err;
};

struct dfg_queue {
	struct dfg_resource resource;
	pthread_mutex_t lock;
	struct dfg_queue_kind kind;
	int components;
	struct dfg_shape *shape; /* by component */
	uint8_t *dtype;
	bool closed;
	struct dfg_tensor *tensor; /* elements from `first` on, a tensor a component */
	size_t first, count, room; /* elements; room in tensors */
	uint64_t drawn;
	struct dfg_attempt *put, *take; /* the oldest */
};

extern const char dfg_queue_kind[];

/* The queue of that name, made where it is not there; DFG_DATA where it is there and not of this kind. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_queue_find(
	struct dfg_state *state, const char *name, const struct dfg_queue_kind *kind, struct dfg_queue **out_queue);

/* Puts the attempt behind the others and serves what can be. attempt->done says whether it was met, well or with err. */
DFG_MUST_CHECK struct dfg_err *dfg_queue_try(struct dfg_queue *queue, struct dfg_attempt *attempt);

/* From now on the pause is woken when the attempt is met; true where it was met meanwhile: then it will not be. */
bool dfg_queue_wait(struct dfg_queue *queue, struct dfg_attempt *attempt, struct dfg_pause *pause);

/* No more is put. What waits to be put still is, unless it is cancelled. */
void dfg_queue_close(struct dfg_queue *queue, bool cancel);

/* Takes the attempt back, with what it took. */
void dfg_queue_abandon(struct dfg_queue *queue, struct dfg_attempt *attempt);

int64_t dfg_queue_size(struct dfg_queue *queue);
bool dfg_queue_is_closed(struct dfg_queue *queue);

void dfg_attempt_free(struct dfg_attempt *attempt); /* NULL is fine */
