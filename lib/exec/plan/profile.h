#pragma once

#include <stdint.h>
#include <time.h>

struct dfg_session;

/* Costs of the steps of a session, if its options ask for a profile: one row for each node, group of nodes, and compiled loop. */
struct dfg_profiled {
	const char *const *node; /* the names of the nodes, in order; of a compiled loop the path of its frame */
	const char *const *op;   /* their ops; of a compiled loop NULL */
	uint32_t nodes;          /* 1, or more: a group */
	uint64_t calls;
	uint64_t iterations; /* of a compiled loop and the loops in it */
	uint64_t bytes;      /* of the values that the calls read and wrote */
	double seconds;      /* of all threads that called it; of a loop without the nodes that have rows of their own */
	double operations;   /* of floats, in products and convolutions */
};

typedef void dfg_profile_visit(void *arg, const struct dfg_profiled *row);

/* A clock that costs little to read, whose unit is known only after some time: see struct profile_clock. */
static inline uint64_t dfg_ticks(void)
{
#if defined __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

/* The counts of a row while steps run. */
struct profile_counter {
	uint64_t calls, iterations, bytes, ticks;
	double operations;
};

/* The two clocks at the beginning. */
struct profile_clock {
	uint64_t ticks, ns;
};

/* Where rows go to, and how long a tick is. */
struct profile_sink {
	dfg_profile_visit *visit;
	void *arg;
	double seconds_a_tick;
};
static inline void dfg_profile_put(const struct profile_sink *sink, const char *const *node, const char *const *op,
	uint32_t nodes, const struct profile_counter *counter)
{
	if (counter->calls)
		sink->visit(sink->arg, &(struct dfg_profiled){node, op, nodes, counter->calls, counter->iterations,
								   counter->bytes, (double)counter->ticks * sink->seconds_a_tick, counter->operations});
}

/*
 * Visits a row for each node, group and loop that has run; several rows may be of the same nodes. No step may be running.
 * The row lives as long as the call; its names as long as the session.
 */
void dfg_session_profile(struct dfg_session *session, dfg_profile_visit *visit, void *arg);
