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

/*
 * Directly each replica sends its subtrees' sums of the slices of others, and its own slice's sum to all others. In stages,
 * each element is sent by all replicas but one, in either phase.
 */
uint64_t dfg_group_bytes(const struct dfg_group_cost *cost)
{
	const uint32_t replicas = cost->replicas, shards = cost->shards;
	const bool direct = cost->algorithm == DFG_ALGORITHM_DIRECT || cost->owner != DFG_NONE;
	uint64_t extent = cost->extent, elements = direct ? 0 : 2 * (replicas - 1) * extent;
	for (uint32_t r = 0; r < replicas && direct; r++) {
		struct dfg_shard range = dfg_group_range(r, replicas, shards);
		uint64_t slice = (uint64_t)((unsigned __int128)extent * (r + 1) / replicas) -
						 (uint64_t)((unsigned __int128)extent * r / replicas);
		if (cost->owner != DFG_NONE)
			slice = r == cost->owner ? extent : 0;
		elements += dfg_tree_cover(shards, (uint32_t)range.first, (uint32_t)range.rows, NULL) * (extent - slice) +
					(replicas - 1) * slice;
	}
	return elements * dfg_dtype_size(dfg_bucket_sum_dtype(cost->dtype));
}

int64_t dfg_group_marked_from(int64_t rows)
{
	return dfg_row_set_marked_from(rows);
}

struct dfg_row_type dfg_bucket_row_type(const struct group_bucket *bucket)
{
	const struct dfg_shape *table = &bucket->shape[0];
	size_t width = is_complex(bucket->dtype) ? 2 : 1;
	for (int i = 1; i < table->rank; i++)
		width *= (size_t)table->dim[i];
	return (struct dfg_row_type){dfg_bucket_sum_dtype(bucket->dtype), width, table->dim[0]};
}

struct dfg_err *dfg_bucket_lay_out_shapes(struct group_bucket *bucket, enum dfg_dtype dtype, enum dfg_dtype indices,
	const struct dfg_shape *shape, uint32_t n)
{
	dfg_free(bucket->shape);
	dfg_free(bucket->offset);
	bucket->n = n;
	bucket->dtype = dtype;
	bucket->indices = indices;
	bucket->shape = dfg_zeros(n, sizeof *bucket->shape);
	bucket->offset = dfg_zeros((size_t)n + 1, sizeof *bucket->offset);
	if (!bucket->shape || !bucket->offset)
		return dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < n; i++) {
		bucket->shape[i] = shape[i];
		bucket->offset[i + 1] = indices
									? (size_t)shape[i].dim[0]
									: bucket->offset[i] + (size_t)dfg_group_extent(dtype, dfg_shape_count(&shape[i]));
	}
	return NULL;
}

struct dfg_err *dfg_bucket_lay_out(struct group_bucket *bucket, const struct dfg_contribution *contribution)
{
	const enum dfg_dtype dtype = contribution->tensor[0]->dtype;
	if (contribution->indices)
		return dfg_bucket_lay_out_shapes(bucket, dtype, contribution->indices->dtype, contribution->table, 1);
	struct dfg_shape *shape = dfg_zeros(contribution->n, sizeof *shape);
	if (!shape)
		return dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < contribution->n; i++)
		shape[i] = contribution->tensor[i]->shape;
	struct dfg_err *err = dfg_bucket_lay_out_shapes(bucket, dtype, 0, shape, contribution->n);
	dfg_free(shape);
	return err;
}

void dfg_bucket_begin_own(
	const struct dfg_group *group, const struct group_bucket *bucket, struct dfg_tree_sum *sum, size_t count)
{
	dfg_tree_sum_begin(sum, group->whole.shards, dfg_bucket_sum_dtype(bucket->dtype), count);
	if (bucket->indices)
		dfg_tree_sum_by_rows(sum, dfg_bucket_row_type(bucket).width);
	else if (bucket->is_adasum && count)
		dfg_tree_sum_by_adasum(sum, bucket->offset, bucket->n);
}

struct dfg_err *dfg_bucket_begin_sum(
	const struct dfg_group *group, const struct group_bucket *bucket, struct dfg_tree_sum *sum, size_t count)
{
	dfg_bucket_begin_own(group, bucket, sum, count);
	for (uint32_t i = 0; i < group->whole.shards; i++)
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

/* Multiplies what the shard in progress contributes by its rows, if the weights differ. */
static void weigh(const struct dfg_group *group, const struct group_bucket *bucket, void *element, size_t count)
{
	if (is_weighted(group, bucket) && bucket->sum.dtype == DFG_F64)
		scale_f64(count, element, (double)group->shard.rows);
	else if (is_weighted(group, bucket))
		scale_f32(count, element, (float)group->shard.rows);
}

void dfg_bucket_copy(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct dfg_buffer *to)
{
	copy_tensors(bucket, contribution, to);
	weigh(group, bucket, to->data, bucket->sum.count);
}

struct dfg_err *dfg_bucket_copy_rows(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct dfg_buffer **out_set)
{
	const struct dfg_row_type type = dfg_bucket_row_type(bucket);
	DFG_TRY(dfg_row_set_gather(&type, contribution->indices, contribution->tensor[0], out_set));
	const struct dfg_row_set set = dfg_row_set_of(*out_set);
	weigh(group, bucket, set.value, set.count * type.width);
	return NULL;
}

void dfg_bucket_divide_sum(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_tree_sum *sum, struct dfg_buffer *value)
{
	if (!sum->by_rows) {
		dfg_bucket_divide(group, bucket, value->data, sum->count);
		return;
	}
	const struct dfg_row_set set = dfg_row_set_of(value);
	dfg_bucket_divide(group, bucket, set.value, set.count * sum->width);
}

void dfg_bucket_divide(const struct dfg_group *group, const struct group_bucket *bucket, void *element, size_t count)
{
	const struct dfg_taken all = {group->whole.batch, group->whole.shards};
	const struct dfg_taken taken = bucket->is_share ? all : dfg_group_taken(group);
	int64_t divisor = is_weighted(group, bucket) ? taken.rows : bucket->is_sum ? 1 : taken.shards;
	if (divisor > 1 && bucket->sum.dtype == DFG_F64)
		divide_f64(count, element, (double)divisor);
	else if (divisor > 1)
		divide_f32(count, element, (float)divisor);
}

struct dfg_err *dfg_bucket_finish(struct group_bucket *bucket, struct dfg_buffer *sum)
{
	struct dfg_buffer *halves;
	size_t count = bucket->sum.count;
	bucket->result = sum;
	if (!dfg_is_half(bucket->dtype) || bucket->indices)
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

/* The numbers of the rows of a result, in their type. */
static struct dfg_err *read_numbers(
	const struct group_bucket *bucket, const struct dfg_row_set *set, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_tensor_new(bucket->indices, &DFG_SHAPE_VECTOR((int64_t)set->count), out_tensor));
	dfg_convert(bucket->indices, out_tensor->data, DFG_I64, set->number, (int64_t)set->count);
	return NULL;
}

/* The rows of a result; halves are rounded into memory of their own. */
static struct dfg_err *read_rows(
	const struct group_bucket *bucket, const struct dfg_row_set *set, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape = bucket->shape[0];
	shape.dim[0] = (int64_t)set->count;
	if (dfg_is_half(bucket->dtype)) {
		DFG_TRY(dfg_tensor_new(bucket->dtype, &shape, out_tensor));
		dfg_convert(bucket->dtype, out_tensor->data, DFG_F32, set->value, dfg_shape_count(&shape));
		return NULL;
	}
	*out_tensor = (struct dfg_tensor){.dtype = bucket->dtype,
		.shape = shape,
		.data = set->value,
		.capacity = (size_t)dfg_shape_count(&shape) * dfg_dtype_size(bucket->dtype),
		.buffer = dfg_buffer_ref(bucket->result)};
	return NULL;
}

struct dfg_err *dfg_bucket_read(const struct group_bucket *bucket, uint32_t i, struct dfg_tensor *out_tensor)
{
	if (bucket->indices && i < 2) {
		const struct dfg_row_set set = dfg_row_set_of(bucket->result);
		return (i ? read_rows : read_numbers)(bucket, &set, out_tensor);
	}
	size_t of_sum = dfg_dtype_size(bucket->sum.dtype), size = dfg_is_half(bucket->dtype) ? of_sum / 2 : of_sum;
	if (i >= bucket->n || bucket->indices)
		return DFG_ERR(DFG_DATA, "bucket %u has %u tensors, expected at least %u", bucket->number, bucket->n, i + 1);
	*out_tensor = (struct dfg_tensor){
		.dtype = bucket->dtype,
		.shape = bucket->shape[i],
		.data = (char *)bucket->result->data + bucket->offset[i] * size,
		.capacity = (size_t)dfg_shape_count(&bucket->shape[i]) * dfg_dtype_size(bucket->dtype),
		.buffer = dfg_buffer_ref(bucket->result),
	};
	return NULL;
}
