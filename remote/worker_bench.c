#include "remote/worker_private.h"

#include <inttypes.h>
#include <stdlib.h>

/*
 * Measures the all-reduce of the replicas: each call is a step of the group with one bucket, whose value lies in the
 * memory of the bucket beforehand where replicas share it.
 */
struct bench {
	struct dfg_group *group;
	struct dfg_shard shard;
	uint32_t replicas;
	bool shared, verified;
	struct dfg_tensor own; /* the value over links */
	int64_t count;         /* elements */
	uint64_t calls;
	uint64_t *ns; /* by call */
};

enum { PERIOD = 64 }; /* integers of this size have exact sums in f32, over all shards that there may be */

/* Element e of replica r in a call. */
static float value_of(int64_t e, uint32_t r, uint64_t call)
{
	return (float)(((uint64_t)e + 3 * (uint64_t)r + 5 * call) % PERIOD);
}

static void fill(const struct bench *bench, const struct dfg_tensor *tensor, uint64_t call)
{
	float *value = tensor->data;
	for (int64_t e = 0; e < bench->count; e++)
		value[e] = value_of(e, bench->shard.number, call);
}

/* Compares with the closed form. */
static struct dfg_err *verify(const struct bench *bench, const struct dfg_tensor *result, uint64_t call)
{
	const float *value = result->data;
	for (int64_t e = 0; e < bench->count; e++) {
		float sum = 0;
		for (uint32_t r = 0; r < bench->replicas; r++)
			sum += value_of(e, r, call);
		if (value[e] != sum)
			return DFG_ERR(DFG_BUG, "internal error: element %lld of the sum over %u replicas is %.9g, expected %.9g",
				(long long)e, bench->replicas, (double)value[e], (double)sum);
	}
	return NULL;
}

/* Contributes the value and waits for the sum. */
static struct dfg_err *reduce(struct bench *bench, const struct dfg_tensor *value, struct dfg_tensor *out_result)
{
	const struct dfg_tensor *list[] = {value};
	const struct dfg_contribution contribution = {.is_sum = true, .tensor = list, .n = 1};
	DFG_TRY(dfg_group_contribute(bench->group, &contribution));
	DFG_TRY(dfg_group_wait(bench->group, 0, 0));
	return dfg_group_result(bench->group, 0, 0, out_result);
}

static struct dfg_err *call_once(struct bench *bench, uint64_t call, bool filled, bool verified)
{
	struct dfg_tensor value = bench->own, result = {0};
	dfg_group_enter(bench->group, &bench->shard);
	if (bench->shared)
		DFG_TRY(dfg_group_place(bench->group, 0, 0, &value));
	if (filled)
		fill(bench, &value, call);
	uint64_t before = dfg_now();
	struct dfg_err *err = reduce(bench, &value, &result);
	if (call < bench->calls)
		bench->ns[call] = dfg_now() - before;
	dfg_group_enter(bench->group, NULL);
	if (!err && verified)
		err = verify(bench, &result, call);
	dfg_tensor_release(&result);
	return err;
}

/* Untimed calls, which may be verified; then those that are timed. */
static struct dfg_err *run_calls(struct dfg_worker *worker, struct bench *bench, uint64_t *out_ns)
{
	const uint64_t warmup = 2 + bench->calls / 10;
	uint64_t before = 0;
	for (uint64_t i = 0; i < warmup + bench->calls; i++) {
		bool warm = i < warmup;
		if (i == warmup)
			before = dfg_now();
		const struct dfg_group_step step = {
			.number = ++worker->benched, .shards = bench->replicas, .batch = bench->replicas};
		DFG_TRY(dfg_group_join(bench->group, &step));
		struct dfg_err *err = call_once(
			bench, warm ? bench->calls + i : i - warmup, warm && (bench->verified || !i), warm && bench->verified);
		dfg_group_end(bench->group);
		DFG_TRY(err);
	}
	*out_ns = dfg_now() - before;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static struct dfg_err *measure(struct dfg_worker *worker, struct bench *bench, struct dfg_packet *answer)
{
	struct dfg_shape shape = DFG_SHAPE_VECTOR(bench->count);
	const struct dfg_bucket_layout layout = {.n = 1, .is_sum = true, .dtype = DFG_F32, .shape = &shape};
	uint64_t ns;
	if (bench->shared)
		DFG_TRY(dfg_group_lay_out(bench->group, ++worker->parts, bench->replicas, &layout, 1));
	else
		DFG_TRY(dfg_tensor_new(DFG_F32, &shape, &bench->own));
	bench->ns = dfg_zeros(bench->calls, sizeof *bench->ns);
	if (!bench->ns)
		return dfg_no_memory("the times of the calls");
	DFG_TRY(run_calls(worker, bench, &ns));
	qsort(bench->ns, bench->calls, sizeof *bench->ns, compare);
	dfg_packet_put(answer, bench->ns[bench->calls / 2]);
	dfg_packet_put(answer, bench->ns[bench->calls * 99 / 100]);
	dfg_packet_put(answer, ns);
	return NULL;
}

struct dfg_err *dfg_worker_bench(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	enum { CALLS_MOST = 1 << 24 };
	struct bench bench = {.group = worker->group, .replicas = worker->config.replicas, .shared = worker->config.shared};
	bench.count = (int64_t)dfg_packet_get_below(request, INT64_MAX / 4);
	bench.calls = dfg_packet_get_below(request, CALLS_MOST);
	bench.verified = dfg_packet_get_bool(request);
	bench.shard = dfg_shard_of(dfg_worker_replica(worker), bench.replicas, bench.replicas);
	DFG_TRY(dfg_packet_check(request));
	if (bench.replicas < 2 || !bench.calls)
		return DFG_ERR(DFG_PROTOCOL,
			"the launcher requests a measurement of %u replicas with %" PRIu64 " calls, expected at least 2 and 1",
			bench.replicas, (uint64_t)bench.calls);
	struct dfg_err *err = measure(worker, &bench, answer);
	dfg_tensor_release(&bench.own);
	dfg_free(bench.ns);
	return err;
}
