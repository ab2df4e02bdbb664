#include "lib/exec/group/merge.h"

#include <string.h>

static struct dfg_err *differ(const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	return DFG_ERR(DFG_DATA, "the shards have values of shapes %s and %s, which cannot be merged",
		dfg_type_words(a->dtype, &a->shape).s, dfg_type_words(b->dtype, &b->shape).s);
}

static const struct dfg_tensor *first_of(const struct dfg_tensor *value, uint32_t shards)
{
	uint32_t i = 0;
	while (i + 1 < shards && !value[i].dtype)
		i++;
	return &value[i];
}

struct dfg_err *dfg_merge_integers(const struct dfg_tensor *value, uint32_t shards, struct dfg_tensor *out_tensor)
{
	const struct dfg_tensor *first = first_of(value, shards);
	int64_t count = dfg_shape_count(&first->shape);
	if (!dfg_dtype_is(first->dtype, "int"))
		return DFG_ERR(DFG_DATA, "%s values cannot be summed over shards", dfg_dtype_name(first->dtype));
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
