#pragma once

#include "lib/exec/transport/rendezvous.h"
#include "lib/exec/state/spill.h"
#include "lib/graph/graph.h"

#include <stdatomic.h>

/* A step: what is fed, fetched and run, under which options, and what it took. */

/* What a step is given and asked for. Any edge may be fed; a fed node does not run. */
struct dfg_step {
	const struct dfg_edge *feed;
	uint32_t n_feed;
	const struct dfg_edge *fetch;
	uint32_t n_fetch;
	const uint32_t *target; /* nodes run for effect */
	uint32_t n_target;
};

/* The feed that replaces the edge, or DFG_NONE. */
uint32_t dfg_fed(const struct dfg_step *step, struct dfg_edge edge);

/* The output that gives the edge's value, which may be that of another node: a step then needs no more than that. */
struct dfg_edge dfg_source(const struct dfg_graph *graph, const struct dfg_step *step, struct dfg_edge edge);

struct dfg_trace_event {
	const char *node, *op, *frame; /* frame: "outer/inner", "" at the root */
	const int64_t *iteration;      /* one a frame, outermost first */
	int depth;
	int thread;
	bool dead;
	bool sends;                /* of a transfer: this is where it begins */
	uint32_t transfer;         /* its number + 1; 0: nothing crossed to or from another device */
	uint64_t begin_ns, end_ns; /* of the monotonic clock */
};

struct dfg_session_backend;
struct dfg_session_options {
	int threads;          /* 0: what affinity and cgroup allow */
	uint64_t seed;        /* of random ops */
	bool no_opt;          /* the graph as it is: no fold, cse, fuse, memory reuse */
	bool alone;           /* one step at a time: what waits for another, at a queue, fails instead */
	bool check_numerics;  /* the first node that makes a NaN or an infinity is an error */
	bool random_schedule; /* ready nodes in an order drawn from schedule_seed */
	uint64_t schedule_seed;
	int64_t max_iterations;                                        /* of any loop; 0: any */
	double timeout;                                                /* seconds a step may take; 0: any */
	const atomic_bool *cancel;                                     /* steps end with DFG_STOPPED once it is true */
	void (*trace)(void *arg, const struct dfg_trace_event *event); /* after each node; any thread. NULL: none */
	void *trace_arg;
	const char *swap; /* folder of a file for what loops save, where memory is short of the limit; NULL: none */
	const struct dfg_mem_limit *limit; /* with swap */
	struct dfg_session_backend
		*fleet; /* where steps run, if not here; borrowed. The suspended is then the fleet's to heed */
	struct dfg_rendezvous *rendezvous; /* of a worker, with a step that has begun whenever one is run; NULL: alone */
};

/* What the last steps of a plan took. */
struct dfg_stats {
	size_t peak_bytes; /* held by the step at once: planned arena and what it grew */
	size_t live_bytes; /* the most that is alive at once; no plan can do with less */
	uint64_t iterations, dead_tokens, saves, peak_frames;
	struct dfg_spilled swapped; /* of all steps of the session */
	uint64_t left; /* frames, iterations and saved values alive after the step: none, or something is broken */
};
