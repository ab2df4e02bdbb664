#include "app/bench_hosts.h"

#include "app/replication.h"
#include "cmd/bench.h"
#include "cmd/cmd.h"
#include "cmd/ranks.h"
#include "cmd/shared_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct dfg_bench_hosts asked;
static const char *payload, *mode;

const struct dfg_opt dfg_bench_hosts_options[] = {
	{"hosts", .takes = "H", .text = &dfg_shared.placement.hosts,
		.help = "The hosts: a file with one per line, or a list such as alpha,beta,local:2 (local:2)."},
	{.rows = dfg_distribution_options},
	{"algorithm", .takes = "auto|direct|shm|halving|ring", .text = &dfg_shared.replication.algorithm,
		.help = "Reduce over links, or in memory that the replicas of one host share (auto: shm where possible)."},
	{"sizes", .takes = "A:B", .text = &asked.sizes,
		.help = "Reduce or send A bytes, then four times as many, and so on up to B (4:64MiB); A alone: only A bytes."},
	{"payload", .takes = "uniform|random|skew", .text = &payload,
		.help =
			"Send ten buffers: of one size (uniform), of sizes drawn for each call (random), or six large ones, three "
			"a hundredth as large, and one a hundred-thousandth as large (skew)."},
	{"mode", .takes = "raw|serialized", .text = &mode,
		.help = "Send each buffer as it lies in memory (raw), or all as one message in protobuf's wire format."},
	{"verify", .flag = &asked.verified,
		.help = "Check sums and payloads against values computed by formula, in calls that are not timed."},
	{0},
};

bool dfg_bench_hosts_asked(void)
{
	return dfg_shared.placement.hosts || dfg_shared.replication.algorithm || asked.sizes || asked.verified || payload ||
		   mode;
}

/* Text is printed row by row, as it comes; a document when it is whole. */
struct printing {
	unsigned rows;
	struct dfg_text json;
};

static void put_json(void *arg, const struct dfg_bench_row *row)
{
	struct printing *printing = arg;
	struct dfg_text *json = &printing->json;
	dfg_text_add(json, "%s{", printing->rows++ ? ", " : "{\"rows\": [");
	if (row->to)
		dfg_text_add(json, "\"from\": \"%s\", \"to\": \"%s\", ", row->from, row->to);
	dfg_text_add(json,
		"\"bytes\": %" PRIu64 ", \"p50_us\": %.3f, \"p99_us\": %.3f, \"bytes_per_s\": %.0f, \"calls_per_s\": %.1f",
		row->bytes, row->p50_us, row->p99_us, row->bytes_per_s, row->calls_per_s);
	if (row->coding_us >= 0)
		dfg_text_add(json, ", \"coding_us\": %.3f", row->coding_us);
	dfg_text_add(json, "}");
}

static void put_heads(const struct dfg_bench_row *row)
{
	if (row->to)
		printf("%-12s ", "to");
	printf("%12s %12s %12s %10s %12s", "bytes", "p50 us", "p99 us", "GB/s", "calls/s");
	printf("%s\n", row->coding_us >= 0 ? "    coding us" : "");
}

static void put_text(void *arg, const struct dfg_bench_row *row)
{
	struct printing *printing = arg;
	if (!printing->rows++)
		put_heads(row);
	if (row->to)
		printf("%-12s ", row->to);
	printf("%12" PRIu64 " %12.2f %12.2f %10.3f %12.1f", row->bytes, row->p50_us, row->p99_us, row->bytes_per_s / 1e9,
		row->calls_per_s);
	if (row->coding_us >= 0)
		printf(" %12.2f", row->coding_us);
	printf("\n");
	fflush(stdout);
}

static struct dfg_err *put_end(struct printing *printing)
{
	if (!dfg_globals.json) {
		printf("%s", asked.verified ? "verified: each element has the value of its closed form\n" : "");
		return NULL;
	}
	dfg_text_add(&printing->json, "]%s}\n", asked.verified ? ", \"verified\": true" : "");
	if (printing->json.short_of_memory)
		return dfg_no_memory("the measurements");
	dfg_print(&printing->json);
	return NULL;
}

static struct dfg_err *parse_words(void)
{
	static const char *const pattern[DFG_PAYLOAD_PATTERNS] = {"uniform", "random", "skew"};
	uint32_t i = 0;
	while (payload && i < DFG_PAYLOAD_PATTERNS && strcmp(payload, pattern[i]))
		i++;
	if (i == DFG_PAYLOAD_PATTERNS)
		return DFG_ERR(DFG_USAGE, "--payload must be uniform, random or skew, not '%s'", payload);
	if (mode && strcmp(mode, "raw") && strcmp(mode, "serialized"))
		return DFG_ERR(DFG_USAGE, "--mode must be raw or serialized, not '%s'", mode);
	asked.payload = (enum dfg_payload_pattern)i;
	asked.serialized = mode && !strcmp(mode, "serialized");
	return dfg_replication_algorithm(dfg_shared.replication.algorithm, &dfg_shared.replication.all_reduce);
}

static struct dfg_err *measure(dfg_bench_hosts_fn *bench, const struct dfg_run_options *run)
{
	enum { CALLS_MOST = 10000000 };
	struct printing printing = {0};
	if (run->repeat > CALLS_MOST)
		return DFG_ERR(DFG_USAGE, "--repeat must be at most %d here, not %lld", CALLS_MOST, (long long)run->repeat);
	asked.calls = run->repeat < 0 ? 0 : (uint64_t)run->repeat;
	DFG_TRY(parse_words());
	if (!dfg_shared.placement.hosts)
		dfg_shared.placement.hosts = "local:2";
	const struct dfg_distributed_options options = {.placement = &dfg_shared.placement,
		.distribution = &dfg_shared.distribution,
		.algorithm = dfg_shared.replication.all_reduce,
		.execution = &dfg_shared.execution,
		.report = &dfg_stderr};
	struct dfg_err *err = dfg_ranks_begin(0);
	if (!err)
		err = bench(&asked, &options, dfg_globals.json ? put_json : put_text, &printing);
	dfg_ranks_end();
	if (!err)
		err = put_end(&printing);
	dfg_text_release(&printing.json);
	return err;
}

struct dfg_err *dfg_bench_run_allreduce(struct dfg_run_options *run)
{
	if (payload || mode)
		return DFG_ERR(DFG_USAGE, "--payload and --mode are only for bench link and bench ps");
	return measure(dfg_bench_allreduce, run);
}

static struct dfg_err *measure_calls(dfg_bench_hosts_fn *bench, const struct dfg_run_options *run)
{
	if (dfg_shared.replication.algorithm)
		return DFG_ERR(DFG_USAGE, "--algorithm is only for bench allreduce");
	return measure(bench, run);
}

struct dfg_err *dfg_bench_run_link(struct dfg_run_options *run)
{
	return measure_calls(dfg_bench_link, run);
}

struct dfg_err *dfg_bench_run_ps(struct dfg_run_options *run)
{
	return measure_calls(dfg_bench_ps, run);
}
