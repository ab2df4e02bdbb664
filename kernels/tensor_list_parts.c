/* Lists joined to one tensor along the first dimension, or split from it; and ops on several lists. */
#include "kernels/tensor_list.h"

#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/tensor_list_gradient.h"

#include <inttypes.h>
#include <string.h>

enum { LIST };

#define MAKES "<element_dtype: type, shape_type: index>"
#define OF "<element_dtype: type>"

static struct dfg_err *give_or_drop(struct dfg_kernel *ctx, struct dfg_err *err, struct dfg_tensor_list *list)
{
	if (!err)
		return dfg_tensor_list_out(ctx, 0, list);
	dfg_tensor_list_drop(list);
	return err;
}

/* Adds an element to the joined shape: dimensions after the first must be equal, the first are summed. */
static struct dfg_err *add_part(struct dfg_shape *whole, const struct dfg_shape *part, int64_t index)
{
	struct dfg_shape joined = *part;
	if (!part->rank)
		return DFG_ERR(DFG_DATA, "element %" PRId64 " is a scalar, and cannot be joined", index);
	joined.dim[0] = whole->dim[0];
	if (!dfg_shape_fits(whole, &joined))
		return DFG_ERR(DFG_DATA, "element %" PRId64 " has shape %s and cannot be joined to %s", index,
			dfg_shape_words(part).s, dfg_shape_words(whole).s);
	*whole = joined;
	if (__builtin_add_overflow(whole->dim[0], part->dim[0], &whole->dim[0]))
		return DFG_ERR(DFG_DATA, "the joined rows are larger than any memory");
	return NULL;
}

/* The shape of element i; if it is not set, the known shape, with leading[i] rows if leading is given. */
static struct dfg_err *shape_of(const struct dfg_tensor_list *list, int64_t i, const struct dfg_shape *like,
	const struct dfg_tensor *leading, struct dfg_shape *out_shape)
{
	const struct dfg_tensor *element = dfg_tensor_list_at(list, i);
	*out_shape = element->dtype ? element->shape : *like;
	if (element->dtype)
		return NULL;
	if (like->rank > 0 && leading && i < dfg_shape_count(&leading->shape))
		out_shape->dim[0] = dfg_tensor_int(leading, i);
	if (out_shape->rank > 0 && out_shape->dim[0] < -1)
		return DFG_ERR(DFG_DATA, "leading_dims is %" PRId64 " for element %" PRId64 ", expected at least -1",
			out_shape->dim[0], i);
	return dfg_shape_known(out_shape) ? NULL : dfg_tensor_list_unset(list, like, out_shape);
}

/* The shape of all elements joined, and their lengths. */
static struct dfg_err *measure(struct dfg_kernel *ctx, const struct dfg_tensor_list *list, const struct dfg_shape *like,
	const struct dfg_tensor *leading, struct dfg_shape *out_whole)
{
	struct dfg_shape part;
	struct dfg_tensor *lengths;
	*out_whole = *like;
	if (like->rank > 0)
		out_whole->dim[0] = 0;
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(list->count), &lengths));
	for (int64_t i = 0; i < list->count; i++) {
		DFG_TRY(shape_of(list, i, like, leading, &part));
		if (out_whole->rank < 0) {
			*out_whole = part;
			out_whole->dim[0] = 0;
		}
		DFG_TRY(add_part(out_whole, &part, i));
		((int64_t *)lengths->data)[i] = part.dim[0];
	}
	if (dfg_shape_known(out_whole) && out_whole->rank)
		return NULL;
	return DFG_ERR(DFG_DATA, "the list is empty, and its elements' shape %s is unknown", dfg_shape_words(like).s);
}

/* An element that is not set is a part of zeros. */
static struct dfg_err *concat(struct dfg_kernel *ctx, const struct dfg_tensor_list *list, const struct dfg_shape *like,
	const struct dfg_tensor *leading)
{
	struct dfg_shape element, whole;
	struct dfg_tensor *out;
	DFG_TRY(dfg_element_merge(&list->element, like, &element));
	DFG_TRY(measure(ctx, list, &element, leading, &whole));
	DFG_TRY(dfg_kernel_output(ctx, 0, &whole, &out));
	size_t row = dfg_dtype_size(out->dtype) * (size_t)dfg_count_between(&whole, 1, whole.rank);
	char *to = out->data;
	for (int64_t i = 0; i < list->count; i++) {
		size_t bytes = row * (size_t)((int64_t *)ctx->out[1]->data)[i];
		const struct dfg_tensor *part = dfg_tensor_list_at(list, i);
		if (bytes && part->dtype)
			memcpy(to, part->data, bytes);
		else if (bytes)
			memset(to, 0, bytes);
		to += bytes;
	}
	return dfg_moved(ctx, 0);
}

static struct dfg_err *concat_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, ctx->call->param[0].dtype, &list));
	return concat(ctx, list, dfg_kernel_attr(ctx)[0].shape, NULL);
}

/* The facts of an unknown number of rows of elements like this. */
static struct dfg_err *joined_shape(struct dfg_infer *node, const struct dfg_shape *like)
{
	struct dfg_shape holds;
	DFG_TRY(dfg_tensor_list_holds(node, LIST, node->call->param[0].dtype, &holds));
	DFG_TRY(dfg_element_merge(&holds, like, &node->out[0]));
	if (node->out[0].rank > 0)
		node->out[0].dim[0] = DFG_UNKNOWN;
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

static struct dfg_err *concat_shape(struct dfg_infer *node)
{
	return joined_shape(node, node->call->attr[0].shape);
}

const struct dfg_op dfg_op_TensorListConcat = {
	.name = "TensorListConcat",
	.doc = "all elements joined along their first dimension, and the number of rows of each",
	.sig = OF "(input_handle: variant) -> (tensor: element_dtype, lengths: i64)",
	.attr = {"element_shape: shape = ?"},
	.flags = DFG_ANY_RANK,
	.shape = concat_shape,
	.gradient_fn = dfg_tensor_list_concat_gradient,
	.run = concat_run,
};

static struct dfg_err *concat_v2_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	struct dfg_shape like;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, 2, &n));
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, 1), &like));
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, ctx->call->param[0].dtype, &list));
	return concat(ctx, list, &like, dfg_kernel_input(ctx, 2));
}

static struct dfg_err *concat_v2_shape(struct dfg_infer *node)
{
	struct dfg_shape like;
	DFG_TRY(dfg_tensor_list_shape_input(node, 1, &like));
	return joined_shape(node, &like);
}

const struct dfg_op dfg_op_TensorListConcatV2 = {
	.name = "TensorListConcatV2",
	.doc = "like TensorListConcat, but an element that is not set counts as leading_dims rows of zeros",
	.sig = MAKES
	"(input_handle: variant, element_shape: shape_type, leading_dims: i64)"
	" -> (tensor: element_dtype, lengths: i64)",
	.flags = DFG_ANY_RANK,
	.shape = concat_v2_shape,
	.gradient_fn = dfg_tensor_list_concat_gradient,
	.run = concat_v2_run,
};

static struct dfg_err *split(
	struct dfg_tensor_list *list, const struct dfg_tensor *value, const struct dfg_tensor *lengths)
{
	int64_t at = 0, each = dfg_count_between(&value->shape, 1, value->shape.rank);
	for (int64_t i = 0; i < dfg_shape_count(&lengths->shape); i++) {
		struct dfg_shape shape = value->shape;
		shape.dim[0] = dfg_tensor_int(lengths, i);
		if (shape.dim[0] < 0 || shape.dim[0] > value->shape.dim[0] - at)
			return DFG_ERR(DFG_DATA,
				"lengths[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64 ", the rows that are left", i,
				shape.dim[0], value->shape.dim[0] - at);
		struct dfg_tensor part = dfg_element_part(value, at * each, &shape);
		at += shape.dim[0];
		DFG_TRY(dfg_tensor_list_push(list, &part));
	}
	if (at != value->shape.dim[0])
		return DFG_ERR(
			DFG_DATA, "lengths add up to %" PRId64 ", expected the rows of %s", at, dfg_shape_words(&value->shape).s);
	return NULL;
}

static struct dfg_err *split_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor value;
	struct dfg_shape element;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, 2, &n));
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, 1), &element));
	if (!dfg_kernel_input(ctx, 0)->shape.rank)
		return DFG_ERR(DFG_DATA, "input 0 is a scalar, expected rows to split");
	DFG_TRY(ctx->host->keep(ctx, 0, &value));
	struct dfg_err *err = dfg_tensor_list_new(value.dtype, &element, &list);
	if (!err)
		err = give_or_drop(ctx, split(list, &value, dfg_kernel_input(ctx, 2)), list);
	dfg_tensor_release(&value);
	return err;
}

static struct dfg_err *split_shape(struct dfg_infer *node)
{
	struct dfg_shape element, part = *node->in[0];
	if (!part.rank)
		return DFG_ERR(DFG_DATA, "input 0 is a scalar, expected rows to split");
	DFG_TRY(dfg_need_rank(node, 2, 1));
	DFG_TRY(dfg_tensor_list_shape_input(node, 1, &element));
	if (part.rank > 0)
		part.dim[0] = DFG_UNKNOWN;
	DFG_TRY(dfg_element_merge(&element, &part, &part));
	return dfg_tensor_list_infer(node, 0, node->call->param[0].dtype, &element);
}

const struct dfg_op dfg_op_TensorListSplit = {
	.name = "TensorListSplit",
	.doc = "parts of tensor, of these lengths along its first dimension, as a list",
	.sig = MAKES "(tensor: element_dtype, element_shape: shape_type, lengths: i64) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = split_shape,
	.gradient_fn = dfg_tensor_list_split_gradient,
	.run = split_run,
};

static struct dfg_err *push_all(struct dfg_tensor_list *list, const struct dfg_tensor_list *from)
{
	for (int64_t i = 0; i < from->count; i++) {
		struct dfg_tensor element = *dfg_tensor_list_at(from, i);
		dfg_buffer_ref(element.buffer);
		DFG_TRY(dfg_tensor_list_push(list, &element));
	}
	return NULL;
}

static struct dfg_err *concat_lists_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *a, *b;
	struct dfg_tensor_list *list;
	struct dfg_shape element;
	DFG_TRY(dfg_tensor_list_in(ctx, 0, ctx->call->param[0].dtype, &a));
	DFG_TRY(dfg_tensor_list_in(ctx, 1, a->dtype, &b));
	DFG_TRY(dfg_element_merge(&a->element, &b->element, &element));
	DFG_TRY(dfg_tensor_list_new(a->dtype, &element, &list));
	struct dfg_err *err = push_all(list, a);
	if (!err)
		err = push_all(list, b);
	return give_or_drop(ctx, err, list);
}

static struct dfg_err *concat_lists_shape(struct dfg_infer *node)
{
	enum dfg_dtype dtype = node->call->param[0].dtype;
	struct dfg_shape a, b;
	DFG_TRY(dfg_tensor_list_holds(node, 0, dtype, &a));
	DFG_TRY(dfg_tensor_list_holds(node, 1, dtype, &b));
	DFG_TRY(dfg_element_merge(&a, &b, &a));
	return dfg_tensor_list_infer(node, 0, dtype, &a);
}

const struct dfg_op dfg_op_TensorListConcatLists = {
	.name = "TensorListConcatLists",
	.doc = "the elements of input_a, then those of input_b",
	.sig = OF "(input_a: variant, input_b: variant) -> (output: variant)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = concat_lists_shape,
	.run = concat_lists_run,
};

/* List i with row i pushed. */
static struct dfg_err *push_batch(
	struct dfg_kernel *ctx, int64_t i, const struct dfg_tensor *rows, struct dfg_resource **out_list)
{
	const struct dfg_resource *old = ((struct dfg_resource **)dfg_kernel_input(ctx, 0)->data)[i];
	const struct dfg_tensor_list *from = (const struct dfg_tensor_list *)old;
	struct dfg_shape element = dfg_element_of_rows(&rows->shape);
	struct dfg_tensor_list *list;
	if (!old || old->kind != dfg_tensor_list_kind)
		return DFG_ERR(DFG_DATA, "element %" PRId64 " of input 0 is not a list", i);
	struct dfg_tensor row = dfg_element_part(rows, i * dfg_shape_count(&element), &element);
	struct dfg_err *err = dfg_tensor_list_new(from->dtype, &from->element, &list);
	if (err) {
		dfg_tensor_release(&row);
		return err;
	}
	err = push_all(list, from);
	if (err)
		dfg_tensor_release(&row);
	else
		err = dfg_tensor_list_push(list, &row);
	list->most = from->most;
	*out_list = &list->object.resource;
	return err;
}

static struct dfg_err *batch_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *lists = dfg_kernel_input(ctx, 0), *value = dfg_kernel_input(ctx, 1);
	struct dfg_tensor *out, rows;
	if (lists->shape.rank != 1 || !value->shape.rank || value->shape.dim[0] != lists->shape.dim[0])
		return DFG_ERR(DFG_DATA, "lists have shape %s, expected one for each row of %s",
			dfg_shape_words(&lists->shape).s, dfg_shape_words(&value->shape).s);
	DFG_TRY(dfg_kernel_output(ctx, 0, &lists->shape, &out));
	DFG_TRY(ctx->host->keep(ctx, 1, &rows));
	struct dfg_err *err = NULL;
	for (int64_t i = 0; i < lists->shape.dim[0] && !err; i++)
		err = push_batch(ctx, i, &rows, (struct dfg_resource **)out->data + i);
	dfg_tensor_release(&rows);
	return err;
}

static struct dfg_err *batch_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	node->out_holds[0] = node->in_holds[0];
	return dfg_need_rank(node, 0, 1);
}

const struct dfg_op dfg_op_TensorListPushBackBatch = {
	.name = "TensorListPushBackBatch",
	.doc = "each list with a row of tensor after its elements",
	.sig = OF "(input_handles: variant, tensor: element_dtype) -> (output_handles: variant)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = batch_shape,
	.run = batch_run,
};
