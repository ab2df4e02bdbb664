/* Many elements of a tensor array at once: as rows of one tensor, or joined along their first dimension. */
#include "kernels/tensor_array.h"

#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/tensor_array_gradient.h"

#include <inttypes.h>
#include <string.h>

enum { HANDLE, INDICES, VALUE };

/* Elements that were read and are not copied yet. */
struct read {
	struct dfg_tensor *value;
	const struct dfg_tensor **at;
	int64_t count;
};

static void release(struct read *read)
{
	for (int64_t i = 0; i < read->count; i++)
		dfg_tensor_release(&read->value[i]);
	read->count = 0;
}

/* Reads one more element. The caller holds the lock. */
static struct dfg_err *read_one(
	struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like, struct read *read)
{
	DFG_TRY(dfg_array_read(array, index, like, &read->value[read->count]));
	read->at[read->count] = &read->value[read->count];
	read->count++;
	return NULL;
}

static struct dfg_err *reserve_reads(struct dfg_kernel *ctx, int64_t n, struct read *read)
{
	void *memory;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&DFG_SHAPE_VECTOR(n), DFG_C128, &bytes)); /* does not overflow, ... */
	bytes = (size_t)n * (sizeof *read->value + sizeof *read->at);
	DFG_TRY(dfg_kernel_scratch(ctx, bytes, &memory));
	*read = (struct read){.value = memory, .at = (void *)((struct dfg_tensor *)memory + n)};
	return NULL;
}

/*
 * The number of elements that are read before they are copied: few, so that little memory is needed besides the result;
 * all for strings and objects, which are not valid until all bytes are copied.
 */
static int64_t block_of(const struct dfg_kernel *ctx, int64_t n)
{
	enum { FEW = 256 };
	return n < FEW || dfg_dtype_is_object((enum dfg_dtype)ctx->call->out_dtype[0]) ? n : FEW;
}

/* Reads the elements at indices [first, first + count), which must have equal shapes. */
static struct dfg_err *read_block(struct dfg_kernel *ctx, int64_t first, int64_t count, struct dfg_tensor_array *array,
	struct dfg_shape *element, struct read *read)
{
	release(read);
	for (int64_t i = 0; i < count; i++) {
		int64_t index = dfg_tensor_int(ctx->in[INDICES], first + i);
		DFG_TRY(read_one(array, index, dfg_kernel_attr(ctx)[0].shape, read));
		const struct dfg_shape *shape = &read->value[i].shape;
		if (!first && !i)
			*element = *shape;
		if (!dfg_shape_equal(shape, element))
			return DFG_ERR(DFG_DATA, "tensor array '%s': cannot stack elements %s and %s", array->object.resource.name,
				dfg_shape_words(element).s, dfg_shape_words(shape).s);
	}
	return NULL;
}

static struct dfg_err *gather(struct dfg_kernel *ctx, int64_t n, struct dfg_tensor_array *array, struct read *read)
{
	struct dfg_shape element, shape;
	struct dfg_tensor *out;
	int64_t block = block_of(ctx, n);
	if (n)
		DFG_TRY(read_block(ctx, 0, block, array, &element, read));
	else
		DFG_TRY(dfg_array_row(array, dfg_kernel_attr(ctx)[0].shape, &element));
	DFG_TRY(dfg_element_rows(n, &element, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	int64_t each = dfg_shape_count(&element);
	for (int64_t first = 0; first < n; first += block) {
		if (first)
			DFG_TRY(read_block(ctx, first, first + block < n ? block : n - first, array, &element, read));
		for (int64_t i = 0; i < read->count && each; i++)
			memcpy(dfg_tensor_at(out, (first + i) * each), read->value[i].data, dfg_tensor_bytes(&read->value[i]));
	}
	return dfg_moved(ctx, 0);
}

static struct dfg_err *gather_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct read read;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, INDICES, &n));
	DFG_TRY(reserve_reads(ctx, block_of(ctx, n), &read));
	DFG_TRY(dfg_array_lock(ctx, (enum dfg_dtype)ctx->call->out_dtype[0], &array));
	struct dfg_err *err = gather(ctx, n, array, &read);
	dfg_array_unlock(array);
	release(&read);
	return err;
}

static struct dfg_err *gather_shape(struct dfg_infer *node)
{
	struct dfg_shape element;
	DFG_TRY(dfg_need_rank(node, INDICES, 1));
	DFG_TRY(dfg_array_holds(node, node->call->param[0].dtype, &element));
	DFG_TRY(dfg_element_merge(&element, node->call->attr[0].shape, &element));
	return dfg_element_rows(
		node->in[INDICES]->rank == 1 ? node->in[INDICES]->dim[0] : DFG_UNKNOWN, &element, node->out);
}

const struct dfg_op dfg_op_TensorArrayGatherV3 = {
	.name = "TensorArrayGatherV3",
	.doc = "the elements at indices as rows of one tensor",
	.sig = "<dtype: type>(handle: resource, indices: i32, flow_in: f32) -> (value: dtype)",
	.attr = {"element_shape: shape = ?"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.shape = gather_shape,
	.gradient_fn = dfg_array_gather_gradient,
	.run = gather_run,
};

/* Input i as a tensor with a buffer, which its rows can share. */
static struct dfg_err *retain_rows(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_value)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, i);
	if (value->shape.rank < 1)
		return DFG_ERR(DFG_DATA, "input %d is a scalar, expected rows", i);
	return ctx->host->keep(ctx, i, out_value);
}

static struct dfg_err *scatter(
	struct dfg_tensor_array *array, const struct dfg_tensor *indices, const struct dfg_tensor *value)
{
	struct dfg_shape element = dfg_element_of_rows(&value->shape);
	int64_t n = dfg_shape_count(&indices->shape), each = dfg_shape_count(&element);
	if (value->shape.dim[0] != n)
		return DFG_ERR(
			DFG_DATA, "%" PRId64 " indices, expected one for each row of %s", n, dfg_shape_words(&value->shape).s);
	if (!dfg_shape_fits(&array->element, &element))
		return DFG_ERR(DFG_DATA, "tensor array '%s': elements have shape %s, expected %s", array->object.resource.name,
			dfg_shape_words(&element).s, dfg_shape_words(&array->element).s);
	array->row = element;
	for (int64_t i = 0; i < n; i++) {
		struct dfg_tensor row = dfg_element_part(value, i * each, &element);
		DFG_TRY(dfg_array_write(array, dfg_tensor_int(indices, i), &row));
	}
	return NULL;
}

static struct dfg_err *scatter_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor value;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, INDICES, &n));
	DFG_TRY(retain_rows(ctx, VALUE, &value));
	struct dfg_err *err = dfg_array_lock(ctx, value.dtype, &array);
	if (!err) {
		err = scatter(array, dfg_kernel_input(ctx, INDICES), &value);
		dfg_array_unlock(array);
	}
	dfg_tensor_release(&value);
	return err ? err : dfg_array_flow(ctx, 0, 3);
}

/* For ops that write rows: they must fit the shape of the array's elements. */
static struct dfg_err *check_rows(const struct dfg_infer *node, int value, int first)
{
	struct dfg_shape element, rows = dfg_element_of_rows(node->in[value]);
	if (!node->in[value]->rank)
		return DFG_ERR(DFG_DATA, "input %d is a scalar, expected rows", value);
	DFG_TRY(dfg_array_holds(node, node->call->param[0].dtype, &element));
	if (first)
		element = dfg_element_of_rows(&element);
	return dfg_element_merge(&element, &rows, &rows);
}

static struct dfg_err *scatter_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, INDICES, 1));
	DFG_TRY(check_rows(node, VALUE, 0));
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

const struct dfg_op dfg_op_TensorArrayScatterV3 = {
	.name = "TensorArrayScatterV3",
	.doc = "stores the rows of value as the elements at indices; flow_out orders later ops after it",
	.sig = "<T: type>(handle: resource, indices: i32, value: T, flow_in: f32) -> (flow_out: f32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK,
	.shape = scatter_shape,
	.gradient_fn = dfg_array_scatter_gradient,
	.run = scatter_run,
};

/* Adds a part to the joined shape: all dimensions but the first must be equal. */
static struct dfg_err *add_part(struct dfg_shape *whole, const struct dfg_shape *part, int64_t index)
{
	if (!part->rank)
		return DFG_ERR(DFG_DATA, "element %" PRId64 " is a scalar, and cannot be joined", index);
	struct dfg_shape one = *part;
	int64_t rows = whole->rank < 0 ? 0 : whole->dim[0];
	one.dim[0] = rows;
	if (whole->rank >= 0 && !dfg_shape_equal(whole, &one))
		return DFG_ERR(DFG_DATA, "element %" PRId64 " has shape %s and cannot be joined to %s", index,
			dfg_shape_words(part).s, dfg_shape_words(whole).s);
	*whole = one;
	if (__builtin_add_overflow(rows, part->dim[0], &whole->dim[0]))
		return DFG_ERR(DFG_DATA, "the joined rows are larger than any memory");
	return NULL;
}

static struct dfg_err *concat_empty(
	const struct dfg_tensor_array *array, const struct dfg_shape *except_first, struct dfg_shape *out_whole)
{
	struct dfg_shape own = dfg_element_of_rows(&array->element), element;
	DFG_TRY(dfg_element_merge(&own, except_first, &element));
	own = dfg_element_of_rows(&array->row);
	if (dfg_shape_fits(&element, &own))
		element = dfg_shape_merge(&element, &own);
	if (!dfg_shape_known(&element))
		return DFG_ERR(DFG_DATA, "tensor array '%s' is empty, and its elements' shape %s is unknown",
			array->object.resource.name, dfg_shape_words(&element).s);
	return dfg_element_rows(0, &element, out_whole);
}

static struct dfg_err *concat(struct dfg_kernel *ctx, int64_t n, struct dfg_tensor_array *array, struct read *read)
{
	const struct dfg_shape *except_first = dfg_kernel_attr(ctx)[0].shape;
	struct dfg_shape whole = DFG_SHAPE_UNKNOWN, like;
	struct dfg_tensor *lengths;
	DFG_TRY(dfg_element_rows(DFG_UNKNOWN, except_first, &like));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(n), &lengths));
	for (int64_t i = 0; i < n; i++) {
		DFG_TRY(read_one(array, i, &like, read));
		DFG_TRY(add_part(&whole, &read->value[i].shape, i));
		((int64_t *)lengths->data)[i] = read->value[i].shape.dim[0];
	}
	if (!n)
		DFG_TRY(concat_empty(array, except_first, &whole));
	return dfg_element_join(ctx, 0, read->at, n, &whole);
}

static struct dfg_err *concat_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct read read = {0};
	DFG_TRY(dfg_array_lock(ctx, (enum dfg_dtype)ctx->call->out_dtype[0], &array));
	int64_t n = array->count;
	struct dfg_err *err = reserve_reads(ctx, n, &read);
	if (!err)
		err = concat(ctx, n, array, &read);
	dfg_array_unlock(array);
	release(&read);
	return err;
}

static struct dfg_err *concat_shape(struct dfg_infer *node)
{
	struct dfg_shape element;
	DFG_TRY(dfg_array_holds(node, node->call->param[0].dtype, &element));
	element = dfg_element_of_rows(&element);
	DFG_TRY(dfg_element_merge(&element, node->call->attr[0].shape, &element));
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return dfg_element_rows(DFG_UNKNOWN, &element, node->out);
}

const struct dfg_op dfg_op_TensorArrayConcatV3 = {
	.name = "TensorArrayConcatV3",
	.doc = "all elements joined along their first dimension, and the number of rows of each",
	.sig = "<dtype: type>(handle: resource, flow_in: f32) -> (value: dtype, lengths: i64)",
	.attr = {"element_shape_except0: shape = ?"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.shape = concat_shape,
	.gradient_fn = dfg_array_concat_gradient,
	.run = concat_run,
};

enum { WHOLE = 1, LENGTHS };

/* There must be a length for each element; none is negative, and their sum is the number of rows. */
static struct dfg_err *check_lengths(
	struct dfg_tensor_array *array, const struct dfg_tensor *lengths, const struct dfg_tensor *value)
{
	int64_t n = dfg_shape_count(&lengths->shape), rows = 0;
	for (int64_t i = 0; i < n; i++) {
		int64_t length = dfg_tensor_int(lengths, i);
		if (length < 0)
			return DFG_ERR(DFG_DATA, "lengths[%" PRId64 "] is %" PRId64 ", expected at least 0", i, length);
		if (__builtin_add_overflow(rows, length, &rows))
			return DFG_ERR(DFG_DATA, "the lengths add up to more than 2^63 - 1");
	}
	if (rows != value->shape.dim[0])
		return DFG_ERR(DFG_DATA, "the lengths add up to %" PRId64 ", but the value has %" PRId64 " rows", rows,
			value->shape.dim[0]);
	if (n < array->count || (n > array->count && !array->grows))
		return DFG_ERR(DFG_DATA, "tensor array '%s' has %" PRId64 " elements, not %" PRId64,
			array->object.resource.name, array->count, n);
	return dfg_array_reach(array, n);
}

static struct dfg_err *split(
	struct dfg_tensor_array *array, const struct dfg_tensor *lengths, const struct dfg_tensor *value)
{
	int64_t at = 0, each = dfg_count_between(&value->shape, 1, value->shape.rank);
	DFG_TRY(check_lengths(array, lengths, value));
	array->row = value->shape;
	array->row.dim[0] = DFG_UNKNOWN;
	for (int64_t i = 0; i < dfg_shape_count(&lengths->shape); i++) {
		struct dfg_shape shape = value->shape;
		shape.dim[0] = dfg_tensor_int(lengths, i);
		struct dfg_tensor part = dfg_element_part(value, at * each, &shape);
		at += shape.dim[0];
		DFG_TRY(dfg_array_write(array, i, &part));
	}
	return NULL;
}

static struct dfg_err *split_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor value;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, LENGTHS, &n));
	DFG_TRY(retain_rows(ctx, WHOLE, &value));
	struct dfg_err *err = dfg_array_lock(ctx, value.dtype, &array);
	if (!err) {
		err = split(array, dfg_kernel_input(ctx, LENGTHS), &value);
		dfg_array_unlock(array);
	}
	dfg_tensor_release(&value);
	return err ? err : dfg_array_flow(ctx, 0, 3);
}

static struct dfg_err *split_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, LENGTHS, 1));
	DFG_TRY(check_rows(node, WHOLE, 1));
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

const struct dfg_op dfg_op_TensorArraySplitV3 = {
	.name = "TensorArraySplitV3",
	.doc =
		"stores parts of value, of these lengths along its first dimension, as the elements; flow_out orders later ops",
	.sig = "<T: type>(handle: resource, value: T, lengths: i64, flow_in: f32) -> (flow_out: f32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK,
	.shape = split_shape,
	.gradient_fn = dfg_array_split_gradient,
	.run = split_run,
};
