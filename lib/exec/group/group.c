#include "lib/exec/group/group.h"

#include "lib/exec/group/direct.h"
#include "lib/exec/group/shared.h"
#include "lib/graph/op.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char group_kind[] = "group", group_name[] = "dfg/group";

struct dfg_shard dfg_shard_of(uint32_t number, uint32_t shards, int64_t batch)
{
	__int128 first = (__int128)number * batch / shards, end = ((__int128)number + 1) * batch / shards;
	return (struct dfg_shard){number, shards, (int64_t)first, (int64_t)(end - first), batch};
}

static void free_bucket(struct group_bucket *bucket)
{
	if (!bucket)
		return;
	dfg_buffer_unref(bucket->result);
	dfg_bucket_drop_held(bucket);
	dfg_tree_sum_release(&bucket->sum);
	dfg_direct_release(bucket);
	dfg_free(bucket->held);
	pthread_mutex_destroy(&bucket->lock);
	dfg_free(bucket->shape);
	dfg_free(bucket->offset);
	dfg_free(bucket);
}

static void free_group(struct dfg_resource *resource)
{
	struct dfg_group *group = (struct dfg_group *)resource;
	dfg_shared_release(group);
	if (group->passed.there)
		close(group->passed.fd);
	for (size_t i = 0; i < group->count; i++)
		free_bucket(group->bucket[i]);
	for (uint32_t i = 0; i < group->replicas && group->peer; i++)
		dfg_err_free(group->peer[i].lost);
	dfg_free(group->bucket);
	dfg_free(group->stream);
	dfg_free(group->peer);
	dfg_free(group->owner);
	dfg_free(group->member);
	dfg_free(group->absent);
	dfg_free(group->taken);
	dfg_err_free(group->failed);
	pthread_mutex_destroy(&group->lock);
	pthread_mutex_destroy(&group->step);
	pthread_rwlock_destroy(&group->links);
	dfg_free(group);
}

static bool make_locks(struct dfg_group *group)
{
	if (pthread_mutex_init(&group->lock, NULL))
		return false;
	if (!pthread_mutex_init(&group->step, NULL)) {
		if (!pthread_rwlock_init(&group->links, NULL))
			return true;
		pthread_mutex_destroy(&group->step);
	}
	pthread_mutex_destroy(&group->lock);
	return false;
}

static struct dfg_err *make_group(void *arg, const char *name, struct dfg_resource **out_resource)
{
	(void)arg;
	size_t length = strlen(name);
	struct dfg_group *group = dfg_zeros(1, sizeof *group + length + 1);
	if (!group)
		return dfg_no_memory("a group");
	if (!make_locks(group)) {
		dfg_free(group);
		return dfg_no_memory("a group");
	}
	const char *copy = memcpy(group + 1, name, length + 1);
	group->resource = (struct dfg_resource){.kind = group_kind, .name = copy, .free = free_group};
	atomic_init(&group->resource.refs, 1);
	group->shard = group->whole = dfg_shard_of(0, 1, 1);
	group->stages = DFG_ALGORITHM_DIRECT;
	*out_resource = &group->resource;
	return NULL;
}

struct dfg_err *dfg_group_new(const struct dfg_link *const *link, uint32_t self, uint32_t replicas,
	enum dfg_denormals denormals, struct dfg_group **out_group)
{
	struct dfg_resource *resource;
	DFG_TRY(make_group(NULL, group_name, &resource));
	struct dfg_group *group = (struct dfg_group *)resource;
	group->self = self;
	group->replicas = group->members = replicas;
	group->denormals = denormals;
	if (replicas > 1) {
		group->peer = dfg_zeros(replicas, sizeof *group->peer);
		group->owner = dfg_zeros(replicas, sizeof *group->owner);
		group->member = dfg_zeros(replicas, sizeof *group->member);
		group->absent = dfg_zeros(replicas, sizeof *group->absent);
	}
	if (replicas > 1 && (!group->peer || !group->owner || !group->member || !group->absent)) {
		dfg_resource_unref(resource);
		return dfg_no_memory("a group");
	}
	for (uint32_t i = 0; i < replicas && group->peer; i++) {
		group->peer[i].link = (struct dfg_link *)link[i];
		group->member[i] = i;
	}
	*out_group = group;
	return NULL;
}

void dfg_group_use(struct dfg_group *group, enum dfg_algorithm algorithm)
{
	group->asked = algorithm;
}

void dfg_group_free(struct dfg_group *group)
{
	if (group)
		dfg_resource_unref(&group->resource);
}

static struct dfg_err *share_group(void *arg, const char *name, struct dfg_resource **out_resource)
{
	(void)name;
	struct dfg_group *group = arg;
	atomic_fetch_add(&group->resource.refs, 1);
	*out_resource = &group->resource;
	return NULL;
}

struct dfg_err *dfg_group_share(struct dfg_group *group, struct dfg_state *state)
{
	struct dfg_resource *resource;
	return dfg_state_resource(state, group_name, group_kind, share_group, group, &resource);
}

struct dfg_err *dfg_group_of(struct dfg_state *state, struct dfg_group **out_group)
{
	struct dfg_resource *resource;
	DFG_TRY(dfg_state_resource(state, group_name, group_kind, make_group, NULL, &resource));
	*out_group = (struct dfg_group *)resource;
	return NULL;
}

static void end_bucket(struct dfg_group *group, struct group_bucket *bucket)
{
	bucket->ready_ns = bucket->sent_ns = bucket->done_ns = 0;
	if (bucket->shared) {
		dfg_shared_end(group, bucket);
		return;
	}
	dfg_tree_sum_give(&bucket->sum, bucket->result);
	dfg_bucket_drop_held(bucket);
	bucket->result = NULL;
	bucket->begun = false;
	dfg_direct_end(bucket);
}

uint64_t dfg_group_begin(struct dfg_group *group, uint32_t shards, int64_t batch)
{
	pthread_mutex_lock(&group->step);
	group->shard = group->whole = dfg_shard_of(0, shards, batch);
	group->entered = group->picks = group->holds = false;
	group->turn = 0;
	return ++group->begun;
}

struct dfg_shard dfg_group_range(uint32_t replica, uint32_t replicas, uint32_t shards)
{
	return dfg_shard_of(replica, replicas, shards);
}

uint32_t dfg_group_count_shards(const struct dfg_group *group, uint32_t replica)
{
	struct dfg_shard range = dfg_group_shards_of(group, replica);
	uint32_t count = 0;
	for (int64_t i = range.first; i < range.first + range.rows; i++)
		count += dfg_group_rows(group, (uint32_t)i) > 0;
	return count;
}

struct dfg_err *dfg_group_join(struct dfg_group *group, const struct dfg_group_step *step)
{
	dfg_group_begin(group, step->shards, step->batch);
	struct dfg_err *err = dfg_group_pick(group, step->taken);
	if (err) {
		dfg_group_end(group);
		return err;
	}
	group->turn = step->turn;
	group->holds = step->holds;
	group->held_number = step->number;
	for (uint32_t i = 0; i < group->replicas && group->peer; i++)
		group->absent[i] = false;
	dfg_group_find_owners(group);
	pthread_mutex_lock(&group->lock);
	struct dfg_err *failed = group->failed;
	group->failed = NULL;
	group->last = step->number - 1;
	pthread_mutex_unlock(&group->lock);
	dfg_err_free(failed);
	atomic_store(&group->number, step->holds ? 0 : step->number);
	return NULL;
}

struct group_bucket *dfg_group_lock_bucket(struct dfg_group *group, size_t i)
{
	pthread_mutex_lock(&group->lock);
	struct group_bucket *bucket = i < group->count ? group->bucket[i] : NULL;
	pthread_mutex_unlock(&group->lock);
	if (bucket)
		pthread_mutex_lock(&bucket->lock);
	return bucket;
}

void dfg_group_end(struct dfg_group *group)
{
	uint64_t number = atomic_exchange(&group->number, 0);
	pthread_mutex_lock(&group->lock);
	size_t count = group->count;
	group->last = number ? number : group->last;
	pthread_mutex_unlock(&group->lock);
	dfg_shared_drop_pending(group);
	dfg_group_add_times(group);
	for (size_t i = 0; i < count; i++) {
		struct group_bucket *bucket = dfg_group_lock_bucket(group, i);
		if (!bucket)
			continue;
		end_bucket(group, bucket);
		pthread_mutex_unlock(&bucket->lock);
	}
	group->shard = group->whole = dfg_shard_of(0, 1, 1);
	group->entered = group->picks = group->holds = false;
	group->streams = 0;
	pthread_mutex_unlock(&group->step);
}

void dfg_group_fail(struct dfg_group *group, struct dfg_err *err)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *later = group->failed ? err : NULL;
	group->failed = later ? group->failed : err;
	pthread_mutex_unlock(&group->lock);
	dfg_err_free(later);
	dfg_event_signal(&group->event);
	dfg_shared_wake(group);
}

struct dfg_group_sent dfg_group_sent(struct dfg_group *group, uint32_t replica)
{
	struct dfg_group_sent sent = {0};
	pthread_mutex_lock(&group->lock);
	if (group->peer)
		sent = group->peer[replica].sent;
	pthread_mutex_unlock(&group->lock);
	return sent;
}

void dfg_group_enter(struct dfg_group *group, const struct dfg_shard *shard)
{
	for (size_t i = 0; i < group->streams; i++)
		group->stream[i].drawn = 0;
	group->entered = shard != NULL;
	if (shard)
		group->shard = *shard;
	else
		group->computed_ns = dfg_group_now(group);
}

bool dfg_group_shard(const struct dfg_group *group, struct dfg_shard *out_shard)
{
	*out_shard = group->shard;
	return group->entered;
}

static struct dfg_err *find_stream(struct dfg_group *group, struct dfg_variable *position, struct stream **out_stream)
{
	for (size_t i = 0; i < group->streams; i++)
		if (group->stream[i].position == position) {
			*out_stream = &group->stream[i];
			return NULL;
		}
	if (!dfg_reserve(&group->stream, &group->stream_capacity, group->streams + 1, sizeof *group->stream))
		return dfg_no_memory("a stream of random numbers");
	*out_stream = &group->stream[group->streams++];
	**out_stream = (struct stream){.position = position};
	return NULL;
}

struct dfg_err *dfg_group_draw(
	struct dfg_group *group, struct dfg_variable *position, uint64_t blocks, uint64_t *out_drawn)
{
	struct stream *stream;
	pthread_mutex_lock(&group->lock);
	struct dfg_err *err = find_stream(group, position, &stream);
	if (!err) {
		*out_drawn = stream->drawn;
		stream->drawn += blocks;
	}
	pthread_mutex_unlock(&group->lock);
	return err;
}

const char *dfg_group_stream(const struct dfg_group *group, size_t i)
{
	return i < group->streams ? group->stream[i].position->resource.name : NULL;
}

struct dfg_err *dfg_group_commit(struct dfg_group *group)
{
	for (; group->streams; group->streams--) {
		uint64_t before;
		DFG_TRY(dfg_variable_advance(group->stream[group->streams - 1].position, DFG_GROUP_STRIDE, &before));
	}
	return NULL;
}

static struct dfg_err *find_or_make(struct dfg_group *group, uint32_t number, struct group_bucket **out_bucket)
{
	enum { MOST = 1 << 20 };
	if (number >= MOST)
		return DFG_ERR(DFG_DATA, "bucket %u: buckets are numbered from 0 to %d", number, MOST - 1);
	if (!dfg_reserve(&group->bucket, &group->capacity, (size_t)number + 1, sizeof(struct group_bucket *)))
		return dfg_no_memory("a bucket");
	group->count = number >= group->count ? (size_t)number + 1 : group->count;
	*out_bucket = group->bucket[number];
	if (*out_bucket)
		return NULL;
	struct group_bucket *bucket = dfg_zeros(1, sizeof *bucket);
	if (!bucket || pthread_mutex_init(&bucket->lock, NULL)) {
		dfg_free(bucket);
		return dfg_no_memory("a bucket");
	}
	bucket->number = number;
	*out_bucket = group->bucket[number] = bucket;
	return NULL;
}

struct dfg_err *dfg_group_bucket(struct dfg_group *group, uint32_t number, struct group_bucket **out_bucket)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *err = find_or_make(group, number, out_bucket);
	pthread_mutex_unlock(&group->lock);
	return err;
}

static int name_length(const struct dfg_string *name)
{
	return name->length < 200 ? (int)name->length : 200;
}

static void note_name(struct group_bucket *bucket, const struct dfg_list *names)
{
	if (names && names->count && !*bucket->name)
		snprintf(bucket->name, sizeof bucket->name, "%.*s", name_length(&names->item[0].s), names->item[0].s.s);
}

static struct dfg_err *begin_bucket(struct dfg_group *group, struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct outbox *outbox)
{
	end_bucket(group, bucket);
	bucket->ready_ns = dfg_group_now(group);
	bucket->is_sum = contribution->is_sum;
	bucket->is_share = contribution->is_share;
	bucket->is_adasum = contribution->is_adasum;
	note_name(bucket, contribution->names);
	if (bucket->shared && dfg_group_is_across(group))
		return dfg_shared_begin(group, bucket);
	DFG_TRY(dfg_bucket_lay_out(bucket, contribution));
	if (group->holds) {
		dfg_bucket_begin_own(group, bucket, &bucket->sum, bucket->offset[bucket->n]);
		bucket->begun = true;
		return NULL;
	}
	if (dfg_group_is_across(group))
		return dfg_direct_begin(group, bucket, outbox);
	bucket->begun = true;
	return dfg_bucket_begin_sum(group, bucket, &bucket->sum, bucket->offset[bucket->n]);
}

static struct dfg_err *another_shape(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, uint32_t i)
{
	const struct dfg_tensor *tensor = contribution->tensor[i];
	const struct dfg_list *names = contribution->names;
	struct dfg_err *err = DFG_ERR(DFG_DATA,
		"tensor %u of bucket %u is %s in shard %u, but %s in another shard; a reduced value must have the same shape "
		"in all shards",
		i, contribution->bucket, dfg_type_words(tensor->dtype, &tensor->shape).s, group->shard.number,
		i < bucket->n ? dfg_type_words(bucket->dtype, &bucket->shape[i]).s : "absent");
	return names && i < names->count ? dfg_err_note(err, "'%.*s'", name_length(&names->item[i].s), names->item[i].s.s)
									 : err;
}

/* Rows of the bucket's table: as many as there are numbers. */
static struct dfg_err *check_rows(const struct group_bucket *bucket, const struct dfg_contribution *contribution)
{
	const struct dfg_tensor *indices = contribution->indices, *values = contribution->tensor[0];
	struct dfg_shape rows = bucket->shape[0];
	rows.dim[0] = indices->shape.rank == 1 ? indices->shape.dim[0] : -1;
	bool fits = indices->dtype == bucket->indices && values->dtype == bucket->dtype &&
				dfg_shape_equal(contribution->table, &bucket->shape[0]) && dfg_shape_equal(&values->shape, &rows);
	return fits ? NULL
				: DFG_ERR(DFG_DATA,
					  "bucket %u expects rows of a table of shape %s and row numbers of type %s, not rows %s and row "
					  "numbers %s",
					  bucket->number, dfg_shape_words(&bucket->shape[0]).s, dfg_dtype_name(bucket->indices),
					  dfg_type_words(values->dtype, &values->shape).s,
					  dfg_type_words(indices->dtype, &indices->shape).s);
}

static struct dfg_err *check_same(
	const struct dfg_group *group, const struct group_bucket *bucket, const struct dfg_contribution *contribution)
{
	if (contribution->indices || bucket->indices)
		return contribution->indices && bucket->indices
				   ? check_rows(bucket, contribution)
				   : DFG_ERR(DFG_DATA, "bucket %u: one shard has a gradient of rows, another a dense gradient",
						 bucket->number);
	for (uint32_t i = 0; i < contribution->n; i++) {
		const struct dfg_tensor *tensor = contribution->tensor[i];
		if (i >= bucket->n || tensor->dtype != bucket->dtype || !dfg_shape_equal(&tensor->shape, &bucket->shape[i]))
			return another_shape(group, bucket, contribution, i);
	}
	return NULL;
}

/* Adds the contribution to the bucket, which it begins if it is the first of the step. */
static struct dfg_err *add_contribution(struct dfg_group *group, struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct outbox *outbox)
{
	struct dfg_buffer *value;
	if (!bucket->begun || !group->entered)
		DFG_TRY(begin_bucket(group, bucket, contribution, outbox));
	DFG_TRY(check_same(group, bucket, contribution));
	bool shared = bucket->shared && bucket->across;
	if (bucket->indices) {
		DFG_TRY(dfg_bucket_copy_rows(group, bucket, contribution, &value));
	} else {
		DFG_TRY(shared ? dfg_shared_buffer(group, bucket, &value) : dfg_tree_sum_buffer(&bucket->sum, &value));
		dfg_bucket_copy(group, bucket, contribution, value);
	}
	if (group->holds) {
		bucket->sent_ns = dfg_group_now(group);
		return dfg_bucket_hold(bucket, group->shard.number, value);
	}
	DFG_TRY(dfg_tree_sum_add(&bucket->sum, (struct dfg_tree_node){group->shard.number, 1}, value));
	if (shared)
		return dfg_shared_contributed(group, bucket);
	if (bucket->across)
		return dfg_direct_contributed(group, bucket, outbox);
	bucket->sent_ns = dfg_tree_sum_complete(&bucket->sum) ? dfg_group_now(group) : 0;
	return NULL;
}

struct dfg_err *dfg_group_contribute(struct dfg_group *group, const struct dfg_contribution *contribution)
{
	struct group_bucket *bucket;
	struct outbox outbox = {0};
	DFG_TRY(dfg_group_bucket(group, contribution->bucket, &bucket));
	pthread_mutex_lock(&bucket->lock);
	struct dfg_err *err = add_contribution(group, bucket, contribution, &outbox);
	pthread_mutex_unlock(&bucket->lock);
	return dfg_outbox_send(group, &outbox, err);
}

static struct dfg_err *finish(const struct dfg_group *group, struct group_bucket *bucket)
{
	struct dfg_buffer *value = dfg_tree_sum_take(&bucket->sum);
	if (!value)
		return DFG_ERR(DFG_BUG, "a bucket has no contributions");
	dfg_bucket_divide_sum(group, bucket, &bucket->sum, value);
	bucket->done_ns = dfg_group_now(group);
	return dfg_bucket_finish(bucket, value);
}

static struct dfg_err *read_result(
	struct dfg_group *group, struct group_bucket *bucket, uint32_t i, struct dfg_tensor *out_tensor)
{
	bool complete = bucket->begun && (bucket->result || (!bucket->across && dfg_tree_sum_complete(&bucket->sum)));
	if (!complete)
		return DFG_ERR(DFG_DATA, "bucket %u waits for shard %u, which has not contributed", bucket->number,
			bucket->begun ? dfg_tree_sum_missing(&bucket->sum) : 0);
	if (!bucket->result)
		DFG_TRY(finish(group, bucket));
	return dfg_bucket_read(bucket, i, out_tensor);
}

struct dfg_err *dfg_group_result(struct dfg_group *group, uint32_t number, uint32_t i, struct dfg_tensor *out_tensor)
{
	struct group_bucket *bucket;
	DFG_TRY(dfg_group_bucket(group, number, &bucket));
	pthread_mutex_lock(&bucket->lock);
	struct dfg_err *err = read_result(group, bucket, i, out_tensor);
	pthread_mutex_unlock(&bucket->lock);
	return err;
}
