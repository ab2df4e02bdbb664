#pragma once

#include "lib/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Threads that help. They are made when there is first something to do, look for work for some microseconds before they
 * sleep (waking a sleeper costs a thousand times what a hand-over to one that looks does), and end with the pool.
 */
struct dfg_pool;

/* threads counts the caller's own: 1 makes none, 0 is what dfg_threads_allowed() says. */
DFG_MUST_CHECK struct dfg_err *dfg_pool_new(int threads, struct dfg_pool **out_pool);
void dfg_pool_free(struct dfg_pool *pool); /* NULL is fine; nothing may be running */

int dfg_pool_threads(const struct dfg_pool *pool);

/*
 * Calls part(arg, i) for each i in [0, n), and returns when all are done. The caller works too, so this never waits for
 * a thread that is busy elsewhere; it may be called from within a part, and from any number of threads.
 */
void dfg_pool_parallel(struct dfg_pool *pool, int64_t n, void (*part)(void *arg, int64_t i), void *arg);

/* Something to run once on a thread of the pool. Lives with the caller, until it has run or was taken back. */
struct dfg_task {
	struct dfg_task *next;
	void (*begin)(struct dfg_task *task);
};
void dfg_pool_submit(struct dfg_pool *pool, struct dfg_task *task);

/* True where the task has not begun, and now never will. */
bool dfg_pool_take_back(struct dfg_pool *pool, struct dfg_task *task);

/* Number of the calling thread in its pool, from 1; 0 for a thread of nobody's pool. */
int dfg_pool_thread(void);

/* Processors that this process may use at once: its affinity, cut by its cgroup's share. At least 1. */
int dfg_threads_allowed(void);

/* The monotonic clock, in ns: all that waits goes by it. */
uint64_t dfg_now(void);

/*
 * Something happened: word counts how often. To wait, read the word, see that there is nothing to do yet, then wait for
 * the word to change: for some microseconds awake, then asleep. May return early.
 */
struct dfg_event {
	_Atomic uint32_t word, sleepers;
};
void dfg_event_wait(struct dfg_event *event, uint32_t seen);
void dfg_event_wait_until(struct dfg_event *event, uint32_t seen, uint64_t ns); /* of the monotonic clock */
void dfg_event_sleep(struct dfg_event *event, uint32_t seen, uint64_t ns);      /* at once; ns 0: however long */
void dfg_event_signal(struct dfg_event *event);

/* For a thread that looks again and again: lets its neighbour on the core go first. */
static inline void dfg_pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}
