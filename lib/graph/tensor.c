#include "lib/graph/tensor.h"

#include <string.h>

struct dfg_err *dfg_buffer_new(enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer)
{
	struct dfg_buffer *buffer = dfg_zeros(1, sizeof *buffer);
	void *data = buffer ? dfg_mem->take(dfg_mem, bytes, DFG_ALIGN) : NULL;
	if (!data) {
		dfg_free(buffer);
		return DFG_ERR(DFG_MEMORY, "no memory for a tensor of %zu bytes", bytes);
	}
	if (dfg_dtype_is_object(dtype))
		memset(data, 0, bytes);
	atomic_init(&buffer->refs, 1);
	buffer->holds = dtype;
	buffer->capacity = bytes;
	buffer->data = data;
	*out_buffer = buffer;
	return NULL;
}

static void drop_elements(struct dfg_buffer *buffer)
{
	if (!dfg_dtype_is_handle(buffer->holds))
		return;
	struct dfg_resource **element = buffer->data;
	for (size_t i = 0; i < buffer->capacity / sizeof *element; i++)
		dfg_resource_unref(element[i]);
}

void dfg_buffer_unref(struct dfg_buffer *buffer)
{
	if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
		return;
	drop_elements(buffer);
	dfg_arena_release(&buffer->strings);
	if (buffer->release) {
		buffer->release(buffer);
		return;
	}
	dfg_free(buffer->data);
	dfg_free(buffer);
}

struct dfg_err *dfg_buffer_string(
	struct dfg_buffer *buffer, const void *bytes, size_t length, struct dfg_string *out_element)
{
	const char *copy = dfg_arena_copy(&buffer->strings, bytes, length);
	if (!copy)
		return DFG_ERR(DFG_MEMORY, "no memory for a string of %zu bytes", length);
	*out_element = (struct dfg_string){copy, length};
	return NULL;
}

struct dfg_err *dfg_tensor_new(enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	struct dfg_buffer *buffer;
	*out_tensor = (struct dfg_tensor){0};
	DFG_TRY(dfg_shape_bytes(shape, dtype, &bytes));
	DFG_TRY(dfg_buffer_new(dtype, bytes, &buffer));
	*out_tensor =
		(struct dfg_tensor){.dtype = dtype, .shape = *shape, .data = buffer->data, .capacity = bytes, .buffer = buffer};
	return NULL;
}

struct dfg_err *dfg_tensor_share(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor)
{
	if (!tensor->buffer)
		return dfg_tensor_copy(tensor, out_tensor);
	*out_tensor = *tensor;
	dfg_buffer_ref(tensor->buffer);
	return NULL;
}

static struct dfg_err *copy_strings(const struct dfg_tensor *from, struct dfg_tensor *to)
{
	const struct dfg_string *element = from->data;
	int64_t count = dfg_shape_count(&from->shape);
	for (int64_t i = 0; i < count; i++)
		DFG_TRY(dfg_buffer_string(to->buffer, element[i].s, element[i].length, (struct dfg_string *)to->data + i));
	return NULL;
}

struct dfg_err *dfg_tensor_copy(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_tensor_new(tensor->dtype, &tensor->shape, out_tensor));
	struct dfg_err *err = NULL;
	if (tensor->dtype == DFG_STRING)
		err = copy_strings(tensor, out_tensor);
	else if (dfg_tensor_bytes(tensor))
		memcpy(out_tensor->data, tensor->data, dfg_tensor_bytes(tensor));
	if (dfg_dtype_is_handle(tensor->dtype))
		for (int64_t i = 0; i < dfg_shape_count(&tensor->shape); i++)
			dfg_resource_ref(((struct dfg_resource **)out_tensor->data)[i]);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

void dfg_tensor_release(struct dfg_tensor *tensor)
{
	dfg_buffer_unref(tensor->buffer);
	*tensor = (struct dfg_tensor){0};
}

int64_t dfg_tensor_int(const struct dfg_tensor *tensor, int64_t i)
{
	switch (tensor->dtype) {
#define ELEMENT(NAME, name, type, ...) \
	case DFG_##NAME:                   \
		return (int64_t)((const type *)tensor->data)[i];
		DFG_EACH_int(ELEMENT)
		DFG_EACH_bool(ELEMENT)
#undef ELEMENT
	default:
		return 0;
	}
}

double dfg_tensor_float(const struct dfg_tensor *tensor, int64_t i)
{
	switch (tensor->dtype) {
#define ELEMENT(NAME, name, type, ...) \
	case DFG_##NAME:                   \
		return (double)((const type *)tensor->data)[i];
		DFG_EACH_number(ELEMENT)
		DFG_EACH_bool(ELEMENT)
#undef ELEMENT
	case DFG_F16:
		return dfg_f16_widen(((const uint16_t *)tensor->data)[i]);
	case DFG_BF16:
		return dfg_bf16_widen(((const uint16_t *)tensor->data)[i]);
	default:
		return 0;
	}
}

static struct dfg_err *concatenated_shape(
	const struct dfg_tensor *part, size_t parts, enum dfg_dtype *out_dtype, struct dfg_shape *out_shape)
{
	const struct dfg_tensor *first = part;
	while (first + 1 < part + parts && !first->dtype)
		first++;
	*out_dtype = first->dtype;
	*out_shape = first->shape;
	if (dfg_dtype_is_handle(first->dtype) || !first->shape.rank)
		return DFG_ERR(DFG_DATA, "%s has no rows to concatenate", dfg_type_words(first->dtype, &first->shape).s);
	out_shape->dim[0] = 0;
	for (; first < part + parts; first++) {
		struct dfg_shape other = first->shape;
		if (!first->dtype)
			continue;
		other.dim[0] = out_shape->dim[0];
		if (first->dtype != *out_dtype || !dfg_shape_equal(&other, out_shape))
			return DFG_ERR(DFG_DATA, "cannot concatenate %s and %s", dfg_type_words(*out_dtype, out_shape).s,
				dfg_type_words(first->dtype, &first->shape).s);
		if (__builtin_add_overflow(out_shape->dim[0], first->shape.dim[0], &out_shape->dim[0]))
			return DFG_ERR(DFG_DATA, "the number of rows in all arrays together does not fit in i64");
	}
	return NULL;
}

static struct dfg_err *copy_elements(const struct dfg_tensor *from, struct dfg_tensor *to, int64_t at)
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

struct dfg_err *dfg_tensor_concatenate(const struct dfg_tensor *part, size_t parts, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape;
	enum dfg_dtype dtype;
	DFG_TRY(concatenated_shape(part, parts, &dtype, &shape));
	DFG_TRY(dfg_tensor_new(dtype, &shape, out_tensor));
	struct dfg_err *err = NULL;
	int64_t at = 0;
	for (size_t i = 0; i < parts && !err; i++) {
		if (!part[i].dtype)
			continue;
		err = copy_elements(&part[i], out_tensor, at);
		at += dfg_shape_count(&part[i].shape);
	}
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}
