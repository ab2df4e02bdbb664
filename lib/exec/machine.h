#pragma once

#include "lib/exec/flow.h"
#include "lib/exec/store.h"

/*
 * A machine runs one step at a time. All of it is under its lock, which is held while values are passed on and cheap
 * kernels run, and is given up while an expensive kernel runs: several threads may serve one step.
 *
 * Room for iterations (slabs) and frames comes from free lists: a loop that was run before allocates nothing.
 */
/* Of a slot. LENT: the value belongs to the frame, the plan or the caller. SPENT: all who wanted it have read it. */
enum { EMPTY, DEAD, LIVE, LENT, SPENT };

/* An iteration of a frame; the root is one that no frame has. The arrays are by local number. */
struct slab {
	struct slab *made; /* all there are */
	struct slab *next; /* the next iteration; or the next that is free */
	struct loop *loop;
	struct frame *frame;
	int64_t iteration;
	uint32_t outstanding; /* records that are ready or run */
	uint32_t children;    /* frames that were entered from here and have not ended */
	bool used;
	struct count *count;
	uint32_t *left;
	uint32_t *choice; /* of a Merge: the input that came live */
	uint8_t *state;   /* by slot */
	struct death *death, *slot_death;
	struct frame **child;
	struct dfg_store *store; /* one a Save whose region this is */
	struct dfg_tensor *tensor;
	struct dfg_tensor **at; /* by use */
};

/* A loop being run, entered from one iteration of its parent. */
struct frame {
	struct frame *made, *next;
	struct loop *loop;
	struct slab *parent;
	struct slab *oldest, *newest; /* iterations that have not ended */
	int64_t newest_number;
	int64_t outstanding;
	uint32_t enters; /* that have not come yet */
	uint32_t n_constant, n_parked, n_exit;
	struct constant {
		uint32_t record;
		bool dead;
		struct death death;
		struct dfg_tensor tensor;
	} * constant; /* loop invariants, given to each iteration */
	struct parked {
		uint32_t record;
		struct dfg_tensor tensor;
	} * parked; /* values for an iteration that the window does not allow yet */
	struct dead_exit {
		uint32_t record;
		struct death death;
	} * exit; /* Exits that were dead in the newest iteration */
	bool used;
};

struct ready {
	struct slab *slab;
	uint32_t record;
	bool dead;
};

/* A Load whose key is not there yet. It counts as outstanding, and no thread waits. */
struct waiter {
	struct slab *slab;     /* NULL: free */
	uint32_t record, next; /* next: of the same key, or free; number + 1 */
};

/* A record whose outputs are there, for others to see when it is time. */
struct sleeper {
	uint64_t due, began; /* of the monotonic clock */
	struct slab *slab;
	uint32_t record;
};

/* A ring. */
struct queue {
	struct ready *item;
	size_t first, count, room; /* room is a power of two */
};

struct machine {
	struct machine *next;
	struct dfg_plan *plan;
	struct flow *flow;
	pthread_mutex_t lock;
	bool shared; /* other threads may help: the lock is needed */
	struct queue cheap, expensive;
	struct slab *root, *slabs, **free_slab; /* by loop */
	struct frame *frames, **free_frame;     /* by loop */
	uint32_t running;                       /* kernels that run without the lock */
	bool stop;
	struct dfg_err *err;
	uint64_t random;
	struct runner runner;
	struct watch watch;
	struct dfg_stats stats;
	uint64_t live_frames, live_slabs, live_saves;
	struct waiter *waiter;
	size_t waiters, waiter_room;
	uint32_t free_waiter; /* number + 1 */
	uint32_t waiting;
	struct sleeper *sleeper; /* a heap: none is due before the first */
	size_t sleepers, sleeper_room;
	struct helper *helper; /* one a thread of the pool */
	int helpers;           /* asked and not gone */
	struct dfg_event event;
};

/* frames.c */
DFG_MUST_CHECK struct dfg_err *dfg_slab_take(struct machine *machine, uint32_t loop, struct slab **out_slab);
void dfg_slab_give(struct machine *machine, struct slab *slab);
void dfg_frame_give(struct machine *machine, struct frame *frame);

/*
 * What Enter, Exit and NextIteration do with their input, across the border of an iteration. death is NULL where it is
 * live.
 */
DFG_MUST_CHECK struct dfg_err *dfg_enter(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death);
DFG_MUST_CHECK struct dfg_err *dfg_exit(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death);
DFG_MUST_CHECK struct dfg_err *dfg_next_iteration(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death);

/* Ends the iteration if it is done, and all that is done by that, outwards. */
DFG_MUST_CHECK struct dfg_err *dfg_settle(struct machine *machine, struct slab *slab);

/* machine.c: all has come that the record waits for; and: a record that began, and waited, runs again. */
DFG_MUST_CHECK struct dfg_err *dfg_make_ready(struct machine *machine, struct slab *slab, uint32_t record, bool dead);
DFG_MUST_CHECK struct dfg_err *dfg_wake(struct machine *machine, struct slab *slab, uint32_t record);

/* token.c: a value comes to the record where the arc ends; death is NULL where it is live. */
DFG_MUST_CHECK struct dfg_err *dfg_arrive(
	struct machine *machine, struct slab *slab, const struct arc *arc, const struct death *death);

/* The outputs of the record are there, in the slab; whoever waits for them hears of it. */
DFG_MUST_CHECK struct dfg_err *dfg_notify(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death);

/* The record has read its inputs. */
void dfg_consume(struct machine *machine, struct slab *slab, uint32_t record);

/* save.c: what Save and Load do. A Load whose key is not there waits: it is woken when it comes. */
DFG_MUST_CHECK struct dfg_err *dfg_save(struct machine *machine, struct slab *slab, uint32_t record);
DFG_MUST_CHECK struct dfg_err *dfg_load(struct machine *machine, struct slab *slab, uint32_t record, bool *out_waits);
DFG_MUST_CHECK struct dfg_err *dfg_explain_waiting(const struct machine *machine); /* when nothing is left to run */

/* The place of output i of the record in the slab where it lives. */
static inline uint32_t dfg_out_slot(const struct machine *machine, uint32_t record, int i)
{
	const struct record *r = &machine->plan->record[record];
	return machine->flow->slot_local[machine->plan->slot[r->first + r->n_in + (uint32_t)i]];
}

/* sleep.c: what Sleep does, but for telling its consumers, which is due later; and whose time has come first. */
DFG_MUST_CHECK struct dfg_err *dfg_sleep(struct machine *machine, struct slab *slab, uint32_t record, uint64_t began);
struct sleeper dfg_sleeper_pop(struct machine *machine);

/* Where it happened: the loop, if there is one, then the node. */
DFG_MUST_CHECK struct dfg_err *dfg_place_note(
	struct dfg_err *err, const struct slab *slab, const struct dfg_call *call);

/* explain.c: why the fetch has no value. */
DFG_MUST_CHECK struct dfg_err *dfg_explain(const struct machine *machine, uint32_t fetch);
