#include "lib/graph/op.h"

#include <string.h>

/* Writes the given elements, then the last of them repeatedly, or zeros if none is given. */
static void fill(const struct dfg_literal *literal, void *to, int64_t count)
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

/* A tensor of this shape with the first elements of the literal, which has at least as many. */
static struct dfg_err *tensor_of(
	const struct dfg_literal *literal, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	int64_t count = dfg_shape_count(shape);
	bool aligned = (uintptr_t)literal->data % dfg_dtype_size(literal->dtype) == 0 || literal->dtype == DFG_STRING;
	if (literal->given >= count && aligned && literal->data) {
		size_t bytes = (size_t)count * dfg_dtype_size(literal->dtype);
		*out_tensor = (struct dfg_tensor){
			.dtype = literal->dtype, .shape = *shape, .data = (void *)literal->data, .capacity = bytes};
		return NULL;
	}
	DFG_TRY(dfg_tensor_new(literal->dtype, shape, out_tensor));
	fill(literal, out_tensor->data, count);
	return NULL;
}

/* The bytes of all elements. DFG_DATA: the dtype has no elements in memory. */
static struct dfg_err *measure(const struct dfg_literal *literal, size_t *out_bytes)
{
	if (dfg_dtype_is_handle(literal->dtype))
		return DFG_ERR(DFG_DATA, "a constant of %s can be kept in a file, but not used in a computation",
			dfg_dtype_name(literal->dtype));
	return dfg_shape_bytes(&literal->shape, literal->dtype, out_bytes);
}

struct dfg_err *dfg_literal_tensor(const struct dfg_literal *literal, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	DFG_TRY(measure(literal, &bytes));
	return tensor_of(literal, &literal->shape, out_tensor);
}

struct dfg_err *dfg_literal_first(const struct dfg_literal *literal, int64_t most, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	DFG_TRY(measure(literal, &bytes));
	int64_t count = dfg_shape_count(&literal->shape);
	return tensor_of(literal, &DFG_SHAPE_VECTOR(count < most ? count : most), out_tensor);
}
