#include "kernels/tensor_list_gradient.h"

#include "kernels/gradient_helpers.h"
#include "kernels/resource.h"

/* The dtype of the node's elements as an attribute. */
static struct dfg_attr element_dtype(const struct dfg_gradient *node)
{
	return DFG_ATTR_T("element_dtype", node->call->param[0].dtype);
}

static struct dfg_err *make_list_op(struct dfg_gradient *node, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, struct dfg_edge *out_edge)
{
	return dfg_gradient_op(node, op, in, n_in, attr, attr != NULL, out_edge);
}

static struct dfg_err *length_of(struct dfg_gradient *node, struct dfg_edge list, struct dfg_edge *out_edge)
{
	return make_list_op(node, "TensorListLength", &list, 1, NULL, out_edge);
}

/* The shape of a tensor's rows: that of the tensor without its first element. */
static struct dfg_err *row_shape(struct dfg_gradient *node, struct dfg_edge rows, struct dfg_edge *out_edge)
{
	struct dfg_inferred fact = dfg_adjoint_fact(node, rows);
	struct dfg_shape element = dfg_element_of_rows(&fact.shape);
	struct dfg_edge in[3];
	if (dfg_shape_known(&element))
		return dfg_adjoint_ints(node, 1, element.dim, element.rank, out_edge);
	DFG_TRY(dfg_adjoint_shape(node, rows, &in[0]));
	DFG_TRY(dfg_adjoint_ints(node, 1, (int64_t[]){1}, 1, &in[1]));
	DFG_TRY(dfg_adjoint_ints(node, 1, (int64_t[]){-1}, 1, &in[2]));
	return make_list_op(node, "Slice", in, 3, NULL, out_edge);
}

/* A list of the length of `like` whose elements are not set, which are read as zeros. */
static struct dfg_err *no_elements(struct dfg_gradient *node, struct dfg_edge like, struct dfg_edge *out_edge)
{
	const struct dfg_attr dtype = element_dtype(node), width = DFG_ATTR_T("shape_type", DFG_I32);
	struct dfg_edge in[2];
	DFG_TRY(make_list_op(node, "TensorListElementShape", &like, 1, &width, &in[0]));
	DFG_TRY(length_of(node, like, &in[1]));
	return make_list_op(node, "TensorListReserve", in, 2, &dtype, out_edge);
}

/* The cotangent of the node's list output, or such a list. */
static struct dfg_err *list_cotangent(struct dfg_gradient *node, struct dfg_edge *out_edge)
{
	*out_edge = node->dy[0];
	return dfg_gradient_has(node, 0) ? NULL : no_elements(node, dfg_gradient_output(node, 0), out_edge);
}

struct dfg_err *dfg_tensor_list_push_gradient(struct dfg_gradient *node)
{
	const struct dfg_attr dtype = element_dtype(node);
	struct dfg_edge in[2] = {node->dy[0]}, popped;
	DFG_TRY(dfg_adjoint_shape(node, node->in[1], &in[1]));
	DFG_TRY(make_list_op(node, "TensorListPopBack", in, 2, &dtype, &popped));
	dfg_gradient_set(node, 0, popped);
	dfg_gradient_set(node, 1, (struct dfg_edge){popped.node, 1});
	return NULL;
}

struct dfg_err *dfg_tensor_list_pop_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[2], dlist;
	DFG_TRY(list_cotangent(node, &in[0]));
	DFG_TRY(dfg_adjoint_of(node, 1, &in[1]));
	DFG_TRY(make_list_op(node, "TensorListPushBack", in, 2, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

struct dfg_err *dfg_tensor_list_get_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[3] = {{0}, node->in[1], node->dy[0]}, dlist;
	DFG_TRY(no_elements(node, node->in[0], &in[0]));
	DFG_TRY(make_list_op(node, "TensorListSetItem", in, 3, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

struct dfg_err *dfg_tensor_list_set_gradient(struct dfg_gradient *node)
{
	const struct dfg_attr dtype = element_dtype(node);
	struct dfg_edge shape, length, dlist, ditem, zeros;
	DFG_TRY(dfg_adjoint_shape(node, node->in[2], &shape));
	const struct dfg_edge get[] = {node->dy[0], node->in[1], shape};
	DFG_TRY(make_list_op(node, "TensorListGetItem", get, 3, &dtype, &ditem));
	DFG_TRY(make_list_op(node, "ZerosLike", &node->in[2], 1, NULL, &zeros));
	const struct dfg_edge set[] = {node->dy[0], node->in[1], zeros};
	DFG_TRY(make_list_op(node, "TensorListSetItem", set, 3, NULL, &dlist));
	if (node->call->attr[0].b) {
		DFG_TRY(length_of(node, node->in[0], &length));
		DFG_TRY(make_list_op(node, "TensorListResize", (struct dfg_edge[]){dlist, length}, 2, NULL, &dlist));
	}
	dfg_gradient_set(node, 0, dlist);
	dfg_gradient_set(node, 2, ditem);
	return NULL;
}

struct dfg_err *dfg_tensor_list_resize_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[2] = {node->dy[0]}, dlist;
	DFG_TRY(length_of(node, node->in[0], &in[1]));
	DFG_TRY(make_list_op(node, "TensorListResize", in, 2, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

struct dfg_err *dfg_tensor_list_stack_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[2] = {node->dy[0]}, dlist;
	DFG_TRY(row_shape(node, dfg_gradient_output(node, 0), &in[1]));
	DFG_TRY(make_list_op(node, "TensorListFromTensor", in, 2, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

struct dfg_err *dfg_tensor_list_from_gradient(struct dfg_gradient *node)
{
	const struct dfg_attr dtype = element_dtype(node);
	struct dfg_edge in[2] = {node->dy[0]}, dx;
	DFG_TRY(row_shape(node, node->in[0], &in[1]));
	DFG_TRY(make_list_op(node, "TensorListStack", in, 2, &dtype, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

/* Rows of equal indices are summed. */
struct dfg_err *dfg_tensor_list_gather_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[3] = {node->dy[0], node->in[1]}, list[2], dlist;
	DFG_TRY(length_of(node, node->in[0], &in[2]));
	DFG_TRY(make_list_op(node, "UnsortedSegmentSum", in, 3, NULL, &list[0]));
	DFG_TRY(row_shape(node, dfg_gradient_output(node, 0), &list[1]));
	DFG_TRY(make_list_op(node, "TensorListFromTensor", list, 2, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

static struct dfg_err *gather_rows(
	struct dfg_gradient *node, struct dfg_edge rows, struct dfg_edge indices, struct dfg_edge *out_edge)
{
	const struct dfg_attr dtype = element_dtype(node);
	struct dfg_edge in[3] = {node->dy[0], indices};
	DFG_TRY(row_shape(node, rows, &in[2]));
	return make_list_op(node, "TensorListGather", in, 3, &dtype, out_edge);
}

struct dfg_err *dfg_tensor_list_scatter_gradient(struct dfg_gradient *node)
{
	struct dfg_edge dx;
	DFG_TRY(gather_rows(node, node->in[0], node->in[1], &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

struct dfg_err *dfg_tensor_list_scatter_into_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[3] = {node->dy[0], {0}, node->in[2]}, dx, dlist, length;
	DFG_TRY(gather_rows(node, node->in[1], node->in[2], &dx));
	DFG_TRY(make_list_op(node, "ZerosLike", &node->in[1], 1, NULL, &in[1]));
	DFG_TRY(make_list_op(node, "TensorListScatterIntoExistingList", in, 3, NULL, &dlist));
	DFG_TRY(length_of(node, node->in[0], &length));
	DFG_TRY(make_list_op(node, "TensorListResize", (struct dfg_edge[]){dlist, length}, 2, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	dfg_gradient_set(node, 1, dx);
	return NULL;
}

/* [-1] + the dimensions after the first. */
static struct dfg_err *part_shape(struct dfg_gradient *node, struct dfg_edge whole, struct dfg_edge *out_edge)
{
	struct dfg_edge in[3];
	DFG_TRY(dfg_adjoint_ints(node, 1, (int64_t[]){-1}, 1, &in[0]));
	DFG_TRY(row_shape(node, whole, &in[1]));
	DFG_TRY(dfg_adjoint_ints(node, 0, (int64_t[]){0}, 1, &in[2]));
	return make_list_op(node, "ConcatV2", in, 3, NULL, out_edge);
}

struct dfg_err *dfg_tensor_list_concat_gradient(struct dfg_gradient *node)
{
	struct dfg_edge in[3] = {node->dy[0], {0}, dfg_gradient_output(node, 1)}, dlist;
	DFG_TRY(part_shape(node, dfg_gradient_output(node, 0), &in[1]));
	DFG_TRY(make_list_op(node, "TensorListSplit", in, 3, NULL, &dlist));
	dfg_gradient_set(node, 0, dlist);
	return NULL;
}

struct dfg_err *dfg_tensor_list_split_gradient(struct dfg_gradient *node)
{
	const struct dfg_attr dtype = element_dtype(node);
	struct dfg_edge in[3] = {node->dy[0], {0}, node->in[2]}, dx;
	DFG_TRY(part_shape(node, node->in[0], &in[1]));
	DFG_TRY(make_list_op(node, "TensorListConcatV2", in, 3, &dtype, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}
