#pragma once

#include "tests/unit/test.h"

#include "lib/exec/group/group.h"
#include "lib/exec/transport/link_memory.h"

/* Replicas in one process: a group each, with a link through memory to each of the others. */

enum { REPLICAS_MOST = 5 };

struct replicas {
	uint32_t count;
	struct replica {
		struct dfg_group *group;
		struct dfg_link *to[REPLICAS_MOST]; /* by replica; NULL to itself, and after the test has closed it */
	} node[REPLICAS_MOST];
};

static inline void replica_deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	dfg_group_deliver(((struct replica *)arg)->group, peer, message);
}

static inline void replica_lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	dfg_group_lost(((struct replica *)arg)->group, peer, err);
}

static inline void replica_passed(void *arg, uint32_t peer, uint64_t tag, int fd)
{
	dfg_group_passed(((struct replica *)arg)->group, peer, tag, fd);
}

static inline struct dfg_link_sink replica_sink(struct replica *replica)
{
	return (struct dfg_link_sink){
		.arg = replica, .deliver = replica_deliver, .lost = replica_lost, .passed = replica_passed};
}

static inline void replicas_begin(struct replicas *all, uint32_t count, enum dfg_denormals denormals)
{
	*all = (struct replicas){.count = count};
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < i; k++) {
			struct dfg_link_sink one = replica_sink(&all->node[i]), two = replica_sink(&all->node[k]);
			succeeds(dfg_link_memory_pair(&one, k, &two, i, &all->node[i].to[k], &all->node[k].to[i]));
		}
	for (uint32_t i = 0; i < count; i++)
		succeeds(
			dfg_group_new((const struct dfg_link *const *)all->node[i].to, i, count, denormals, &all->node[i].group));
}

static inline void replicas_end(struct replicas *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		for (uint32_t k = 0; k < all->count; k++)
			if (all->node[i].to[k])
				all->node[i].to[k]->kind->close(all->node[i].to[k]);
	for (uint32_t i = 0; i < all->count; i++)
		dfg_group_free(all->node[i].group);
}
