#include "app/bench_sizes.h"

struct bench {
	const struct dfg_bench_hosts *asked;
	struct dfg_bench_sizes sizes;
	void (*put_row)(void *arg, const struct dfg_bench_row *row);
	void *arg;
};

/* A few calls, which may be verified, show how many calls take some tenths of a second. */
static struct dfg_err *measure(const struct bench *bench, struct dfg_coordinator *coordinator, uint64_t bytes)
{
	struct dfg_coordinator_bench call = {.bytes = bytes, .calls = DFG_BENCH_FEW, .verified = bench->asked->verified};
	DFG_TRY(dfg_coordinator_bench(coordinator, &call));
	call.calls = dfg_bench_calls(bench->asked, call.calls, call.ns);
	call.verified = false;
	DFG_TRY(dfg_coordinator_bench(coordinator, &call));
	const double seconds = (double)call.ns / 1e9;
	const struct dfg_bench_row row = {.bytes = bytes,
		.p50_us = (double)call.p50_ns / 1e3,
		.p99_us = (double)call.p99_ns / 1e3,
		.calls_per_s = (double)call.calls / seconds,
		.bytes_per_s = (double)bytes * (double)call.calls / seconds,
		.coding_us = -1};
	bench->put_row(bench->arg, &row);
	return NULL;
}

static struct dfg_err *measure_all(void *arg, struct dfg_distributed *distributed)
{
	const struct bench *bench = arg;
	struct dfg_coordinator *coordinator = dfg_launch_coordinator(distributed->launch);
	for (uint64_t bytes = bench->sizes.first; bytes; bytes = dfg_bench_sizes_next(&bench->sizes, bytes))
		DFG_TRY(measure(bench, coordinator, bytes));
	return NULL;
}

struct dfg_err *dfg_bench_allreduce(const struct dfg_bench_hosts *asked, const struct dfg_distributed_options *options,
	void (*put_row)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	struct bench bench = {.asked = asked, .put_row = put_row, .arg = arg};
	DFG_TRY(dfg_bench_sizes_parse(asked->sizes, &bench.sizes));
	return dfg_bench_on_workers(options, "an all-reduce", true, measure_all, &bench);
}
