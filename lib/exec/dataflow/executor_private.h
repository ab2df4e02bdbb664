#pragma once

#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/plan/frame_info.h"
#include "lib/exec/state/keyed_store.h"

/*
 * A executor runs one step at a time. All of it is under its lock, which is held while values are passed on and cheap
 * kernels run, and is given up while an expensive kernel runs: several threads may serve one step.
 *
 * Room for iterations (iters) and frames comes from free lists: a loop that was run before allocates nothing.
 */
/* Of a slot. BORROWED: the value belongs to the frame, the plan or the caller. CONSUMED: all who wanted it have read it. */
enum { EMPTY, DEAD, LIVE, BORROWED, CONSUMED };

/* An iteration of a frame; the root is one that no frame has. The arrays are by local number. */
struct iteration_state {
	struct iteration_state *made; /* all there are */
	struct iteration_state *next; /* the next iteration; or the next that is free */
	struct loop *loop;
	struct frame *frame;
	int64_t iteration;
	uint32_t outstanding; /* nodes that are ready or run */
	uint32_t children;    /* frames that were entered from here and have not ended */
	bool used;
	struct count *count;
	uint32_t *left;
	uint32_t *choice; /* of a Merge: the input that came live */
	uint8_t *state;   /* by slot */
	struct dead_cause *cause, *slot_cause;
	struct frame **child;
	struct dfg_keyed_store *store; /* one a Save whose region this is */
	struct dfg_tensor *tensor;
	struct dfg_tensor **at; /* by use */
};

/* A loop being run, entered from one iteration of its parent. */
struct frame {
	struct frame *made, *next;
	struct loop *loop;
	struct iteration_state *parent;
	struct iteration_state *oldest, *newest; /* iterations that have not ended */
	int64_t newest_number;
	int64_t outstanding;
	uint32_t enters; /* that have not come yet */
	uint32_t n_constant, n_parked, n_exit;
	struct constant {
		uint32_t node;
		bool dead;
		struct dead_cause cause;
		struct dfg_tensor tensor;
	} * constant; /* loop invariants, given to each iteration */
	struct parked {
		uint32_t node;
		struct dfg_tensor tensor;
	} * parked; /* values for an iteration that the window does not allow yet */
	struct dead_exit {
		uint32_t node;
		struct dead_cause cause;
	} * exit; /* Exits that were dead in the newest iteration */
	bool used;
};

struct ready {
	struct iteration_state *iter;
	uint32_t node;
	bool dead;
};

/* A Load whose key is not there yet. It counts as outstanding, and no thread waits. */
struct waiter {
	struct iteration_state *iter; /* NULL: free */
	uint32_t node, next;          /* next: of the same key, or free; number + 1 */
};

/* A node whose outputs are there, for others to see when it is time. */
struct timer {
	uint64_t due, began; /* of the monotonic clock */
	struct iteration_state *iter;
	uint32_t node;
};

/* A Recv whose value is not there yet. It counts as outstanding, and no thread waits. The value is left here. */
struct pending_transfer {
	struct dfg_wait wait;                 /* first */
	struct pending_transfer *made, *next; /* made: all there are; next: the next that came, or is free */
	struct executor *executor;
	struct iteration_state *iter; /* NULL: free */
	uint32_t node;
	bool dead;
	struct dfg_tensor tensor;
	struct dfg_err *err;
	uint64_t began;
};

/* A kernel that waits for another one to wake it: see struct dfg_pause. It counts as outstanding, and no thread waits. */
struct suspended_kernel {
	struct dfg_pause pause;               /* first */
	struct suspended_kernel *made, *next; /* made: all there are; next: the next that is awake, or free */
	struct executor *executor;
	struct iteration_state *iter; /* NULL: free */
	uint32_t node;
	uint64_t began;
};

/* A ring. */
struct queue {
	struct ready *item;
	size_t first, count, room; /* room is a power of two */
};

struct executor {
	struct executor *next;
	struct dfg_plan *plan;
	struct frame_info *frame_info;
	uint64_t run; /* of the plan's, which this step is */
	pthread_mutex_t lock;
	bool shared; /* other threads may help: the lock is needed */
	struct queue cheap, expensive;
	struct iteration_state *root, *iters, **free_iter; /* by loop */
	struct frame *frames, **free_frame;                /* by loop */
	_Atomic uint32_t running;                          /* kernels that run without the lock */
	bool stop;
	struct dfg_err *err;
	uint64_t random;
	struct runner runner;
	struct watch watch;
	struct dfg_stats stats;
	uint64_t live_frames, live_iters, live_saves;
	struct waiter *waiter;
	size_t waiters, waiter_room;
	uint32_t free_waiter; /* number + 1 */
	uint32_t waiting;
	struct timer *timer; /* a heap: none is due before the first */
	size_t timers, timer_room;
	struct pending_transfer *pendings, *free_pending, *refused; /* refused: came with an error */
	uint32_t expected;                                          /* pendings that wait, or came and were not opened */
	_Atomic(struct pending_transfer *) arrived;                 /* by any thread, without the lock; the newest first */
	uint32_t turns;                                             /* since the links were last read */
	_Atomic uint32_t bringing;                                  /* threads that are at it */
	struct suspended_kernel *suspendeds, *free_suspended;
	uint32_t n_suspended;                     /* suspendeds that are not awake, or not looked at */
	_Atomic(struct suspended_kernel *) awake; /* by any thread, without the lock; the newest first */
	struct helper *helper; /* one a thread of the pool; the last is called by what arrives while kernels run */
	int helpers;           /* asked and not gone */
	struct dfg_event event;
};

/* frames.c */
DFG_MUST_CHECK struct dfg_err *dfg_iteration_take(
	struct executor *executor, uint32_t loop, struct iteration_state **out_iter);
void dfg_iteration_release(struct executor *executor, struct iteration_state *iter);
void dfg_frame_release(struct executor *executor, struct frame *frame);

/*
 * What Enter, Exit and NextIteration do with their input, across the border of an iteration. cause is NULL where it is
 * live.
 */
DFG_MUST_CHECK struct dfg_err *dfg_enter(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);
DFG_MUST_CHECK struct dfg_err *dfg_exit(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);
DFG_MUST_CHECK struct dfg_err *dfg_next_iteration(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);

/* Ends the iteration if it is done, and all that is done by that, outwards. */
DFG_MUST_CHECK struct dfg_err *dfg_retire_iterations(struct executor *executor, struct iteration_state *iter);

/* executor.c: all has come that the node waits for; and: a node that began, and waited, runs again. */
DFG_MUST_CHECK struct dfg_err *dfg_make_ready(
	struct executor *executor, struct iteration_state *iter, uint32_t node, bool dead);
DFG_MUST_CHECK struct dfg_err *dfg_wake(struct executor *executor, struct iteration_state *iter, uint32_t node);

/* executor.c: its outputs are there: those who wait for them hear of it, and its inputs are done with. */
DFG_MUST_CHECK struct dfg_err *dfg_finish(
	struct executor *executor, const struct ready *item, const struct dead_cause *cause, uint64_t began);

static inline void dfg_lock(struct executor *executor)
{
	if (executor->shared)
		pthread_mutex_lock(&executor->lock);
}
static inline void dfg_unlock(struct executor *executor)
{
	if (executor->shared)
		pthread_mutex_unlock(&executor->lock);
}

/* executor.c: runs what is ready until nothing is. With the lock held, before and after. */
void dfg_executor_work(struct executor *executor, struct runner *runner);

/* helper_threads.c: one a thread of the pool; NULL where there is no memory. */
struct helper *dfg_helpers_new(struct executor *executor);
void dfg_helpers_free(struct executor *executor);

/* Asks for as many helpers as there is expensive work to hand out; and takes back those that did not begin. */
void dfg_call_helpers(struct executor *executor);
void dfg_cancel_helpers(struct executor *executor);

/* Something arrived: while kernels run, a helper opens it. Any thread, without the lock. */
void dfg_wake_helper(struct executor *executor);
void dfg_unregister_helper(struct executor *executor); /* nobody calls it any more: it never comes, or has gone */

/* The calling thread gives the lock up for something that takes its time, and takes it again. */
void dfg_unlock_for_work(struct executor *executor);
void dfg_lock_again(struct executor *executor);

/* Of two nodes in iterations, which is first: whatever the schedule. */
bool dfg_is_before(
	const struct iteration_state *iter, uint32_t node, const struct iteration_state *other_iter, uint32_t other);

/* propagate.c: a value comes to the node where the consumer ends; cause is NULL where it is live. */
DFG_MUST_CHECK struct dfg_err *dfg_token_arrive(struct executor *executor, struct iteration_state *iter,
	const struct consumer *consumer, const struct dead_cause *cause);

/* The outputs of the node are there, in the iter; whoever waits for them hears of it. */
DFG_MUST_CHECK struct dfg_err *dfg_propagate(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);

/* executor.c: what a node died of that is dead. */
const struct dead_cause *dfg_cause_of(const struct executor *executor, const struct ready *item);

/* The node has read its inputs. */
void dfg_release_inputs(struct executor *executor, struct iteration_state *iter, uint32_t node);

/* save_load.c: what Save and Load do. A Load whose key is not there waits: it is woken when it comes. */
DFG_MUST_CHECK struct dfg_err *dfg_executor_save(
	struct executor *executor, struct iteration_state *iter, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_executor_load(
	struct executor *executor, struct iteration_state *iter, uint32_t node, bool *out_waits);
DFG_MUST_CHECK struct dfg_err *dfg_explain_waiting(const struct executor *executor); /* when nothing is left to run */

/* The place of output i of the node in the iter where it lives. */
static inline uint32_t dfg_out_slot(const struct executor *executor, uint32_t node, int i)
{
	const struct plan_node *r = &executor->plan->node[node];
	return executor->frame_info->slot_local[dfg_plan_node_out(executor->plan, r, i)];
}

/* timers.c: what Sleep does, but for telling its consumers, which is due later; and whose time has come first. */
DFG_MUST_CHECK struct dfg_err *dfg_timer_start(
	struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began);
struct timer dfg_timer_pop(struct executor *executor);

/* suspend.c: a pause for the kernel that runs: runner->pause. */
DFG_MUST_CHECK struct dfg_err *dfg_suspend_kernel(struct runner *runner, struct dfg_pause **out_pause);

/* suspend.c: runs those again that are awake; gives all back, where the step ends before; the error that nothing can wake them. */
DFG_MUST_CHECK struct dfg_err *dfg_resume_awake(struct executor *executor, struct runner *runner);
void dfg_abandon_suspended(struct executor *executor);
DFG_MUST_CHECK struct dfg_err *dfg_explain_suspended(const struct executor *executor);

/* executor.c: runs the node, and finishes it unless it waits once more. With the lock held. */
DFG_MUST_CHECK struct dfg_err *dfg_process(
	struct executor *executor, struct runner *runner, const struct ready *item, uint64_t began);

/*
 * send_recv.c: what Send and Recv do. A Send that runs has live control inputs; its data may be dead. A Recv whose value is
 * not there, and a Send that is held back, is finished when the pending is opened.
 */
DFG_MUST_CHECK struct dfg_err *dfg_send(
	struct executor *executor, const struct ready *item, uint64_t began, bool *out_held);
DFG_MUST_CHECK struct dfg_err *dfg_receive(
	struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began);

/* Whether the transfer takes place, live or dead: no control input of the node is dead. */
bool dfg_crosses(const struct executor *executor, const struct iteration_state *iter, uint32_t node);

/* Finishes the Recvs whose values came, and the Sends whose values left. */
DFG_MUST_CHECK struct dfg_err *dfg_complete_transfers(struct executor *executor);

/* Reads the links, now and then, while there is work. With the lock held, which is given up meanwhile. */
void dfg_poll_links(struct executor *executor);

/* Waits, without the lock, and reads the links for a while before it sleeps. until: 0 or a time. */
void dfg_wait_for_links(struct executor *executor, uint32_t seen, uint64_t until);

/* The step is over: no thread knows of the executor any more. Where it ended early, nothing more can come. */
void dfg_abandon_transfers(struct executor *executor);

/* "waited 3 s for ...", of those that wait, in front of err. */
DFG_MUST_CHECK struct dfg_err *dfg_note_transfers(const struct executor *executor, struct dfg_err *err);

/* Where it happened: the loop, if there is one, then the node. */
DFG_MUST_CHECK struct dfg_err *dfg_location_note(
	struct dfg_err *err, const struct iteration_state *iter, const struct dfg_call *call);

/* explain.c: why the fetch has no value; and: keeps the cause in a place of the plan, where another step may keep its own. */
DFG_MUST_CHECK struct dfg_err *dfg_explain(const struct executor *executor, uint32_t fetch);
void dfg_keep_last_dead(const struct executor *executor, struct last_dead *place, struct last_dead last_dead);
