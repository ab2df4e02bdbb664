#include "lib/exec/group/shared.h"
#include "lib/exec/group/staged.h"

#include <stdio.h>

/* Words for the contribution or sum that a bucket waits for. */

/* The replica that computes a shard. */
static uint32_t replica_of(const struct dfg_group *group, uint32_t shard)
{
	for (uint32_t i = 0; i < group->members; i++) {
		struct dfg_shard range = dfg_group_shards_of(group, group->member[i]);
		if (shard >= range.first && shard < range.first + range.rows)
			return group->member[i];
	}
	return group->member[0];
}

/* "shards 4-5 of replica 2": what a bucket waits for. */
static void name_shards(const struct dfg_group *group, uint32_t first, char *out, size_t capacity)
{
	uint32_t replica = replica_of(group, first);
	struct dfg_shard range = dfg_group_shards_of(group, replica);
	int64_t last = range.first + range.rows - 1;
	if (last > first)
		snprintf(out, capacity, "shards %u-%lld of replica %u", first, (long long)last, replica);
	else
		snprintf(out, capacity, "shard %u of replica %u", first, replica);
}

static void name_missing(const struct dfg_group *group, const struct group_bucket *bucket, char *out, size_t capacity)
{
	uint32_t missing =
		bucket->across && !bucket->staged && bucket->slice.shards ? dfg_tree_sum_missing(&bucket->slice) : DFG_NONE;
	struct shared_missing in_memory = {DFG_NONE, DFG_NONE};
	if (bucket->shared)
		in_memory = dfg_shared_missing(group, bucket);
	if (in_memory.shard != DFG_NONE)
		missing = in_memory.shard;
	snprintf(out, capacity, "another replica");
	if (missing < group->whole.shards) {
		name_shards(group, missing, out, capacity);
		return;
	}
	if (bucket->staged)
		in_memory.owner = dfg_staged_awaited(group, bucket);
	if (in_memory.owner != DFG_NONE)
		snprintf(out, capacity, "the sum of replica %u", in_memory.owner);
	for (uint32_t i = group->owners; bucket->across && !bucket->shared && !bucket->staged && i--;)
		if (!bucket->arrived[i])
			snprintf(out, capacity, "the sum of replica %u", group->owner[i]);
}

struct dfg_err *dfg_group_explain_wait(
	const struct dfg_group *group, const struct group_bucket *bucket, double seconds, struct dfg_err *err)
{
	char missing[80], name[sizeof bucket->name + 8] = "";
	name_missing(group, bucket, missing, sizeof missing);
	if (*bucket->name)
		snprintf(name, sizeof name, " ('%s')", bucket->name);
	if (!err)
		return DFG_ERR(
			DFG_DEADLINE, "bucket %u%s still waits for %s after %g s", bucket->number, name, missing, seconds);
	return dfg_err_that_waited(dfg_err_note(err, "bucket %u%s waited for %s", bucket->number, name, missing));
}
