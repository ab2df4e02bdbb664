#include "lib/exec/group/direct.h"

/*
 * The shapes of a bucket as a message, a vector of i64: dtype, rule, type of the numbers of rows, number of tensors; then of
 * each its rank and extents.
 */
enum { DTYPE, RULE, INDICES, TENSORS, HEAD };
enum { MEAN, SUM, ADASUM };

struct dfg_err *dfg_direct_put_layout(const struct group_bucket *bucket, struct dfg_tensor *out_layout)
{
	size_t count = HEAD;
	for (uint32_t i = 0; i < bucket->n; i++)
		count += 1 + (size_t)bucket->shape[i].rank;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_VECTOR((int64_t)count), out_layout));
	int64_t *at = out_layout->data;
	at[DTYPE] = bucket->dtype;
	at[RULE] = bucket->is_adasum ? ADASUM : bucket->is_sum ? SUM : MEAN;
	at[INDICES] = bucket->indices;
	at[TENSORS] = bucket->n;
	at += HEAD;
	for (uint32_t i = 0; i < bucket->n; i++) {
		*at++ = bucket->shape[i].rank;
		for (int d = 0; d < bucket->shape[i].rank; d++)
			*at++ = bucket->shape[i].dim[d];
	}
	return NULL;
}

/* Reads one shape; false if there is none that memory could hold. */
static bool read_shape(const int64_t **at, const int64_t *end, enum dfg_dtype dtype, struct dfg_shape *out_shape)
{
	size_t bytes;
	if (*at == end || **at < 0 || **at > DFG_RANK_MAX || **at > end - *at - 1)
		return false;
	*out_shape = (struct dfg_shape){.rank = (int)*(*at)++};
	for (int d = 0; d < out_shape->rank; d++)
		if ((out_shape->dim[d] = *(*at)++) < 0)
			return false;
	struct dfg_err *err = dfg_shape_bytes(out_shape, dtype, &bytes);
	dfg_err_free(err);
	return !err;
}

static bool is_head(const int64_t *at, int64_t fields)
{
	if (fields <= HEAD || at[DTYPE] <= 0 || at[DTYPE] >= DFG_DTYPES || at[TENSORS] <= 0 || at[TENSORS] > fields - HEAD)
		return false;
	bool by_rows = at[INDICES] == DFG_I32 || at[INDICES] == DFG_I64;
	enum dfg_dtype dtype = (enum dfg_dtype)at[DTYPE];
	return (!at[INDICES] || (by_rows && at[TENSORS] == 1 && at[HEAD] > 0)) &&
		   (dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex"));
}

struct dfg_err *dfg_direct_get_layout(struct group_bucket *bucket, const struct dfg_tensor *layout, bool *out_fits)
{
	const int64_t *head = layout->data, *at = head + HEAD;
	int64_t fields = layout->dtype == DFG_I64 && layout->shape.rank == 1 ? layout->shape.dim[0] : 0;
	*out_fits = fields && is_head(head, fields);
	if (!*out_fits)
		return NULL;
	uint32_t n = (uint32_t)head[TENSORS];
	struct dfg_shape *shape = dfg_zeros(n, sizeof *shape);
	struct dfg_err *err = shape ? NULL : dfg_no_memory("a bucket");
	for (uint32_t i = 0; i < n && !err && *out_fits; i++)
		*out_fits = read_shape(&at, head + fields, (enum dfg_dtype)head[DTYPE], &shape[i]);
	bucket->is_sum = head[RULE] != MEAN;
	bucket->is_adasum = head[RULE] == ADASUM;
	if (!err && *out_fits)
		err = dfg_bucket_lay_out_shapes(bucket, (enum dfg_dtype)head[DTYPE], (enum dfg_dtype)head[INDICES], shape, n);
	dfg_free(shape);
	return err;
}
