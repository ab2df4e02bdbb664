#include "lib/graph/op.h"

#include <string.h>

/* The elements that are given, then the last of them again; zeros where none is. */
static void spread(const struct dfg_literal *literal, void *to, int64_t count)
{
	size_t size = dfg_dtype_size(literal->dtype);
	int64_t given = literal->given < count ? literal->given : count;
	char *at = to;
	if (given)
		memcpy(at, literal->data, (size_t)given * size);
	for (int64_t i = given; i < count; i++)
		if (given)
			memcpy(at + (size_t)i * size, (const char *)literal->data + (size_t)(given - 1) * size, size);
		else
			memset(at + (size_t)i * size, 0, size);
}

size_t dfg_literal_bytes(const struct dfg_literal *literal)
{
	return (size_t)literal->given * (dfg_dtype_is_handle(literal->dtype) ? 1 : dfg_dtype_size(literal->dtype));
}

struct dfg_err *dfg_literal_tensor(const struct dfg_literal *literal, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	if (dfg_dtype_is_handle(literal->dtype))
		return DFG_ERR(
			DFG_DATA, "a constant of %s is kept in files, not computed with", dfg_dtype_name(literal->dtype));
	DFG_TRY(dfg_shape_bytes(&literal->shape, literal->dtype, &bytes));
	int64_t count = bytes ? dfg_shape_count(&literal->shape) : 0;
	bool aligned = (uintptr_t)literal->data % dfg_dtype_size(literal->dtype) == 0 || literal->dtype == DFG_STRING;
	if (literal->given == count && aligned && literal->data) {
		*out_tensor = (struct dfg_tensor){
			.dtype = literal->dtype, .shape = literal->shape, .data = (void *)literal->data, .room = bytes};
		return NULL;
	}
	DFG_TRY(dfg_tensor_new(literal->dtype, &literal->shape, out_tensor));
	spread(literal, out_tensor->data, count);
	return NULL;
}
