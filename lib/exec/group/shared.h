#pragma once

#include "lib/exec/group/group_private.h"
#include "lib/exec/group/segment.h"

/*
 * The all-reduce through memory that all replicas map. Each contributes in its own part of the memory; then each adds
 * its slice of everybody's contributions, in the order of the tree, into the result, of which all have a view. The last
 * one to contribute adds all of a small bucket.
 */

enum {
	SHARED_AT_ONCE = 32 << 10, /* bytes of a result that one replica adds alone */
	SHARED_BLOCK = 4096,       /* bytes that are added at a time, and stay in the first cache */
	SHARED_DEPTH = 40,         /* partial sums at a time, at least two for each level of a tree */
};

/* The result of a bucket: a mapping of its own, which lives as long as a tensor refers to it. */
struct shared_view {
	struct dfg_buffer buffer;
	size_t bytes;
};

/* A bucket in the memory. Offsets are in bytes. */
struct shared_bucket {
	struct segment_mark *mark; /* by replica; one more of all */
	_Atomic uint32_t *claimed; /* generation in which a replica has begun to add all of it */
	char *value;               /* the contributions, `stride` bytes each, by node of the group */
	size_t result, stride;     /* offset in the segment; bytes, a multiple of DFG_ALIGN */
	struct shared_view *view;  /* of the result */
	struct dfg_buffer *place;  /* by node of this replica: its contribution */
};

/* The memory of a group. */
struct group_shared {
	uint64_t tag;          /* of the graph whose buckets it holds */
	uint32_t shards;       /* number that it was laid out for */
	size_t bytes, results; /* of the segment; of its first part: bells, marks, contributions */
	size_t charged;        /* bytes that count against the limit of memory */
	struct segment segment;
	char *base;                /* the first part; NULL: not mapped yet */
	struct segment_bell *bell; /* by replica */
	struct dfg_tree_node *node;
	uint32_t *first;  /* by replica: its first node; one more entry */
	int32_t *program; /* how a sum is made: the number of a node, or SHARED_ADD, which adds the last two */
	uint32_t steps;
	int64_t batch;                /* that the program was made for; 0: none */
	void *scratch;                /* SHARED_DEPTH blocks */
	struct group_bucket **bucket; /* those that are laid out */
	size_t buckets;
	pthread_mutex_t adding; /* guards the fields below */
	struct group_bucket **pending;
	_Atomic size_t pendings; /* also read without it */
};

enum { SHARED_ADD = -1 };

/*
 * Begins a bucket of the step in progress; waits for the memory, if replica 0 has not passed it yet. The bucket's lock is
 * held, as for the functions below, which the shards of this replica call.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shared_begin(struct dfg_group *group, struct group_bucket *bucket);

/* A buffer for the contribution of the shard in progress: the bucket's memory, if it can be added there. */
DFG_MUST_CHECK struct dfg_err *dfg_shared_buffer(
	struct dfg_group *group, struct group_bucket *bucket, struct dfg_buffer **out_buffer);
DFG_MUST_CHECK struct dfg_err *dfg_shared_contributed(struct dfg_group *group, struct group_bucket *bucket);

/* dfg_group_wait() of such a bucket. */
DFG_MUST_CHECK struct dfg_err *dfg_shared_wait(struct dfg_group *group, struct group_bucket *bucket, double timeout);

/* Ends the step of the bucket: a result that is still read becomes memory of this process alone. */
void dfg_shared_end(struct dfg_group *group, struct group_bucket *bucket);
void dfg_shared_drop_pending(struct dfg_group *group);
void dfg_shared_release(struct dfg_group *group);

/* The shard, or the replica whose sum, a bucket waits for; DFG_NONE: not that. */
struct shared_missing {
	uint32_t shard, owner;
};
struct shared_missing dfg_shared_missing(const struct dfg_group *group, const struct group_bucket *bucket);

/* shared_layout.c: maps the memory, unless it is mapped or replica 0 has not passed it yet; makes the program. */
DFG_MUST_CHECK struct dfg_err *dfg_shared_attach(struct dfg_group *group);
DFG_MUST_CHECK struct dfg_err *dfg_shared_map_view(struct group_shared *shared, struct shared_bucket *bucket);

/* Wakes a thread of this process that waits. */
void dfg_shared_wake(struct dfg_group *group);
