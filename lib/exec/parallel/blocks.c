#include "lib/base/mem.h"
#include "lib/exec/parallel/loop_schedule.h"

#include <stdlib.h>
#include <string.h>

static void find_range(const int64_t *value, int64_t n, int64_t *out_least, int64_t *out_most)
{
	*out_least = *out_most = value[0];
	for (int64_t i = 1; i < n; i++) {
		*out_least = value[i] < *out_least ? value[i] : *out_least;
		*out_most = value[i] > *out_most ? value[i] : *out_most;
	}
}

static void cut_range(const int64_t *value, int64_t n, uint32_t blocks, int32_t *out_block)
{
	int64_t least, most;
	find_range(value, n, &least, &most);
	unsigned __int128 width = (unsigned __int128)((uint64_t)most - (uint64_t)least) + 1;
	for (int64_t i = 0; i < n; i++)
		out_block[i] = (int32_t)((unsigned __int128)((uint64_t)value[i] - (uint64_t)least) * blocks / width);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The number of cuts that are less than the value. */
static int32_t block_of(const int64_t *cut, uint32_t cuts, int64_t value)
{
	uint32_t low = 0, high = cuts;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (cut[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return (int32_t)low;
}

/* ceil(k n / blocks) */
static int64_t share_end(int64_t n, uint32_t k, uint32_t blocks)
{
	return (int64_t)(((__int128)n * k + blocks - 1) / blocks);
}

/* The values are few numbers from `least` on: their counts give the cuts in linear time. */
static struct dfg_err *cuts_by_count(
	const int64_t *value, int64_t n, uint32_t blocks, int64_t least, int64_t width, int64_t *out_cut)
{
	int64_t *count = dfg_zeros((size_t)width, sizeof *count), running = 0, v = 0;
	if (!count)
		return dfg_no_memory("the blocks of a loop");
	for (int64_t i = 0; i < n; i++)
		count[value[i] - least]++;
	for (uint32_t k = 1; k < blocks; k++) {
		while (running < share_end(n, k, blocks))
			running += count[v++];
		out_cut[k - 1] = least + v - 1;
	}
	dfg_free(count);
	return NULL;
}

static struct dfg_err *cuts_by_sorting(const int64_t *value, int64_t n, uint32_t blocks, int64_t *out_cut)
{
	int64_t *sorted = dfg_zeros((size_t)n, sizeof *sorted);
	if (!sorted)
		return dfg_no_memory("the blocks of a loop");
	memcpy(sorted, value, (size_t)n * sizeof *sorted);
	qsort(sorted, (size_t)n, sizeof *sorted, by_value);
	for (uint32_t k = 1; k < blocks; k++)
		out_cut[k - 1] = sorted[share_end(n, k, blocks) - 1];
	dfg_free(sorted);
	return NULL;
}

struct dfg_err *dfg_loop_blocks_find(
	const int64_t *value, int64_t n, uint32_t blocks, bool by_range, int32_t *out_block)
{
	int64_t least, most, width;
	if (!n)
		return NULL;
	if (by_range) {
		cut_range(value, n, blocks, out_block);
		return NULL;
	}
	int64_t *cut = dfg_zeros(blocks, sizeof *cut);
	if (!cut)
		return dfg_no_memory("the blocks of a loop");
	find_range(value, n, &least, &most);
	bool is_wide = __builtin_sub_overflow(most, least, &width) || width >= 4 * n + 65536;
	struct dfg_err *err =
		is_wide ? cuts_by_sorting(value, n, blocks, cut) : cuts_by_count(value, n, blocks, least, width + 1, cut);
	for (int64_t i = 0; !err && i < n; i++)
		out_block[i] = block_of(cut, blocks - 1, value[i]);
	dfg_free(cut);
	return err;
}
