#pragma once

#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/plan/frame_info.h"
#include "lib/exec/state/keyed_store.h"

/*
 * An executor runs one step at a time. Its lock protects all of it, and is held while tokens are propagated and cheap
 * kernels run. It is released while an expensive kernel runs, so several threads may work on one step.
 *
 * Iteration states and frames come from free lists: a loop that has run before allocates nothing.
 *
 * The frames, iterations and tags are those of "Dynamic control flow in large-scale machine learning" (EuroSys'18).
 */
/* State of a slot. BORROWED: the frame, the plan or the caller owns the value. CONSUMED: all consumers have read it. */
enum { EMPTY, DEAD, LIVE, BORROWED, CONSUMED };

/* The state of an iteration of a frame, or of the root, which has no frame. The arrays are by local number. */
struct iteration_state {
	struct iteration_state *made; /* next in the list of all */
	struct iteration_state *next; /* state of the next iteration of the frame; or the next in the free list */
	struct loop *loop;
	struct frame *frame;
	int64_t iteration;
	uint32_t outstanding; /* nodes that are ready, running or suspended */
	uint32_t children;    /* frames entered from this iteration that have not ended */
	bool used;
	struct count *count;
	uint32_t *left;
	uint32_t *choice; /* of a Merge: number of the live input; by local node */
	uint8_t *state;   /* EMPTY to CONSUMED, by local slot */
	struct dead_cause *cause, *slot_cause;
	struct frame **child;
	struct dfg_keyed_store *store; /* one for each Save whose region this is */
	struct dfg_tensor *tensor;
	struct dfg_tensor **at; /* the tensor of an input or output, by local use */
};

/* A running loop, entered from one iteration of its parent. */
struct frame {
	struct frame *made, *next;
	struct loop *loop;
	struct iteration_state *parent;
	struct iteration_state *oldest, *newest; /* first and last iteration that have not ended */
	int64_t newest_number;
	int64_t outstanding;
	uint32_t enters; /* number of Enters that have not arrived yet */
	uint32_t n_constant, n_parked, n_exit;
	struct constant {
		uint32_t node;
		bool dead;
		struct dead_cause cause;
		struct dfg_tensor tensor;
	} * constant; /* loop invariants, delivered to each iteration */
	struct parked {
		uint32_t node;
		struct dfg_tensor tensor;
	} * parked; /* NextIteration values for an iteration that the window does not admit yet */
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

/* A Load whose key was not saved yet. It counts as outstanding, and holds no thread. */
struct waiter {
	struct iteration_state *iter; /* NULL: free */
	uint32_t node, next;          /* next: index + 1 of the next waiter for the same key, or in the free list */
};

/* A Sleep whose output is set, and whose consumers are to be notified when it is due. */
struct timer {
	uint64_t due, began; /* monotonic clock, in ns */
	struct iteration_state *iter;
	uint32_t node;
};

/*
 * A Recv whose value has not arrived, or a Send without credit. It counts as outstanding, and holds no thread. On
 * completion the value is stored here.
 */
struct pending_transfer {
	struct dfg_wait wait;                 /* must be the first member */
	struct pending_transfer *made, *next; /* made: list of all; next: list of those that arrived, or the free list */
	struct executor *executor;
	struct iteration_state *iter; /* NULL: free */
	uint32_t node;
	bool dead;
	struct dfg_tensor tensor;
	struct dfg_err *err;
	uint64_t began;
};

/*
 * A kernel that waits for another one to wake it: see struct dfg_pause. It counts as outstanding, and holds no thread.
 */
struct suspended_kernel {
	struct dfg_pause pause;               /* must be the first member */
	struct suspended_kernel *made, *next; /* made: list of all; next: list of those that are awake, or the free list */
	struct executor *executor;
	struct iteration_state *iter; /* NULL: free */
	uint32_t node;
	uint64_t began;
};

/* A ring buffer of nodes that are ready. */
struct queue {
	struct ready *item;
	size_t first, count, capacity; /* the capacity is a power of two */
};

struct executor {
	struct executor *next;
	struct dfg_plan *plan;
	struct frame_info *frame_info;
	uint64_t run;                    /* number of the run among the plan's runs */
	struct profile_counter *counter; /* by plan node; NULL: no profile is asked for. Guarded by `lock` */
	pthread_mutex_t lock;
	bool shared; /* helper threads may work on the step: the lock is required */
	struct queue cheap, expensive;
	struct iteration_state *root, *iters, **free_iter; /* iters: list of all; free_iter: free lists, by loop */
	struct frame *frames, **free_frame;                /* frames: list of all; free_frame: free lists, by loop */
	_Atomic uint32_t running;                          /* kernels that are running without the lock */
	bool stop;
	struct dfg_err *err;
	uint64_t random;
	struct runner runner;
	struct watch watch;
	struct dfg_stats stats;
	uint64_t live_frames, live_iters, live_saves;
	struct waiter *waiter;
	size_t waiters, waiter_capacity;
	uint32_t free_waiter; /* index + 1; 0: none */
	uint32_t waiting;
	struct timer *timer; /* a heap: the first is due first */
	size_t timers, timer_capacity;
	struct pending_transfer *all_pending, *free_pending, *refused; /* refused: completed with an error */
	/* transfers that are pending, or arrived and are not completed */
	uint32_t expected;
	/* pushed by any thread, without the lock; the newest is first */
	_Atomic(struct pending_transfer *) arrived;
	uint32_t runs_since_poll;    /* nodes run since the links were last polled */
	_Atomic uint32_t delivering; /* threads that are adding to `arrived` */
	struct suspended_kernel *all_suspended, *free_suspended;
	uint32_t n_suspended;                     /* suspended kernels that are not awake, or awake and not resumed */
	_Atomic(struct suspended_kernel *) awake; /* pushed by any thread, without the lock; the newest is first */
	/* one for each thread of the pool; the last one completes transfers that arrive while kernels run */
	struct helper *helper;
	int helpers; /* helpers that were called and have not left */
	struct dfg_event event;
};

/* frames.c */
DFG_MUST_CHECK struct dfg_err *dfg_iteration_take(
	struct executor *executor, uint32_t loop, struct iteration_state **out_iter);
void dfg_iteration_release(struct executor *executor, struct iteration_state *iter);
void dfg_frame_release(struct executor *executor, struct frame *frame);

/*
 * Enter, Exit and NextIteration: move the node's input across the border of an iteration. cause is NULL if the input is
 * live.
 */
DFG_MUST_CHECK struct dfg_err *dfg_enter(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);
DFG_MUST_CHECK struct dfg_err *dfg_exit(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);
DFG_MUST_CHECK struct dfg_err *dfg_next_iteration(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);

/* Ends the iteration if it is complete, and then the iterations and frames that this completes, outwards. */
DFG_MUST_CHECK struct dfg_err *dfg_retire_iterations(struct executor *executor, struct iteration_state *iter);

/* executor.c: queues a node whose inputs have all arrived; dfg_wake queues a node that waited, to run again. */
DFG_MUST_CHECK struct dfg_err *dfg_make_ready(
	struct executor *executor, struct iteration_state *iter, uint32_t node, bool dead);
DFG_MUST_CHECK struct dfg_err *dfg_wake(struct executor *executor, struct iteration_state *iter, uint32_t node);

/* executor.c: propagates the outputs of a node that ran, and releases its inputs. */
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

/* executor.c: runs ready nodes until none is left. The lock is held before and after. */
void dfg_executor_work(struct executor *executor, struct runner *runner);

/* helper_threads.c: a helper for each thread of the pool; NULL if out of memory. */
struct helper *dfg_helpers_new(struct executor *executor);
void dfg_helpers_free(struct executor *executor);

/* Calls as many helpers as there are expensive nodes in the queue; and cancels those that have not begun. */
void dfg_call_helpers(struct executor *executor);
void dfg_cancel_helpers(struct executor *executor);

/* A transfer arrived: if kernels are running, a helper completes it. Any thread, without the lock. */
void dfg_wake_helper(struct executor *executor);
/* called when nothing can arrive any more: waits until that helper is cancelled or has left */
void dfg_unregister_helper(struct executor *executor);

/* The calling thread releases the lock for long work, and takes it again. */
void dfg_unlock_for_work(struct executor *executor);
void dfg_relock(struct executor *executor);

/* Total order of nodes in iterations, independent of the schedule: for error messages that are always the same. */
bool dfg_is_before(
	const struct iteration_state *iter, uint32_t node, const struct iteration_state *other_iter, uint32_t other);

/* propagate.c: a token arrives at the node where the edge ends; cause is NULL if it is live. */
DFG_MUST_CHECK struct dfg_err *dfg_token_arrive(struct executor *executor, struct iteration_state *iter,
	const struct consumer *consumer, const struct dead_cause *cause);

/* Sends the outputs of the node, which are set in `iter`, to their consumers. */
DFG_MUST_CHECK struct dfg_err *dfg_propagate(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause);

/* executor.c: the cause of death of a dead node. */
const struct dead_cause *dfg_cause_of(const struct executor *executor, const struct ready *item);

/* Releases the inputs of a node that has run. */
void dfg_release_inputs(struct executor *executor, struct iteration_state *iter, uint32_t node);

/* save_load.c: runs a Save or a Load. *out_waits: the key was not saved yet, and the Load is woken when it is. */
DFG_MUST_CHECK struct dfg_err *dfg_executor_save(
	struct executor *executor, struct iteration_state *iter, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_executor_load(
	struct executor *executor, struct iteration_state *iter, uint32_t node, bool *out_waits);
/* the error for a Load that waits when no node is left to run */
DFG_MUST_CHECK struct dfg_err *dfg_explain_waiting(const struct executor *executor);

/* Local slot of the node's output i, in its iteration. */
static inline uint32_t dfg_out_slot(const struct executor *executor, uint32_t node, int i)
{
	const struct plan_node *r = &executor->plan->node[node];
	return executor->frame_info->slot_local[dfg_plan_node_out(executor->plan, r, i)];
}

/* timers.c: runs a Sleep, except for notifying its consumers; removes the timer that is due first. */
DFG_MUST_CHECK struct dfg_err *dfg_timer_start(
	struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began);
struct timer dfg_timer_pop(struct executor *executor);

/* suspend.c: suspends the running kernel: it is the executor's runner->pause. */
DFG_MUST_CHECK struct dfg_err *dfg_suspend_kernel(struct runner *runner, struct dfg_pause **out_pause);

/*
 * suspend.c: resumes the kernels that are awake; releases all when the step ends early; the error if no kernel can wake
 * them.
 */
DFG_MUST_CHECK struct dfg_err *dfg_resume_awake(struct executor *executor, struct runner *runner);
void dfg_abandon_suspended(struct executor *executor);
DFG_MUST_CHECK struct dfg_err *dfg_explain_suspended(const struct executor *executor);

/* executor.c: runs the node, and finishes it unless it waits again. The lock is held. */
DFG_MUST_CHECK struct dfg_err *dfg_process(
	struct executor *executor, struct runner *runner, const struct ready *item, uint64_t began);

/*
 * send_recv.c: runs a Send or a Recv. A Send that runs has live control inputs; its data may be dead. A Recv whose
 * value has not arrived, and a Send without credit (*out_held), are finished by dfg_complete_transfers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_send(
	struct executor *executor, const struct ready *item, uint64_t began, bool *out_held);
DFG_MUST_CHECK struct dfg_err *dfg_receive(
	struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began);

/* Whether the transfer takes place, with a live or dead value: no control input of the node is dead. */
bool dfg_crosses(const struct executor *executor, const struct iteration_state *iter, uint32_t node);

/* Finishes the Recvs whose values arrived, and the Sends that have left. */
DFG_MUST_CHECK struct dfg_err *dfg_complete_transfers(struct executor *executor);

/* Polls the links once in a while during work. The lock is held before and after, and released meanwhile. */
void dfg_poll_links(struct executor *executor);

/* Polls the links for a while without the lock, then sleeps. until: a time of the monotonic clock, or 0. */
void dfg_wait_for_links(struct executor *executor, uint32_t seen, uint64_t until);

/* Ends all transfers of a step that is over or has failed: no other thread refers to the executor any more. */
void dfg_abandon_transfers(struct executor *executor);

/* Adds "waited 3 s for ..." to err, for the first transfer that is pending. */
DFG_MUST_CHECK struct dfg_err *dfg_note_transfers(const struct executor *executor, struct dfg_err *err);

/* Adds the location to err: the iteration of its loop, if any, and the node. */
DFG_MUST_CHECK struct dfg_err *dfg_location_note(
	struct dfg_err *err, const struct iteration_state *iter, const struct dfg_resolved_node *call);

/*
 * explain.c: the error for a fetch without a value; keeps the cause of a dead value in the plan, under the plan's lock,
 * as other executors may do the same.
 */
DFG_MUST_CHECK struct dfg_err *dfg_explain(const struct executor *executor, uint32_t fetch);
void dfg_keep_last_dead(const struct executor *executor, struct last_dead *slot, struct last_dead last_dead);
