#include "lib/exec/group/group_private.h"

#include <stdlib.h>

/* How long buckets were on their way, and how much of that was after this replica had computed its shards. */

struct interval {
	uint64_t begin, end;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct interval *)a)->begin, y = ((const struct interval *)b)->begin;
	return (x > y) - (x < y);
}

/* The length of the union; *out_end: its last end. */
static uint64_t measure(struct interval *interval, size_t count, uint64_t *out_end)
{
	uint64_t length = 0, end = 0;
	qsort(interval, count, sizeof *interval, compare);
	for (size_t i = 0; i < count; i++) {
		uint64_t begin = interval[i].begin > end ? interval[i].begin : end;
		length += interval[i].end > begin ? interval[i].end - begin : 0;
		end = interval[i].end > end ? interval[i].end : end;
	}
	*out_end = end;
	return length;
}

/* The intervals of the buckets that replicas reduced in this step. The group's lock is held. */
static size_t collect(const struct dfg_group *group, struct interval *interval)
{
	size_t count = 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct group_bucket *bucket = group->bucket[i];
		if (bucket && bucket->across && bucket->sent_ns && bucket->done_ns)
			interval[count++] = (struct interval){bucket->sent_ns, bucket->done_ns};
	}
	return count;
}

/* Without memory for it a step is not counted. */
void dfg_group_add_times(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	struct interval *interval = group->measured ? dfg_zeros(group->count, sizeof *interval) : NULL;
	uint64_t end = 0, moving = interval ? measure(interval, collect(group, interval), &end) : 0;
	group->times.moving_ns += moving;
	group->times.waited_ns += end > group->computed_ns && moving ? end - group->computed_ns : 0;
	pthread_mutex_unlock(&group->lock);
	dfg_free(interval);
}

void dfg_group_measure(struct dfg_group *group)
{
	group->measured = true;
}

struct dfg_group_times dfg_group_times(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_group_times times = group->times;
	pthread_mutex_unlock(&group->lock);
	return times;
}

/* The first bucket from number *at on; *at becomes the number after it. False: there is none. */
static bool find_next(struct dfg_group *group, size_t *at, struct group_bucket **out_bucket)
{
	*out_bucket = NULL;
	pthread_mutex_lock(&group->lock);
	while (!*out_bucket && *at < group->count)
		*out_bucket = group->bucket[(*at)++];
	pthread_mutex_unlock(&group->lock);
	return *out_bucket != NULL;
}

bool dfg_group_next_times(struct dfg_group *group, size_t *at, struct dfg_bucket_times *out_times)
{
	struct group_bucket *bucket;
	bool reduced = false;
	while (!reduced && find_next(group, at, &bucket)) {
		pthread_mutex_lock(&bucket->lock);
		reduced = bucket->done_ns != 0;
		*out_times =
			(struct dfg_bucket_times){bucket->number, bucket->name, bucket->ready_ns, bucket->sent_ns, bucket->done_ns};
		pthread_mutex_unlock(&bucket->lock);
	}
	return reduced;
}
