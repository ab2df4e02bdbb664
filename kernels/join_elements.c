/*
 * The elements of a tensor array after a parallel loop over workers, each of which has written those of its own iterations. A
 * message says which: their number, then of each the index, the rank, the extents, and the elements in whole words of 8 bytes.
 */
#include "kernels/loop_schedule.h"
#include "kernels/tensor_array.h"

#include <inttypes.h>
#include <string.h>

enum { JOINED_ELEMENTS = -2 }; /* tag of the messages */

static const struct dfg_shape *shape_of(const struct dfg_tensor_array *array, const struct dfg_array_element *item)
{
	return item->is_written && !item->is_cleared && item->shape ? &array->shape[item->shape - 1] : NULL;
}

static size_t data_bytes(const struct dfg_tensor_array *array, const struct dfg_shape *shape)
{
	return (size_t)dfg_shape_count(shape) * dfg_dtype_size(array->dtype);
}

static size_t data_words(size_t bytes)
{
	return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t);
}

static size_t count_words(const struct dfg_tensor_array *array)
{
	size_t words = 1;
	for (size_t i = 0; i < array->allocated; i++) {
		const struct dfg_shape *shape = shape_of(array, &array->item[i]);
		if (shape)
			words += 2 + (size_t)shape->rank + data_words(data_bytes(array, shape));
	}
	return words;
}

/* Writes the elements that this worker has; the array is locked. */
static struct dfg_err *pack_elements(const struct dfg_tensor_array *array, struct dfg_tensor *out)
{
	size_t words = count_words(array);
	DFG_TRY(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)(words * sizeof(int64_t))), out));
	int64_t *at = memset(out->data, 0, words * sizeof *at), *count = at++;
	for (size_t i = 0; i < array->allocated; i++) {
		const struct dfg_shape *shape = shape_of(array, &array->item[i]);
		if (!shape)
			continue;
		++*count;
		*at++ = (int64_t)i;
		*at++ = shape->rank;
		for (int d = 0; d < shape->rank; d++)
			*at++ = shape->dim[d];
		size_t bytes = data_bytes(array, shape);
		if (bytes)
			memcpy(at, array->item[i].data, bytes);
		at += data_words(bytes);
	}
	return NULL;
}

static struct dfg_err *malformed(uint32_t from)
{
	return DFG_ERR(DFG_PROTOCOL, "worker w%u sent elements of an array in a message that is malformed", from);
}

/* Reads one element; moves *at past it. */
static struct dfg_err *take_element(
	struct dfg_tensor_array *array, uint32_t from, const int64_t **at, const int64_t *end)
{
	struct dfg_tensor value;
	size_t bytes;
	if (end - *at < 2 || (*at)[0] < 0 || (*at)[1] < 0 || (*at)[1] > DFG_RANK_MAX || (*at)[1] > end - *at - 2)
		return malformed(from);
	int64_t index = *(*at)++;
	struct dfg_shape shape = {.rank = (int)*(*at)++};
	for (int d = 0; d < shape.rank; d++)
		if ((shape.dim[d] = *(*at)++) < 0)
			return malformed(from);
	DFG_TRY(dfg_shape_bytes(&shape, array->dtype, &bytes));
	const int64_t *data = *at;
	if (data_words(bytes) > (size_t)(end - data))
		return malformed(from);
	*at += data_words(bytes);
	if ((size_t)index < array->allocated && array->item[index].is_written)
		return NULL; /* it was there before the loop, on all workers */
	DFG_TRY(dfg_tensor_new(array->dtype, &shape, &value));
	if (bytes)
		memcpy(value.data, data, bytes);
	return dfg_array_write(array, index, &value);
}

static struct dfg_err *take_elements(struct dfg_tensor_array *array, uint32_t from, const struct dfg_tensor *bytes)
{
	size_t words = dfg_tensor_bytes(bytes) / sizeof(int64_t);
	const int64_t *at = bytes->data, *end = at + words;
	int64_t count = words ? *at++ : -1;
	if (count < 0)
		return malformed(from);
	for (int64_t i = 0; i < count; i++)
		DFG_TRY(take_element(array, from, &at, end));
	return NULL;
}

/* With the array locked; other workers are not waited for meanwhile. */
static struct dfg_err *pack_locked(struct dfg_kernel *ctx, struct dfg_tensor *out)
{
	struct dfg_tensor_array *array;
	DFG_TRY(dfg_array_lock(ctx, DFG_NO_DTYPE, &array));
	struct dfg_err *err =
		dfg_dtype_is_object(array->dtype)
			? DFG_ERR(DFG_DATA, "a tensor array of %s cannot be joined over workers: its elements cannot be sent",
				  dfg_dtype_name(array->dtype))
			: pack_elements(array, out);
	dfg_array_unlock(array);
	return err;
}

static struct dfg_err *take_locked(struct dfg_kernel *ctx, uint32_t from, const struct dfg_tensor *bytes)
{
	struct dfg_tensor_array *array;
	DFG_TRY(dfg_array_lock(ctx, DFG_NO_DTYPE, &array));
	struct dfg_err *err = take_elements(array, from, bytes);
	dfg_array_unlock(array);
	return err;
}

static struct dfg_err *exchange_elements(
	struct dfg_kernel *ctx, struct dfg_row_exchange *exchange, const struct dfg_tensor *own)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_rows_key key = {(uint32_t)attr[0].i, (uint32_t)attr[1].i, JOINED_ELEMENTS};
	uint32_t workers = dfg_row_exchange_workers(exchange), self = dfg_row_exchange_self(exchange);
	for (uint32_t w = 0; w < workers; w++)
		if (w != self)
			DFG_TRY(dfg_row_exchange_send(exchange, w, &key, own));
	for (uint32_t w = 0; w < workers; w++) {
		struct dfg_tensor bytes;
		if (w == self)
			continue;
		struct dfg_err *err = dfg_row_exchange_take(exchange, w, &key, &bytes);
		if (err)
			return dfg_err_that_waited(dfg_err_note(err, "an array waited for the elements of worker w%u", w));
		err = take_locked(ctx, w, &bytes);
		dfg_tensor_release(&bytes);
		DFG_TRY(err);
	}
	return NULL;
}

static struct dfg_err *elements_run(struct dfg_kernel *ctx)
{
	struct dfg_row_exchange *exchange;
	struct dfg_tensor own;
	DFG_TRY(dfg_schedule_exchange(ctx, &exchange));
	if (dfg_row_exchange_workers(exchange) == 1)
		return NULL;
	DFG_TRY(pack_locked(ctx, &own));
	struct dfg_err *err = exchange_elements(ctx, exchange, &own);
	dfg_tensor_release(&own);
	return err;
}

static struct dfg_err *elements_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

const struct dfg_op dfg_op_Dfg_JoinElements = {
	.name = "Dfg>JoinElements",
	.doc = "after a parallel loop over workers, gives each the elements of a tensor array that others have written",
	.sig = "(handle: resource) -> ()",
	.attr = {"channel: int >= 0", "array: int >= 0"},
	.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_NO_GRADIENT,
	.shape = elements_shape,
	.run = elements_run,
};
