/* Many elements of a tensor array at once: as rows of one tensor, or as parts of it. */
#include "kernels/tensor_array.h"

#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/tensor_array_gradient.h"

#include <inttypes.h>
#include <string.h>

enum { HANDLE, INDICES, VALUE };

/* Elements that were read, until they have been copied. */
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

/* One more. Under the lock. */
static struct dfg_err *read_one(
	struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like, struct read *read)
{
	DFG_TRY(dfg_array_read(array, index, like, &read->value[read->count]));
	read->at[read->count] = &read->value[read->count];
	read->count++;
	return NULL;
}

static struct dfg_err *read_room(struct dfg_kernel *ctx, int64_t n, struct read *read)
{
	void *room;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&DFG_SHAPE_VECTOR(n), DFG_C128, &bytes)); /* does not overflow, ... */
	bytes = (size_t)n * (sizeof *read->value + sizeof *read->at);
	DFG_TRY(dfg_kernel_scratch(ctx, bytes, &room));
	*read = (struct read){.value = room, .at = (void *)((struct dfg_tensor *)room + n)};
	return NULL;
}

/*
 * How many are read before they are copied: few, so that n small ones need no room beside the result; all, where a copy
 * of bytes is not yet an element.
 */
static int64_t block_of(const struct dfg_kernel *ctx, int64_t n)
{
	enum { FEW = 256 };
	return n < FEW || dfg_dtype_is_object((enum dfg_dtype)ctx->call->out_dtype[0]) ? n : FEW;
}

/* The elements of indices [first, first + count), all of one shape. */
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
			return DFG_ERR(DFG_DATA, "tensor array '%s': elements %s and %s cannot be rows of one tensor",
				array->object.resource.name, dfg_shape_words(element).s, dfg_shape_words(shape).s);
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
	DFG_TRY(dfg_held_rows(n, &element, &shape));
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
	DFG_TRY(dfg_held_indices(ctx, INDICES, &n));
	DFG_TRY(read_room(ctx, block_of(ctx, n), &read));
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
	DFG_TRY(dfg_held_merge(&element, node->call->attr[0].shape, &element));
	return dfg_held_rows(node->in[INDICES]->rank == 1 ? node->in[INDICES]->dim[0] : DFG_UNKNOWN, &element, node->out);
}

const struct dfg_op dfg_op_TensorArrayGatherV3 = {
	.name = "TensorArrayGatherV3",
	.doc = "the elements of those indices as rows of one tensor",
	.sig = "<dtype: type>(handle: resource, indices: i32, flow_in: f32) -> (value: dtype)",
	.attr = {"element_shape: shape = ?"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.shape = gather_shape,
	.gradient_fn = dfg_array_gather_gradient,
	.run = gather_run,
};

/* The value with a buffer of its own, that parts of it can share. */
static struct dfg_err *keep_rows(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_value)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, i);
	if (value->shape.rank < 1)
		return DFG_ERR(DFG_DATA, "input %d must have rows, and is a scalar", i);
	return ctx->host->keep(ctx, i, out_value);
}

static struct dfg_err *scatter(
	struct dfg_tensor_array *array, const struct dfg_tensor *indices, const struct dfg_tensor *value)
{
	struct dfg_shape element = dfg_held_element(&value->shape);
	int64_t n = dfg_shape_count(&indices->shape), each = dfg_shape_count(&element);
	if (value->shape.dim[0] != n)
		return DFG_ERR(DFG_DATA, "%" PRId64 " indices cannot take the rows of %s", n, dfg_shape_words(&value->shape).s);
	if (!dfg_shape_fits(&array->element, &element))
		return DFG_ERR(DFG_DATA, "tensor array '%s': elements must be %s, not %s", array->object.resource.name,
			dfg_shape_words(&array->element).s, dfg_shape_words(&element).s);
	array->row = element;
	for (int64_t i = 0; i < n; i++) {
		struct dfg_tensor row = dfg_held_part(value, i * each, &element);
		DFG_TRY(dfg_array_write(array, dfg_tensor_int(indices, i), &row));
	}
	return NULL;
}

static struct dfg_err *scatter_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor value;
	int64_t n;
	DFG_TRY(dfg_held_indices(ctx, INDICES, &n));
	DFG_TRY(keep_rows(ctx, VALUE, &value));
	struct dfg_err *err = dfg_array_lock(ctx, value.dtype, &array);
	if (!err) {
		err = scatter(array, dfg_kernel_input(ctx, INDICES), &value);
		dfg_array_unlock(array);
	}
	dfg_tensor_release(&value);
	return err ? err : dfg_array_flow(ctx, 0, 3);
}

/* Of what writes rows: they must be able to be elements. */
static struct dfg_err *check_rows(const struct dfg_infer *node, int value, int first)
{
	struct dfg_shape element, rows = dfg_held_element(node->in[value]);
	if (!node->in[value]->rank)
		return DFG_ERR(DFG_DATA, "input %d must have rows, and is a scalar", value);
	DFG_TRY(dfg_array_holds(node, node->call->param[0].dtype, &element));
	if (first)
		element = dfg_held_element(&element);
	return dfg_held_merge(&element, &rows, &rows);
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
	.doc = "makes the rows of value the elements of those indices; flow_out comes after it",
	.sig = "<T: type>(handle: resource, indices: i32, value: T, flow_in: f32) -> (flow_out: f32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK,
	.shape = scatter_shape,
	.gradient_fn = dfg_array_scatter_gradient,
	.run = scatter_run,
};

/* All but the first dim must agree: of the parts so far, and of one more. */
static struct dfg_err *add_part(struct dfg_shape *whole, const struct dfg_shape *part, int64_t index)
{
	if (!part->rank)
		return DFG_ERR(DFG_DATA, "element %" PRId64 " is a scalar: it has no rows to join", index);
	struct dfg_shape one = *part;
	int64_t rows = whole->rank < 0 ? 0 : whole->dim[0];
	one.dim[0] = rows;
	if (whole->rank >= 0 && !dfg_shape_equal(whole, &one))
		return DFG_ERR(DFG_DATA, "element %" PRId64 " is %s and cannot be joined to %s", index, dfg_shape_words(part).s,
			dfg_shape_words(whole).s);
	*whole = one;
	if (__builtin_add_overflow(rows, part->dim[0], &whole->dim[0]))
		return DFG_ERR(DFG_DATA, "so many rows are larger than any memory");
	return NULL;
}

static struct dfg_err *concat_empty(
	const struct dfg_tensor_array *array, const struct dfg_shape *rest, struct dfg_shape *out_whole)
{
	struct dfg_shape own = dfg_held_element(&array->element), element;
	DFG_TRY(dfg_held_merge(&own, rest, &element));
	own = dfg_held_element(&array->row);
	if (dfg_shape_fits(&element, &own))
		element = dfg_shape_merge(&element, &own);
	if (!dfg_shape_known(&element))
		return DFG_ERR(DFG_DATA, "tensor array '%s' is empty, and its rows' shape %s is not known",
			array->object.resource.name, dfg_shape_words(&element).s);
	return dfg_held_rows(0, &element, out_whole);
}

static struct dfg_err *concat(struct dfg_kernel *ctx, int64_t n, struct dfg_tensor_array *array, struct read *read)
{
	const struct dfg_shape *rest = dfg_kernel_attr(ctx)[0].shape;
	struct dfg_shape whole = DFG_SHAPE_UNKNOWN, like;
	struct dfg_tensor *lengths;
	DFG_TRY(dfg_held_rows(DFG_UNKNOWN, rest, &like));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(n), &lengths));
	for (int64_t i = 0; i < n; i++) {
		DFG_TRY(read_one(array, i, &like, read));
		DFG_TRY(add_part(&whole, &read->value[i].shape, i));
		((int64_t *)lengths->data)[i] = read->value[i].shape.dim[0];
	}
	if (!n)
		DFG_TRY(concat_empty(array, rest, &whole));
	return dfg_held_join(ctx, 0, read->at, n, &whole);
}

static struct dfg_err *concat_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct read read = {0};
	DFG_TRY(dfg_array_lock(ctx, (enum dfg_dtype)ctx->call->out_dtype[0], &array));
	int64_t n = array->count;
	struct dfg_err *err = read_room(ctx, n, &read);
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
	element = dfg_held_element(&element);
	DFG_TRY(dfg_held_merge(&element, node->call->attr[0].shape, &element));
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return dfg_held_rows(DFG_UNKNOWN, &element, node->out);
}

const struct dfg_op dfg_op_TensorArrayConcatV3 = {
	.name = "TensorArrayConcatV3",
	.doc = "all elements joined along their first dimension, and how many rows each has",
	.sig = "<dtype: type>(handle: resource, flow_in: f32) -> (value: dtype, lengths: i64)",
	.attr = {"element_shape_except0: shape = ?"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.shape = concat_shape,
	.gradient_fn = dfg_array_concat_gradient,
	.run = concat_run,
};

enum { WHOLE = 1, LENGTHS };

/* The lengths are as many as elements, none is negative, and they add up to the rows. */
static struct dfg_err *check_lengths(
	struct dfg_tensor_array *array, const struct dfg_tensor *lengths, const struct dfg_tensor *value)
{
	int64_t n = dfg_shape_count(&lengths->shape), rows = 0;
	bool fits = true;
	for (int64_t i = 0; i < n && fits; i++)
		fits = dfg_tensor_int(lengths, i) >= 0 && !__builtin_add_overflow(rows, dfg_tensor_int(lengths, i), &rows);
	if (!fits || rows != value->shape.dim[0])
		return DFG_ERR(DFG_DATA, "the lengths of %" PRId64 " parts do not add up to the rows of %s", n,
			dfg_shape_words(&value->shape).s);
	if (n < array->count || (n > array->count && !array->grows))
		return DFG_ERR(DFG_DATA, "tensor array '%s': has %" PRId64 " elements and cannot take %" PRId64,
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
		struct dfg_tensor part = dfg_held_part(value, at * each, &shape);
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
	DFG_TRY(dfg_held_indices(ctx, LENGTHS, &n));
	DFG_TRY(keep_rows(ctx, WHOLE, &value));
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
	.doc = "makes parts of value, of those lengths along its first dimension, the elements; flow_out comes after it",
	.sig = "<T: type>(handle: resource, value: T, lengths: i64, flow_in: f32) -> (flow_out: f32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK,
	.shape = split_shape,
	.gradient_fn = dfg_array_split_gradient,
	.run = split_run,
};
