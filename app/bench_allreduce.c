#include "app/bench_allreduce.h"

#include "lib/base/size.h"

#include <string.h>

static struct dfg_err *parse_one(const char *text, size_t length, uint64_t *out_bytes)
{
	char word[32] = "";
	if (length < sizeof word)
		memcpy(word, text, length);
	DFG_TRY(dfg_err_note(dfg_parse_size(word, out_bytes), "--sizes"));
	if (*out_bytes < 4 || *out_bytes % 4 || *out_bytes > INT64_MAX / 4)
		return DFG_ERR(DFG_USAGE, "--sizes: %s is not a multiple of 4 bytes, of at least 4", word);
	return NULL;
}

static struct dfg_err *parse_sizes(const char *text, uint64_t *out_first, uint64_t *out_last)
{
	text = text ? text : "4:64MiB";
	size_t length = strcspn(text, ":");
	DFG_TRY(parse_one(text, length, out_first));
	*out_last = *out_first;
	if (text[length])
		DFG_TRY(parse_one(text + length + 1, strlen(text + length + 1), out_last));
	return *out_first <= *out_last
			   ? NULL
			   : DFG_ERR(DFG_USAGE, "--sizes must go from the smaller size to the larger one, not %s", text);
}

/* A few calls, which may be verified, show how many calls take some tenths of a second. */
static struct dfg_err *measure(struct dfg_coordinator *coordinator, uint64_t bytes, bool verified,
	void (*put)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	enum { FEW = 16, MOST = 20000, NS = 300000000 };
	struct dfg_coordinator_bench bench = {.bytes = bytes, .calls = FEW, .verified = verified};
	DFG_TRY(dfg_coordinator_bench(coordinator, &bench));
	uint64_t calls = (uint64_t)NS * FEW / (bench.ns + 1);
	bench.calls = calls > MOST ? MOST : calls < FEW ? FEW : calls;
	bench.verified = false;
	DFG_TRY(dfg_coordinator_bench(coordinator, &bench));
	const struct dfg_bench_row row = {
		bytes, bench.calls, (double)bench.p50_ns / 1e3, (double)bench.p99_ns / 1e3, (double)bench.ns / 1e9};
	put(arg, &row);
	return NULL;
}

static struct dfg_err *measure_all(struct dfg_distributed *distributed, uint64_t first, uint64_t last, bool verified,
	void (*put)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	struct dfg_session_options session;
	DFG_TRY(dfg_execution_session(distributed->options.execution, &session));
	session.shards = distributed->hosts.count;
	DFG_TRY(dfg_distributed_start(distributed, &session));
	struct dfg_coordinator *coordinator = dfg_launch_coordinator(distributed->launch);
	for (uint64_t bytes = first; bytes < last; bytes = last / 4 < bytes ? last : bytes * 4)
		DFG_TRY(measure(coordinator, bytes, verified, put, arg));
	return measure(coordinator, last, verified, put, arg);
}

struct dfg_err *dfg_bench_allreduce(const struct dfg_bench_allreduce *bench,
	const struct dfg_distributed_options *options, void (*put)(void *arg, const struct dfg_bench_row *row), void *arg)
{
	struct dfg_distributed distributed;
	uint64_t first, last;
	DFG_TRY(parse_sizes(bench->sizes, &first, &last));
	DFG_TRY(dfg_distributed_open(options, &distributed));
	struct dfg_err *err = NULL;
	distributed.options.replicas = distributed.hosts.count;
	if (distributed.hosts.count < 2)
		err = DFG_ERR(DFG_DATA, "--hosts has 1 worker; an all-reduce requires 2 or more");
	if (!err)
		err = measure_all(&distributed, first, last, bench->verified, put, arg);
	dfg_distributed_close(&distributed);
	return err;
}
