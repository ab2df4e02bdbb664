/* The object to which the handle of a tensor array refers. */
#include "kernels/tensor_array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY "tensor array '%s': "

static void drop_element(struct dfg_array_element *item)
{
	dfg_buffer_unref(item->buffer);
	for (size_t i = 0; item->terms && i < item->terms->count; i++)
		dfg_tensor_release(&item->terms->at[i]);
	if (item->terms)
		dfg_free(item->terms->at);
	dfg_free(item->terms);
	item->terms = NULL;
}

void dfg_array_close(struct dfg_tensor_array *array)
{
	for (size_t i = 0; i < array->allocated; i++)
		drop_element(&array->item[i]);
	dfg_free(array->item);
	dfg_free(array->shape);
	dfg_buffer_unref(array->chunk);
	array->item = NULL;
	array->shape = NULL;
	array->chunk = NULL;
	array->allocated = array->n_shapes = array->shapes_allocated = 0;
	array->closed = true;
}

static void free_array(struct dfg_resource *resource)
{
	struct dfg_tensor_array *array = (struct dfg_tensor_array *)resource;
	dfg_array_close(array);
	for (size_t i = 0; i < array->n_gradient; i++) {
		dfg_resource_unref(&array->gradient[i].array->object.resource);
		dfg_free(array->gradient[i].source);
	}
	dfg_free(array->gradient);
	pthread_mutex_destroy(&array->lock);
	dfg_free(array);
}

struct dfg_err *dfg_array_new(const char *name, const struct dfg_array_kind *kind, struct dfg_tensor_array **out_array)
{
	struct dfg_tensor_array *array;
	if (kind->count < 0)
		return DFG_ERR(DFG_DATA, ARRAY "size is %" PRId64 ", expected at least 0", name, kind->count);
	DFG_TRY(dfg_object_new(sizeof *array, dfg_array_kind, name, &array));
	if (pthread_mutex_init(&array->lock, NULL)) {
		dfg_free(array);
		return dfg_no_memory("a tensor array");
	}
	array->object.resource.free = free_array;
	array->object.level = 1;
	array->dtype = kind->dtype;
	array->element = kind->element;
	array->row = DFG_SHAPE_UNKNOWN;
	array->count = kind->count;
	array->grows = kind->grows;
	array->clears = kind->clears;
	array->same = kind->same;
	array->sums = kind->sums;
	*out_array = array;
	return NULL;
}

struct dfg_err *dfg_array_lock(struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_array **out_array)
{
	struct dfg_tensor_array *array;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_array_kind, &array));
	if (dtype && dtype != array->dtype)
		return DFG_ERR(DFG_DATA, ARRAY "contains %s, expected %s", array->object.resource.name,
			dfg_dtype_name(array->dtype), dfg_dtype_name(dtype));
	pthread_mutex_lock(&array->lock);
	if (array->closed) {
		pthread_mutex_unlock(&array->lock);
		return DFG_ERR(DFG_DATA, ARRAY "is closed", array->object.resource.name);
	}
	*out_array = array;
	return NULL;
}

struct dfg_err *dfg_array_reach(struct dfg_tensor_array *array, int64_t count)
{
	if (count <= array->count)
		return NULL;
	if (!array->grows)
		return DFG_ERR(DFG_DATA, ARRAY "has no element %" PRId64 ": it has %" PRId64 " and does not grow",
			array->object.resource.name, count - 1, array->count);
	array->count = count;
	return NULL;
}

/* The item of an element; items are allocated when they are first used. */
static struct dfg_err *find_item(struct dfg_tensor_array *array, int64_t index, struct dfg_array_element **out_item)
{
	enum { FEW = 1 << 16 };
	size_t wanted = (size_t)index + 1;
	if (array->count <= FEW && (size_t)array->count > wanted)
		wanted = (size_t)array->count;
	if ((size_t)index >= array->allocated && !dfg_reserve(&array->item, &array->allocated, wanted, sizeof *array->item))
		return DFG_ERR(DFG_MEMORY, ARRAY "no memory for element %" PRId64, array->object.resource.name, index);
	*out_item = &array->item[index];
	return NULL;
}

/* The shape that the element must have, as far as known. */
static const struct dfg_shape *shape_of(const struct dfg_tensor_array *array, const struct dfg_array_element *item)
{
	return item->shape ? &array->shape[item->shape - 1] : &array->element;
}

static struct dfg_err *set_shape(
	struct dfg_tensor_array *array, struct dfg_array_element *item, const struct dfg_shape *shape)
{
	size_t n = array->n_shapes;
	if (!n || !dfg_shape_equal(&array->shape[n - 1], shape)) {
		if (n == UINT32_MAX || !dfg_reserve(&array->shape, &array->shapes_allocated, n + 1, sizeof *array->shape))
			return DFG_ERR(DFG_MEMORY, ARRAY "no memory for a shape", array->object.resource.name);
		array->shape[array->n_shapes++] = *shape;
	}
	item->shape = (uint32_t)array->n_shapes;
	return NULL;
}

/* The element as a tensor, borrowed; and an element by a tensor. */
static struct dfg_tensor value_of(const struct dfg_tensor_array *array, const struct dfg_array_element *item)
{
	struct dfg_tensor value = {
		.dtype = array->dtype, .shape = *shape_of(array, item), .data = item->data, .buffer = item->buffer};
	value.capacity = dfg_tensor_bytes(&value);
	return value;
}

static void set_value(struct dfg_array_element *item, const struct dfg_tensor *value)
{
	item->data = value->data;
	item->buffer = value->buffer;
}

/* Small elements share a chunk: a buffer for each would be many times as large. */
static struct dfg_err *pack(struct dfg_tensor_array *array, struct dfg_tensor *value)
{
	enum { SMALL = 64, FIRST = 256, MOST = 4096 };
	size_t bytes = dfg_tensor_bytes(value), size = array->chunk ? 2 * array->chunk->capacity : FIRST;
	if (!bytes || bytes > SMALL || dfg_dtype_is_object(value->dtype))
		return NULL;
	if (!array->chunk || array->used + bytes > array->chunk->capacity) {
		struct dfg_buffer *chunk;
		DFG_TRY(dfg_buffer_new(value->dtype, size < MOST ? size : MOST, &chunk));
		dfg_buffer_unref(array->chunk);
		array->chunk = chunk;
		array->used = 0;
	}
	void *to = (char *)array->chunk->data + array->used;
	memcpy(to, value->data, bytes);
	dfg_buffer_unref(value->buffer);
	value->buffer = dfg_buffer_ref(array->chunk);
	value->data = to;
	array->used += bytes;
	return NULL;
}

/* Checks that the element may be written, and that the value fits. */
static struct dfg_err *check_write(const struct dfg_tensor_array *array, int64_t index,
	const struct dfg_array_element *item, const struct dfg_tensor *value)
{
	const char *name = array->object.resource.name;
	const struct dfg_shape *shape = shape_of(array, item);
	if (item->is_read)
		return DFG_ERR(DFG_DATA, ARRAY "cannot write element %" PRId64 ", which has been read", name, index);
	if (item->is_written && !array->sums)
		return DFG_ERR(DFG_DATA, ARRAY "cannot write element %" PRId64 " twice", name, index);
	if (!dfg_shape_fits(shape, &value->shape))
		return DFG_ERR(DFG_DATA, ARRAY "element %" PRId64 " is %s, expected %s", name, index,
			dfg_shape_words(&value->shape).s, dfg_shape_words(shape).s);
	return NULL;
}

static struct dfg_err *keep_term(struct dfg_array_element *item, const struct dfg_tensor *value)
{
	if (!item->terms)
		item->terms = dfg_zeros(1, sizeof *item->terms);
	struct dfg_array_terms *terms = item->terms;
	if (!terms || !dfg_reserve(&terms->at, &terms->allocated, terms->count + 1, sizeof *terms->at))
		return dfg_no_memory("the terms of a sum");
	terms->at[terms->count++] = *value;
	return NULL;
}

/*
 * Adds a term. Integers and lists are summed at once; terms of types that round are stored until the element is read.
 */
static struct dfg_err *add_term(
	const struct dfg_tensor_array *array, struct dfg_array_element *item, struct dfg_tensor *value)
{
	struct dfg_tensor sum = value_of(array, item);
	if (value->dtype != DFG_VARIANT && !dfg_dtype_is(value->dtype, "int"))
		return keep_term(item, value);
	struct dfg_err *err = dfg_element_add(&sum, value);
	set_value(item, &sum);
	if (!err)
		dfg_tensor_release(value);
	return err;
}

/* Takes the tensor if there is no error. */
static struct dfg_err *write_element(struct dfg_tensor_array *array, int64_t index, struct dfg_tensor *value)
{
	struct dfg_array_element *item;
	if (index < 0)
		return DFG_ERR(DFG_DATA, ARRAY "has no element %" PRId64, array->object.resource.name, index);
	DFG_TRY(dfg_array_reach(array, index + 1));
	DFG_TRY(find_item(array, index, &item));
	DFG_TRY(check_write(array, index, item, value));
	DFG_TRY(dfg_object_hold(&array->object, value));
	if (item->is_written)
		return add_term(array, item, value);
	DFG_TRY(set_shape(array, item, &value->shape));
	DFG_TRY(pack(array, value));
	set_value(item, value);
	item->is_written = true;
	if (array->same && !dfg_shape_known(&array->element))
		array->element = value->shape;
	return NULL;
}

struct dfg_err *dfg_array_write(struct dfg_tensor_array *array, int64_t index, struct dfg_tensor *value)
{
	struct dfg_err *err = write_element(array, index, value);
	if (err)
		dfg_tensor_release(value);
	*value = (struct dfg_tensor){0};
	return err;
}

static int by_bits(const void *a, const void *b)
{
	const struct dfg_tensor *x = a, *y = b;
	size_t bytes = dfg_tensor_bytes(x);
	return bytes ? memcmp(x->data, y->data, bytes) : 0;
}

/* Sums the terms in an order that does not depend on that of their arrival. */
static struct dfg_err *add_up(const struct dfg_tensor_array *array, struct dfg_array_element *item)
{
	struct dfg_array_terms *terms = item->terms;
	struct dfg_tensor sum = value_of(array, item);
	struct dfg_err *err = NULL;
	if (!terms)
		return NULL;
	if (terms->count > 1) {
		DFG_TRY(keep_term(item, &sum));
		qsort(terms->at, terms->count, sizeof *terms->at, by_bits);
		sum = terms->at[--terms->count];
	}
	for (; terms->count && !err; terms->count--) {
		err = dfg_element_add(&sum, &terms->at[terms->count - 1]);
		dfg_tensor_release(&terms->at[terms->count - 1]);
	}
	set_value(item, &sum);
	return err;
}

static struct dfg_err *unwritten(struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like,
	const struct dfg_array_element *item, struct dfg_tensor *out_value)
{
	struct dfg_shape shape = dfg_shape_merge(shape_of(array, item), like);
	if (dfg_shape_known(&shape))
		return dfg_element_zeros(array->dtype, &shape, out_value);
	return DFG_ERR(DFG_DATA, ARRAY "element %" PRId64 " was never written, and its shape %s is unknown",
		array->object.resource.name, index, dfg_shape_words(&shape).s);
}

struct dfg_err *dfg_array_read(
	struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like, struct dfg_tensor *out_value)
{
	const char *name = array->object.resource.name;
	struct dfg_array_element *item;
	if (index < 0 || index >= array->count)
		return DFG_ERR(DFG_DATA, ARRAY "has no element %" PRId64 ": it has %" PRId64, name, index, array->count);
	DFG_TRY(find_item(array, index, &item));
	if (item->is_cleared)
		return DFG_ERR(DFG_DATA,
			ARRAY "element %" PRId64 " was read already, which cleared it (set clear_after_read = false)", name, index);
	if (!item->is_written)
		DFG_TRY(unwritten(array, index, like, item, out_value));
	else if (!dfg_shape_fits(shape_of(array, item), like))
		return DFG_ERR(DFG_DATA, ARRAY "element %" PRId64 " is %s, expected %s", name, index,
			dfg_shape_words(shape_of(array, item)).s, dfg_shape_words(like).s);
	else
		DFG_TRY(add_up(array, item));
	item->is_read = true;
	item->is_cleared = array->clears;
	if (!item->is_written)
		return NULL;
	*out_value = value_of(array, item);
	if (array->clears)
		set_value(item, &(struct dfg_tensor){0});
	else
		dfg_buffer_ref(item->buffer);
	return NULL;
}

struct dfg_err *dfg_array_row(
	const struct dfg_tensor_array *array, const struct dfg_shape *like, struct dfg_shape *out_shape)
{
	DFG_TRY(dfg_element_merge(&array->element, like, out_shape));
	if (dfg_shape_fits(out_shape, &array->row))
		*out_shape = dfg_shape_merge(out_shape, &array->row);
	if (dfg_shape_known(out_shape))
		return NULL;
	return DFG_ERR(DFG_DATA, ARRAY "is empty, and its elements' shape %s is unknown", array->object.resource.name,
		dfg_shape_words(out_shape).s);
}

/* before + shape. */
static struct dfg_err *prepend(
	const struct dfg_shape *before, const struct dfg_shape *shape, struct dfg_shape *out_shape)
{
	*out_shape = *shape;
	if (!before->rank || shape->rank < 0)
		return NULL;
	if (before->rank + shape->rank > DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "the elements have %d dimensions: the limit is %d", before->rank + shape->rank, DFG_RANK_MAX);
	*out_shape = *before;
	out_shape->rank += shape->rank;
	for (int d = 0; d < shape->rank; d++)
		out_shape->dim[before->rank + d] = shape->dim[d];
	return NULL;
}

/* The gradients have the shapes of the array's elements, also of those that were read and cleared. */
static struct dfg_err *copy_shapes(
	const struct dfg_tensor_array *from, const struct dfg_shape *before, struct dfg_tensor_array *to)
{
	struct dfg_array_element *item;
	struct dfg_shape shape;
	DFG_TRY(prepend(before, &from->row, &to->row));
	for (size_t i = 0; i < from->allocated; i++) {
		if (!from->item[i].shape)
			continue;
		DFG_TRY(find_item(to, (int64_t)i, &item));
		DFG_TRY(prepend(before, shape_of(from, &from->item[i]), &shape));
		DFG_TRY(set_shape(to, item, &shape));
	}
	return NULL;
}

/*
 * Sums are read once for each term, so only a gradient array of an array that is not one itself is cleared by reading.
 */
static struct dfg_err *new_gradient(struct dfg_tensor_array *array, const char *source, const struct dfg_shape *before,
	struct dfg_tensor_array **out_gradient)
{
	struct dfg_array_kind kind = {
		.dtype = array->dtype, .count = array->count, .same = array->same, .clears = !array->sums, .sums = true};
	DFG_TRY(prepend(before, &array->element, &kind.element));
	DFG_TRY(dfg_array_new(source, &kind, out_gradient));
	dfg_object_settle(&(*out_gradient)->object);
	struct dfg_err *err = copy_shapes(array, before, *out_gradient);
	if (err)
		dfg_resource_unref(&(*out_gradient)->object.resource);
	return err;
}

/* "array@source" */
static char *name_gradient(const struct dfg_tensor_array *array, struct dfg_string source)
{
	size_t length = strlen(array->object.resource.name);
	char *name = dfg_zeros(1, length + source.length + 2);
	if (!name)
		return NULL;
	memcpy(name, array->object.resource.name, length);
	name[length] = '@';
	if (source.length)
		memcpy(name + length + 1, source.s, source.length);
	return name;
}

struct dfg_err *dfg_array_gradient(struct dfg_tensor_array *array, struct dfg_string source,
	const struct dfg_shape *before, struct dfg_tensor_array **out_gradient)
{
	size_t own = strlen(array->object.resource.name) + 1;
	array->grows = false;
	for (size_t i = 0; i < array->n_gradient; i++) {
		const char *there = array->gradient[i].source + own;
		if (strlen(there) != source.length || memcmp(there, source.s, source.length))
			continue;
		*out_gradient = array->gradient[i].array;
		return NULL;
	}
	if (!dfg_reserve(&array->gradient, &array->gradients_allocated, array->n_gradient + 1, sizeof *array->gradient))
		return dfg_no_memory("a gradient array");
	char *name = name_gradient(array, source);
	if (!name)
		return dfg_no_memory("a gradient array");
	struct dfg_err *err = new_gradient(array, name, before, out_gradient);
	if (err) {
		dfg_free(name);
		return err;
	}
	array->gradient[array->n_gradient++] = (struct dfg_array_gradient){name, *out_gradient};
	return NULL;
}
