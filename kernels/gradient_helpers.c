#include "kernels/gradient_helpers.h"

#include "lib/graph/loops.h"

#include <stdio.h>
#include <string.h>

struct dfg_err *dfg_adjoint_of(struct dfg_gradient *node, int port, struct dfg_edge *out_edge)
{
	struct dfg_edge output = dfg_gradient_output(node, port);
	if (!dfg_gradient_has(node, port))
		return dfg_gradient_op(node, "ZerosLike", &output, 1, NULL, 0, out_edge);
	*out_edge = node->dy[port];
	return NULL;
}

struct dfg_err *dfg_adjoint_ints(
	struct dfg_gradient *node, int rank, const int64_t *values, int64_t count, struct dfg_edge *out_edge)
{
	char name[512];
	snprintf(name, sizeof name, "%s/Const", node->scope);
	return dfg_build_ints(node->builder, name, dfg_index_dtype(values, rank ? count : 1),
		rank ? &DFG_SHAPE_VECTOR(count) : &DFG_SHAPE_SCALAR, values, out_edge);
}

struct dfg_err *dfg_adjoint_shape(struct dfg_gradient *node, struct dfg_edge of, struct dfg_edge *out_edge)
{
	const struct dfg_shape shape = dfg_adjoint_fact(node, of).shape;
	if (dfg_shape_known(&shape))
		return dfg_adjoint_ints(node, 1, shape.dim, shape.rank, out_edge);
	return dfg_gradient_op(node, "Shape", &of, 1, NULL, 0, out_edge);
}

struct dfg_err *dfg_adjoint_op(struct dfg_gradient *node, const char *op, struct dfg_edge a, struct dfg_edge b,
	struct dfg_edge c, struct dfg_edge *out_edge)
{
	struct dfg_edge in[] = {a, b, c};
	uint32_t n = b.node == DFG_NONE ? 1 : c.node == DFG_NONE ? 2 : 3;
	return dfg_gradient_op(node, op, in, n, NULL, 0, out_edge);
}

struct dfg_err *dfg_adjoint_same(
	struct dfg_gradient *node, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge)
{
	const struct dfg_signature *signature = node->call->signature;
	struct dfg_attr attr[DFG_ATTR_MAX];
	uint32_t n = 0;
	for (int i = 0; i < signature->n_attr; i++)
		if (!signature->attr[i].is_list)
			attr[n++] = (struct dfg_attr){signature->attr[i].name, signature->attr[i].kind, node->call->attr[i]};
	return dfg_gradient_op(node, op, in, n_in, attr, n, out_edge);
}

bool dfg_adjoint_is_not_zero(const struct dfg_gradient *node, int i)
{
	const struct dfg_node *from = &node->builder->graph->node[node->in[i].node];
	const struct dfg_attr *value = dfg_node_role(from) == DFG_CONST ? dfg_node_attr(from, "value") : NULL;
	struct dfg_tensor first;
	if (!value || value->kind != DFG_ATTR_TENSOR || value->value.tensor->given != 1)
		return false;
	struct dfg_err *err = dfg_literal_first(value->value.tensor, 1, &first);
	if (err) { /* no memory to look at it: the general formula serves */
		dfg_err_free(err);
		return false;
	}
	const bool is = dfg_shape_count(&first.shape) == 1 && dfg_tensor_float(&first, 0) != 0;
	dfg_tensor_release(&first);
	return is;
}

struct dfg_err *dfg_adjoint_refuse(const struct dfg_gradient *node, int i)
{
	if (!node->wanted[i])
		return NULL;
	return DFG_ERR(DFG_DATA, "has no gradient with respect to its input '%s'", node->call->signature->in[i].name);
}
