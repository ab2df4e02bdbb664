#pragma once

#include "app/distributed.h"
#include "remote/payload.h"

/* Measurements over the workers of the hosts, for some sizes: the all-reduce of replicas, and calls between workers. */
struct dfg_bench_hosts {
	const char *sizes;                /* "4:64MiB", or one size; NULL: that range. Multiples of 4 bytes */
	uint64_t calls;                   /* of each size, that are timed; 0: for some tenths of a second */
	bool verified;                    /* untimed calls compare each element with its closed form */
	enum dfg_payload_pattern payload; /* of a call between workers */
	bool serialized;                  /* it travels as one message of TensorProtos */
};

/* The result for one size, of one pair of workers in dfg_bench_link. */
struct dfg_bench_row {
	const char *from, *to; /* names of workers; NULL: it is of all */
	uint64_t bytes;        /* of the bucket or the payload */
	double p50_us, p99_us; /* of a call that is alone; of an all-reduce on replica 0 */
	double calls_per_s;    /* of calls one after the other, or with several in progress */
	double bytes_per_s;
	double coding_us; /* mean time of a call in which messages are written and read; below 0: they are not serialized */
};

/*
 * Start the workers and measure each size, from the smaller to the larger by factors of 4, both included; `put` receives
 * the rows. The options' `replicas` is ignored. DFG_USAGE for malformed sizes, DFG_DATA for fewer than two workers,
 * DFG_BUG if a value is wrong.
 *
 * allreduce: each worker is a replica. link: worker 0 sends a payload to each of the others in turn, which answer with
 * nothing. ps: the workers send payloads to the servers, which are the hosts of job=ps or worker 0, all at once; each is
 * answered by a payload of the same size.
 */
typedef struct dfg_err *dfg_bench_hosts_fn(const struct dfg_bench_hosts *bench,
	const struct dfg_distributed_options *options, void (*put)(void *arg, const struct dfg_bench_row *row), void *arg);
DFG_MUST_CHECK dfg_bench_hosts_fn dfg_bench_allreduce, dfg_bench_link, dfg_bench_ps;
