#include "lib/exec/group/shared.h"

#include <string.h>

/* The replicas that take part in a group's steps, which change from one epoch to the next. */

static bool is_member(const struct dfg_group *group, uint32_t replica)
{
	for (uint32_t i = 0; i < group->members; i++)
		if (group->member[i] == replica)
			return true;
	return false;
}

struct dfg_shard dfg_group_shards_of(const struct dfg_group *group, uint32_t replica)
{
	for (uint32_t i = 0; i < group->members; i++)
		if (group->member[i] == replica)
			return dfg_group_range((i + group->turn) % group->members, group->members, group->whole.shards);
	return (struct dfg_shard){.number = replica, .shards = group->whole.shards};
}

struct dfg_err *dfg_group_why_lost(const struct dfg_group *group)
{
	for (uint32_t i = 0; i < group->members && group->peer; i++)
		if (group->peer[group->member[i]].lost)
			return dfg_err_copy(group->peer[group->member[i]].lost);
	return NULL;
}

void dfg_group_lost(struct dfg_group *group, uint32_t replica, struct dfg_err *err)
{
	struct dfg_err *later = err;
	pthread_mutex_lock(&group->lock);
	if (group->peer && replica < group->replicas && !group->peer[replica].lost) {
		group->peer[replica].lost = err;
		later = NULL;
	}
	pthread_mutex_unlock(&group->lock);
	dfg_err_free(later);
	dfg_event_signal(&group->event);
	dfg_shared_wake(group);
}

/* Drops the messages of other epochs that wait for a step of theirs. */
static uint64_t drop_early(struct group_bucket *bucket, uint64_t epoch)
{
	uint64_t dropped = 0;
	pthread_mutex_lock(&bucket->lock);
	for (size_t i = bucket->earlies; i--;)
		if (dfg_direct_epoch(&bucket->early[i].message) != epoch) {
			dfg_tensor_release(&bucket->early[i].message.tensor);
			bucket->early[i] = bucket->early[--bucket->earlies];
			dropped++;
		}
	pthread_mutex_unlock(&bucket->lock);
	return dropped;
}

static struct dfg_err *check_member(const struct dfg_group *group, uint64_t epoch, const uint32_t *member, uint32_t i)
{
	if (member[i] >= group->replicas)
		return DFG_ERR(DFG_PROTOCOL, "epoch %llu names replica %u, but there are only %u replicas",
			(unsigned long long)epoch, member[i], group->replicas);
	if (i && member[i] <= member[i - 1])
		return DFG_ERR(DFG_PROTOCOL, "epoch %llu names replica %u after replica %u, expected ascending order",
			(unsigned long long)epoch, member[i], member[i - 1]);
	return NULL;
}

struct dfg_err *dfg_group_regroup(struct dfg_group *group, uint64_t epoch, const uint32_t *member, uint32_t members)
{
	uint64_t dropped = 0;
	for (uint32_t i = 0; i < members; i++)
		DFG_TRY(check_member(group, epoch, member, i));
	if (!members)
		return DFG_ERR(DFG_PROTOCOL, "epoch %llu has no replicas", (unsigned long long)epoch);
	if (!group->peer || epoch <= group->epoch || epoch > INT64_MAX)
		return DFG_ERR(DFG_PROTOCOL, "epoch %llu cannot follow epoch %llu", (unsigned long long)epoch,
			(unsigned long long)group->epoch);
	pthread_mutex_lock(&group->lock);
	group->epoch = epoch;
	memcpy(group->member, member, members * sizeof *member);
	group->members = members;
	size_t count = group->count;
	pthread_mutex_unlock(&group->lock);
	dfg_shared_release(group);
	for (size_t i = 0; i < count; i++) {
		pthread_mutex_lock(&group->lock);
		struct group_bucket *bucket = group->bucket[i];
		pthread_mutex_unlock(&group->lock);
		dropped += bucket ? drop_early(bucket, epoch) : 0;
	}
	pthread_mutex_lock(&group->lock);
	group->stale += dropped;
	pthread_mutex_unlock(&group->lock);
	return is_member(group, group->self) ? NULL
										 : DFG_ERR(DFG_PROTOCOL, "epoch %llu does not include this replica, number %u",
											   (unsigned long long)epoch, group->self);
}

void dfg_group_relink(struct dfg_group *group, uint32_t replica, struct dfg_link *link)
{
	struct dfg_err *lost = NULL;
	pthread_rwlock_wrlock(&group->links);
	pthread_mutex_lock(&group->lock);
	if (group->peer && replica < group->replicas && replica != group->self) {
		group->peer[replica].link = link;
		lost = group->peer[replica].lost;
		group->peer[replica].lost = NULL;
	}
	pthread_mutex_unlock(&group->lock);
	pthread_rwlock_unlock(&group->links);
	dfg_err_free(lost);
}

uint64_t dfg_group_stale(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	uint64_t stale = group->stale;
	pthread_mutex_unlock(&group->lock);
	return stale;
}
