#include "app/bench_allreduce.h"
#include "app/replication.h"

#include "cmd/bench.h"
#include "cmd/ranks.h"
#include "cmd/shared_options.h"

#include <inttypes.h>
#include <stdio.h>

static struct dfg_bench_allreduce asked;

const struct dfg_opt dfg_bench_allreduce_options[] = {
	{"hosts", .takes = "H", .text = &dfg_shared.placement.hosts,
		.help = "The hosts: a file with one per line, or a list such as alpha,beta,local:2."},
	{.rows = dfg_distribution_options},
	{"algorithm", .takes = "auto|direct|shm", .text = &dfg_shared.replication.algorithm,
		.help = "Reduce over links, or in memory that the replicas of one host share (auto: shm where possible)."},
	{"sizes", .takes = "A:B", .text = &asked.sizes,
		.help = "Reduce A to B bytes, by factors of 4 (4:64MiB), or A bytes alone."},
	{"verify", .flag = &asked.verified, .help = "Compare sums with their closed form, in calls that are not timed."},
	{0},
};

bool dfg_bench_allreduce_is_asked(void)
{
	return dfg_shared.placement.hosts || dfg_shared.replication.algorithm || asked.sizes || asked.verified;
}

struct printing {
	unsigned rows;
};

static void put_json(void *arg, const struct dfg_bench_row *row)
{
	struct printing *printing = arg;
	printf("%s{\"bytes\": %" PRIu64
		   ", \"p50_us\": %.3f, \"p99_us\": %.3f, \"bytes_per_s\": %.0f, \"calls_per_s\": %.1f}",
		printing->rows++ ? ", " : "{\"rows\": [", row->bytes, row->p50_us, row->p99_us,
		(double)row->bytes * (double)row->calls / row->seconds, (double)row->calls / row->seconds);
}

static void put_text(void *arg, const struct dfg_bench_row *row)
{
	struct printing *printing = arg;
	if (!printing->rows++)
		printf("%12s %12s %12s %10s %12s\n", "bytes", "p50 us", "p99 us", "GB/s", "calls/s");
	printf("%12" PRIu64 " %12.2f %12.2f %10.3f %12.1f\n", row->bytes, row->p50_us, row->p99_us,
		(double)row->bytes * (double)row->calls / row->seconds / 1e9, (double)row->calls / row->seconds);
	fflush(stdout);
}

struct dfg_err *dfg_bench_run_allreduce(struct dfg_run_options *unused)
{
	(void)unused;
	struct printing printing = {0};
	if (!dfg_shared.placement.hosts)
		return DFG_ERR(DFG_USAGE, "bench allreduce requires --hosts, as in --hosts local:2");
	DFG_TRY(dfg_replication_algorithm(dfg_shared.replication.algorithm, &dfg_shared.replication.all_reduce));
	const struct dfg_distributed_options options = {.placement = &dfg_shared.placement,
		.distribution = &dfg_shared.distribution,
		.algorithm = dfg_shared.replication.all_reduce,
		.execution = &dfg_shared.execution,
		.report = &dfg_stderr};
	struct dfg_err *err = dfg_ranks_begin(0);
	if (!err)
		err = dfg_bench_allreduce(&asked, &options, dfg_globals.json ? put_json : put_text, &printing);
	dfg_ranks_end();
	if (err)
		return err;
	if (dfg_globals.json && asked.verified)
		printf("], \"verified\": true}\n");
	else if (dfg_globals.json)
		printf("]}\n");
	else if (asked.verified)
		printf("verified: each element is the sum's closed form\n");
	return NULL;
}
