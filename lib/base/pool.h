#pragma once

#include "lib/base/err.h"
#include "lib/base/float_mode.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A pool of helper threads. They are made when there is first work, spin for some microseconds before they sleep (to wake
 * a sleeper costs a thousand times as much as a hand-over to a spinning thread), and end with the pool.
 */
struct dfg_pool;

/* threads includes the caller's own: 1 makes no helper, 0 means dfg_threads_allowed(). */
DFG_MUST_CHECK struct dfg_err *dfg_pool_new(int threads, struct dfg_pool **out_pool);
void dfg_pool_free(struct dfg_pool *pool); /* NULL is fine; nothing may be running */

int dfg_pool_threads(const struct dfg_pool *pool);

/* The mode in which the helper threads compute (DFG_KEEP). To be called before there is work. */
void dfg_pool_set_denormals(struct dfg_pool *pool, enum dfg_denormals denormals);

/*
 * Calls part(arg, i) for each i in [0, n), and returns when all are done. The caller works too, so the call never waits
 * for a thread that is busy elsewhere; it may be called from within a part, and from any number of threads.
 */
void dfg_pool_parallel(struct dfg_pool *pool, int64_t n, void (*part)(void *arg, int64_t i), void *arg);

/* A task to run once on a thread of the pool. Owned by the caller; it must live until it has run or was taken back. */
struct dfg_task {
	struct dfg_task *next;
	void (*begin)(struct dfg_task *task);
};
void dfg_pool_submit(struct dfg_pool *pool, struct dfg_task *task);

/* Takes the task back: true if it had not begun, and now never will. */
bool dfg_pool_take_back(struct dfg_pool *pool, struct dfg_task *task);

/* Number of the calling thread in its pool, from 1; 0 for a thread that belongs to no pool. */
int dfg_pool_thread(void);

/* Processors that this process may use at once: its affinity, cut by its cgroup's share. At least 1. */
int dfg_threads_allowed(void);

/* The monotonic clock in ns, by which all waits are timed. */
uint64_t dfg_now(void);

/* The same clock in seconds. */
double dfg_seconds(void);

/*
 * An event; word counts how often it was signalled. To wait, read the word, check that there is nothing to do yet, then
 * wait for the word to change: spinning for some microseconds, then asleep. May return early.
 */
struct dfg_event {
	_Atomic uint32_t word, sleepers;
};
void dfg_event_wait(struct dfg_event *event, uint32_t seen);
void dfg_event_wait_until(struct dfg_event *event, uint32_t seen, uint64_t ns); /* of the monotonic clock */
void dfg_event_sleep(struct dfg_event *event, uint32_t seen, uint64_t ns);      /* at once; ns 0: however long */
void dfg_event_signal(struct dfg_event *event);

/* For a thread that spins: yields to the other hardware thread of the core. */
static inline void dfg_pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}
