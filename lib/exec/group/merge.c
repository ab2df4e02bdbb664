#include "lib/exec/group/merge.h"

#include <string.h>

static struct dfg_err *differ(const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	return DFG_ERR(DFG_DATA, "shards give %s and %s, which cannot be merged", dfg_type_words(a->dtype, &a->shape).s,
		dfg_type_words(b->dtype, &b->shape).s);
}

static const struct dfg_tensor *first_of(const struct dfg_tensor *value, uint32_t shards)
{
	uint32_t i = 0;
	while (i + 1 < shards && !value[i].dtype)
		i++;
	return &value[i];
}

static struct dfg_err *joined_shape(const struct dfg_tensor *value, uint32_t shards, struct dfg_shape *out_shape)
{
	const struct dfg_tensor *first = first_of(value, shards);
	*out_shape = first->shape;
	if (!out_shape->rank)
		return DFG_ERR(DFG_DATA, "shards give %s, which has no rows to concatenate",
			dfg_type_words(first->dtype, &first->shape).s);
	out_shape->dim[0] = 0;
	for (uint32_t i = 0; i < shards; i++) {
		struct dfg_shape other = value[i].shape;
		if (!value[i].dtype)
			continue;
		int64_t rows = other.dim[0];
		other.dim[0] = out_shape->dim[0];
		if (value[i].dtype != first->dtype || !dfg_shape_equal(&other, out_shape))
			return differ(first, &value[i]);
		out_shape->dim[0] += rows;
	}
	return NULL;
}

static struct dfg_err *copy_rows(const struct dfg_tensor *from, int64_t at, struct dfg_tensor *to)
{
	int64_t count = dfg_shape_count(&from->shape);
	if (from->dtype != DFG_STRING) {
		if (count)
			memcpy(dfg_tensor_at(to, at), from->data, dfg_tensor_bytes(from));
		return NULL;
	}
	for (int64_t i = 0; i < count; i++) {
		const struct dfg_string *string = dfg_tensor_at(from, i);
		DFG_TRY(dfg_buffer_string(to->buffer, string->s, string->length, dfg_tensor_at(to, at + i)));
	}
	return NULL;
}

struct dfg_err *dfg_merge_rows(const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape;
	enum dfg_dtype dtype = first_of(value, shards)->dtype;
	if (dfg_dtype_is_handle(dtype))
		return DFG_ERR(DFG_DATA, "a %s cannot be merged over shards", dfg_dtype_name(dtype));
	DFG_TRY(joined_shape(value, shards, &shape));
	DFG_TRY(dfg_tensor_new(dtype, &shape, out_tensor));
	struct dfg_err *err = NULL;
	int64_t at = 0;
	for (uint32_t i = 0; i < shards && !err; i++) {
		if (!value[i].dtype)
			continue;
		err = copy_rows(&value[i], at, out_tensor);
		at += dfg_shape_count(&value[i].shape);
	}
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

struct dfg_err *dfg_merge_integers(const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor)
{
	const struct dfg_tensor *first = first_of(value, shards);
	int64_t count = dfg_shape_count(&first->shape);
	if (!dfg_dtype_is(first->dtype, "int"))
		return DFG_ERR(DFG_DATA, "a %s has no sum over shards", dfg_dtype_name(first->dtype));
	for (uint32_t i = 0; i < shards; i++)
		if (value[i].dtype && (value[i].dtype != first->dtype || !dfg_shape_equal(&value[i].shape, &first->shape)))
			return differ(first, &value[i]);
	DFG_TRY(dfg_tensor_new(first->dtype, &first->shape, out_tensor));
	size_t size = dfg_dtype_size(first->dtype);
	for (int64_t e = 0; e < count; e++) {
		uint64_t sum = 0;
		for (uint32_t i = 0; i < shards; i++)
			sum += value[i].dtype ? (uint64_t)dfg_tensor_int(&value[i], e) : 0;
		memcpy(dfg_tensor_at(out_tensor, e), &sum, size); /* the low bytes: as the dtype wraps */
	}
	return NULL;
}
