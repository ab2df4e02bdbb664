#include "app/ceiling.h"

#include "kernels/gemm/ceiling.h"
#include "lib/base/mem.h"
#include "lib/base/plural.h"
#include "lib/base/pool.h"

#include <stdio.h>
#include <string.h>

/* NEAR: the largest number of bytes of a call that may be in caches. */
enum { CACHE = 512 << 10, NEAR = 16 << 20, MEMORY = 64 << 20, ROUNDS = 4 };

struct copy {
	char *from, *to;
	size_t bytes; /* of one part */
	int times;
};

static void copy_part(void *arg, int64_t i)
{
	const struct copy *copy = arg;
	for (int t = 0; t < copy->times; t++) {
		memcpy(copy->to + (size_t)i * copy->bytes, copy->from + (size_t)i * copy->bytes, copy->bytes);
		__asm__ volatile("" : : "r"(copy->to) : "memory");
	}
}

/* Bytes a second, read and written; the best of some rounds. Each thread copies `bytes` bytes. */
static double rate(struct dfg_pool *pool, int threads, struct copy copy)
{
	double best = 0;
	for (int round = 0; round <= ROUNDS; round++) {
		double begin = dfg_seconds();
		dfg_pool_parallel(pool, threads, copy_part, &copy);
		double bytes = 2.0 * (double)copy.bytes * copy.times * threads, now = bytes / (dfg_seconds() - begin);
		best = round && now > best ? now : best;
	}
	return best;
}

struct dfg_err *dfg_ceiling_measure(int threads, struct dfg_ceiling *out_ceiling)
{
	struct dfg_pool *pool;
	*out_ceiling = (struct dfg_ceiling){.threads = threads};
	DFG_TRY(dfg_pool_new(threads, &pool));
	struct copy copy = {dfg_zeros(MEMORY / 2, 1), dfg_zeros(MEMORY / 2, 1), 0, 0};
	if (copy.from && copy.to) {
		memset(copy.from, 1, MEMORY / 2); /* pages that were never written are all one page of zeros, in the cache */
		out_ceiling->operations = threads * dfg_product_ceiling(ROUNDS);
		copy.bytes = (size_t)(CACHE / 2 / threads), copy.times = 64;
		out_ceiling->cache_bytes = rate(pool, threads, copy);
		copy.bytes = (size_t)(MEMORY / 2 / threads), copy.times = 1;
		out_ceiling->memory_bytes = rate(pool, threads, copy);
	}
	bool allocated = copy.from && copy.to;
	dfg_free(copy.from), dfg_free(copy.to);
	dfg_pool_free(pool);
	return allocated ? NULL : dfg_no_memory("the measurement of the machine's limits");
}

struct dfg_words dfg_ceiling_words(const struct dfg_ceiling *ceiling)
{
	struct dfg_words words;
	snprintf(words.s, sizeof words.s, "limits of %d thread%s: %.1f GFLOP/s, %.1f GB/s in caches, %.1f GB/s in memory",
		ceiling->threads, dfg_plural(ceiling->threads), 1e-9 * ceiling->operations, 1e-9 * ceiling->cache_bytes,
		1e-9 * ceiling->memory_bytes);
	return words;
}

void dfg_ceiling_json(const struct dfg_ceiling *ceiling, struct dfg_json_out *json)
{
	dfg_json_key(json, "threads"), dfg_json_int(json, ceiling->threads);
	dfg_json_key(json, "limits"), dfg_json_open(json, '{');
	dfg_json_key(json, "operations_per_s"), dfg_json_f64(json, ceiling->operations);
	dfg_json_key(json, "cache_bytes_per_s"), dfg_json_f64(json, ceiling->cache_bytes);
	dfg_json_key(json, "memory_bytes_per_s"), dfg_json_f64(json, ceiling->memory_bytes);
	dfg_json_close(json, '}');
}

double dfg_ceiling_share(
	const struct dfg_ceiling *ceiling, double seconds, uint64_t calls, double operations, double bytes)
{
	double most = bytes / (double)(calls ? calls : 1) > NEAR ? ceiling->memory_bytes : ceiling->cache_bytes;
	double least = most > 0 ? bytes / most : 0; /* seconds that the machine requires */
	if (ceiling->operations > 0 && operations / ceiling->operations > least)
		least = operations / ceiling->operations;
	return seconds > 0 ? least / seconds : 0;
}
