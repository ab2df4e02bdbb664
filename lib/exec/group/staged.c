#include "lib/exec/group/staged.h"

#include <string.h>

/*
 * Halving: in stage k a replica exchanges half of its range with the one whose position differs in bit k, and adds what it
 * receives, so that its range, half as long each time, has the sum of twice as many shards: the sums of the tree, if the
 * numbers of replicas and shards are powers of two. Ring: each replica always sends to the next one, and the sum of a slice
 * grows on its way around, so that its order depends on the number of replicas.
 */

enum { HALVED_FROM = 17 }; /* replicas, from which on fewer messages are worth more hops */

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

enum dfg_algorithm dfg_group_algorithm(enum dfg_algorithm asked, uint32_t replicas, uint32_t shards)
{
	bool halves = asked == DFG_ALGORITHM_HALVING || (asked == DFG_ALGORITHM_AUTO && replicas >= HALVED_FROM);
	if (replicas < 2)
		return DFG_ALGORITHM_DIRECT;
	if (asked == DFG_ALGORITHM_RING)
		return DFG_ALGORITHM_RING;
	return halves && is_power_of_two(replicas) && is_power_of_two(shards) && replicas <= shards ? DFG_ALGORITHM_HALVING
																								: DFG_ALGORITHM_DIRECT;
}

static uint32_t levels_of(uint32_t members)
{
	uint32_t levels = 0;
	while (members >> (levels + 1))
		levels++;
	return levels;
}

/* The stages of each of the two phases. */
static uint32_t stages_of(enum dfg_algorithm algorithm, uint32_t members)
{
	return algorithm == DFG_ALGORITHM_RING ? members - 1 : levels_of(members);
}

uint32_t dfg_group_messages(enum dfg_algorithm algorithm, uint32_t replicas)
{
	return 2 * (algorithm == DFG_ALGORITHM_DIRECT ? replicas - 1 : stages_of(algorithm, replicas));
}

enum dfg_algorithm dfg_staged_choose(const struct dfg_group *group)
{
	bool all =
		group->owners == group->members && !group->turn && !group->picks && group->whole.batch >= group->whole.shards;
	for (uint32_t i = 0; i < group->members; i++)
		all &= !group->absent[group->member[i]];
	return all && !group->holds ? dfg_group_algorithm(group->asked, group->members, group->whole.shards)
								: DFG_ALGORITHM_DIRECT;
}

struct range {
	size_t first, end;
};

struct stage {
	uint32_t to, from; /* positions among the members */
	struct range sent, taken;
};

static struct range slice(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t i)
{
	return (struct range){dfg_slice_first(group, bucket, i), dfg_slice_first(group, bucket, i + 1)};
}

/* The range of a replica after that many halvings. */
static struct range halved(size_t count, uint32_t position, uint32_t times)
{
	struct range range = {0, count};
	for (uint32_t k = 0; k < times; k++) {
		size_t middle = range.first + (range.end - range.first) / 2;
		*(position >> k & 1 ? &range.first : &range.end) = middle;
	}
	return range;
}

static struct stage halving_stage(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t position)
{
	const uint32_t levels = levels_of(group->members);
	const bool adds = bucket->stage < levels;
	const uint32_t k = adds ? bucket->stage : 2 * levels - 1 - bucket->stage, other = position ^ (UINT32_C(1) << k);
	struct range mine = halved(bucket->sum.count, position, k + 1), theirs = halved(bucket->sum.count, other, k + 1);
	return (struct stage){other, other, adds ? theirs : mine, adds ? mine : theirs};
}

static struct stage ring_stage(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t position)
{
	const uint32_t n = group->members, t = bucket->stage % (n - 1), ahead = bucket->stage >= n - 1;
	const uint32_t sent = (position + n - t + ahead) % n, taken = (sent + n - 1) % n;
	return (struct stage){
		(position + 1) % n, (position + n - 1) % n, slice(group, bucket, sent), slice(group, bucket, taken)};
}

static struct stage stage_of(const struct dfg_group *group, const struct group_bucket *bucket)
{
	uint32_t position = 0;
	while (group->owner[position] != group->self)
		position++;
	return (group->stages == DFG_ALGORITHM_RING ? ring_stage : halving_stage)(group, bucket, position);
}

uint32_t dfg_staged_awaited(const struct dfg_group *group, const struct group_bucket *bucket)
{
	return group->owner[stage_of(group, bucket).from];
}

static void *at(const struct group_bucket *bucket, const struct dfg_buffer *buffer, size_t element)
{
	return (char *)buffer->data + element * dfg_dtype_size(bucket->sum.dtype);
}

/*
 * A sum in progress and the sums that are complete are in two buffers: nothing that was sent is written again, since a
 * message may be sent once more after a link was interrupted.
 */
static struct dfg_err *send_stage(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	const struct stage stage = stage_of(group, bucket);
	const bool adds = bucket->stage < stages_of(group->stages, group->members);
	struct dfg_buffer *from = adds ? bucket->staged : bucket->gathered;
	const size_t count = stage.sent.end - stage.sent.first;
	const struct dfg_transfer_key key =
		dfg_direct_key(group, bucket, GROUP_STAGE, (struct dfg_tree_node){bucket->stage, 0});
	struct dfg_tensor message = {.dtype = bucket->sum.dtype,
		.shape = DFG_SHAPE_VECTOR((int64_t)count),
		.data = at(bucket, from, stage.sent.first),
		.capacity = count * dfg_dtype_size(bucket->sum.dtype),
		.buffer = dfg_buffer_ref(from)};
	struct dfg_err *err = dfg_direct_post(group, outbox, group->owner[stage.to], &key, &message);
	dfg_tensor_release(&message);
	return err;
}

/* The sum of this replica's shards, which on a ring may be several subtrees. */
static struct dfg_buffer *take_own(struct dfg_tree_sum *sum)
{
	struct dfg_buffer *own = NULL;
	while (sum->partials) {
		size_t first = 0;
		for (size_t i = 1; i < sum->partials; i++)
			if (sum->partial[i].node.first < sum->partial[first].node.first)
				first = i;
		struct dfg_buffer *next = sum->partial[first].value;
		sum->partial[first] = sum->partial[--sum->partials];
		if (own) {
			dfg_tree_add(sum->dtype, sum->count, own->data, next->data);
			dfg_tree_sum_give(sum, next);
		} else {
			own = next;
		}
	}
	return own;
}

struct dfg_err *dfg_staged_contributed(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	bucket->staged = take_own(&bucket->sum);
	return bucket->staged ? send_stage(group, bucket, outbox)
						  : DFG_ERR(DFG_BUG, "bucket %u has no contributions", bucket->number);
}

bool dfg_staged_is_ahead(
	const struct dfg_group *group, const struct group_bucket *bucket, const struct group_message *message)
{
	const int64_t *field = message->message.key.iteration;
	return field[GROUP_PART] == GROUP_STAGE && field[GROUP_FIRST] < 2 * stages_of(group->stages, group->members) &&
		   (!bucket->staged || field[GROUP_FIRST] > bucket->stage);
}

/* The range that this replica has the sum of. */
static void complete_range(const struct dfg_group *group, struct group_bucket *bucket, struct range range)
{
	const size_t count = range.end - range.first;
	if (!count)
		return;
	memcpy(at(bucket, bucket->gathered, range.first), at(bucket, bucket->staged, range.first),
		count * dfg_dtype_size(bucket->sum.dtype));
	dfg_bucket_divide(group, bucket, at(bucket, bucket->gathered, range.first), count);
}

static void take_range(
	const struct dfg_group *group, struct group_bucket *bucket, struct range range, const struct dfg_tensor *message)
{
	const uint32_t stages = stages_of(group->stages, group->members);
	const size_t count = range.end - range.first;
	if (count && bucket->stage < stages)
		dfg_tree_add(bucket->sum.dtype, count, at(bucket, bucket->staged, range.first), message->data);
	else if (count)
		memcpy(at(bucket, bucket->gathered, range.first), message->data, count * dfg_dtype_size(bucket->sum.dtype));
	if (bucket->stage == stages - 1)
		complete_range(group, bucket, range);
}

struct dfg_err *dfg_staged_take(struct dfg_group *group, struct group_bucket *bucket,
	const struct group_message *message, struct outbox *outbox, bool *out_fits)
{
	const struct dfg_tensor *tensor = &message->message.tensor;
	*out_fits = message->message.key.iteration[GROUP_FIRST] == bucket->stage && bucket->staged && !bucket->result;
	if (!*out_fits)
		return NULL;
	const struct stage stage = stage_of(group, bucket);
	*out_fits = message->replica == group->owner[stage.from] && tensor->dtype == bucket->sum.dtype &&
				tensor->shape.rank == 1 && (size_t)tensor->shape.dim[0] == stage.taken.end - stage.taken.first;
	if (!*out_fits)
		return NULL;
	take_range(group, bucket, stage.taken, tensor);
	if (++bucket->stage < 2 * stages_of(group->stages, group->members))
		return send_stage(group, bucket, outbox);
	struct dfg_buffer *gathered = bucket->gathered;
	bucket->gathered = NULL;
	return dfg_direct_finish(group, bucket, gathered);
}

void dfg_staged_end(struct group_bucket *bucket)
{
	dfg_tree_sum_give(&bucket->sum, bucket->staged);
	bucket->staged = NULL;
	bucket->stage = 0;
}
