/*
 * Assigns offsets to values of known size and live range (offset packing): the largest first, each at the lowest offset
 * that is free during its live range. If there are very many values, only the LARGE largest are packed this way, and
 * the others share slots of their size class after them.
 */
#include "lib/exec/linear/program_private.h"

#include <stdlib.h>
#include <string.h>

static int larger_first(const void *a, const void *b)
{
	const struct live_range *x = *(struct live_range *const *)a, *y = *(struct live_range *const *)b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x < y ? -1 : x > y);
}

static size_t align(size_t bytes)
{
	return (bytes + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
}

/* The ranges that have an offset, sorted by offset. */
struct placed {
	struct live_range **range;
	uint32_t count;
};

static void assign_offset(struct placed *placed, struct live_range *range)
{
	size_t offset = 0;
	for (uint32_t i = 0; i < placed->count; i++) {
		const struct live_range *other = placed->range[i];
		if (other->last < range->first || range->last < other->first)
			continue;
		if (other->offset >= offset + align(range->bytes))
			break;
		if (other->offset + align(other->bytes) > offset)
			offset = other->offset + align(other->bytes);
	}
	range->offset = offset;
	uint32_t at = placed->count++;
	for (; at && placed->range[at - 1]->offset > offset; at--)
		placed->range[at] = placed->range[at - 1];
	placed->range[at] = range;
}

/* The most bytes that are live at once: a sweep over the instructions. */
static struct dfg_err *most_alive(
	const struct live_range *range, uint32_t count, struct dfg_arena *scratch, size_t *out_live)
{
	uint32_t ops = 0;
	for (uint32_t i = 0; i < count; i++)
		ops = range[i].first >= ops ? range[i].first + 1 : ops;
	int64_t *change = dfg_arena_zeros(scratch, (size_t)ops + 1, sizeof *change), now = 0, most = 0;
	if (!change)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t i = 0; i < count; i++) {
		change[range[i].first] += (int64_t)range[i].bytes;
		if (range[i].last < ops)
			change[range[i].last + 1] -= (int64_t)range[i].bytes;
	}
	for (uint32_t i = 0; i < ops; i++) {
		now += change[i];
		most = now > most ? now : most;
	}
	*out_live = (size_t)most;
	return NULL;
}

/* First fit, the largest first. O(count^2). */
static size_t pack_large(struct live_range **order, uint32_t count, struct placed *placed)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		assign_offset(placed, order[i]);
		if (order[i]->offset + align(order[i]->bytes) > bytes)
			bytes = order[i]->offset + align(order[i]->bytes);
	}
	return bytes;
}

static int sooner_first(const void *a, const void *b)
{
	const struct live_range *x = *(struct live_range *const *)a, *y = *(struct live_range *const *)b;
	return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x < y ? -1 : x > y);
}

static int sooner_last(const void *a, const void *b)
{
	const struct live_range *x = *(struct live_range *const *)a, *y = *(struct live_range *const *)b;
	return x->last != y->last ? (x->last < y->last ? -1 : 1) : (x < y ? -1 : x > y);
}

static int class_of(const struct live_range *range)
{
	return range->bytes <= DFG_ALIGN ? 6 : 64 - __builtin_clzll((unsigned long long)range->bytes - 1);
}

/* In order of time; a slot is reused within its size class (a power of two). Returns the end of the last slot. */
static size_t pack_small(struct live_range **by_first, struct live_range **by_last, uint32_t count, size_t end)
{
	struct live_range *vacant[64] = {0}; /* free slots by class, linked through the ranges that last used them */
	uint32_t ended = 0;
	qsort(by_first, count, sizeof *by_first, sooner_first);
	memcpy(by_last, by_first, count * sizeof *by_last);
	qsort(by_last, count, sizeof *by_last, sooner_last);
	for (uint32_t i = 0; i < count; i++) {
		struct live_range *range = by_first[i];
		for (; by_last[ended]->last < range->first; ended++) {
			by_last[ended]->vacant = vacant[class_of(by_last[ended])];
			vacant[class_of(by_last[ended])] = by_last[ended];
		}
		int class = class_of(range);
		if (vacant[class]) {
			range->offset = vacant[class]->offset;
			vacant[class] = vacant[class]->vacant;
			continue;
		}
		range->offset = end;
		end += (size_t)1 << class;
	}
	return end;
}

struct dfg_err *dfg_pack(
	struct live_range *range, uint32_t count, struct dfg_arena *scratch, size_t *out_bytes, size_t *out_live)
{
	enum { LARGE = 4096 };
	struct live_range **order = dfg_arena_zeros(scratch, count, sizeof *order);
	struct placed placed = {.range = dfg_arena_zeros(scratch, count, sizeof *placed.range)};
	if (!order || !placed.range)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t i = 0; i < count; i++)
		order[i] = &range[i];
	qsort(order, count, sizeof *order, larger_first);
	uint32_t large = count < LARGE ? count : LARGE;
	*out_bytes = pack_large(order, large, &placed);
	if (count > large)
		*out_bytes = pack_small(order + large, placed.range, count - large, *out_bytes);
	return most_alive(range, count, scratch, out_live);
}
