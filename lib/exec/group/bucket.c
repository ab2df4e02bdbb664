#include "lib/exec/group/group_private.h"
#include "lib/graph/half.h"

#include <string.h>

static bool is_complex(enum dfg_dtype dtype)
{
	return dtype == DFG_C64 || dtype == DFG_C128;
}

enum dfg_dtype dfg_bucket_sum_dtype(enum dfg_dtype dtype)
{
	return dtype == DFG_F64 || dtype == DFG_C128 ? DFG_F64 : DFG_F32;
}

uint64_t dfg_group_extent(enum dfg_dtype dtype, int64_t elements)
{
	enum { ALIGNED = DFG_ALIGN / 4 };
	uint64_t count = (uint64_t)elements * (is_complex(dtype) ? 2 : 1);
	return (count + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Each replica sends its subtrees' sums of the slices of others, and its own slice's sum to all others. */
uint64_t dfg_group_bytes(enum dfg_dtype dtype, uint64_t extent, uint32_t replicas, uint32_t shards)
{
	uint64_t elements = 0;
	for (uint32_t r = 0; r < replicas; r++) {
		struct dfg_shard range = dfg_group_range(r, replicas, shards);
		uint64_t slice = (uint64_t)((unsigned __int128)extent * (r + 1) / replicas) -
						 (uint64_t)((unsigned __int128)extent * r / replicas);
		elements += dfg_tree_cover(shards, (uint32_t)range.first, (uint32_t)range.rows, NULL) * (extent - slice) +
					(replicas - 1) * slice;
	}
	return elements * dfg_dtype_size(dfg_bucket_sum_dtype(dtype));
}

struct dfg_err *dfg_bucket_lay_out_shapes(
	struct group_bucket *bucket, enum dfg_dtype dtype, const struct dfg_shape *shape, uint32_t n)
{
	dfg_free(bucket->shape);
	dfg_free(bucket->offset);
	bucket->n = n;
	bucket->dtype = dtype;
	bucket->shape = dfg_zeros(n, sizeof *bucket->shape);
	bucket->offset = dfg_zeros((size_t)n + 1, sizeof *bucket->offset);
	if (!bucket->shape || !bucket->offset)
		return dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < n; i++) {
		bucket->shape[i] = shape[i];
		bucket->offset[i + 1] = bucket->offset[i] + (size_t)dfg_group_extent(dtype, dfg_shape_count(&shape[i]));
	}
	return NULL;
}

struct dfg_err *dfg_bucket_lay_out(struct group_bucket *bucket, const struct dfg_contribution *contribution)
{
	struct dfg_shape *shape = dfg_zeros(contribution->n, sizeof *shape);
	if (!shape)
		return dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < contribution->n; i++)
		shape[i] = contribution->tensor[i]->shape;
	struct dfg_err *err = dfg_bucket_lay_out_shapes(bucket, contribution->tensor[0]->dtype, shape, contribution->n);
	dfg_free(shape);
	return err;
}

struct dfg_err *dfg_bucket_begin_sum(
	const struct dfg_group *group, struct dfg_tree_sum *sum, enum dfg_dtype dtype, size_t count)
{
	uint32_t shards = group->whole.shards;
	dfg_tree_sum_begin(sum, shards, dtype, count);
	for (uint32_t i = 0; i < shards; i++)
		if (!dfg_group_rows(group, i))
			DFG_TRY(dfg_tree_sum_add(sum, (struct dfg_tree_node){i, 1}, NULL));
	return NULL;
}

/* Shards of equal rows are added as they are; others are weighted by their rows. */
static bool is_weighted(const struct dfg_group *group, const struct group_bucket *bucket)
{
	return !bucket->is_sum && group->whole.batch % group->whole.shards;
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
	const struct group_bucket *bucket, const struct dfg_contribution *contribution, struct dfg_buffer *to)
{
	size_t size = dfg_dtype_size(bucket->sum.dtype);
	for (uint32_t i = 0; i < bucket->n; i++) {
		const struct dfg_tensor *tensor = contribution->tensor[i];
		char *at = (char *)to->data + bucket->offset[i] * size;
		size_t elements = (size_t)dfg_shape_count(&tensor->shape) * (is_complex(tensor->dtype) ? 2 : 1);
		if (dfg_is_half(tensor->dtype))
			dfg_convert(DFG_F32, at, tensor->dtype, tensor->data, (int64_t)elements);
		else if (elements && tensor->data != at)
			memcpy(at, tensor->data, elements * size);
		memset(at + elements * size, 0, (bucket->offset[i + 1] - bucket->offset[i] - elements) * size);
	}
}

void dfg_bucket_copy(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct dfg_buffer *to)
{
	copy_tensors(bucket, contribution, to);
	if (is_weighted(group, bucket) && bucket->sum.dtype == DFG_F64)
		scale_f64(bucket->sum.count, to->data, (double)group->shard.rows);
	else if (is_weighted(group, bucket))
		scale_f32(bucket->sum.count, to->data, (float)group->shard.rows);
}

void dfg_bucket_divide(const struct dfg_group *group, const struct group_bucket *bucket, void *sum, size_t count)
{
	struct dfg_taken taken = dfg_group_taken(group);
	int64_t divisor = is_weighted(group, bucket) ? taken.rows : bucket->is_sum ? 1 : taken.shards;
	if (divisor > 1 && bucket->sum.dtype == DFG_F64)
		divide_f64(count, sum, (double)divisor);
	else if (divisor > 1)
		divide_f32(count, sum, (float)divisor);
}

struct dfg_err *dfg_bucket_finish(struct group_bucket *bucket, struct dfg_buffer *sum)
{
	struct dfg_buffer *halves;
	size_t count = bucket->sum.count;
	bucket->result = sum;
	if (!dfg_is_half(bucket->dtype))
		return NULL;
	bucket->result = NULL;
	struct dfg_err *err = dfg_buffer_new(bucket->dtype, count * dfg_dtype_size(bucket->dtype), &halves);
	if (!err) {
		dfg_convert(bucket->dtype, halves->data, DFG_F32, sum->data, (int64_t)count);
		bucket->result = halves;
	}
	dfg_tree_sum_give(&bucket->sum, sum);
	return err;
}

struct dfg_err *dfg_bucket_read(const struct group_bucket *bucket, uint32_t i, struct dfg_tensor *out_tensor)
{
	size_t of_sum = dfg_dtype_size(bucket->sum.dtype), size = dfg_is_half(bucket->dtype) ? of_sum / 2 : of_sum;
	if (i >= bucket->n)
		return DFG_ERR(DFG_DATA, "bucket %u has %u tensors, not %u", bucket->number, bucket->n, i + 1);
	*out_tensor = (struct dfg_tensor){
		.dtype = bucket->dtype,
		.shape = bucket->shape[i],
		.data = (char *)bucket->result->data + bucket->offset[i] * size,
		.capacity = (size_t)dfg_shape_count(&bucket->shape[i]) * dfg_dtype_size(bucket->dtype),
		.buffer = dfg_buffer_ref(bucket->result),
	};
	return NULL;
}
