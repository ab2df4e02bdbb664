#pragma once

#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/plan/frame_info.h"
#include "lib/exec/state/keyed_store.h"

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

/* A Recv whose value is not there yet. It counts as outstanding, and no thread waits. The value is left here. */
struct parcel {
	struct dfg_wait wait;       /* first */
	struct parcel *made, *next; /* made: all there are; next: the next that came, or is free */
	struct machine *machine;
	struct slab *slab; /* NULL: free */
	uint32_t record;
	bool dead;
	struct dfg_tensor tensor;
	struct dfg_err *err;
	uint64_t began;
};

/* A kernel that waits for another one to wake it: see struct dfg_pause. It counts as outstanding, and no thread waits. */
struct rest {
	struct dfg_pause pause;   /* first */
	struct rest *made, *next; /* made: all there are; next: the next that is awake, or free */
	struct machine *machine;
	struct slab *slab; /* NULL: free */
	uint32_t record;
	uint64_t began;
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
	uint64_t run; /* of the plan's, which this step is */
	pthread_mutex_t lock;
	bool shared; /* other threads may help: the lock is needed */
	struct queue cheap, expensive;
	struct slab *root, *slabs, **free_slab; /* by loop */
	struct frame *frames, **free_frame;     /* by loop */
	_Atomic uint32_t running;               /* kernels that run without the lock */
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
	struct parcel *parcels, *free_parcel, *refused; /* refused: came with an error */
	uint32_t expected;                              /* parcels that wait, or came and were not opened */
	_Atomic(struct parcel *) arrived;               /* by any thread, without the lock; the newest first */
	uint32_t turns;                                 /* since the links were last read */
	_Atomic uint32_t bringing;                      /* threads that are at it */
	struct rest *rests, *free_rest;
	uint32_t resting;             /* rests that are not awake, or not looked at */
	_Atomic(struct rest *) awake; /* by any thread, without the lock; the newest first */
	struct helper *helper;        /* one a thread of the pool; the last is called by what arrives while kernels run */
	int helpers;                  /* asked and not gone */
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

/* executor.c: all has come that the record waits for; and: a record that began, and waited, runs again. */
DFG_MUST_CHECK struct dfg_err *dfg_make_ready(struct machine *machine, struct slab *slab, uint32_t record, bool dead);
DFG_MUST_CHECK struct dfg_err *dfg_wake(struct machine *machine, struct slab *slab, uint32_t record);

/* executor.c: its outputs are there: those who wait for them hear of it, and its inputs are done with. */
DFG_MUST_CHECK struct dfg_err *dfg_finish(
	struct machine *machine, const struct ready *item, const struct death *death, uint64_t began);

static inline void dfg_lock(struct machine *machine)
{
	if (machine->shared)
		pthread_mutex_lock(&machine->lock);
}
static inline void dfg_unlock(struct machine *machine)
{
	if (machine->shared)
		pthread_mutex_unlock(&machine->lock);
}

/* executor.c: runs what is ready until nothing is. With the lock held, before and after. */
void dfg_work(struct machine *machine, struct runner *runner);

/* helper_threads.c: one a thread of the pool; NULL where there is no memory. */
struct helper *dfg_helpers_new(struct machine *machine);
void dfg_helpers_free(struct machine *machine);

/* Asks for as many helpers as there is expensive work to hand out; and takes back those that did not begin. */
void dfg_ask_for_help(struct machine *machine);
void dfg_take_back_helpers(struct machine *machine);

/* Something arrived: while kernels run, a helper opens it. Any thread, without the lock. */
void dfg_call_helper(struct machine *machine);
void dfg_dismiss_helper(struct machine *machine); /* nobody calls it any more: it never comes, or has gone */

/* The calling thread gives the lock up for something that takes its time, and takes it again. */
void dfg_leave(struct machine *machine);
void dfg_come_back(struct machine *machine);

/* Of two records in iterations, which is first: whatever the schedule. */
bool dfg_is_before(const struct slab *slab, uint32_t record, const struct slab *other_slab, uint32_t other);

/* propagate.c: a value comes to the record where the arc ends; death is NULL where it is live. */
DFG_MUST_CHECK struct dfg_err *dfg_arrive(
	struct machine *machine, struct slab *slab, const struct arc *arc, const struct death *death);

/* The outputs of the record are there, in the slab; whoever waits for them hears of it. */
DFG_MUST_CHECK struct dfg_err *dfg_notify(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death);

/* executor.c: what a record died of that is dead. */
const struct death *dfg_death_of(const struct machine *machine, const struct ready *item);

/* The record has read its inputs. */
void dfg_consume(struct machine *machine, struct slab *slab, uint32_t record);

/* save_load.c: what Save and Load do. A Load whose key is not there waits: it is woken when it comes. */
DFG_MUST_CHECK struct dfg_err *dfg_save(struct machine *machine, struct slab *slab, uint32_t record);
DFG_MUST_CHECK struct dfg_err *dfg_load(struct machine *machine, struct slab *slab, uint32_t record, bool *out_waits);
DFG_MUST_CHECK struct dfg_err *dfg_explain_waiting(const struct machine *machine); /* when nothing is left to run */

/* The place of output i of the record in the slab where it lives. */
static inline uint32_t dfg_out_slot(const struct machine *machine, uint32_t record, int i)
{
	const struct record *r = &machine->plan->record[record];
	return machine->flow->slot_local[dfg_record_out(machine->plan, r, i)];
}

/* timers.c: what Sleep does, but for telling its consumers, which is due later; and whose time has come first. */
DFG_MUST_CHECK struct dfg_err *dfg_sleep(struct machine *machine, struct slab *slab, uint32_t record, uint64_t began);
struct sleeper dfg_sleeper_pop(struct machine *machine);

/* suspend.c: a pause for the kernel that runs: runner->pause. */
DFG_MUST_CHECK struct dfg_err *dfg_rest_new(struct runner *runner, struct dfg_pause **out_pause);

/* suspend.c: runs those again that are awake; gives all back, where the step ends before; the error that nothing can wake them. */
DFG_MUST_CHECK struct dfg_err *dfg_run_rests(struct machine *machine, struct runner *runner);
void dfg_end_rests(struct machine *machine);
DFG_MUST_CHECK struct dfg_err *dfg_explain_rests(const struct machine *machine);

/* executor.c: runs the record, and finishes it unless it waits once more. With the lock held. */
DFG_MUST_CHECK struct dfg_err *dfg_process(
	struct machine *machine, struct runner *runner, const struct ready *item, uint64_t began);

/*
 * send_recv.c: what Send and Recv do. A Send that runs has live control inputs; its data may be dead. A Recv whose value is
 * not there, and a Send that is held back, is finished when the parcel is opened.
 */
DFG_MUST_CHECK struct dfg_err *dfg_send(
	struct machine *machine, const struct ready *item, uint64_t began, bool *out_held);
DFG_MUST_CHECK struct dfg_err *dfg_receive(struct machine *machine, struct slab *slab, uint32_t record, uint64_t began);

/* Whether the transfer takes place, live or dead: no control input of the record is dead. */
bool dfg_crosses(const struct machine *machine, const struct slab *slab, uint32_t record);

/* Finishes the Recvs whose values came, and the Sends whose values left. */
DFG_MUST_CHECK struct dfg_err *dfg_open_parcels(struct machine *machine);

/* Reads the links, now and then, while there is work. With the lock held, which is given up meanwhile. */
void dfg_glance(struct machine *machine);

/* Waits, without the lock, and reads the links for a while before it sleeps. until: 0 or a time. */
void dfg_poll(struct machine *machine, uint32_t seen, uint64_t until);

/* The step is over: no thread knows of the machine any more. Where it ended early, nothing more can come. */
void dfg_end_parcels(struct machine *machine);

/* "waited 3 s for ...", of those that wait, in front of err. */
DFG_MUST_CHECK struct dfg_err *dfg_note_parcels(const struct machine *machine, struct dfg_err *err);

/* Where it happened: the loop, if there is one, then the node. */
DFG_MUST_CHECK struct dfg_err *dfg_place_note(
	struct dfg_err *err, const struct slab *slab, const struct dfg_call *call);

/* explain.c: why the fetch has no value; and: keeps the death in a place of the plan, where another step may keep its own. */
DFG_MUST_CHECK struct dfg_err *dfg_explain(const struct machine *machine, uint32_t fetch);
void dfg_keep_fate(const struct machine *machine, struct fate *place, struct fate fate);
