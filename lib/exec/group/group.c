#include "lib/exec/group/group.h"

#include "lib/base/mem.h"
#include "lib/exec/group/tree.h"
#include "lib/graph/op.h"

#include <string.h>

static const char group_kind[] = "group";

struct bucket {
	bool begun, is_sum;
	enum dfg_dtype dtype; /* of the tensors */
	struct dfg_shape *shape;
	size_t *offset; /* by tensor, in elements of the sum; one more entry than tensors */
	uint32_t n;
	struct dfg_tree_sum sum;
	struct dfg_buffer *result; /* NULL: not computed yet */
};

struct dfg_group {
	struct dfg_resource resource;
	pthread_mutex_t step; /* held by the step in progress */
	pthread_mutex_t lock; /* protects the list of buckets, not their contents */
	struct bucket **bucket;
	size_t count, room;
	struct dfg_shard shard;
	bool entered;
	struct stream { /* a stream of random numbers that the step has drawn from */
		struct dfg_variable *position;
		uint64_t drawn; /* blocks, in the compute run in progress */
	} * stream;
	size_t streams, stream_room;
};

struct dfg_shard dfg_shard_of(uint32_t number, uint32_t shards, int64_t batch)
{
	__int128 first = (__int128)number * batch / shards, end = ((__int128)number + 1) * batch / shards;
	return (struct dfg_shard){number, shards, (int64_t)first, (int64_t)(end - first), batch};
}

static void free_bucket(struct bucket *bucket)
{
	if (!bucket)
		return;
	dfg_buffer_unref(bucket->result);
	dfg_tree_sum_release(&bucket->sum);
	dfg_free(bucket->shape);
	dfg_free(bucket->offset);
	dfg_free(bucket);
}

static void free_group(struct dfg_resource *resource)
{
	struct dfg_group *group = (struct dfg_group *)resource;
	for (size_t i = 0; i < group->count; i++)
		free_bucket(group->bucket[i]);
	dfg_free(group->bucket);
	dfg_free(group->stream);
	pthread_mutex_destroy(&group->lock);
	pthread_mutex_destroy(&group->step);
	dfg_free(group);
}

static bool make_locks(struct dfg_group *group)
{
	if (pthread_mutex_init(&group->lock, NULL))
		return false;
	if (!pthread_mutex_init(&group->step, NULL))
		return true;
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
	group->shard = dfg_shard_of(0, 1, 1);
	*out_resource = &group->resource;
	return NULL;
}

struct dfg_err *dfg_group_of(struct dfg_state *state, struct dfg_group **out_group)
{
	struct dfg_resource *resource;
	DFG_TRY(dfg_state_resource(state, "dfg/group", group_kind, make_group, NULL, &resource));
	*out_group = (struct dfg_group *)resource;
	return NULL;
}

static void end_bucket(struct bucket *bucket)
{
	dfg_tree_sum_give(&bucket->sum, bucket->result);
	bucket->result = NULL;
	bucket->begun = false;
}

void dfg_group_begin(struct dfg_group *group, uint32_t shards, int64_t batch)
{
	pthread_mutex_lock(&group->step);
	group->shard = dfg_shard_of(0, shards, batch);
	group->entered = false;
}

void dfg_group_end(struct dfg_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->bucket[i])
			end_bucket(group->bucket[i]);
	group->shard = dfg_shard_of(0, 1, 1);
	group->entered = false;
	group->streams = 0;
	pthread_mutex_unlock(&group->step);
}

void dfg_group_enter(struct dfg_group *group, const struct dfg_shard *shard)
{
	for (size_t i = 0; i < group->streams; i++)
		group->stream[i].drawn = 0;
	group->entered = shard != NULL;
	if (shard)
		group->shard = *shard;
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
	if (!dfg_reserve(&group->stream, &group->stream_room, group->streams + 1, sizeof *group->stream))
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

struct dfg_err *dfg_group_commit(struct dfg_group *group)
{
	for (; group->streams; group->streams--) {
		uint64_t before;
		DFG_TRY(dfg_variable_advance(group->stream[group->streams - 1].position, DFG_GROUP_STRIDE, &before));
	}
	return NULL;
}

static struct dfg_err *find_or_make(struct dfg_group *group, uint32_t number, struct bucket **out_bucket)
{
	enum { MOST = 1 << 20 };
	if (number >= MOST)
		return DFG_ERR(DFG_DATA, "bucket %u: buckets are numbered from 0 to %d", number, MOST - 1);
	if (!dfg_reserve(&group->bucket, &group->room, (size_t)number + 1, sizeof(struct bucket *)))
		return dfg_no_memory("a bucket");
	group->count = number >= group->count ? (size_t)number + 1 : group->count;
	if (!group->bucket[number] && !(group->bucket[number] = dfg_zeros(1, sizeof(struct bucket))))
		return dfg_no_memory("a bucket");
	*out_bucket = group->bucket[number];
	return NULL;
}

static struct dfg_err *find_bucket(struct dfg_group *group, uint32_t number, struct bucket **out_bucket)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *err = find_or_make(group, number, out_bucket);
	pthread_mutex_unlock(&group->lock);
	return err;
}

static bool is_complex(enum dfg_dtype dtype)
{
	return dtype == DFG_C64 || dtype == DFG_C128;
}

static bool is_half(enum dfg_dtype dtype)
{
	return dtype == DFG_F16 || dtype == DFG_BF16;
}

/* Sums are f32 or wider; a complex number is two elements. */
static enum dfg_dtype dtype_of_sum(enum dfg_dtype dtype)
{
	return dtype == DFG_F64 || dtype == DFG_C128 ? DFG_F64 : DFG_F32;
}

/* Records the shapes of the first contribution of the step. */
static struct dfg_err *lay_out(struct bucket *bucket, const struct dfg_contribution *contribution)
{
	enum { ALIGNED = DFG_ALIGN / 4 };
	dfg_free(bucket->shape);
	dfg_free(bucket->offset);
	bucket->n = contribution->n;
	bucket->dtype = contribution->tensor[0]->dtype;
	bucket->is_sum = contribution->is_sum;
	bucket->shape = dfg_zeros(bucket->n, sizeof *bucket->shape);
	bucket->offset = dfg_zeros((size_t)bucket->n + 1, sizeof *bucket->offset);
	if (!bucket->shape || !bucket->offset)
		return dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < bucket->n; i++) {
		bucket->shape[i] = contribution->tensor[i]->shape;
		size_t elements = (size_t)dfg_shape_count(&bucket->shape[i]) * (is_complex(bucket->dtype) ? 2 : 1);
		bucket->offset[i + 1] = bucket->offset[i] + (elements + ALIGNED - 1) / ALIGNED * ALIGNED;
	}
	return NULL;
}

/* A shard without rows contributes nothing. */
static struct dfg_err *begin_bucket(
	const struct dfg_group *group, struct bucket *bucket, const struct dfg_contribution *contribution)
{
	const struct dfg_shard *shard = &group->shard;
	end_bucket(bucket);
	DFG_TRY(lay_out(bucket, contribution));
	dfg_tree_sum_begin(&bucket->sum, shard->shards, dtype_of_sum(bucket->dtype), bucket->offset[bucket->n]);
	bucket->begun = true;
	for (uint32_t i = 0; i < shard->shards; i++)
		if (!dfg_shard_of(i, shard->shards, shard->batch).rows)
			DFG_TRY(dfg_tree_sum_add(&bucket->sum, (struct dfg_tree_node){i, 1}, NULL));
	return NULL;
}

static struct dfg_err *another_shape(
	const struct dfg_group *group, const struct bucket *bucket, const struct dfg_contribution *contribution, uint32_t i)
{
	const struct dfg_tensor *tensor = contribution->tensor[i];
	const struct dfg_list *names = contribution->names;
	struct dfg_err *err = DFG_ERR(DFG_DATA,
		"tensor %u of bucket %u is %s in shard %u, but %s in another shard; a reduced value must have one shape", i,
		contribution->bucket, dfg_type_words(tensor->dtype, &tensor->shape).s, group->shard.number,
		i < bucket->n ? dfg_type_words(bucket->dtype, &bucket->shape[i]).s : "absent");
	return names && i < names->count ? dfg_err_note(err, "'%.200s'", names->item[i].s.s) : err;
}

static struct dfg_err *check_same(
	const struct dfg_group *group, const struct bucket *bucket, const struct dfg_contribution *contribution)
{
	for (uint32_t i = 0; i < contribution->n; i++) {
		const struct dfg_tensor *tensor = contribution->tensor[i];
		if (i >= bucket->n || tensor->dtype != bucket->dtype || !dfg_shape_equal(&tensor->shape, &bucket->shape[i]))
			return another_shape(group, bucket, contribution, i);
	}
	return NULL;
}

/* Shards of equal rows are added as they are; others are weighted by their rows. */
static bool is_weighted(const struct dfg_group *group, const struct bucket *bucket)
{
	return !bucket->is_sum && group->shard.batch % group->shard.shards;
}

static void scale_f32(size_t n, float *value, float factor)
{
	for (size_t i = 0; i < n; i++)
		value[i] *= factor;
}

static void scale_f64(size_t n, double *value, double factor)
{
	for (size_t i = 0; i < n; i++)
		value[i] *= factor;
}

static void divide_f32(size_t n, float *value, float divisor)
{
	for (size_t i = 0; i < n; i++)
		value[i] /= divisor;
}

static void divide_f64(size_t n, double *value, double divisor)
{
	for (size_t i = 0; i < n; i++)
		value[i] /= divisor;
}

static void copy_tensors(
	const struct bucket *bucket, const struct dfg_contribution *contribution, struct dfg_buffer *to)
{
	size_t size = dfg_dtype_size(bucket->sum.dtype);
	for (uint32_t i = 0; i < bucket->n; i++) {
		const struct dfg_tensor *tensor = contribution->tensor[i];
		char *at = (char *)to->data + bucket->offset[i] * size;
		size_t elements = (size_t)dfg_shape_count(&tensor->shape) * (is_complex(tensor->dtype) ? 2 : 1);
		if (is_half(tensor->dtype))
			dfg_convert(DFG_F32, at, tensor->dtype, tensor->data, (int64_t)elements);
		else if (elements)
			memcpy(at, tensor->data, elements * size);
		memset(at + elements * size, 0, (bucket->offset[i + 1] - bucket->offset[i] - elements) * size);
	}
}

struct dfg_err *dfg_group_contribute(struct dfg_group *group, const struct dfg_contribution *contribution)
{
	struct bucket *bucket;
	struct dfg_buffer *value;
	const struct dfg_shard *shard = &group->shard;
	DFG_TRY(find_bucket(group, contribution->bucket, &bucket));
	if (!bucket->begun || !group->entered)
		DFG_TRY(begin_bucket(group, bucket, contribution));
	DFG_TRY(check_same(group, bucket, contribution));
	DFG_TRY(dfg_tree_sum_buffer(&bucket->sum, &value));
	copy_tensors(bucket, contribution, value);
	if (is_weighted(group, bucket) && bucket->sum.dtype == DFG_F64)
		scale_f64(bucket->sum.count, value->data, (double)shard->rows);
	else if (is_weighted(group, bucket))
		scale_f32(bucket->sum.count, value->data, (float)shard->rows);
	return dfg_tree_sum_add(&bucket->sum, (struct dfg_tree_node){shard->number, 1}, value);
}

/* Divides the sum, and rounds it to halves in a buffer of their own. */
static struct dfg_err *finish(const struct dfg_group *group, struct bucket *bucket)
{
	struct dfg_tree_sum *sum = &bucket->sum;
	int64_t divisor = is_weighted(group, bucket) ? group->shard.batch : bucket->is_sum ? 1 : group->shard.shards;
	struct dfg_buffer *value = dfg_tree_sum_take(sum), *halves;
	if (!value)
		return DFG_ERR(DFG_BUG, "a bucket has no contributions");
	if (divisor > 1 && sum->dtype == DFG_F64)
		divide_f64(sum->count, value->data, (double)divisor);
	else if (divisor > 1)
		divide_f32(sum->count, value->data, (float)divisor);
	bucket->result = value;
	if (!is_half(bucket->dtype))
		return NULL;
	DFG_TRY(dfg_buffer_new(bucket->dtype, sum->count * dfg_dtype_size(bucket->dtype), &halves));
	dfg_convert(bucket->dtype, halves->data, DFG_F32, value->data, (int64_t)sum->count);
	dfg_tree_sum_give(sum, value);
	bucket->result = halves;
	return NULL;
}

static struct dfg_err *finish_once(struct dfg_group *group, struct bucket *bucket)
{
	pthread_mutex_lock(&group->lock);
	struct dfg_err *err = bucket->result ? NULL : finish(group, bucket);
	pthread_mutex_unlock(&group->lock);
	return err;
}

struct dfg_err *dfg_group_result(struct dfg_group *group, uint32_t number, uint32_t i, struct dfg_tensor *out_tensor)
{
	struct bucket *bucket;
	DFG_TRY(find_bucket(group, number, &bucket));
	if (!bucket->begun || (!bucket->result && !dfg_tree_sum_complete(&bucket->sum)))
		return DFG_ERR(DFG_DATA, "bucket %u waits for shard %u, which has not contributed", number,
			bucket->begun ? dfg_tree_sum_missing(&bucket->sum) : 0);
	if (i >= bucket->n)
		return DFG_ERR(DFG_DATA, "bucket %u has %u tensors, not %u", number, bucket->n, i + 1);
	DFG_TRY(finish_once(group, bucket));
	size_t of_sum = dfg_dtype_size(bucket->sum.dtype), size = is_half(bucket->dtype) ? of_sum / 2 : of_sum;
	size_t bytes = (size_t)dfg_shape_count(&bucket->shape[i]) * dfg_dtype_size(bucket->dtype);
	*out_tensor = (struct dfg_tensor){
		.dtype = bucket->dtype,
		.shape = bucket->shape[i],
		.data = (char *)bucket->result->data + bucket->offset[i] * size,
		.room = bytes,
		.buffer = dfg_buffer_ref(bucket->result),
	};
	return NULL;
}
