#include "remote/coordinator_private.h"

#include <stdlib.h>
#include <string.h>

/* Replicas that compute their shards much longer than usual are named while the others wait for them. */

enum { SLOW_LEAST = 5, SLOW_FACTOR = 10 };
static const uint64_t slow_ns = 1000000000; /* a shorter wait is not worth a line */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t median(const struct compute_times *times)
{
	uint64_t sorted[COMPUTE_TIMES];
	size_t count = times->count < COMPUTE_TIMES ? times->count : COMPUTE_TIMES;
	memcpy(sorted, times->ns, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	return sorted[count / 2];
}

void dfg_coordinator_begin_compute(struct dfg_coordinator *coordinator)
{
	struct compute_times *times = &coordinator->compute_times;
	times->began = dfg_now();
	times->due = 0;
	bool waits = !coordinator->options.quorum;
	if (!waits || times->count < SLOW_LEAST || !coordinator->options.note || coordinator->backend.replicas < 2)
		return;
	uint64_t limit = median(times) * SLOW_FACTOR;
	times->due = times->began + (limit < slow_ns ? slow_ns : limit);
}

void dfg_coordinator_end_compute(struct dfg_coordinator *coordinator)
{
	struct compute_times *times = &coordinator->compute_times;
	times->ns[times->count++ % COMPUTE_TIMES] = dfg_now() - times->began;
	times->due = 0;
}

/* Once for each replica. */
static void name_slow(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct compute_times *times = &coordinator->compute_times;
	struct dfg_text text = {0};
	uint32_t replica = worker / coordinator->width;
	if (coordinator->replica[replica].named_slow)
		return;
	coordinator->replica[replica].named_slow = true;
	dfg_text_add(&text,
		"replica %u (%s) has computed its step for %.3g s, more than %d times the median of earlier steps (%.3g s); "
		"the "
		"other replicas wait",
		replica, coordinator->options.peer[worker].name, (double)(dfg_now() - times->began) / 1e9, SLOW_FACTOR,
		(double)median(times) / 1e9);
	if (text.s)
		coordinator->options.note(coordinator->options.note_arg, text.s);
	dfg_text_release(&text);
}

uint64_t dfg_coordinator_name_slow(struct dfg_coordinator *coordinator)
{
	uint64_t due = coordinator->compute_times.due;
	if (!due || dfg_now() < due)
		return due;
	coordinator->compute_times.due = 0;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (coordinator->state[i].asked && !dfg_coordinator_has_lost(coordinator, i))
			name_slow(coordinator, i);
	return 0;
}
