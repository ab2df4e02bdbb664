/* Tensor arrays: creation, single elements, and gradient arrays. */
#include "kernels/tensor_array.h"

#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"
#include "kernels/tensor_array_gradient.h"

enum { HANDLE, INDEX, VALUE };

struct dfg_err *dfg_array_flow(struct dfg_kernel *ctx, int i, int j)
{
	const struct dfg_tensor *flow = dfg_kernel_input(ctx, j);
	struct dfg_tensor *out;
	if (flow->buffer)
		return dfg_kernel_view(ctx, i, j, &flow->shape);
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_SCALAR, &out));
	*(float *)out->data = 0;
	return NULL;
}

struct dfg_err *dfg_array_holds(const struct dfg_infer *node, enum dfg_dtype dtype, struct dfg_shape *out_element)
{
	const struct dfg_handle_type *holds = node->in_holds ? node->in_holds[HANDLE] : NULL;
	*out_element = holds ? holds->shape : DFG_SHAPE_UNKNOWN;
	if (!holds || holds->dtype == dtype)
		return NULL;
	return DFG_ERR(DFG_DATA, "the array contains %s, expected %s", dfg_dtype_name(holds->dtype), dfg_dtype_name(dtype));
}

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_SCALAR;
	return NULL;
}

enum { ELEMENT_SHAPE, DYNAMIC_SIZE, CLEAR_AFTER_READ, IDENTICAL_ELEMENT_SHAPES, TENSOR_ARRAY_NAME };

static struct dfg_err *array_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 0));
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	if (!holds)
		return dfg_no_memory("the type of a tensor array");
	*holds = (struct dfg_handle_type){node->call->param[0].dtype, *node->call->attr[ELEMENT_SHAPE].shape, NULL};
	node->out_holds[0] = holds;
	return scalar_shape(node);
}

static struct dfg_err *array_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_array_kind kind = {
		.dtype = ctx->call->param[0].dtype,
		.element = *attr[ELEMENT_SHAPE].shape,
		.grows = attr[DYNAMIC_SIZE].b,
		.clears = attr[CLEAR_AFTER_READ].b,
		.same = attr[IDENTICAL_ELEMENT_SHAPES].b,
	};
	struct dfg_tensor_array *array;
	struct dfg_tensor *flow;
	DFG_TRY(dfg_element_index(ctx, 0, &kind.count));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_SCALAR, &flow));
	*(float *)flow->data = 0;
	DFG_TRY(dfg_array_new(ctx->call->node, &kind, &array));
	return dfg_object_out(ctx, 0, &array->object.resource);
}

const struct dfg_op dfg_op_TensorArrayV3 = {
	.name = "TensorArrayV3",
	.doc = "an array of size tensors, each written once, and the flow that orders the ops on it",
	.sig = "<dtype: type>(size: i32) -> (handle: resource, flow: f32)",
	.attr = {[ELEMENT_SHAPE] = "element_shape: shape = ?",
		[DYNAMIC_SIZE] = "dynamic_size: bool = false",
		[CLEAR_AFTER_READ] = "clear_after_read: bool = true",
		[IDENTICAL_ELEMENT_SHAPES] = "identical_element_shapes: bool = false",
		[TENSOR_ARRAY_NAME] = "tensor_array_name: string = ''"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL,
	.shape = array_shape,
	.gradient = "",
	.run = array_run,
};

static struct dfg_err *write_shape(struct dfg_infer *node)
{
	struct dfg_shape element;
	DFG_TRY(dfg_need_rank(node, INDEX, 0));
	DFG_TRY(dfg_array_holds(node, node->call->param[0].dtype, &element));
	DFG_TRY(dfg_element_merge(&element, node->in[VALUE], &element));
	return scalar_shape(node);
}

static struct dfg_err *write_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor value;
	int64_t index;
	DFG_TRY(dfg_element_index(ctx, INDEX, &index));
	DFG_TRY(ctx->host->keep(ctx, VALUE, &value));
	struct dfg_err *err = ctx->host->element ? ctx->host->element(ctx, index, &value) : NULL;
	if (!err)
		err = dfg_array_lock(ctx, value.dtype, &array);
	if (err) {
		dfg_tensor_release(&value);
		return err;
	}
	err = dfg_array_write(array, index, &value);
	dfg_array_unlock(array);
	return err ? err : dfg_array_flow(ctx, 0, 3);
}

const struct dfg_op dfg_op_TensorArrayWriteV3 = {
	.name = "TensorArrayWriteV3",
	.doc = "stores value as the element at index; flow_out orders later ops after it",
	.sig = "<T: type>(handle: resource, index: i32, value: T, flow_in: f32) -> (flow_out: f32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK,
	.shape = write_shape,
	.gradient_fn = dfg_array_write_gradient,
	.run = write_run,
};

static struct dfg_err *read_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, INDEX, 0));
	return dfg_array_holds(node, node->call->param[0].dtype, &node->out[0]);
}

static struct dfg_err *read_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor value;
	int64_t index;
	DFG_TRY(dfg_element_index(ctx, INDEX, &index));
	DFG_TRY(dfg_array_lock(ctx, (enum dfg_dtype)ctx->call->out_dtype[0], &array));
	struct dfg_err *err = dfg_array_read(array, index, &DFG_SHAPE_UNKNOWN, &value);
	dfg_array_unlock(array);
	return err ? err : ctx->host->give(ctx, 0, &value);
}

const struct dfg_op dfg_op_TensorArrayReadV3 = {
	.name = "TensorArrayReadV3",
	.doc = "the element at index; zeros if none was written and the shape is known",
	.sig = "<dtype: type>(handle: resource, index: i32, flow_in: f32) -> (value: dtype)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.means = DFG_MEANS_ELEMENT,
	.shape = read_shape,
	.gradient_fn = dfg_array_read_gradient,
	.run = read_run,
};

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	DFG_TRY(dfg_array_lock(ctx, DFG_NO_DTYPE, &array));
	*(int32_t *)out->data = (int32_t)array->count;
	dfg_array_unlock(array);
	return NULL;
}

const struct dfg_op dfg_op_TensorArraySizeV3 = {
	.name = "TensorArraySizeV3",
	.doc = "the number of elements of an array",
	.sig = "(handle: resource, flow_in: f32) -> (size: i32)",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.shape = scalar_shape,
	.gradient = "",
	.run = size_run,
};

static struct dfg_err *close_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor_array *array;
	DFG_TRY(dfg_array_lock(ctx, DFG_NO_DTYPE, &array));
	dfg_array_close(array);
	dfg_array_unlock(array);
	return NULL;
}

const struct dfg_op dfg_op_TensorArrayCloseV3 = {
	.name = "TensorArrayCloseV3",
	.doc = "frees an array's elements; the array can no longer be used",
	.sig = "(handle: resource) -> ()",
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = scalar_shape,
	.run = close_run,
};

static struct dfg_err *give_gradient(struct dfg_kernel *ctx, const struct dfg_shape *before)
{
	struct dfg_tensor_array *array, *gradient;
	DFG_TRY(dfg_array_lock(ctx, DFG_NO_DTYPE, &array));
	struct dfg_err *err = dfg_array_gradient(array, dfg_kernel_attr(ctx)[0].s, before, &gradient);
	if (!err)
		dfg_resource_ref(&gradient->object.resource);
	dfg_array_unlock(array);
	if (!err)
		err = dfg_object_out(ctx, 0, &gradient->object.resource);
	return err ? err : dfg_array_flow(ctx, 1, 1);
}

static struct dfg_err *gradient_run(struct dfg_kernel *ctx)
{
	return give_gradient(ctx, &DFG_SHAPE_SCALAR);
}

static struct dfg_err *gradient_shape(struct dfg_infer *node)
{
	node->out_holds[0] = node->in_holds[HANDLE];
	return scalar_shape(node);
}

const struct dfg_op dfg_op_TensorArrayGradV3 = {
	.name = "TensorArrayGradV3",
	.doc = "the gradient array, for that source, of an array: values written to one of its elements are summed",
	.sig = "(handle: resource, flow_in: f32) -> (grad_handle: resource, flow_out: f32)",
	.attr = {"source: string"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.means = DFG_MEANS_GRADIENT_ARRAY,
	.shape = gradient_shape,
	.gradient = "",
	.run = gradient_run,
};

static struct dfg_err *with_shape_run(struct dfg_kernel *ctx)
{
	struct dfg_shape before;
	DFG_TRY(dfg_element_shape(dfg_kernel_input(ctx, 2), &before));
	if (!dfg_shape_known(&before))
		return DFG_ERR(DFG_DATA, "shape_to_prepend is %s, expected a known shape", dfg_shape_words(&before).s);
	return give_gradient(ctx, &before);
}

const struct dfg_op dfg_op_TensorArrayGradWithShape = {
	.name = "TensorArrayGradWithShape",
	.doc = "as TensorArrayGradV3, with shape_to_prepend before the dimensions of each element",
	.sig = "(handle: resource, flow_in: f32, shape_to_prepend: i32) -> (grad_handle: resource, flow_out: f32)",
	.attr = {"source: string"},
	.flags = DFG_TENSOR_ARRAY | DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.means = DFG_MEANS_GRADIENT_ARRAY,
	.shape = scalar_shape,
	.gradient = "",
	.run = with_shape_run,
};
