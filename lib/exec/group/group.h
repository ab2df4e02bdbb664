#pragma once

#include "lib/exec/state/state.h"

/*
 * The all-reduce of a training step over the shards of a global batch. Each shard's compute run contributes its
 * gradients, in buckets; when all shards have contributed, the sums, divided where the rule is a mean, are the results
 * that the update run reads. A group is a resource of a session's state. One compute run is in progress at a time; its
 * kernels may contribute to different buckets on different threads.
 */
struct dfg_group;

/* The group of the session; outside steps it has one shard. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_group_of(struct dfg_state *state, struct dfg_group **out_group);

/* The rows of a shard: [first, first + rows) of the global batch. */
struct dfg_shard {
	uint32_t number, shards;
	int64_t first, rows;
	int64_t batch; /* rows of the global batch */
};
struct dfg_shard dfg_shard_of(uint32_t number, uint32_t shards, int64_t batch);

/* Begins a step, when the step in progress, if any, has ended. The end drops contributions and results. */
void dfg_group_begin(struct dfg_group *group, uint32_t shards, int64_t batch);
void dfg_group_end(struct dfg_group *group);

/* The compute run that follows is that of the shard; `shard` NULL: the compute run has ended. */
void dfg_group_enter(struct dfg_group *group, const struct dfg_shard *shard);

/* The shard whose compute run is in progress; false outside a compute run. */
bool dfg_group_shard(const struct dfg_group *group, struct dfg_shard *out_shard);

/*
 * A random op of a compute run draws `blocks` of the stream whose position in blocks is a variable (u64). *out_drawn: the
 * blocks that ops of this compute run have drawn of it before. dfg_group_commit() moves the positions of all streams that
 * were drawn from on by DFG_GROUP_STRIDE.
 */
#define DFG_GROUP_STRIDE (UINT64_C(1) << 36)
DFG_MUST_CHECK struct dfg_err *dfg_group_draw(
	struct dfg_group *group, struct dfg_variable *position, uint64_t blocks, uint64_t *out_drawn);

/* All compute runs have succeeded: writes what they leave in the state besides the update run. */
DFG_MUST_CHECK struct dfg_err *dfg_group_commit(struct dfg_group *group);

/*
 * Contributes n tensors of floats or complex numbers, all of one dtype, copied, to a bucket. The rule is the same for
 * all shards: the mean weighted by rows, or the sum. DFG_DATA if the shapes differ from those of another shard.
 */
struct dfg_contribution {
	uint32_t bucket;
	bool is_sum;
	const struct dfg_tensor *const *tensor;
	uint32_t n;
	const struct dfg_list *names; /* strings: the first tensors' names, for errors; borrowed, may be NULL */
};
DFG_MUST_CHECK struct dfg_err *dfg_group_contribute(
	struct dfg_group *group, const struct dfg_contribution *contribution);

/* Tensor i of a bucket's result, a new reference. DFG_DATA if a shard has not contributed. */
DFG_MUST_CHECK struct dfg_err *dfg_group_result(
	struct dfg_group *group, uint32_t bucket, uint32_t i, struct dfg_tensor *out_tensor);
