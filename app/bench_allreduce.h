#pragma once

#include "app/distributed.h"

/* Times of the all-reduce over the workers of the hosts, each of them a replica, for some sizes. */
struct dfg_bench_allreduce {
	const char *sizes; /* "4:64MiB", or one size; NULL: that range. Multiples of 4 bytes */
	bool verified;     /* untimed calls compare each element with the closed form of the sum */
};

/* The result for one size. Percentiles of the time of a call, on replica 0. */
struct dfg_bench_row {
	uint64_t bytes, calls;
	double p50_us, p99_us;
	double seconds; /* duration of all calls, one after the other */
};

/*
 * Starts the workers and measures each size, from the smaller to the larger by factors of 4, both included; `put`
 * receives the rows. The options' `replicas` is ignored. DFG_USAGE for malformed sizes, DFG_DATA for fewer than two
 * hosts, DFG_BUG if a sum is wrong.
 */
DFG_MUST_CHECK struct dfg_err *dfg_bench_allreduce(const struct dfg_bench_allreduce *bench,
	const struct dfg_distributed_options *options, void (*put)(void *arg, const struct dfg_bench_row *row), void *arg);
