#include "kernels/tensor_array_gradient.h"

#include "kernels/gradient_helpers.h"
#include "kernels/resource.h"
#include "lib/graph/liveness.h"

#include <string.h>

/* Inputs of the ops, as far as they have them. */
enum { HANDLE, INDEX, VALUE, FLOW_LAST };

static struct dfg_err *make_array_op(struct dfg_gradient *node, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	return dfg_gradient_op(node, op, in, n_in, attr, n_attr, out_edge);
}

/* Whether the handle is known to be of an array whose elements are read once, because reading clears them. */
static bool is_read_once(const struct dfg_graph *graph, struct dfg_edge handle)
{
	const struct dfg_node *made_by = &graph->node[dfg_live_source(graph, handle).node];
	const struct dfg_attr *clears = dfg_node_attr(made_by, "clear_after_read");
	return !strcmp(made_by->op_name, "TensorArrayV3") &&
		   (!clears || (clears->kind == DFG_ATTR_BOOL && clears->value.b));
}

/*
 * From a gradient array to the array whose gradients it holds. TensorFlow makes gradient arrays of forward arrays only,
 * so the gradients of a gradient array's elements are kept in one more gradient array of the forward array, which has
 * the same elements; its source is both sources, the outer one first. Such an array gives each element once. That is
 * enough if each element of the forward array is read once, so that the gradient array is written once. Otherwise the
 * handle and the source remain as they are: an element of the gradient array of a gradient array can be read once for
 * each term.
 */
static struct dfg_err *forward_array(struct dfg_gradient *node, struct dfg_edge *handle, const char **source)
{
	struct dfg_graph *graph = node->builder->graph;
	struct dfg_edge forward = *handle;
	const char *joined = *source;
	for (;;) {
		struct dfg_edge from = dfg_live_source(graph, forward);
		const struct dfg_node *made_by = &graph->node[from.node];
		const struct dfg_attr *outer = dfg_node_attr(made_by, "source");
		if (from.port || strcmp(made_by->op_name, "TensorArrayGradV3") || !outer || outer->kind != DFG_ATTR_STRING)
			break;
		joined = dfg_arena_print(graph->arena, "%.*s/%s", (int)outer->value.s.length, outer->value.s.s, joined);
		if (!joined)
			return dfg_no_memory("the name of a gradient array");
		forward = made_by->in[HANDLE];
	}
	if (is_read_once(graph, forward)) {
		*handle = forward;
		*source = joined;
	}
	return NULL;
}

/* The handle of the gradient array of the node's array, created after the flow. */
static struct dfg_err *array_of(struct dfg_gradient *node, struct dfg_edge flow, struct dfg_edge *out_handle)
{
	struct dfg_edge handle = node->in[HANDLE];
	const char *source;
	DFG_TRY(dfg_gradient_source(node, &source));
	DFG_TRY(forward_array(node, &handle, &source));
	const struct dfg_attr attr = DFG_ATTR_S("source", source);
	return make_array_op(node, "TensorArrayGradV3", (struct dfg_edge[]){handle, flow}, 2, &attr, 1, out_handle);
}

/* For ops that read: op(gradient array, second, third, flow) writes the cotangent. */
static struct dfg_err *write_cotangent(
	struct dfg_gradient *node, const char *op, int flow, struct dfg_edge second, struct dfg_edge third)
{
	struct dfg_edge handle, out;
	if (!dfg_gradient_has(node, 0))
		return NULL;
	DFG_TRY(array_of(node, node->in[flow], &handle));
	const struct dfg_edge in[] = {handle, second, third, {handle.node, 1}};
	DFG_TRY(make_array_op(node, op, in, 4, NULL, 0, &out));
	dfg_gradient_set(node, flow, out);
	return NULL;
}

/*
 * The cotangent of a flow, after the node itself: the array then knows the shapes of its elements, and does not grow.
 * The order is by a control edge, which carries no derivatives.
 */
static struct dfg_err *after_node(struct dfg_gradient *node, struct dfg_edge *out_flow)
{
	struct dfg_edge own = dfg_gradient_output(node, 0);
	DFG_TRY(make_array_op(node, "Identity", &own, 1, NULL, 0, &own));
	DFG_TRY(make_array_op(node, "Identity", &node->dy[0], 1, NULL, 0, out_flow));
	return dfg_node_add_control(node->builder->graph, out_flow->node, own.node);
}

struct dfg_err *dfg_array_read_gradient(struct dfg_gradient *node)
{
	return write_cotangent(node, "TensorArrayWriteV3", 2, node->in[INDEX], node->dy[0]);
}

struct dfg_err *dfg_array_gather_gradient(struct dfg_gradient *node)
{
	return write_cotangent(node, "TensorArrayScatterV3", 2, node->in[INDEX], node->dy[0]);
}

struct dfg_err *dfg_array_concat_gradient(struct dfg_gradient *node)
{
	return write_cotangent(node, "TensorArraySplitV3", 1, node->dy[0], dfg_gradient_output(node, 1));
}

/* For ops that write: the value's cotangent is read from the gradient array by op. */
static struct dfg_err *read_cotangent(
	struct dfg_gradient *node, const char *op, int value, const struct dfg_attr *shape)
{
	struct dfg_edge flow, handle, dx;
	enum dfg_dtype dtype = (enum dfg_dtype)node->call->in_dtype[value];
	if (!dfg_gradient_has(node, 0))
		return NULL;
	if (!node->wanted[value]) {
		dfg_gradient_set(node, FLOW_LAST, node->dy[0]);
		return NULL;
	}
	DFG_TRY(after_node(node, &flow));
	DFG_TRY(array_of(node, flow, &handle));
	const struct dfg_edge indexed[] = {handle, node->in[INDEX], flow}, all[] = {handle, flow};
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", dtype), shape ? *shape : (struct dfg_attr){0}};
	DFG_TRY(make_array_op(node, op, value == INDEX ? all : indexed, value == INDEX ? 2 : 3, attr, shape ? 2 : 1, &dx));
	dfg_gradient_set(node, value, dx);
	dfg_gradient_set(node, FLOW_LAST, flow);
	return NULL;
}

struct dfg_err *dfg_array_write_gradient(struct dfg_gradient *node)
{
	return read_cotangent(node, "TensorArrayReadV3", VALUE, NULL);
}

/* The same with the rows' shape, as far as it is known, as an attribute: that of an empty result. */
static struct dfg_err *read_rows_cotangent(struct dfg_gradient *node, const char *op, int value, const char *name)
{
	struct dfg_inferred fact = dfg_adjoint_fact(node, node->in[value]);
	struct dfg_shape element = dfg_element_of_rows(&fact.shape);
	const struct dfg_attr attr = {name, DFG_ATTR_SHAPE, {.shape = &element}};
	return read_cotangent(node, op, value, &attr);
}

struct dfg_err *dfg_array_scatter_gradient(struct dfg_gradient *node)
{
	return read_rows_cotangent(node, "TensorArrayGatherV3", VALUE, "element_shape");
}

struct dfg_err *dfg_array_split_gradient(struct dfg_gradient *node)
{
	return read_rows_cotangent(node, "TensorArrayConcatV3", INDEX, "element_shape_except0");
}
