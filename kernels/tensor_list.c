/* Lists of tensors: creation, single elements, length and element shape. */
#include "kernels/tensor_list.h"

#include "kernels/shape_rules.h"
#include "kernels/tensor_list_gradient.h"

#include <string.h>

enum { LIST, INDEX };

static struct dfg_err *give_or_drop(struct dfg_kernel *ctx, struct dfg_err *err, struct dfg_tensor_list *list)
{
	if (!err)
		return dfg_tensor_list_out(ctx, 0, list);
	dfg_tensor_list_drop(list);
	return err;
}

/* A new list of the op's element type; the value of input i is its elements' shape. */
static struct dfg_err *new_list(struct dfg_kernel *ctx, int i, struct dfg_tensor_list **out_list)
{
	struct dfg_shape element;
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, i), &element));
	return dfg_tensor_list_new(ctx->call->param[0].dtype, &element, out_list);
}

static struct dfg_err *new_shape(struct dfg_infer *node)
{
	struct dfg_shape element;
	DFG_TRY(dfg_need_rank(node, 1, 0));
	DFG_TRY(dfg_tensor_list_shape_input(node, 0, &element));
	return dfg_tensor_list_infer(node, 0, node->call->param[0].dtype, &element);
}

static struct dfg_err *empty_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	int64_t most;
	DFG_TRY(dfg_element_index(ctx, 1, &most));
	DFG_TRY(new_list(ctx, 0, &list));
	list->most = most;
	return dfg_tensor_list_out(ctx, 0, list);
}

#define MAKES "<element_dtype: type, shape_type: index>"
#define OF "<element_dtype: type>"

const struct dfg_op dfg_op_EmptyTensorList = {
	.name = "EmptyTensorList",
	.doc = "an empty list, to which at most max_num_elements can be pushed (-1: unlimited)",
	.sig = MAKES "(element_shape: shape_type, max_num_elements: i32) -> (handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = new_shape,
	.gradient = "",
	.run = empty_run,
};

static struct dfg_err *reserve_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	int64_t count;
	DFG_TRY(dfg_element_index(ctx, 1, &count));
	DFG_TRY(new_list(ctx, 0, &list));
	return give_or_drop(ctx, dfg_tensor_list_resize(list, count), list);
}

const struct dfg_op dfg_op_TensorListReserve = {
	.name = "TensorListReserve",
	.doc = "a list of num_elements elements, none of which is set",
	.sig = MAKES "(element_shape: shape_type, num_elements: i32) -> (handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = new_shape,
	.gradient = "",
	.run = reserve_run,
};

/* The facts of a list to which input `element` is added, or in which it replaces an element. */
static struct dfg_err *changed_shape(struct dfg_infer *node, int element)
{
	enum dfg_dtype dtype = node->call->param[0].dtype;
	struct dfg_shape holds, merged;
	DFG_TRY(dfg_tensor_list_holds(node, LIST, dtype, &holds));
	DFG_TRY(dfg_element_merge(&holds, node->in[element], &merged));
	return dfg_tensor_list_infer(node, 0, dtype, &holds);
}

static struct dfg_err *push_shape(struct dfg_infer *node)
{
	return changed_shape(node, 1);
}

static struct dfg_err *push_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor element;
	DFG_TRY(ctx->host->keep(ctx, 1, &element));
	struct dfg_err *err = dfg_tensor_list_change(ctx, element.dtype, &list);
	if (err) {
		dfg_tensor_release(&element);
		return err;
	}
	return give_or_drop(ctx, dfg_tensor_list_push(list, &element), list);
}

const struct dfg_op dfg_op_TensorListPushBack = {
	.name = "TensorListPushBack",
	.doc = "the list with tensor after its elements",
	.sig = OF "(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK | DFG_IN_PLACE,
	.shape = push_shape,
	.gradient_fn = dfg_tensor_list_push_gradient,
	.run = push_run,
};

/* Sets output i to the element, or to zeros if it is not set. The value of input `shape_input` is its shape. */
static struct dfg_err *give_element(struct dfg_kernel *ctx, int i, const struct dfg_tensor_list *list, int shape_input,
	const struct dfg_tensor *element)
{
	struct dfg_shape like, shape;
	struct dfg_tensor *out, value;
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, shape_input), &like));
	if (!element->dtype) {
		DFG_TRY(dfg_tensor_list_unset(list, &like, &shape));
		DFG_TRY(dfg_kernel_output(ctx, i, &shape, &out));
		if (dfg_tensor_bytes(out))
			memset(out->data, 0, dfg_tensor_bytes(out));
		return NULL;
	}
	if (!dfg_shape_fits(&element->shape, &like))
		return DFG_ERR(DFG_DATA, "the element has shape %s, expected %s", dfg_shape_words(&element->shape).s,
			dfg_shape_words(&like).s);
	DFG_TRY(dfg_tensor_share(element, &value));
	return ctx->host->give(ctx, i, &value);
}

static struct dfg_err *pop_shape(struct dfg_infer *node)
{
	enum dfg_dtype dtype = node->call->param[0].dtype;
	struct dfg_shape holds, shape_input;
	DFG_TRY(dfg_tensor_list_holds(node, LIST, dtype, &holds));
	DFG_TRY(dfg_tensor_list_shape_input(node, 1, &shape_input));
	DFG_TRY(dfg_element_merge(&holds, &shape_input, &node->out[1]));
	return dfg_tensor_list_infer(node, 0, dtype, &holds);
}

static struct dfg_err *pop_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor element = {0};
	DFG_TRY(dfg_tensor_list_change(ctx, ctx->call->param[0].dtype, &list));
	struct dfg_err *err = dfg_tensor_list_pop(list, &element);
	if (!err)
		err = give_element(ctx, 1, list, 1, &element);
	dfg_tensor_release(&element);
	return give_or_drop(ctx, err, list);
}

const struct dfg_op dfg_op_TensorListPopBack = {
	.name = "TensorListPopBack",
	.doc = "the list without its last element, and that element",
	.sig = OF "(input_handle: variant, element_shape: i32) -> (output_handle: variant, tensor: element_dtype)",
	.flags = DFG_ANY_RANK | DFG_IN_PLACE,
	.shape = pop_shape,
	.gradient_fn = dfg_tensor_list_pop_gradient,
	.run = pop_run,
};

static struct dfg_err *get_shape(struct dfg_infer *node)
{
	struct dfg_shape holds, shape_input;
	DFG_TRY(dfg_need_rank(node, INDEX, 0));
	DFG_TRY(dfg_tensor_list_holds(node, LIST, node->call->param[0].dtype, &holds));
	DFG_TRY(dfg_tensor_list_shape_input(node, 2, &shape_input));
	return dfg_element_merge(&holds, &shape_input, &node->out[0]);
}

static struct dfg_err *get_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	int64_t index;
	DFG_TRY(dfg_element_index(ctx, INDEX, &index));
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, ctx->call->param[0].dtype, &list));
	DFG_TRY(dfg_tensor_list_check(list, index));
	return give_element(ctx, 0, list, 2, dfg_tensor_list_at(list, index));
}

const struct dfg_op dfg_op_TensorListGetItem = {
	.name = "TensorListGetItem",
	.doc = "the element at index; zeros if it is not set and its shape is known",
	.sig =
		"<element_dtype: type, Tshape: index = i32>"
		"(input_handle: variant, index: i32, element_shape: Tshape) -> (item: element_dtype)",
	.flags = DFG_ANY_RANK,
	.shape = get_shape,
	.gradient_fn = dfg_tensor_list_get_gradient,
	.run = get_run,
};

static struct dfg_err *set_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, INDEX, 0));
	return changed_shape(node, 2);
}

static struct dfg_err *set_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor element;
	int64_t index;
	DFG_TRY(dfg_element_index(ctx, INDEX, &index));
	DFG_TRY(dfg_tensor_list_change(ctx, ctx->call->param[0].dtype, &list));
	struct dfg_err *err = NULL;
	if (dfg_kernel_attr(ctx)[0].b && index >= list->count)
		err = dfg_tensor_list_resize(list, index + 1);
	if (!err)
		err = ctx->host->keep(ctx, 2, &element);
	if (!err)
		err = dfg_tensor_list_set(list, index, &element);
	return give_or_drop(ctx, err, list);
}

const struct dfg_op dfg_op_TensorListSetItem = {
	.name = "TensorListSetItem",
	.doc = "the list with item as its element at index",
	.sig = OF "(input_handle: variant, index: i32, item: element_dtype) -> (output_handle: variant)",
	.attr = {"resize_if_index_out_of_bounds: bool = false"},
	.flags = DFG_ANY_RANK | DFG_IN_PLACE,
	.shape = set_shape,
	.gradient_fn = dfg_tensor_list_set_gradient,
	.run = set_run,
};

static struct dfg_err *resize_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 1, 0));
	node->out[0] = DFG_SHAPE_SCALAR;
	node->out_holds[0] = node->in_holds[LIST];
	return NULL;
}

static struct dfg_err *resize_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	int64_t count;
	DFG_TRY(dfg_element_index(ctx, 1, &count));
	DFG_TRY(dfg_tensor_list_change(ctx, DFG_NO_DTYPE, &list));
	return give_or_drop(ctx, dfg_tensor_list_resize(list, count), list);
}

const struct dfg_op dfg_op_TensorListResize = {
	.name = "TensorListResize",
	.doc = "the list cut to its first size elements, or extended to size by elements that are not set",
	.sig = "(input_handle: variant, size: i32) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK | DFG_IN_PLACE,
	.shape = resize_shape,
	.gradient_fn = dfg_tensor_list_resize_gradient,
	.run = resize_run,
};

static struct dfg_err *length_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *length_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	struct dfg_tensor *out;
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, DFG_NO_DTYPE, &list));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(int32_t *)out->data = (int32_t)list->count;
	return NULL;
}

const struct dfg_op dfg_op_TensorListLength = {
	.name = "TensorListLength",
	.doc = "the number of elements of a list",
	.sig = "(input_handle: variant) -> (length: i32)",
	.flags = DFG_ANY_RANK,
	.shape = length_shape,
	.gradient = "",
	.run = length_run,
};

static struct dfg_err *element_shape_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	struct dfg_tensor *out;
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, DFG_NO_DTYPE, &list));
	const struct dfg_shape *element = &list->element;
	if (element->rank < 0) {
		DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
		dfg_convert(out->dtype, out->data, DFG_I64, &(int64_t){-1}, 1);
		return NULL;
	}
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(element->rank), &out));
	dfg_convert(out->dtype, out->data, DFG_I64, element->dim, element->rank);
	return NULL;
}

/* A scalar, -1, for a list of elements of unknown rank; more may be known when the graph runs. */
static struct dfg_err *element_shape_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

const struct dfg_op dfg_op_TensorListElementShape = {
	.name = "TensorListElementShape",
	.doc = "the shape of a list's elements; -1 for an unknown dimension, or for an unknown shape",
	.sig = "<shape_type: index>(input_handle: variant) -> (element_shape: shape_type)",
	.flags = DFG_ANY_RANK,
	.shape = element_shape_shape,
	.gradient = "",
	.run = element_shape_run,
};
