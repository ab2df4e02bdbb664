/* Objects to which handles refer, and the tensors that they contain. */
#include "kernels/resource.h"

#include "kernels/strided_copy.h"
#include "kernels/variable.h"
#include "lib/exec/state/buffer_pool.h"

#include <inttypes.h>
#include <string.h>

const char dfg_array_kind[] = "tensor array", dfg_stack_kind[] = "stack", dfg_tensor_list_kind[] = "list",
		   dfg_optional_kind[] = "optional";

extern const struct dfg_op dfg_op_Add;

enum { DEPTH_MOST = 1000, LEVEL_MOST = 32, LEVEL_FINAL = 1 << 16 };

/* The name follows the object in one allocation. */
struct dfg_err *dfg_object_new(size_t bytes, const char *kind, const char *name, void *out_object)
{
	size_t length = strlen(name);
	struct dfg_object *object = dfg_zeros(1, bytes + length + 1);
	if (!object)
		return DFG_ERR(DFG_MEMORY, "no memory for a %s", kind);
	object->resource.kind = kind;
	object->resource.name = memcpy((char *)object + bytes, name, length + 1);
	atomic_init(&object->resource.refs, 1);
	*(void **)out_object = object;
	return NULL;
}

static bool is_object(const struct dfg_resource *resource)
{
	const char *kind = resource ? resource->kind : NULL;
	return kind && (kind == dfg_array_kind || kind == dfg_stack_kind || kind == dfg_tensor_list_kind ||
					   kind == dfg_optional_kind);
}

struct dfg_err *dfg_object_in(struct dfg_kernel *ctx, int i, const char *kind, void *out_object)
{
	const struct dfg_tensor *handle = dfg_kernel_input(ctx, i);
	if (!dfg_dtype_is_handle(handle->dtype) || handle->shape.rank)
		return DFG_ERR(
			DFG_DATA, "input %d is %s, expected one %s", i, dfg_type_words(handle->dtype, &handle->shape).s, kind);
	struct dfg_resource *resource = *(struct dfg_resource **)handle->data;
	if (!resource)
		return DFG_ERR(DFG_DATA, "input %d refers to no object, expected a %s", i, kind);
	if (resource->kind != kind)
		return DFG_ERR(DFG_DATA, "input %d is a %s, expected a %s", i, resource->kind, kind);
	*(void **)out_object = resource;
	return NULL;
}

struct dfg_err *dfg_object_out(struct dfg_kernel *ctx, int i, struct dfg_resource *object)
{
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_kernel_output(ctx, i, &DFG_SHAPE_SCALAR, &out);
	if (err) {
		dfg_resource_unref(object);
		return err;
	}
	struct dfg_resource **slot = out->data, *old = *slot;
	*slot = object;
	dfg_resource_unref(old);
	return NULL;
}

static bool changes(const struct dfg_object *object)
{
	return object->resource.kind == dfg_array_kind || object->resource.kind == dfg_stack_kind;
}

int dfg_object_settle(struct dfg_object *object)
{
	return changes(object) ? atomic_fetch_or(&object->level, LEVEL_FINAL) & ~LEVEL_FINAL : atomic_load(&object->level);
}

/* Raises the level to at least this; false if it is lower and settled. */
static bool rise(struct dfg_object *object, int level)
{
	int now = atomic_load(&object->level);
	while ((now & ~LEVEL_FINAL) < level) {
		if (now & LEVEL_FINAL || level > LEVEL_MOST)
			return false;
		if (atomic_compare_exchange_weak(&object->level, &now, level))
			return true;
	}
	return true;
}

struct dfg_err *dfg_object_hold(struct dfg_object *object, const struct dfg_tensor *element)
{
	if (!dfg_dtype_is_handle(element->dtype))
		return NULL;
	for (int64_t e = 0; e < dfg_shape_count(&element->shape); e++) {
		struct dfg_resource *resource = ((struct dfg_resource **)element->data)[e];
		struct dfg_object *inner = is_object(resource) ? (struct dfg_object *)resource : NULL;
		if (!inner)
			continue;
		if (!rise(object, dfg_object_settle(inner) + changes(object)))
			return DFG_ERR(DFG_DATA, "a %s cannot contain a %s", object->resource.kind, inner->resource.kind);
		if (inner->depth >= object->depth)
			object->depth = inner->depth + 1;
	}
	if (object->depth > DEPTH_MOST)
		return DFG_ERR(DFG_DATA, "lists are nested more than %d deep", DEPTH_MOST);
	return NULL;
}

struct dfg_err *dfg_element_index(struct dfg_kernel *ctx, int i, int64_t *out_index)
{
	const struct dfg_tensor *index = dfg_kernel_input(ctx, i);
	if (index->shape.rank)
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected a scalar", i, dfg_shape_words(&index->shape).s);
	*out_index = dfg_tensor_int(index, 0);
	return NULL;
}

struct dfg_err *dfg_element_indices(struct dfg_kernel *ctx, int i, int64_t *out_count)
{
	const struct dfg_tensor *indices = dfg_kernel_input(ctx, i);
	if (indices->shape.rank != 1)
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected a vector", i, dfg_shape_words(&indices->shape).s);
	*out_count = indices->shape.dim[0];
	return NULL;
}

struct dfg_err *dfg_element_zeros(enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_tensor_new(dtype, shape, out_tensor));
	memset(out_tensor->data, 0, dfg_tensor_bytes(out_tensor));
	return NULL;
}

struct dfg_tensor dfg_element_part(const struct dfg_tensor *whole, int64_t first_element, const struct dfg_shape *shape)
{
	struct dfg_tensor part = *whole;
	part.shape = *shape;
	part.data = dfg_tensor_at(whole, first_element);
	part.capacity = dfg_tensor_bytes(&part);
	dfg_buffer_ref(part.buffer);
	return part;
}

struct dfg_err *dfg_element_join(
	struct dfg_kernel *ctx, int i, const struct dfg_tensor *const *part, int64_t n, const struct dfg_shape *shape)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, i, shape, &out));
	size_t each = n ? dfg_tensor_bytes(out) / (size_t)n : 0;
	char *to = out->data;
	for (int64_t k = 0; k < n; k++) {
		size_t bytes = part[k]->dtype ? dfg_tensor_bytes(part[k]) : each;
		if (part[k]->dtype && bytes)
			memcpy(to, part[k]->data, bytes);
		else if (bytes)
			memset(to, 0, bytes);
		to += bytes;
	}
	return dfg_moved(ctx, i);
}

/* Whether the tensor is the only holder of its elements and they are not in a mapped file. */
static bool is_own(const struct dfg_tensor *tensor)
{
	const struct dfg_buffer *buffer = tensor->buffer;
	return buffer && (!buffer->release || dfg_buffer_pool_own(buffer)) &&
		   atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

struct dfg_err *dfg_element_add_variants(struct dfg_tensor *sum, const struct dfg_tensor *term)
{
	struct dfg_resource **to = sum->data, **from = term->data;
	for (int64_t e = 0; e < dfg_shape_count(&sum->shape); e++)
		DFG_TRY(dfg_variant_add(&to[e], from[e]));
	return NULL;
}

struct dfg_err *dfg_element_add(struct dfg_tensor *sum, const struct dfg_tensor *term)
{
	dfg_row_fn *row = NULL;
	if (sum->dtype != DFG_VARIANT)
		DFG_TRY(dfg_row_of(&dfg_op_Add, sum->dtype, &row));
	if (!is_own(sum)) {
		struct dfg_tensor copy;
		DFG_TRY(dfg_tensor_copy(sum, &copy));
		dfg_tensor_release(sum);
		*sum = copy;
	}
	if (!row)
		return dfg_element_add_variants(sum, term);
	dfg_combine(row, sum->dtype, dfg_shape_count(&sum->shape), sum->data, term->data);
	return NULL;
}

struct dfg_err *dfg_element_rows(int64_t n, const struct dfg_shape *element, struct dfg_shape *out_shape)
{
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (element->rank < 0)
		return NULL;
	if (element->rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions", dfg_shape_words(element).s,
			DFG_RANK_MAX);
	*out_shape = (struct dfg_shape){.rank = element->rank + 1, .dim = {n}};
	for (int d = 0; d < element->rank; d++)
		out_shape->dim[d + 1] = element->dim[d];
	return NULL;
}

struct dfg_shape dfg_element_of_rows(const struct dfg_shape *rows)
{
	struct dfg_shape element = {.rank = rows->rank > 0 ? rows->rank - 1 : DFG_UNKNOWN};
	for (int d = 0; d < element.rank; d++)
		element.dim[d] = rows->dim[d + 1];
	return element;
}

struct dfg_err *dfg_element_merge(const struct dfg_shape *a, const struct dfg_shape *b, struct dfg_shape *out_shape)
{
	if (!dfg_shape_fits(a, b))
		return DFG_ERR(DFG_DATA, "elements have shape %s, expected %s", dfg_shape_words(a).s, dfg_shape_words(b).s);
	*out_shape = dfg_shape_merge(a, b);
	return NULL;
}

struct dfg_err *dfg_element_shape(const struct dfg_tensor *value, struct dfg_shape *out_shape)
{
	int64_t rank = dfg_shape_count(&value->shape);
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (!value->shape.rank && dfg_tensor_int(value, 0) == -1)
		return NULL;
	if (value->shape.rank != 1)
		return DFG_ERR(DFG_DATA, "the input that gives the shape has shape %s, expected a vector, or -1 as a scalar",
			dfg_shape_words(&value->shape).s);
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the shape has %" PRId64 " dimensions: the limit is %d", rank, DFG_RANK_MAX);
	*out_shape = (struct dfg_shape){.rank = (int)rank};
	for (int d = 0; d < rank; d++) {
		out_shape->dim[d] = dfg_tensor_int(value, d);
		if (out_shape->dim[d] < -1)
			return DFG_ERR(
				DFG_DATA, "dimension %d of the shape is %" PRId64 ", expected at least -1", d, out_shape->dim[d]);
	}
	return NULL;
}
