#include "lib/exec/group/direct.h"
#include "lib/exec/group/shared.h"
#include "lib/exec/group/staged.h"

#include <stdio.h>
#include <string.h>

/*
 * The direct all-reduce. A bucket is cut into as many slices as there are replicas whose shards have rows; each of them
 * owns one. A replica sends the owner of a slice one partial sum for each complete subtree of its shards; the owner adds
 * them in the order of the tree, divides, and sends the sum to all replicas. A replica without rows learns the shapes
 * from the first owner.
 */
enum { EARLY_MOST = 1 << 16 };

struct dfg_transfer_key dfg_direct_key(
	const struct dfg_group *group, const struct group_bucket *bucket, enum group_part part, struct dfg_tree_node node)
{
	return (struct dfg_transfer_key){.step = atomic_load(&group->number),
		.number = bucket->number,
		.depth = GROUP_FIELDS,
		.iteration = {[GROUP_PART] = part,
			[GROUP_FIRST] = node.first,
			[GROUP_COUNT] = node.count,
			[GROUP_EPOCH] = (int64_t)group->epoch}};
}

uint64_t dfg_direct_epoch(const struct dfg_message *message)
{
	return (uint64_t)message->key.iteration[GROUP_EPOCH];
}

/* Counted before it is sent: a bucket may be complete a moment earlier. */
static void count_sent(struct dfg_group *group, uint32_t to, uint64_t bytes)
{
	pthread_mutex_lock(&group->lock);
	group->peer[to].sent.messages++;
	group->peer[to].sent.bytes += bytes;
	pthread_mutex_unlock(&group->lock);
}

struct dfg_err *dfg_direct_post(struct dfg_group *group, struct outbox *outbox, uint32_t to,
	const struct dfg_transfer_key *key, const struct dfg_tensor *tensor)
{
	if (!dfg_reserve(&outbox->message, &outbox->capacity, outbox->count + 1, sizeof *outbox->message))
		return dfg_no_memory("an all-reduce");
	struct group_message *message = &outbox->message[outbox->count++];
	*message = (struct group_message){to, {.kind = DFG_MESSAGE_REDUCE, .key = *key, .tensor = *tensor}};
	(void)dfg_buffer_ref(tensor->buffer);
	if (key->iteration[GROUP_PART] != GROUP_LAYOUT)
		count_sent(group, to, dfg_tensor_bytes(tensor));
	return NULL;
}

struct dfg_err *dfg_outbox_send(struct dfg_group *group, struct outbox *outbox, struct dfg_err *err)
{
	for (size_t i = 0; i < outbox->count; i++) {
		struct group_message *message = &outbox->message[i];
		pthread_rwlock_rdlock(&group->links);
		struct dfg_link *link = group->peer[message->replica].link;
		if (!err && (err = link->kind->send(link, &message->message)))
			err = dfg_err_note(err, "replica %u", message->replica);
		pthread_rwlock_unlock(&group->links);
		dfg_tensor_release(&message->message.tensor);
	}
	dfg_free(outbox->message);
	*outbox = (struct outbox){0};
	return err;
}

/* The inner products of an Adasum are of whole tensors: one owner has all of a bucket, another one of the next. */
size_t dfg_slice_first(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t slice)
{
	if (bucket->is_adasum)
		return slice > bucket->number % group->owners ? bucket->sum.count : 0;
	return (size_t)((unsigned __int128)bucket->sum.count * slice / group->owners);
}

static size_t length_of(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t slice)
{
	return dfg_slice_first(group, bucket, slice + 1) - dfg_slice_first(group, bucket, slice);
}

/* The slice that a replica owns; DFG_NONE: none, since its shards have no rows. */
static uint32_t slice_of(const struct dfg_group *group, uint32_t replica)
{
	for (uint32_t i = 0; i < group->owners; i++)
		if (group->owner[i] == replica)
			return i;
	return DFG_NONE;
}

/* The slice of a sum as a message, which has a reference to the sum or is made of it. `first`: where it begins there. */
static struct dfg_err *wrap_slice(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t slice,
	struct dfg_buffer *sum, size_t first, struct dfg_tensor *out_message)
{
	const size_t count = length_of(group, bucket, slice), size = dfg_dtype_size(bucket->sum.dtype);
	const struct dfg_row_type type = bucket->indices ? dfg_bucket_row_type(bucket) : (struct dfg_row_type){0};
	if (bucket->indices) /* whose rows have numbers */
		return dfg_row_set_encode(
			&type, sum, (int64_t)dfg_slice_first(group, bucket, slice), (int64_t)count, out_message);
	*out_message = (struct dfg_tensor){.dtype = bucket->sum.dtype,
		.shape = DFG_SHAPE_VECTOR((int64_t)count),
		.data = (char *)sum->data + first * size,
		.capacity = count * size,
		.buffer = dfg_buffer_ref(sum)};
	return NULL;
}

/* The rows of a slice that a message has. */
static struct dfg_err *decode_slice(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t slice,
	const struct dfg_tensor *message, struct dfg_buffer **out_set)
{
	const struct dfg_row_type type = dfg_bucket_row_type(bucket);
	struct dfg_err *err = dfg_row_set_decode(&type, message, (int64_t)dfg_slice_first(group, bucket, slice),
		(int64_t)length_of(group, bucket, slice), out_set);
	return dfg_err_note(err, "bucket %u", bucket->number);
}

/* The slices that have arrived, as one buffer. */
static struct dfg_err *take_gathered(struct group_bucket *bucket, struct dfg_buffer **out_sum)
{
	const struct dfg_row_type type = bucket->indices ? dfg_bucket_row_type(bucket) : (struct dfg_row_type){0};
	if (bucket->indices)
		return dfg_row_set_join(&type, bucket->row_slice, bucket->slices, out_sum);
	*out_sum = bucket->gathered;
	bucket->gathered = NULL;
	return NULL;
}

struct dfg_err *dfg_direct_finish(struct dfg_group *group, struct group_bucket *bucket, struct dfg_buffer *sum)
{
	DFG_TRY(dfg_bucket_finish(bucket, sum));
	bucket->done_ns = dfg_group_now(group);
	dfg_event_signal(&group->event);
	return NULL;
}

/* Puts a slice of the result at its place; the last one completes the bucket. The buffer of rows gets a reference. */
static struct dfg_err *gather(
	struct dfg_group *group, struct group_bucket *bucket, uint32_t slice, const void *data, struct dfg_buffer *rows)
{
	size_t size = dfg_dtype_size(bucket->sum.dtype), bytes = rows ? 0 : length_of(group, bucket, slice) * size;
	struct dfg_buffer *gathered;
	if (bucket->arrived[slice])
		return DFG_ERR(DFG_PROTOCOL, "bucket %u: replica %u sent its sum twice", bucket->number, group->owner[slice]);
	bucket->arrived[slice] = true;
	if (rows)
		bucket->row_slice[slice] = dfg_buffer_ref(rows);
	if (bytes)
		memcpy((char *)bucket->gathered->data + dfg_slice_first(group, bucket, slice) * size, data, bytes);
	if (++bucket->slices < group->owners)
		return NULL;
	DFG_TRY(take_gathered(bucket, &gathered));
	return dfg_direct_finish(group, bucket, gathered);
}

/* Sends the result of this replica's slice to the others. */
static struct dfg_err *post_result(
	struct dfg_group *group, struct group_bucket *bucket, const struct dfg_tensor *result, struct outbox *outbox)
{
	const struct dfg_transfer_key key = dfg_direct_key(group, bucket, GROUP_RESULT, (struct dfg_tree_node){0, 0});
	for (uint32_t i = 0; i < group->members; i++)
		if (group->member[i] != group->self && !group->absent[group->member[i]])
			DFG_TRY(dfg_direct_post(group, outbox, group->member[i], &key, result));
	return NULL;
}

/* All replicas' partial sums of this replica's slice are there. */
static struct dfg_err *give_result(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	struct dfg_buffer *value = dfg_tree_sum_take(&bucket->slice);
	struct dfg_tensor message = {0};
	if (!value)
		return DFG_ERR(DFG_BUG, "a bucket has no contributions");
	dfg_bucket_divide_sum(group, bucket, &bucket->slice, value);
	struct dfg_err *err = wrap_slice(group, bucket, slice_of(group, group->self), value, 0, &message);
	if (!err)
		err = post_result(group, bucket, &message, outbox);
	dfg_tensor_release(&message);
	if (!err)
		err = gather(group, bucket, slice_of(group, group->self), value->data, bucket->indices ? value : NULL);
	dfg_tree_sum_give(&bucket->slice, value);
	return err;
}

static struct dfg_err *add_partial(struct dfg_group *group, struct group_bucket *bucket, struct dfg_tree_node node,
	struct dfg_buffer *value, struct outbox *outbox)
{
	DFG_TRY(dfg_tree_sum_add(&bucket->slice, node, value));
	return value && dfg_tree_sum_complete(&bucket->slice) ? give_result(group, bucket, outbox) : NULL;
}

/* The tensor's buffer if no one else has it, else a copy. Takes the tensor. */
static struct dfg_err *own_buffer(struct dfg_tree_sum *sum, struct dfg_tensor *tensor, struct dfg_buffer **out_buffer)
{
	struct dfg_buffer *buffer = tensor->buffer;
	bool alone =
		buffer && buffer->data == tensor->data && atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
	*out_buffer = buffer;
	if (alone) {
		*tensor = (struct dfg_tensor){0};
		return NULL;
	}
	struct dfg_err *err = dfg_tree_sum_buffer(sum, out_buffer);
	if (!err && sum->count)
		memcpy((*out_buffer)->data, tensor->data, sum->count * dfg_dtype_size(sum->dtype));
	dfg_tensor_release(tensor);
	return err;
}

static struct dfg_err *wrong(const struct group_bucket *bucket, const struct group_message *early)
{
	const int64_t *field = early->message.key.iteration;
	const struct dfg_words words = dfg_type_words(early->message.tensor.dtype, &early->message.tensor.shape);
	if (field[GROUP_PART] == GROUP_STAGE)
		return DFG_ERR(DFG_PROTOCOL, "bucket %u: replica %u sent an unexpected %s in stage %lld", bucket->number,
			early->replica, words.s, (long long)field[GROUP_FIRST]);
	return DFG_ERR(DFG_PROTOCOL, "bucket %u: replica %u sent an unexpected %s for shards %lld-%lld", bucket->number,
		early->replica, words.s, (long long)field[GROUP_FIRST],
		(long long)((uint64_t)field[GROUP_FIRST] + (uint64_t)field[GROUP_COUNT] - 1));
}

static bool has_length(const struct group_bucket *bucket, const struct dfg_tensor *tensor, size_t count)
{
	return tensor->dtype == bucket->sum.dtype && tensor->shape.rank == 1 && (uint64_t)tensor->shape.dim[0] == count;
}

static struct dfg_err *take_partial(
	struct dfg_group *group, struct group_bucket *bucket, struct group_message *early, struct outbox *outbox)
{
	const int64_t *field = early->message.key.iteration;
	struct dfg_shard range = dfg_group_shards_of(group, early->replica);
	struct dfg_buffer *value;
	bool fits = slice_of(group, group->self) != DFG_NONE && field[GROUP_COUNT] > 0 &&
				field[GROUP_FIRST] >= range.first && field[GROUP_COUNT] <= range.rows &&
				field[GROUP_FIRST] - range.first <= range.rows - field[GROUP_COUNT];
	if (!fits || (!bucket->indices && !has_length(bucket, &early->message.tensor, bucket->slice.count)))
		return wrong(bucket, early);
	if (bucket->indices)
		DFG_TRY(decode_slice(group, bucket, slice_of(group, group->self), &early->message.tensor, &value));
	else
		DFG_TRY(own_buffer(&bucket->slice, &early->message.tensor, &value));
	return add_partial(group, bucket,
		(struct dfg_tree_node){(uint32_t)field[GROUP_FIRST], (uint32_t)field[GROUP_COUNT]}, value, outbox);
}

static struct dfg_err *take_result(struct dfg_group *group, struct group_bucket *bucket, struct group_message *early)
{
	uint32_t slice = slice_of(group, early->replica);
	struct dfg_buffer *rows;
	if (slice == DFG_NONE ||
		(!bucket->indices && !has_length(bucket, &early->message.tensor, length_of(group, bucket, slice))))
		return wrong(bucket, early);
	if (!bucket->indices)
		return gather(group, bucket, slice, early->message.tensor.data, NULL);
	DFG_TRY(decode_slice(group, bucket, slice, &early->message.tensor, &rows));
	struct dfg_err *err = gather(group, bucket, slice, NULL, rows);
	dfg_buffer_unref(rows);
	return err;
}

/* Whether a bucket is reduced in stages: a dense one, in a step that reduces so. */
static bool is_staged(const struct dfg_group *group, const struct group_bucket *bucket)
{
	return group->stages != DFG_ALGORITHM_DIRECT && !bucket->indices && !bucket->is_adasum;
}

static struct dfg_err *take(
	struct dfg_group *group, struct group_bucket *bucket, struct group_message *early, struct outbox *outbox)
{
	const enum group_part part = (enum group_part)early->message.key.iteration[GROUP_PART];
	bool fits = false;
	if (is_staged(group, bucket) && part != GROUP_LAYOUT) {
		struct dfg_err *err = part == GROUP_STAGE ? dfg_staged_take(group, bucket, early, outbox, &fits) : NULL;
		return fits || err ? err : wrong(bucket, early);
	}
	switch (part) {
	case GROUP_PARTIAL:
		return take_partial(group, bucket, early, outbox);
	case GROUP_RESULT:
		return take_result(group, bucket, early);
	case GROUP_LAYOUT:
		return NULL;
	case GROUP_STAGE:
		break;
	}
	return wrong(bucket, early);
}

/* Tells the replicas whose shards have no rows the shapes of a bucket. */
static struct dfg_err *post_layout(struct dfg_group *group, const struct group_bucket *bucket, struct outbox *outbox)
{
	const struct dfg_transfer_key key = dfg_direct_key(group, bucket, GROUP_LAYOUT, (struct dfg_tree_node){0, 0});
	struct dfg_tensor layout;
	DFG_TRY(dfg_direct_put_layout(bucket, &layout));
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < group->members && !err; i++)
		if (slice_of(group, group->member[i]) == DFG_NONE && !group->absent[group->member[i]])
			err = dfg_direct_post(group, outbox, group->member[i], &key, &layout);
	dfg_tensor_release(&layout);
	return err;
}

static struct dfg_err *read_layout(struct group_bucket *bucket, const struct group_message *early)
{
	bool fits;
	DFG_TRY(dfg_direct_get_layout(bucket, &early->message.tensor, &fits));
	return fits ? NULL : wrong(bucket, early);
}

/* Begins the sum of the slice that this replica owns, if it owns one. */
static struct dfg_err *begin_slice(const struct dfg_group *group, struct group_bucket *bucket)
{
	uint32_t slice = slice_of(group, group->self);
	if (slice == DFG_NONE || is_staged(group, bucket))
		return NULL;
	return dfg_bucket_begin_sum(group, bucket, &bucket->slice, length_of(group, bucket, slice));
}

/* The bucket's shapes are known. */
static struct dfg_err *begin_bucket(struct dfg_group *group, struct group_bucket *bucket)
{
	bucket->begun = bucket->across = true;
	bucket->contributed = bucket->slices = 0;
	dfg_bucket_begin_own(group, bucket, &bucket->sum, bucket->offset[bucket->n]);
	dfg_free(bucket->arrived);
	bucket->arrived = dfg_zeros(group->owners, sizeof *bucket->arrived);
	bucket->row_slice = bucket->indices ? dfg_zeros(group->owners, sizeof(struct dfg_buffer *)) : NULL;
	bucket->row_slices = bucket->row_slice ? group->owners : 0;
	if (!bucket->arrived || (bucket->indices && !bucket->row_slice))
		return dfg_no_memory("a bucket");
	if (!bucket->indices)
		DFG_TRY(dfg_tree_sum_buffer(&bucket->sum, &bucket->gathered));
	return begin_slice(group, bucket);
}

static void drop(struct group_bucket *bucket, size_t i)
{
	dfg_tensor_release(&bucket->early[i].message.tensor);
	bucket->early[i] = bucket->early[--bucket->earlies];
}

/* Learns the bucket's shapes from the first owner, if no shard of this replica has rows. */
static struct dfg_err *take_layout(struct dfg_group *group, struct group_bucket *bucket)
{
	uint64_t step = atomic_load(&group->number);
	for (size_t i = 0; i < bucket->earlies && !bucket->across; i++) {
		const struct group_message *early = &bucket->early[i];
		if (early->message.key.step != step || early->message.key.iteration[GROUP_PART] != GROUP_LAYOUT ||
			slice_of(group, group->self) != DFG_NONE)
			continue;
		DFG_TRY(read_layout(bucket, early));
		DFG_TRY(begin_bucket(group, bucket));
	}
	return NULL;
}

/* Takes the messages that have waited and need not wait longer; *out_any: there was one of this step. */
static struct dfg_err *take_ready(
	struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox, bool *out_any)
{
	uint64_t step = atomic_load(&group->number);
	*out_any = false;
	for (size_t i = bucket->earlies; i-- && bucket->across;) {
		struct group_message *early = &bucket->early[i];
		bool now = early->message.key.step == step;
		if (early->message.key.step > step ||
			(now && is_staged(group, bucket) && dfg_staged_is_ahead(group, bucket, early)))
			continue;
		struct dfg_err *err = now ? take(group, bucket, early, outbox) : NULL;
		drop(bucket, i);
		DFG_TRY(err);
		*out_any |= now;
	}
	return NULL;
}

/* A message may be what others have waited for. */
static struct dfg_err *take_early(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	bool any;
	DFG_TRY(take_layout(group, bucket));
	do
		DFG_TRY(take_ready(group, bucket, outbox, &any));
	while (any);
	return NULL;
}

struct dfg_err *dfg_direct_begin(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	DFG_TRY(begin_bucket(group, bucket));
	if (group->owner[0] == group->self && group->owners < group->members)
		DFG_TRY(post_layout(group, bucket, outbox));
	return NULL;
}

/* Sends a slice of a partial sum to its owner. */
static struct dfg_err *post_partial(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox,
	const struct dfg_transfer_key *key, struct dfg_buffer *value, uint32_t slice)
{
	struct dfg_tensor message;
	DFG_TRY(wrap_slice(group, bucket, slice, value, dfg_slice_first(group, bucket, slice), &message));
	struct dfg_err *err = dfg_direct_post(group, outbox, group->owner[slice], key, &message);
	dfg_tensor_release(&message);
	return err;
}

/* A slice of a partial sum, in a buffer of its own. */
static struct dfg_err *copy_slice(struct dfg_group *group, struct group_bucket *bucket, struct dfg_buffer *value,
	uint32_t slice, struct dfg_buffer **out_own)
{
	const size_t size = dfg_dtype_size(bucket->sum.dtype);
	struct dfg_tensor message;
	if (bucket->indices) {
		DFG_TRY(wrap_slice(group, bucket, slice, value, 0, &message));
		struct dfg_err *err = decode_slice(group, bucket, slice, &message, out_own);
		dfg_tensor_release(&message);
		return err;
	}
	DFG_TRY(dfg_tree_sum_buffer(&bucket->slice, out_own));
	if (bucket->slice.count)
		memcpy((*out_own)->data, (const char *)value->data + dfg_slice_first(group, bucket, slice) * size,
			bucket->slice.count * size);
	return NULL;
}

/* Sends the partial sums of this replica's shards to the owners of the slices. */
static struct dfg_err *send_partials(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	const struct dfg_tree_sum *sum = &bucket->sum;
	uint32_t self = slice_of(group, group->self);
	for (size_t i = 0; i < sum->partials; i++) {
		const struct dfg_partial *partial = &sum->partial[i];
		const struct dfg_transfer_key key = dfg_direct_key(group, bucket, GROUP_PARTIAL, partial->node);
		for (uint32_t k = 0; k < group->owners; k++)
			if (k != self)
				DFG_TRY(post_partial(group, bucket, outbox, &key, partial->value, k));
	}
	for (size_t i = 0; i < sum->partials; i++) {
		struct dfg_buffer *own;
		DFG_TRY(copy_slice(group, bucket, sum->partial[i].value, self, &own));
		DFG_TRY(add_partial(group, bucket, sum->partial[i].node, own, outbox));
	}
	return NULL;
}

struct dfg_err *dfg_direct_contributed(struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox)
{
	bool all = ++bucket->contributed == group->wanted;
	if (all)
		bucket->sent_ns = dfg_group_now(group);
	if (all)
		DFG_TRY((is_staged(group, bucket) ? dfg_staged_contributed : send_partials)(group, bucket, outbox));
	return take_early(group, bucket, outbox);
}

static void drop_rows(struct group_bucket *bucket)
{
	for (uint32_t i = 0; i < bucket->row_slices; i++)
		dfg_buffer_unref(bucket->row_slice[i]);
	dfg_free(bucket->row_slice);
	bucket->row_slice = NULL;
	bucket->row_slices = 0;
}

void dfg_direct_end(struct group_bucket *bucket)
{
	dfg_tree_sum_give(&bucket->sum, bucket->gathered);
	drop_rows(bucket);
	bucket->gathered = NULL;
	dfg_staged_end(bucket);
	bucket->across = false;
}

void dfg_direct_release(struct group_bucket *bucket)
{
	while (bucket->earlies)
		drop(bucket, bucket->earlies - 1);
	dfg_buffer_unref(bucket->gathered);
	drop_rows(bucket);
	dfg_tree_sum_release(&bucket->slice);
	dfg_free(bucket->early);
	dfg_free(bucket->arrived);
}

static struct dfg_err *deliver(
	struct dfg_group *group, uint32_t from, struct dfg_message *message, struct outbox *outbox)
{
	struct group_bucket *bucket;
	if (!group->peer || from >= group->replicas || from == group->self || message->dead ||
		message->key.depth != GROUP_FIELDS)
		return DFG_ERR(DFG_PROTOCOL, "an all-reduce message from replica %u is malformed", from);
	DFG_TRY(dfg_group_bucket(group, message->key.number, &bucket));
	pthread_mutex_lock(&bucket->lock);
	struct dfg_err *err = NULL;
	if (bucket->shared || bucket->earlies == EARLY_MOST)
		err = bucket->shared
				  ? DFG_ERR(DFG_PROTOCOL,
						"bucket %u: replica %u sent values over its link, although the replicas share memory",
						bucket->number, from)
				  : DFG_ERR(DFG_PROTOCOL, "bucket %u: replica %u sent more than %d messages before their step began",
						bucket->number, from, EARLY_MOST);
	if (!err && !dfg_reserve(&bucket->early, &bucket->early_capacity, bucket->earlies + 1, sizeof *bucket->early))
		err = dfg_no_memory("an all-reduce");
	if (!err) {
		bucket->early[bucket->earlies++] = (struct group_message){from, *message};
		message->tensor = (struct dfg_tensor){0};
		err = atomic_load(&group->number) ? take_early(group, bucket, outbox) : NULL;
	}
	pthread_mutex_unlock(&bucket->lock);
	return err;
}

void dfg_group_deliver(struct dfg_group *group, uint32_t from, struct dfg_message *message)
{
	struct outbox outbox = {0};
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&group->lock);
	bool is_known = message->key.depth == GROUP_FIELDS;
	bool stale = is_known && (message->key.step <= group->last || dfg_direct_epoch(message) != group->epoch);
	group->stale += stale;
	pthread_mutex_unlock(&group->lock);
	uint64_t mode = dfg_float_mode_set(group->denormals);
	if (!stale)
		err = deliver(group, from, message, &outbox);
	dfg_float_mode_restore(mode);
	err = dfg_outbox_send(group, &outbox, err);
	dfg_tensor_release(&message->tensor);
	if (err)
		dfg_group_fail(group, err);
}

struct dfg_err *dfg_group_failure(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *err = dfg_group_why_lost(group);
	if (!err)
		err = dfg_err_copy(group->failed);
	pthread_mutex_unlock(&group->lock);
	return err;
}

/* Looks at the bucket once; *out_done: its result is there. */
static struct dfg_err *look(
	struct dfg_group *group, struct group_bucket *bucket, double late, struct outbox *outbox, bool *out_done)
{
	pthread_mutex_lock(&bucket->lock);
	struct dfg_err *err = take_early(group, bucket, outbox);
	*out_done = bucket->across && bucket->result;
	if (!err && !*out_done && (err = dfg_group_failure(group)))
		err = dfg_group_explain_wait(group, bucket, 0, err);
	else if (!err && !*out_done && late > 0)
		err = dfg_group_explain_wait(group, bucket, late, NULL);
	pthread_mutex_unlock(&bucket->lock);
	return err;
}

static struct dfg_err *wait_for_links(struct dfg_group *group, struct group_bucket *bucket, double timeout)
{
	uint64_t until = timeout > 0 ? dfg_now() + (uint64_t)(timeout * 1e9) : 0;
	for (;;) {
		struct outbox outbox = {0};
		bool done;
		uint32_t seen = atomic_load(&group->event.word);
		double late = until && dfg_now() >= until ? timeout : 0;
		struct dfg_err *err = look(group, bucket, late, &outbox, &done);
		err = dfg_outbox_send(group, &outbox, err);
		if (err || done)
			return err;
		dfg_event_sleep(&group->event, seen, until);
	}
}

struct dfg_err *dfg_group_wait(struct dfg_group *group, uint32_t number, double timeout)
{
	struct group_bucket *bucket;
	if (!group->peer)
		return NULL;
	DFG_TRY(dfg_group_bucket(group, number, &bucket));
	return (bucket->shared ? dfg_shared_wait : wait_for_links)(group, bucket, timeout);
}
