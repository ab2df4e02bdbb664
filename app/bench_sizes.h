#pragma once

#include "app/bench_hosts.h"

/* Parts of all measurements of app/bench_hosts.h: their sizes, the number of calls, and the workers. */
struct dfg_bench_sizes {
	uint64_t first, last; /* bytes, by factors of 4 */
};

/* "A:B" or "A"; NULL: "4:64MiB". DFG_USAGE for other text, and for sizes that are not multiples of 4. */
DFG_MUST_CHECK struct dfg_err *dfg_bench_sizes_parse(const char *text, struct dfg_bench_sizes *out_sizes);

/* The size after `bytes`; 0: that was the last one. */
uint64_t dfg_bench_sizes_next(const struct dfg_bench_sizes *sizes, uint64_t bytes);

/* The number of calls to time: as asked, or for some tenths of a second, where `calls` took that many ns. */
enum { DFG_BENCH_FEW = 16 };
uint64_t dfg_bench_calls(const struct dfg_bench_hosts *bench, uint64_t calls, uint64_t ns);

/*
 * Starts the workers, as many replicas as there are or as one, and calls `measure` with them. DFG_DATA for fewer than two;
 * `what` names the measurement.
 */
DFG_MUST_CHECK struct dfg_err *dfg_bench_on_workers(const struct dfg_distributed_options *options, const char *what,
	bool replicas, struct dfg_err *(*measure)(void *arg, struct dfg_distributed *distributed), void *arg);
