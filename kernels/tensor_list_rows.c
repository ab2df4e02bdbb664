/* Many elements of a list at once, as rows of one tensor. */
#include "kernels/tensor_list.h"

#include "kernels/shape_rules.h"
#include "kernels/tensor_list_gradient.h"

#include <inttypes.h>

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

/* The common shape of n elements; those that are not set fit any. */
static struct dfg_err *one_shape(const struct dfg_tensor_list *list, const struct dfg_tensor *const *element, int64_t n,
	const struct dfg_shape *like, struct dfg_shape *out_shape)
{
	const struct dfg_tensor *first = NULL;
	bool unset = !n;
	for (int64_t i = 0; i < n; i++) {
		unset |= !element[i]->dtype;
		if (!element[i]->dtype)
			continue;
		first = first ? first : element[i];
		if (!dfg_shape_equal(&element[i]->shape, &first->shape))
			return DFG_ERR(DFG_DATA, "cannot stack elements %s and %s", dfg_shape_words(&first->shape).s,
				dfg_shape_words(&element[i]->shape).s);
	}
	if (first)
		return dfg_element_merge(&first->shape, like, out_shape);
	return unset ? dfg_tensor_list_unset(list, like, out_shape) : NULL;
}

/* Sets output 0 to the elements as rows. */
static struct dfg_err *give_rows(struct dfg_kernel *ctx, const struct dfg_tensor_list *list,
	const struct dfg_tensor *const *element, int64_t n, int shape_input)
{
	struct dfg_shape like, shape, rows;
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, shape_input), &like));
	DFG_TRY(one_shape(list, element, n, &like, &shape));
	DFG_TRY(dfg_element_rows(n, &shape, &rows));
	return dfg_element_join(ctx, 0, element, n, &rows);
}

static struct dfg_err *pointers(struct dfg_kernel *ctx, int64_t n, const struct dfg_tensor ***out_pointers)
{
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * sizeof **out_pointers, &memory));
	*out_pointers = memory;
	return NULL;
}

static struct dfg_err *stack_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	const struct dfg_tensor **element;
	int64_t wanted = dfg_kernel_attr(ctx)[0].i;
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, ctx->call->param[0].dtype, &list));
	if (wanted >= 0 && wanted != list->count)
		return DFG_ERR(DFG_DATA, "the list has %" PRId64 " elements, expected %" PRId64, list->count, wanted);
	DFG_TRY(pointers(ctx, list->count, &element));
	for (int64_t i = 0; i < list->count; i++)
		element[i] = dfg_tensor_list_at(list, i);
	return give_rows(ctx, list, element, list->count, 1);
}

/* The facts of n rows of the list's elements; the value of input `shape_input` is their shape. */
static struct dfg_err *rows_shape(struct dfg_infer *node, int64_t n, int shape_input)
{
	struct dfg_shape holds, like;
	DFG_TRY(dfg_tensor_list_holds(node, LIST, node->call->param[0].dtype, &holds));
	DFG_TRY(dfg_tensor_list_shape_input(node, shape_input, &like));
	DFG_TRY(dfg_element_merge(&holds, &like, &like));
	return dfg_element_rows(n, &like, &node->out[0]);
}

static struct dfg_err *stack_shape(struct dfg_infer *node)
{
	int64_t n = node->call->attr[0].i;
	return rows_shape(node, n < 0 ? DFG_UNKNOWN : n, 1);
}

const struct dfg_op dfg_op_TensorListStack = {
	.name = "TensorListStack",
	.doc = "all elements as rows of one tensor; there must be num_elements, if that is not -1",
	.sig = OF "(input_handle: variant, element_shape: i32) -> (tensor: element_dtype)",
	.attr = {"num_elements: int = -1"},
	.flags = DFG_ANY_RANK,
	.shape = stack_shape,
	.gradient_fn = dfg_tensor_list_stack_gradient,
	.run = stack_run,
};

static struct dfg_err *gather_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor_list *list;
	const struct dfg_tensor **element, *indices = dfg_kernel_input(ctx, 1);
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, 1, &n));
	DFG_TRY(dfg_tensor_list_in(ctx, LIST, ctx->call->param[0].dtype, &list));
	DFG_TRY(pointers(ctx, n, &element));
	for (int64_t i = 0; i < n; i++) {
		DFG_TRY(dfg_tensor_list_check(list, dfg_tensor_int(indices, i)));
		element[i] = dfg_tensor_list_at(list, dfg_tensor_int(indices, i));
	}
	return give_rows(ctx, list, element, n, 2);
}

static struct dfg_err *gather_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 1, 1));
	return rows_shape(node, node->in[1]->rank == 1 ? node->in[1]->dim[0] : DFG_UNKNOWN, 2);
}

const struct dfg_op dfg_op_TensorListGather = {
	.name = "TensorListGather",
	.doc = "the elements at indices as rows of one tensor",
	.sig = OF "(input_handle: variant, indices: i32, element_shape: i32) -> (values: element_dtype)",
	.flags = DFG_ANY_RANK,
	.shape = gather_shape,
	.gradient_fn = dfg_tensor_list_gather_gradient,
	.run = gather_run,
};

/* Input i as a tensor with a buffer, which its rows can share. */
static struct dfg_err *retain_rows(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_value)
{
	if (!dfg_kernel_input(ctx, i)->shape.rank)
		return DFG_ERR(DFG_DATA, "input %d is a scalar, expected rows", i);
	return ctx->host->keep(ctx, i, out_value);
}

static struct dfg_tensor row_of(const struct dfg_tensor *value, int64_t i)
{
	struct dfg_shape element = dfg_element_of_rows(&value->shape);
	return dfg_element_part(value, i * dfg_shape_count(&element), &element);
}

/* A new list; the value of input i is its elements' shape. */
static struct dfg_err *new_list(struct dfg_kernel *ctx, int i, struct dfg_tensor_list **out_list)
{
	struct dfg_shape element;
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, i), &element));
	return dfg_tensor_list_new(ctx->call->param[0].dtype, &element, out_list);
}

static struct dfg_err *push_rows(struct dfg_tensor_list *list, const struct dfg_tensor *value)
{
	for (int64_t i = 0; i < value->shape.dim[0]; i++) {
		struct dfg_tensor row = row_of(value, i);
		DFG_TRY(dfg_tensor_list_push(list, &row));
	}
	return NULL;
}

static struct dfg_err *from_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor value;
	DFG_TRY(retain_rows(ctx, 0, &value));
	struct dfg_err *err = new_list(ctx, 1, &list);
	if (!err)
		err = give_or_drop(ctx, push_rows(list, &value), list);
	dfg_tensor_release(&value);
	return err;
}

/* The facts of a list of the rows of input 0, whose shape is the value of input `shape_input`. */
static struct dfg_err *made_shape(struct dfg_infer *node, int shape_input)
{
	struct dfg_shape like, rows = dfg_element_of_rows(node->in[0]);
	if (!node->in[0]->rank)
		return DFG_ERR(DFG_DATA, "input 0 is a scalar, expected rows");
	DFG_TRY(dfg_tensor_list_shape_input(node, shape_input, &like));
	DFG_TRY(dfg_element_merge(&like, &rows, &rows));
	return dfg_tensor_list_infer(node, 0, node->call->param[0].dtype, &rows);
}

static struct dfg_err *from_shape(struct dfg_infer *node)
{
	return made_shape(node, 1);
}

const struct dfg_op dfg_op_TensorListFromTensor = {
	.name = "TensorListFromTensor",
	.doc = "the rows of tensor as a list",
	.sig = MAKES "(tensor: element_dtype, element_shape: shape_type) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = from_shape,
	.gradient_fn = dfg_tensor_list_from_gradient,
	.run = from_run,
};

/*
 * Stores row i of the value as element indices[i]. Indices after the end extend the list if `grows`, else are errors.
 */
static struct dfg_err *scatter(
	struct dfg_tensor_list *list, const struct dfg_tensor *value, const struct dfg_tensor *indices, bool grows)
{
	int64_t n = dfg_shape_count(&indices->shape), most = -1;
	if (n != value->shape.dim[0])
		return DFG_ERR(
			DFG_DATA, "%" PRId64 " indices, expected one for each row of %s", n, dfg_shape_words(&value->shape).s);
	for (int64_t i = 0; i < n; i++)
		most = dfg_tensor_int(indices, i) > most ? dfg_tensor_int(indices, i) : most;
	if (grows && most >= list->count)
		DFG_TRY(dfg_tensor_list_resize(list, most + 1));
	for (int64_t i = 0; i < n; i++) {
		struct dfg_tensor row = row_of(value, i);
		DFG_TRY(dfg_tensor_list_set(list, dfg_tensor_int(indices, i), &row));
	}
	return NULL;
}

/* count < 0: the length is the largest index + 1. */
static struct dfg_err *scatter_new(struct dfg_kernel *ctx, int64_t count)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor value;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, 1, &n));
	DFG_TRY(retain_rows(ctx, 0, &value));
	struct dfg_err *err = new_list(ctx, 2, &list);
	if (!err) {
		err = count > 0 ? dfg_tensor_list_resize(list, count) : NULL;
		if (!err)
			err = scatter(list, &value, dfg_kernel_input(ctx, 1), count < 0);
		err = give_or_drop(ctx, err, list);
	}
	dfg_tensor_release(&value);
	return err;
}

static struct dfg_err *scatter_run(struct dfg_kernel *ctx)
{
	return scatter_new(ctx, -1);
}

static struct dfg_err *scatter_v2_run(struct dfg_kernel *ctx)
{
	int64_t count;
	DFG_TRY(dfg_element_index(ctx, 3, &count));
	if (count < -1)
		return DFG_ERR(DFG_DATA, "num_elements is %" PRId64 ", expected at least -1", count);
	return scatter_new(ctx, count);
}

static struct dfg_err *scatter_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 1, 1));
	return made_shape(node, 2);
}

const struct dfg_op dfg_op_TensorListScatter = {
	.name = "TensorListScatter",
	.doc = "a list with the rows of tensor as its elements at indices",
	.sig = MAKES "(tensor: element_dtype, indices: i32, element_shape: shape_type) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = scatter_shape,
	.gradient_fn = dfg_tensor_list_scatter_gradient,
	.run = scatter_run,
};

const struct dfg_op dfg_op_TensorListScatterV2 = {
	.name = "TensorListScatterV2",
	.doc = "as TensorListScatter, with num_elements elements, if that is not -1",
	.sig = MAKES
	"(tensor: element_dtype, indices: i32, element_shape: shape_type, num_elements: i32)"
	" -> (output_handle: variant)",
	.flags = DFG_ANY_RANK,
	.shape = scatter_shape,
	.gradient_fn = dfg_tensor_list_scatter_gradient,
	.run = scatter_v2_run,
};

static struct dfg_err *scatter_into_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_list *list;
	struct dfg_tensor value;
	int64_t n;
	DFG_TRY(dfg_element_indices(ctx, 2, &n));
	DFG_TRY(retain_rows(ctx, 1, &value));
	struct dfg_err *err = dfg_tensor_list_change(ctx, ctx->call->param[0].dtype, &list);
	if (!err)
		err = give_or_drop(ctx, scatter(list, &value, dfg_kernel_input(ctx, 2), true), list);
	dfg_tensor_release(&value);
	return err;
}

static struct dfg_err *scatter_into_shape(struct dfg_infer *node)
{
	struct dfg_shape holds, rows = dfg_element_of_rows(node->in[1]);
	enum dfg_dtype dtype = node->call->param[0].dtype;
	DFG_TRY(dfg_need_rank(node, 2, 1));
	DFG_TRY(dfg_tensor_list_holds(node, LIST, dtype, &holds));
	DFG_TRY(dfg_element_merge(&holds, &rows, &rows));
	return dfg_tensor_list_infer(node, 0, dtype, &holds);
}

const struct dfg_op dfg_op_TensorListScatterIntoExistingList = {
	.name = "TensorListScatterIntoExistingList",
	.doc = "the list with the rows of tensor as its elements at indices",
	.sig = OF "(input_handle: variant, tensor: element_dtype, indices: i32) -> (output_handle: variant)",
	.flags = DFG_ANY_RANK | DFG_IN_PLACE,
	.shape = scatter_into_shape,
	.gradient_fn = dfg_tensor_list_scatter_into_gradient,
	.run = scatter_into_run,
};
