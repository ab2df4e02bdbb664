#include "app/bench_sizes.h"

#include "app/replication.h"
#include "lib/base/size.h"

#include <string.h>

static struct dfg_err *parse_one(const char *text, size_t length, uint64_t *out_bytes)
{
	char word[32] = "";
	if (length < sizeof word)
		memcpy(word, text, length);
	DFG_TRY(dfg_err_note(dfg_parse_size(word, out_bytes), "--sizes"));
	if (*out_bytes < 4 || *out_bytes % 4 || *out_bytes > INT64_MAX / 4)
		return DFG_ERR(DFG_USAGE, "--sizes: a size must be a multiple of 4 bytes, and at least 4, not %s", word);
	return NULL;
}

struct dfg_err *dfg_bench_sizes_parse(const char *text, struct dfg_bench_sizes *out_sizes)
{
	text = text ? text : "4:64MiB";
	size_t length = strcspn(text, ":");
	DFG_TRY(parse_one(text, length, &out_sizes->first));
	out_sizes->last = out_sizes->first;
	if (text[length])
		DFG_TRY(parse_one(text + length + 1, strlen(text + length + 1), &out_sizes->last));
	return out_sizes->first <= out_sizes->last
			   ? NULL
			   : DFG_ERR(DFG_USAGE, "--sizes must go from the smaller size to the larger one, not %s", text);
}

uint64_t dfg_bench_sizes_next(const struct dfg_bench_sizes *sizes, uint64_t bytes)
{
	if (bytes >= sizes->last)
		return 0;
	return sizes->last / 4 < bytes ? sizes->last : bytes * 4;
}

uint64_t dfg_bench_calls(const struct dfg_bench_hosts *bench, uint64_t calls, uint64_t ns)
{
	enum { MOST = 20000, NS = 300000000 };
	if (bench->calls)
		return bench->calls;
	uint64_t enough = (uint64_t)NS * calls / (ns + 1);
	return enough > MOST ? MOST : enough < DFG_BENCH_FEW ? DFG_BENCH_FEW : enough;
}

struct dfg_err *dfg_bench_on_workers(const struct dfg_distributed_options *options, const char *what, bool replicas,
	struct dfg_err *(*measure)(void *arg, struct dfg_distributed *distributed), void *arg)
{
	struct dfg_distributed distributed;
	struct dfg_session_options session;
	DFG_TRY(dfg_distributed_open(options, &distributed));
	const uint32_t workers = distributed.hosts.count;
	distributed.options.replicas = replicas ? workers : 1;
	struct dfg_err *err = NULL;
	if (workers < 2)
		err = DFG_ERR(DFG_DATA, "--hosts has 1 worker; %s requires 2 or more", what);
	if (!err && replicas)
		err = dfg_replication_check_numbers(options->algorithm, workers, workers);
	if (!err)
		err = dfg_execution_session(options->execution, &session);
	session.shards = replicas ? workers : 0;
	if (!err)
		err = dfg_distributed_start(&distributed, &session);
	if (!err)
		err = measure(arg, &distributed);
	dfg_distributed_close(&distributed);
	return err;
}
