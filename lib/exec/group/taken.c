#include "lib/exec/group/staged.h"

#include <string.h>

/*
 * Steps that take the contributions of some shards only: of those that were there first, or of those that an earlier run
 * has recorded. A contribution that may be dropped is held until the set is known.
 */

int64_t dfg_group_rows(const struct dfg_group *group, uint32_t shard)
{
	if (group->picks && !group->taken[shard])
		return 0;
	return dfg_shard_of(shard, group->whole.shards, group->whole.batch).rows;
}

struct dfg_taken dfg_group_taken(const struct dfg_group *group)
{
	struct dfg_taken taken = {group->whole.batch, group->whole.shards};
	if (!group->picks)
		return taken;
	taken = (struct dfg_taken){0};
	for (uint32_t i = 0; i < group->whole.shards; i++) {
		int64_t rows = dfg_group_rows(group, i);
		taken.rows += rows;
		taken.shards += rows > 0;
	}
	return taken;
}

struct dfg_err *dfg_group_pick(struct dfg_group *group, const bool *taken)
{
	uint32_t shards = group->whole.shards;
	group->picks = taken != NULL;
	if (!taken)
		return NULL;
	if (!dfg_reserve(&group->taken, &group->taken_capacity, shards, sizeof *group->taken))
		return dfg_no_memory("the shards of a step");
	memcpy(group->taken, taken, shards * sizeof *taken);
	return dfg_group_taken(group).rows ? NULL
									   : DFG_ERR(DFG_DATA, "none of the shards that contribute to the update has rows");
}

void dfg_group_find_owners(struct dfg_group *group)
{
	group->owners = 0;
	for (uint32_t i = 0; i < group->members && group->peer; i++)
		if (dfg_group_count_shards(group, group->member[i]))
			group->owner[group->owners++] = group->member[i];
	group->wanted = group->peer ? dfg_group_count_shards(group, group->self) : 0;
	group->stages = group->peer ? dfg_staged_choose(group) : DFG_ALGORITHM_DIRECT;
}

void dfg_group_hold(struct dfg_group *group)
{
	group->holds = true;
}

struct dfg_err *dfg_bucket_hold(struct group_bucket *bucket, uint32_t shard, struct dfg_buffer *value)
{
	struct dfg_err *err = NULL;
	for (size_t i = 0; i < bucket->n_held && !err; i++)
		if (bucket->held[i].shard == shard)
			err = DFG_ERR(DFG_BUG, "shard %u contributes twice", shard);
	if (!err && !dfg_reserve(&bucket->held, &bucket->held_capacity, bucket->n_held + 1, sizeof *bucket->held))
		err = dfg_no_memory("a contribution");
	if (err)
		dfg_buffer_unref(value);
	else
		bucket->held[bucket->n_held++] = (struct group_held){shard, value};
	return err;
}

void dfg_bucket_drop_held(struct group_bucket *bucket)
{
	while (bucket->n_held)
		dfg_tree_sum_give(&bucket->sum, bucket->held[--bucket->n_held].value);
}

/* The contributions of a replica none of whose shards counts: others tell it the shapes of the result. */
static void drop_all(struct dfg_group *group)
{
	struct group_bucket *bucket;
	for (size_t i = 0; i < group->count; i++) {
		if (!(bucket = dfg_group_lock_bucket(group, i)))
			continue;
		dfg_bucket_drop_held(bucket);
		bucket->begun = false;
		bucket->ready_ns = bucket->sent_ns = 0;
		pthread_mutex_unlock(&bucket->lock);
	}
}

/* Begins the sum of a bucket, and adds the contributions that count. */
static struct dfg_err *add_held(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	uint64_t sent = bucket->sent_ns;
	if (group->peer)
		DFG_TRY(dfg_direct_begin(group, bucket, outbox));
	else
		DFG_TRY(dfg_bucket_begin_sum(group, bucket, &bucket->sum, bucket->sum.count));
	for (size_t i = 0; i < bucket->n_held; i++) {
		struct group_held *held = &bucket->held[i];
		struct dfg_buffer *value = held->value;
		if (!dfg_group_rows(group, held->shard))
			continue;
		held->value = NULL;
		DFG_TRY(dfg_tree_sum_add(&bucket->sum, (struct dfg_tree_node){held->shard, 1}, value));
		if (group->peer)
			DFG_TRY(dfg_direct_contributed(group, bucket, outbox));
	}
	dfg_bucket_drop_held(bucket);
	bucket->sent_ns = sent;
	return NULL;
}

static struct dfg_err *add_all_held(struct dfg_group *group)
{
	struct outbox outbox = {0};
	struct dfg_err *err = NULL;
	struct group_bucket *bucket;
	for (size_t i = 0; i < group->count && !err; i++) {
		if (!(bucket = dfg_group_lock_bucket(group, i)))
			continue;
		if (bucket->begun && bucket->n_held)
			err = add_held(group, bucket, &outbox);
		pthread_mutex_unlock(&bucket->lock);
	}
	return dfg_outbox_send(group, &outbox, err);
}

/* From now on messages of this step are handled; a failure of the compute run is not one of the step. */
static void open_step(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *failed = group->failed;
	group->failed = NULL;
	pthread_mutex_unlock(&group->lock);
	dfg_err_free(failed);
	atomic_store(&group->number, group->held_number);
}

struct dfg_err *dfg_group_take(struct dfg_group *group, const bool *taken, const bool *absent)
{
	bool held = group->holds;
	if (!held && group->peer)
		return NULL; /* the update run that only waits has decided it */
	group->holds = false;
	DFG_TRY(dfg_group_pick(group, taken));
	if (!held)
		return NULL;
	for (uint32_t i = 0; i < group->replicas && group->peer; i++)
		group->absent[i] = absent && absent[i];
	dfg_group_find_owners(group);
	if (group->peer && !group->wanted)
		drop_all(group);
	if (group->peer)
		open_step(group);
	return add_all_held(group);
}
